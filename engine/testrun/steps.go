package testrun

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// stepInfo is a step of the plan as a test sees it. path has no items' keys:
// "domains.whois" stands for "domains[example.com].whois" of every item.
type stepInfo struct {
	path   string
	step   *plan.Step
	action *plan.Action
	output *schema.Type // of one answer; nil where no plugin answers
	loop   bool         // it stands in a loop
}

// stepIndex holds all steps of a workflow in file order, handlers last.
type stepIndex struct {
	workflow string // its name
	list     []*stepInfo
	byPath   map[string]*stepInfo
	plan     *plan.Workflow
}

// templateOf returns the path of the step in the plan that a run's step is of.
func templateOf(path string) string { return runs.ParsePath(path).Written() }

func indexSteps(w *plan.Workflow) (index *stepIndex, err error) {
	index = &stepIndex{workflow: w.Name, byPath: map[string]*stepInfo{}, plan: w}
	actions := map[string]*plan.Action{}
	for _, builtin := range interp.Builtins() {
		actions[builtin.FullName()] = builtin
	}
	maps.Copy(actions, w.Actions)
	runs.EachStep(w, func(path string, step *plan.Step, inLoop bool) bool {
		info := &stepInfo{path: path, step: step, loop: inLoop}
		if step.Kind == plan.StepAction && err == nil {
			action := actions[step.Uses]
			if child := w.Workflows[step.Workflow]; child != nil {
				action = &plan.Action{Name: step.Uses, Output: child.OutputSchema}
			}
			err = info.setAction(action)
		}
		index.list, index.byPath[path] = append(index.list, info), info
		return true
	})
	return index, err
}

func (i *stepInfo) setAction(action *plan.Action) error {
	i.action = action
	written := i.step.OutputSchema
	if len(written) == 0 && action != nil {
		written = action.Output
	}
	output, err := schema.FromJSONOr(written, &schema.Type{})
	if err != nil {
		return fmt.Errorf("read the output schema of step %s: %w", i.path, err)
	}
	i.output = output
	return nil
}

// mocked reports whether a test answers the step: a plugin, a sub-workflow or the
// one who is notified would. The Machine runs the other built-in actions itself, and
// core.read is done on the content that the test gives, where it has no answer.
func (i *stepInfo) mocked() bool {
	return i.step.Kind == plan.StepAction && (!runs.IsCore(i.step.Uses) || i.step.Uses == runs.CoreNotify || i.step.Uses == runs.CoreRead)
}

// paths lists the steps that a test answers.
func (x *stepIndex) paths(which func(*stepInfo) bool) []string {
	var paths []string
	for _, info := range x.list {
		if which(info) && !info.unnamed() {
			paths = append(paths, info.path)
		}
	}
	return paths
}

// find resolves a path as a test writes it, with or without keys of items.
func (x *stepIndex) find(path string) *stepInfo { return x.byPath[templateOf(path)] }

// itemsField is the field of a page that holds its items, "" when the page is
// the list itself; false when the step does not read pages.
func (i *stepInfo) itemsField() (string, bool) {
	if i.action == nil || i.step.Paginate == nil && i.action.Paging == nil {
		return "", false
	}
	if i.action.Paging != nil && i.action.Paging.ItemsField != "" {
		return i.action.Paging.ItemsField, true
	}
	if i.output.Kind == schema.List {
		return "", true
	}
	var lists []string
	for _, f := range i.output.Fields {
		if f.Type.Kind == schema.List {
			lists = append(lists, f.Name)
		}
	}
	if len(lists) != 1 {
		return "", false
	}
	return lists[0], true
}

// nextField is the field of a page that names the next one, "" when there is
// none.
func (i *stepInfo) nextField() string {
	if i.action == nil || i.action.Paging == nil {
		return ""
	}
	return i.action.Paging.NextField
}

// cursorIn reads the cursor of the next page out of an output.
func (i *stepInfo) cursorIn(output json.RawMessage) string {
	name := i.nextField()
	var fields map[string]json.RawMessage
	var cursor string
	if name == "" || json.Unmarshal(output, &fields) != nil || json.Unmarshal(fields[name], &cursor) != nil {
		return ""
	}
	return cursor
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// unnamed reports whether no author can name the step.
func (i *stepInfo) unnamed() bool { return strings.HasPrefix(i.step.ID, "_") }

// label is how a step is called in a report: by its place where it has no name.
func (i *stepInfo) label() string {
	if i.unnamed() {
		return fmt.Sprintf("the one of line %d", i.step.Pos.Line)
	}
	return i.path
}
