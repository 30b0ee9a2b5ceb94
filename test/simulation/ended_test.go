package simulation

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/runs"
)

// finished looks at the run when nothing more happens to it.
func (w *watch) finished() {
	s := w.sim
	if !s.stopped() {
		status, _ := s.m.Status()
		violated("nothing is left to happen, but the run is %s", status)
	}
	if s.m.Done() {
		w.closedRun()
	}
	if live, again := snapshot(s.m), snapshot(s.replayed()); string(live) != string(again) {
		violated("the whole journal replays to another state:\n live   %s\n replay %s", live, again)
	}
}

// closedRun is rules 8, 9 and 25 on the steps of a run that has ended.
func (w *watch) closedRun() {
	s := w.sim
	status, _ := s.m.Status()
	steps := map[string]runs.Step{}
	for _, view := range s.m.Steps() {
		if !view.Status.Ended() {
			violated("the run is %s, and step %s is %s", status, view.Path, view.Status)
		}
		steps[view.Path] = view
	}
	bad := 0
	for _, n := range s.c.flow.steps {
		view := steps[n.id]
		if blocks(n, view) {
			bad++
		}
		w.upstream(n, view, steps)
	}
	switch {
	case status == runs.RunSucceeded && bad > 0:
		violated("the run succeeded, and %d of its steps did not", bad)
	case status == runs.RunFailed && bad == 0 && !w.moved && !w.outputsFail():
		violated("the run failed, and all of its steps ended well: %v", s.m.Error())
	case status == runs.RunTimedOut && !w.timedOut:
		violated("the run timed out, and its timer did not fire")
	}
}

func (w *watch) outputsFail() bool {
	failure := w.sim.m.Error()
	return failure != nil && strings.HasPrefix(failure.Message, "output ")
}

// blocks reports whether a step ended so that those that need it are blocked.
func blocks(n *node, view runs.Step) bool {
	switch view.Status {
	case runs.StepFailed:
		reaction, written := n.onKind[string(view.Error.Kind)]
		if !written {
			reaction = n.onAll
		}
		return reaction != "continue"
	case runs.StepBlocked, runs.StepCanceled, runs.StepUnknown:
		return true
	}
	return false
}

// upstream is rule 8 on one step of the main list.
func (w *watch) upstream(n *node, view runs.Step, steps map[string]runs.Step) {
	needs := n.needs
	if !n.hasNeeds {
		if i := slices.Index(w.sim.c.flow.steps, n); i > 0 {
			needs = []string{w.sim.c.flow.steps[i-1].id}
		}
	}
	bad := slices.ContainsFunc(slices.Concat(needs, n.reads), func(id string) bool { return blocks(w.nodes[id], steps[id]) })
	switch {
	case view.Status == runs.StepBlocked && (!bad || n.runIf != "" && n.runIf != "ok"):
		violated("step %s is blocked, run_if %q", n.id, n.runIf)
	case (view.Status == runs.StepSucceeded || view.Status == runs.StepFailed) && bad && (n.runIf == "" || n.runIf == "ok"):
		violated("step %s ran although one that it needs did not end well", n.id)
	}
}

func isHandler(path string) bool {
	for _, name := range []string{"on_success", "on_failure", "finally"} {
		if rest, ok := strings.CutPrefix(path, name); ok && (strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "@")) {
			return true
		}
	}
	return false
}

func stored() map[string]json.RawMessage {
	return maps.Clone(map[string]json.RawMessage{"total": json.RawMessage("11")})
}
