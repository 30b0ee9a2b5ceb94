package page

import (
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// node is a step of a run with its place in the workflow.
type node struct {
	step  runs.Step
	def   *plan.Step // nil where the plan does not have it
	graph string     // its path in the drawing
	items []*item
}

// item is one item of a loop with its steps.
type item struct {
	path   string // domains[example.com]
	key    string // example.com
	nodes  []*node
	status runs.StepStatus
}

// group is a list of a workflow: the main one, or a handler's.
type group struct {
	name  string // "" = main, else finally, on_failure, on_success
	nodes []*node
}

// newTree puts the steps of a run, which come in file order, into the shape of
// its workflow.
func newTree(steps []runs.Step, w *plan.Workflow) []group {
	t := &tree{steps: steps}
	main := group{nodes: t.list(w.Steps, "", "")}
	for len(t.steps) > 0 && runs.ParsePath(t.steps[0].Path).Handler == "" { // of a plan that is another one
		main.nodes = append(main.nodes, &node{step: t.steps[0], graph: t.steps[0].Path})
		t.steps = t.steps[1:]
	}
	groups := []group{main}
	for len(t.steps) > 0 {
		at := runs.ParsePath(t.steps[0].Path)
		name, prefix := at.Handler, runs.HandlerPrefix(at.Handler, at.Again)
		defs := map[string][]plan.Step{runs.HandlerFinally: w.Finally, runs.HandlerFailure: w.OnFailure, runs.HandlerSuccess: w.OnSuccess}[name]
		nodes := t.list(defs, prefix, name+".")
		if len(nodes) == 0 {
			nodes = []*node{{step: t.steps[0]}}
			t.steps = t.steps[1:]
		}
		groups = append(groups, group{name, nodes})
	}
	return groups
}

// tree takes steps from the front of a list.
type tree struct{ steps []runs.Step }

// list takes the steps of one list: those whose paths are prefix and their ids.
func (t *tree) list(defs []plan.Step, prefix, drawn string) []*node {
	var nodes []*node
	for i := range defs {
		def := &defs[i]
		if len(t.steps) == 0 || t.steps[0].Path != prefix+def.ID {
			continue
		}
		n := &node{step: t.steps[0], def: def, graph: drawn + def.ID}
		t.steps = t.steps[1:]
		nodes = append(nodes, n)
		if def.Loop != nil {
			t.loop(n)
		}
	}
	return nodes
}

// loop takes the steps of a loop's items.
func (t *tree) loop(n *node) {
	for len(t.steps) > 0 {
		defs := n.def.Loop.Steps
		path, key, inner := runs.ItemOf(t.steps[0].Path, n.step.Path)
		if path == "" || inner != defs[0].ID {
			return
		}
		one := &item{path: path, key: key}
		one.nodes = t.list(defs, path+".", n.graph+".")
		one.status = itemStatus(one.nodes)
		n.items = append(n.items, one)
	}
}

// statusOf is how an item is: what one of its steps does now, else the worst that
// became of them.
func statusOf(nodes []*node) runs.StepStatus {
	now, ended := runs.StepStatus(""), 0
	for _, n := range nodes {
		switch status := n.step.Status; {
		case status.Ended():
			ended++
		case status != runs.StepPending && statusRank[status] > statusRank[now]:
			now = status
		}
	}
	switch {
	case now != "":
		return now
	case ended == 0:
		return runs.StepPending
	case ended < len(nodes) && worstOf(nodes) != runs.StepFailed:
		return runs.StepRunning // between two steps
	}
	return worstOf(nodes)
}

// worstOf is the worst that became of some steps.
func worstOf(nodes []*node) runs.StepStatus {
	worst := runs.StepSkipped
	for _, n := range nodes {
		if statusRank[n.step.Status] > statusRank[worst] {
			worst = n.step.Status
		}
	}
	return worst
}

// itemStatus is statusOf for the steps of one item: a failure that `on_error` says
// to go on after is none of the item's.
func itemStatus(nodes []*node) runs.StepStatus {
	var counted []*node
	for _, n := range nodes {
		if !n.continued() {
			counted = append(counted, n)
		}
	}
	if len(counted) == 0 {
		return runs.StepSucceeded
	}
	return statusOf(counted)
}

func (n *node) continued() bool {
	if n.def == nil || n.step.Status != runs.StepFailed || n.step.Error == nil {
		return false
	}
	reaction, set := n.def.OnError[n.step.Error.Kind]
	if !set {
		reaction = n.def.OnErrorAll
	}
	return reaction == plan.ReactContinue
}

var statusRank = map[runs.StepStatus]int{
	runs.StepSkipped: 0, runs.StepBlocked: 1, runs.StepSucceeded: 2, runs.StepPending: 3, runs.StepCanceled: 4, runs.StepWaiting: 5,
	runs.StepRetrying: 6, runs.StepRunning: 7, runs.StepUnknown: 8, runs.StepFailed: 9,
}

// times are when the first of some steps began and the last ended; to is zero
// while one goes on.
func times(nodes []*node) (from, to time.Time) {
	open := false
	walk(nodes, func(n *node) {
		if n.step.StartedAt == nil {
			return
		}
		if from.IsZero() || n.step.StartedAt.Before(from) {
			from = *n.step.StartedAt
		}
		switch end := n.step.FinishedAt; {
		case end == nil:
			open = true
		case end.After(to):
			to = *end
		}
	})
	if open {
		to = time.Time{}
	}
	return from, to
}

// walk calls see with each node and those below it.
func walk(nodes []*node, see func(*node)) {
	for _, n := range nodes {
		see(n)
		for _, one := range n.items {
			walk(one.nodes, see)
		}
	}
}
