package testrun

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// bind fits the cases of a suite to its workflow.
func bind(s *suite, workflow *plan.Workflow, steps *stepIndex, contents *blobs) ([]testCase, diag.List) {
	b := &binder{reader: &reader{}, steps: steps, workflow: workflow, recorded: s.recorded, blobs: contents}
	var cases []testCase
	for i := range s.cases {
		written := &s.cases[i]
		trigger := b.trigger(written, s.shared.trigger)
		cases = append(cases, testCase{
			name: written.name, pos: written.pos, at: cmp.Or(written.at, s.shared.at, defaultAt), trigger: trigger.Name,
			inputs:  b.inputs(written, s.shared.inputs, trigger),
			state:   b.state(written, s.shared.state),
			answers: b.answersOf(s.shared.answers, written.answers),
			events:  b.events(written.events),
			want:    b.wanted(written),
			blobs:   contents,
		})
	}
	b.problems = onceEach(b.problems)
	return cases, b.problems
}

// onceEach drops what was told before: the file's own answers are read for every
// case.
func onceEach(problems diag.List) diag.List {
	seen := map[string]bool{}
	return slices.DeleteFunc(problems, func(p diag.Problem) bool {
		key := p.Pos.String() + p.Code + p.Message
		again := seen[key]
		seen[key] = true
		return again
	})
}

// trigger is the one that starts the run of a case: that of the case, of the file,
// else a person.
func (b *binder) trigger(c *caseNode, shared *spec.Node) plan.Trigger {
	manual := plan.Trigger{Name: string(plan.TriggerManual), Kind: plan.TriggerManual}
	node := cmp.Or(c.trigger, shared)
	if node == nil || node.Text == manual.Name {
		return manual
	}
	names := []string{manual.Name}
	for _, trigger := range b.workflow.Triggers {
		if trigger.Name == node.Text {
			return trigger
		}
		names = append(names, trigger.Name)
	}
	problem := b.problems.Errorf(node.Pos, CodeWord, "the workflow has no trigger `%s`", node.Text)
	problem.Hint = diag.MeantOr(node.Text, names, "its triggers are ")
	return plan.Trigger{}
}

// literalOf is what a trigger gives an input, where that does not hang on what
// triggered it.
func literalOf(trigger plan.Trigger, name string) (json.RawMessage, bool) {
	for _, binding := range trigger.Inputs {
		if binding.Name == name && binding.Value.Kind == plan.ValueLiteral {
			return binding.Value.Literal, true
		}
	}
	return nil, false
}

// inputs are complete: those of the case, of the file, of the trigger, then the
// defaults.
func (b *binder) inputs(c *caseNode, shared *spec.Node, trigger plan.Trigger) json.RawMessage {
	t, err := schema.FromJSONOr(b.workflow.Inputs, schema.ObjectOf())
	if err != nil {
		b.problems.Errorf(c.pos, CodeInput, "read the inputs of %s: %v", b.workflow.Name, err)
		return nil
	}
	var out bytes.Buffer
	out.WriteByte('{')
	var missing []string
	for _, f := range t.Fields {
		raw, given := b.input(f, c.inputs, shared)
		if !given {
			raw, given = literalOf(trigger, f.Name)
		}
		switch {
		case given:
		case f.Type.Default != nil:
			raw = f.Type.Default
		case !f.Required:
			raw = json.RawMessage("null")
		default:
			missing = append(missing, "`"+f.Name+"`")
			continue
		}
		writeMember(&out, f.Name, raw)
	}
	out.WriteByte('}')
	for _, key := range unknownFields(t, c.inputs, shared) {
		b.problems.Errorf(key.Pos, CodeInput, "workflow %s has no input `%s`", b.workflow.Name, key.Text).Hint = diag.DidYouMean(key.Text, t.FieldNames())
	}
	if len(missing) > 0 && trigger.Name != "" { // else the trigger that may give them is wrong
		b.problems.Errorf(c.pos, CodeInput, "the case lacks the inputs %s", strings.Join(missing, ", ")).Hint = diag.Say("write them under `inputs:`")
	}
	return out.Bytes()
}

func (b *binder) input(f schema.Field, nodes ...*spec.Node) (json.RawMessage, bool) {
	for _, node := range nodes {
		if node == nil {
			continue
		}
		if pair, written := node.Pair(f.Name); written {
			raw, _ := converter{r: b.reader, code: CodeInput, blobs: b.blobs}.convert(pair.Value, f.Type)
			return raw, true
		}
	}
	return nil, false
}

// unknownFields are the keys of maps, which may be nil, that a type does not have.
func unknownFields(t *schema.Type, nodes ...*spec.Node) []*spec.Node {
	var keys []*spec.Node
	for _, node := range nodes {
		if node == nil {
			continue
		}
		for _, pair := range node.Pairs {
			if _, ok := t.Field(pair.Key.Text); !ok {
				keys = append(keys, pair.Key)
			}
		}
	}
	return keys
}

// eventKinds are the keys of which an event has exactly one.
var eventKinds = []string{"cancel", "resume", "crash", "resolve", "approve", "reject", "signal"}

func (b *binder) events(nodes []*spec.Node) []event {
	var events []event
	for _, node := range nodes {
		if !b.mapping(node, "an event") {
			continue
		}
		if e, ok := b.event(node); ok {
			events = append(events, e)
		}
	}
	return events
}

