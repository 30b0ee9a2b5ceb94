package check

import (
	"regexp"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/spec"
)

// Advise tells what is probably not meant in a workflow that Check found no errors in:
// inputs and state that nothing reads, and conditions that always give the same. All of
// it is warnings. It goes by the text alone, and asks no plugin.
func Advise(tree *spec.Workflow) diag.List {
	if tree == nil {
		return nil
	}
	var problems diag.List
	texts := textsOutside(tree)
	if tree.Inputs != nil {
		for _, pair := range tree.Inputs.Pairs {
			if !readsPart(texts, inputsKey, pair.Key.Text) {
				problems.Warnf(pair.Key.Pos, CodeUnusedInput, "nothing reads the input `%s`", pair.Key.Text).Hint =
					diag.Say("read it as `${{ inputs." + pair.Key.Text + " }}`, or leave it out")
			}
		}
	}
	if tree.State != nil {
		for _, pair := range tree.State.Pairs {
			if !readsPart(texts, "state", pair.Key.Text) && !setsState(tree.Steps, pair.Key.Text) {
				problems.Warnf(pair.Key.Pos, CodeUnusedState, "nothing reads or sets the state `%s`", pair.Key.Text).Hint =
					diag.Say("read it as `${{ state." + pair.Key.Text + " }}` and set it with `set_state`, or leave it out")
			}
		}
	}
	for _, list := range [][]*spec.Step{tree.Steps, tree.OnSuccess, tree.OnFailure, tree.Finally} {
		constantConditions(list, &problems)
	}
	problems.Sort()
	return problems
}

// constantConditions warns of an `if` that reads nothing.
func constantConditions(steps []*spec.Step, problems *diag.List) {
	for _, s := range steps {
		if node := s.If; node != nil && node.Kind == spec.Scalar {
			switch strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(node.Text, "${{"), "}}")) {
			case "true":
				problems.Warnf(node.Pos, CodeConstantIf, "this condition is always true").Hint = diag.Say("leave `if` out")
			case "false":
				problems.Warnf(node.Pos, CodeConstantIf, "this condition is never true: the step is always skipped").Hint =
					diag.Say("leave the step out, or say when it is meant to run")
			}
		}
		constantConditions(s.Steps, problems)
	}
}

// textsOutside are the texts of a workflow but for those that declare.
func textsOutside(tree *spec.Workflow) []string {
	var texts []string
	for _, pair := range tree.Root.Pairs {
		if pair.Key.Text == inputsKey || pair.Key.Text == "state" {
			continue
		}
		pair.Value.EachScalar(func(n *spec.Node) { texts = append(texts, n.Text) })
	}
	return texts
}

// readsPart reports whether a text may read a part of a root: by its name, or with the
// whole root.
func readsPart(texts []string, root, name string) bool {
	part := regexp.MustCompile(`\b` + root + `(\?)?(\.` + regexp.QuoteMeta(name) + `\b|\[)|\b` + root + `\b[^.?\[\w]|\b` + root + `$`)
	for _, text := range texts {
		if strings.Contains(text, root) && part.MatchString(text) {
			return true
		}
	}
	return false
}

// setsState reports whether a step sets a state value.
func setsState(steps []*spec.Step, name string) bool {
	for _, s := range steps {
		if _, set := s.SetState.Pair(name); set || setsState(s.Steps, name) {
			return true
		}
	}
	return false
}
