package spec

import "github.com/flowrun/flowrun/engine/diag"

// Version is the language version that this package reads.
const Version = "v1"

// Parse reads the bytes of a workflow into its authored tree and reports every
// problem of the YAML text and of the words: unknown keys, wrong shapes, steps
// of two kinds. The tree is nil when there is nothing to go on with; else what
// is wrong is left out of it, so that a checker can go on without noise.
func Parse(file string, src []byte) (*Workflow, diag.List) { return V1().Parse(file, src) }

// Parse is the package's Parse by another table than that of this version.
func (l *Language) Parse(file string, src []byte) (*Workflow, diag.List) {
	return l.ParseWithin(file, src, WorkflowLimits(DefaultLimits().Bytes))
}

// ParseWithin is Parse within other limits.
func (l *Language) ParseWithin(file string, src []byte, limits Limits) (*Workflow, diag.List) {
	root, problems := ParseNode(file, src, limits)
	if root == nil || root.Bad && root.Kind == Scalar {
		return nil, problems
	}
	if root.Kind != Mapping {
		problems.Errorf(root.Pos, CodeShape, "a workflow must be a map, not a %s", root.Kind).Hint = diag.Say("start with `flowrun: v1`")
		return nil, problems
	}
	if otherProduct(root, &problems) {
		return nil, problems
	}
	r := &reader{problems: &problems, step: l.Map("step")}
	workflow := &Workflow{File: file, Source: src, Root: root, Language: l}
	r.workflow(workflow)
	problems.Sort()
	return workflow, problems
}

// reader fills the authored tree.
type reader struct {
	problems *diag.List
	step     *Map
}

func (r *reader) workflow(w *Workflow) {
	top, slots, lists := w.Language.Map("workflow"), w.slots(), w.lists()
	for _, pair := range w.Root.Pairs {
		key := r.key(pair.Key, top)
		if key == nil || !r.shape(pair, key) {
			continue
		}
		if list := lists[key.Name]; list != nil {
			*list = r.steps(pair)
		} else if slot := slots[key.Name]; slot != nil {
			*slot = pair.Value
		} else {
			w.Others = append(w.Others, Other{Key: key, Pair: pair})
		}
	}
	r.version(w)
	if _, ok := w.Root.Pair("steps"); !ok && !w.Root.meant("steps") {
		r.problems.Errorf(w.Root.FirstKey(), CodeMissingKey, "the workflow has no `steps`")
	}
	if w.Triggers != nil && len(w.Triggers.Pairs) == 0 {
		r.problems.Errorf(w.Triggers.Pos, CodeNoElements, "`triggers` needs at least one trigger").Hint = diag.Say("leave it out: a run by hand always works")
	}
}

func (r *reader) version(w *Workflow) {
	pair, ok := w.Root.Pair("flowrun")
	switch {
	case !ok:
		r.problems.Errorf(w.Root.FirstKey(), CodeVersion, "the language version is missing").Hint = diag.Say("start the file with `flowrun: " + Version + "`")
	case w.Version == nil || w.Version.Text == Version:
	default:
		r.problems.Errorf(pair.Value.Pos, CodeVersion, "the language version `%s` is not known", w.Version.Text).Hint = diag.Say("write `flowrun: " + Version + "`")
	}
}

// key finds a key of a map and reports one that it has not.
func (r *reader) key(node *Node, m *Map) *Key {
	found := m.Key(node.Text)
	if found == nil {
		problem := r.problems.Errorf(node.Pos, CodeUnknownKey, "the key `%s` is not known here", node.Text)
		problem.Hint = diag.DidYouMean(node.Text, m.KeyNames(""))
		if foreign, ok := foreignWords()[node.Text]; ok {
			problem.Hint = diag.Say(foreign)
		}
	}
	return found
}

// shape reports a value of the wrong shape.
func (r *reader) shape(pair Pair, key *Key) bool {
	value, want := pair.Value, key.Shape()
	switch {
	case value.Bad && value.Kind == Scalar:
		return false
	case value.IsNull() && !key.Null:
		problem := r.problems.Errorf(emptyPos(pair), CodeShape, "`%s` has no value", pair.Key.Text)
		problem.Hint = diag.Say("it must be " + want.String() + "; leave the key out if it is not wanted")
		return false
	case want.Allows(value.Kind):
		return true
	}
	problem := r.problems.Errorf(value.Pos, CodeShape, "`%s` must be %s, not a %s", pair.Key.Text, want, value.Kind)
	if key.Example != "" {
		problem.Hint = diag.Say("write `" + key.Example + "`")
	}
	return false
}

// emptyPos is where an empty value is shown: at its key when nothing is written.
func emptyPos(pair Pair) diag.Pos {
	if pair.Value.Text == "" {
		return pair.Key.Pos
	}
	return pair.Value.Pos
}