func (b *binder) event(node *spec.Node) (event, bool) {
	e := event{pos: node.Pos}
	kinds := 0
	for _, pair := range node.Pairs {
		if slices.Contains(eventKinds, pair.Key.Text) {
			e.kind = pair.Key.Text
			kinds++
		}
	}
	if kinds != 1 && !node.Partial {
		b.problems.Errorf(node.FirstKey(), CodeShape, "an event has exactly one of %s", strings.Join(eventKinds, ", "))
		return e, false
	}
	yes := func(n *spec.Node) { b.yes(n) }
	step := func(n *spec.Node) { e.step = b.stepPath(n) }
	value := func(n *spec.Node) { e.value = n.JSON() }
	b.fields(node, "an event",
		field{"cancel", yes}, field{"resume", yes}, field{"crash", yes},
		field{"resolve", step}, field{"approve", step}, field{"reject", step},
		b.textField("signal", &e.name),
		field{"after", func(n *spec.Node) { e.after, e.timed = b.duration(n), true }},
		field{"outcome", func(n *spec.Node) { e.text, _ = b.word(n, "an outcome", "happened", "did_not", "skip") }},
		field{"outputs", value}, field{"form", value}, field{"payload", value},
		b.textField("comment", &e.text),
	)
	if e.kind == "resolve" && node.Get("outcome") == nil {
		b.problems.Errorf(node.FirstKey(), CodeMissingKey, "the key `outcome` is missing").Hint = diag.Say("outcome: happened, did_not or skip")
	}
	return e, true
}

// stepPath reads the path of a step that the workflow has.
func (b *binder) stepPath(n *spec.Node) string {
	if !b.scalar(n, "the path of a step") {
		return ""
	}
	if b.steps.find(n.Text) == nil {
		b.noStep(n, "the workflow has no step", func(*stepInfo) bool { return true })
	}
	return n.Text
}

func (b *binder) wanted(c *caseNode) wanted {
	w := wanted{pos: c.pos, at: c.pos, status: string(runs.RunSucceeded)}
	if c.expect == nil {
		return w
	}
	hasStatus := false
	b.fields(c.expect, "`expect`",
		field{"status", func(n *spec.Node) {
			w.status, _ = b.word(n, "a status of runs", diag.Words(runs.RunSucceeded, runs.RunFailed, runs.RunPaused, runs.RunCanceled, runs.RunTimedOut, runs.RunWaiting)...)
			w.at, hasStatus = n.Pos, true
		}},
		b.scalarField("paused", "why the run is paused", &w.paused),
		field{"error", func(n *spec.Node) { b.wantedError(&w, n) }},
		field{"outputs", func(n *spec.Node) { b.wantedOutputs(&w, n) }},
		field{"steps", func(n *spec.Node) { b.wantedSteps(&w, n) }},
		field{"that", func(n *spec.Node) { b.wantedThat(&w, n) }},
	)
	switch {
	case hasStatus:
	case w.paused != nil:
		w.status, w.at = string(runs.RunPaused), w.paused.Pos
	case w.failure != nil:
		w.status = string(runs.RunFailed)
	}
	return w
}

func (b *binder) wantedError(w *wanted, node *spec.Node) {
	kind := func(n *spec.Node) { b.kind(n, &runs.Error{}) }
	if node.Kind == spec.Scalar {
		kind(node)
		w.failure = []spec.Pair{{Key: &spec.Node{Kind: spec.Scalar, Text: "kind", Pos: node.Pos}, Value: node}}
		return
	}
	var ignored string
	if b.fields(node, "`error`",
		field{"kind", kind},
		b.textField("step", &ignored), b.textField("reason", &ignored), b.textField("message", &ignored),
	) {
		w.failure = node.Pairs
	}
}

func (b *binder) wantedOutputs(w *wanted, node *spec.Node) {
	if !b.mapping(node, "`outputs`") {
		return
	}
	names := diag.NamesOf(b.workflow.Outputs, func(output plan.Output) string { return output.Name })
	for _, pair := range node.Pairs {
		if !slices.Contains(names, pair.Key.Text) {
			b.unknown(pair.Key, "the workflow has no output", pair.Key.Text, names)
			continue
		}
		value, err := (&schema.Type{}).Decode(pair.Value.JSON())
		if err != nil {
			b.problems.Errorf(pair.Value.Pos, CodeValue, "%v", err)
			continue
		}
		w.outputs = append(w.outputs, wantedOutput{name: pair.Key.Text, pos: pair.Value.Pos, value: value})
	}
}

func (b *binder) wantedSteps(w *wanted, node *spec.Node) {
	if !b.mapping(node, "`steps`") {
		return
	}
	for _, pair := range node.Pairs {
		if b.steps.find(pair.Key.Text) == nil {
			b.noStep(pair.Key, "the workflow has no step", func(*stepInfo) bool { return true })
			continue
		}
		if _, ok := b.word(pair.Value, "a status of steps", stepStatuses()...); ok {
			w.steps = append(w.steps, pair)
		}
	}
}

func stepStatuses() []string {
	return diag.Words(runs.StepSucceeded, runs.StepFailed, runs.StepSkipped, runs.StepBlocked, runs.StepCanceled, runs.StepUnknown,
		runs.StepPending, runs.StepWaiting, runs.StepRunning, runs.StepRetrying)
}

// state is what the run finds: the values of the case, of the file, then the
// defaults.
func (b *binder) state(c *caseNode, shared *spec.Node) map[string]json.RawMessage {
	messages := map[string]json.RawMessage{}
	t, err := schema.FromJSONOr(b.workflow.State, schema.ObjectOf())
	if err != nil {
		t = schema.ObjectOf() // the checker has made it
	}
	for _, f := range t.Fields {
		raw, given := b.input(f, c.state, shared)
		if !given && f.Type.Default != nil {
			raw = f.Type.Default
		}
		if raw == nil {
			raw = json.RawMessage("null")
		}
		messages[f.Name] = raw
	}
	for _, key := range unknownFields(t, c.state, shared) {
		b.unknown(key, "the workflow has no state", key.Text, t.FieldNames())
	}
	return messages
}