// steps reads a list of steps. Items that are no maps are left out.
func (r *reader) steps(pair Pair) []*Step {
	if len(pair.Value.Items) == 0 {
		r.problems.Errorf(pair.Value.Pos, CodeNoElements, "`%s` needs at least one step", pair.Key.Text)
	}
	steps := make([]*Step, 0, len(pair.Value.Items))
	for _, item := range pair.Value.Items {
		switch {
		case item.Kind == Mapping:
			steps = append(steps, r.read(item))
		case !item.Bad:
			r.problems.Errorf(item.Pos, CodeShape, "a step must be a map, not a %s", item.Kind).Hint = diag.Say("write `- uses: plugin.action`")
			fallthrough
		default:
			// Kept as a place in the list: the step after it must not be taken
			// for its follower.
			steps = append(steps, &Step{Node: item})
		}
	}
	return steps
}

func (r *reader) read(node *Node) *Step {
	step := &Step{Node: node}
	second := r.kind(step)
	unknown := false      // an unknown key may be the one that says what the step does
	opened := (*Key)(nil) // the key above, a map that has nothing: what follows may be meant to stand in it
	for _, pair := range node.Pairs {
		if opened != nil && r.step.Key(pair.Key.Text) == nil && diag.Nearest(pair.Key.Text, r.step.KeyNames("")) == "" {
			continue
		}
		key := r.key(pair.Key, r.step)
		if opened = nil; key != nil && r.isOpen(pair, key) {
			opened = key
		}
		unknown = unknown || key == nil
		if key == nil || !r.allowed(step.Kind, second, pair.Key) {
			continue
		}
		if own := r.step.KeyOf(string(step.Kind), key.Name); own != nil {
			key = own
		}
		if !r.shape(pair, key) {
			continue
		}
		if key.Name == "steps" {
			step.Steps = r.steps(pair)
		} else if slot := step.slot(key.Name); slot != nil {
			*slot = pair.Value
		} else {
			step.Others = append(step.Others, Other{Key: key, Pair: pair})
		}
	}
	if step.Kind == NoKind && !unknown && !node.Bad {
		r.problems.Errorf(node.FirstKey(), CodeNoKind, "the step does nothing").Hint =
			diag.Say("a step has one of `uses`, `let`, `set_state`, or `foreach` with `steps`")
	}
	if second == NoKind {
		r.required(step)
	}
	return step
}

// isOpen reports whether a key has nothing behind it where a map of names of the author's
// is meant to stand.
func (r *reader) isOpen(pair Pair, key *Key) bool {
	return key.Type == None && key.Map != "" && key.Items == nil && pair.Value.IsNull() && pair.Value.Text == ""
}

// kind finds the kind of a step from the first key that makes one. A second
// one is reported and returned.
func (r *reader) kind(step *Step) (second StepKind) {
	var first *Node
	for _, pair := range step.Node.Pairs {
		kind := NoKind
		if key := r.step.Key(pair.Key.Text); key != nil {
			kind = StepKind(key.Makes)
		}
		switch {
		case kind == NoKind || kind == step.Kind:
		case step.Kind == NoKind:
			step.Kind, first = kind, pair.Key
		case second == NoKind:
			second = kind
			problem := r.problems.Errorf(pair.Key.Pos, CodeTwoKinds, "a step can't be %s and %s at once", step.Kind, kind)
			problem.Related = []diag.Related{{Pos: first.Pos, Message: "the first kind"}}
			problem.Hint = diag.Say("split it into two steps")
			if step.Kind == LoopStep || kind == LoopStep {
				problem.Hint = diag.Say("put the work of one item into the loop's `steps`")
			}
		}
	}
	return second
}

// allowed reports a key that does not belong to the kind of step. Keys of a
// second kind are left out in silence: that was reported.
func (r *reader) allowed(kind, second StepKind, key *Node) bool {
	switch {
	case r.step.KeyOf(string(kind), key.Text) != nil:
		return true
	case second != NoKind && r.step.KeyOf(string(second), key.Text) != nil:
		return false
	}
	problem := r.problems.Errorf(key.Pos, CodeKeyOfKind, "`%s` does not belong to a step that is %s", key.Text, kind)
	if kind == LoopStep {
		problem.Hint = diag.Say("write it at the steps inside the loop")
	}
	return false
}

// meant reports whether a map has a key that may be meant to be this one: that was
// reported.
func (n *Node) meant(key string) bool {
	for _, pair := range n.Pairs {
		if diag.Nearest(pair.Key.Text, []string{key}) == key {
			return true
		}
	}
	return false
}

// required reports what a kind of step can't be without.
func (r *reader) required(step *Step) {
	switch {
	case step.Kind == LoopStep && !step.Written("foreach") && step.Node.meant("foreach"):
	case step.Kind == LoopStep && !step.Written("foreach"):
		r.problems.Errorf(step.Node.FirstKey(), CodeMissingKey, "the loop has no `foreach`")
	case step.Kind == LoopStep && !step.Written("steps") && step.Node.meant("steps"):
	case step.Kind == LoopStep && !step.Written("steps"):
		r.problems.Errorf(step.Node.FirstKey(), CodeMissingKey, "the loop has no `steps`")
	case step.Let != nil && len(step.Let.Pairs) == 0 && !step.Let.Partial:
		r.problems.Errorf(step.Let.Pos, CodeNoElements, "`let` needs at least one value")
	case step.SetState != nil && len(step.SetState.Pairs) == 0 && !step.SetState.Partial:
		r.problems.Errorf(step.SetState.Pos, CodeNoElements, "`set_state` needs at least one value")
	}
}
