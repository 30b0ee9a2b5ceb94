package sound

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// catalog is the checker's view of a flow's actions: the plugin has nothing
// against any input.
type catalog struct{ *flow }

func (c catalog) Action(name string) (*plan.Action, bool) {
	a, ok := c.actions[name]
	return a, ok
}

func (c catalog) ActionNames() []string {
	var names []string
	for name := range c.actions {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (catalog) Connections() map[string]string { return nil }
func (catalog) PluginProblem(string) string    { return "" }

func (catalog) Validate(context.Context, string, json.RawMessage, []string) (check.Validation, error) {
	return check.Validation{}, nil
}

// accepted returns the plan of a workflow that the strict check has nothing
// against, and what it has.
func (f *flow) accepted() (*plan.Workflow, diag.List) {
	tree, problems := spec.Parse("t.yaml", []byte(f.source))
	if len(problems) > 0 || tree == nil {
		return nil, problems
	}
	workflow, problems := check.Check(context.Background(), tree, catalog{f})
	if workflow == nil || len(problems) > 0 {
		return nil, problems
	}
	if refused := check.Strict(context.Background(), tree, catalog{f}); len(refused) > 0 {
		return nil, refused
	}
	return workflow, nil
}

// driver runs a workflow on the Machine with drawn answers. What comes first
// happens first; timers fire when nothing else is left.
type driver struct {
	draws
	flow    *flow
	machine *interp.Machine
	now     time.Time
	waiting []journal.Event
	timers  map[string]time.Time
}

// run returns the failures that no value excuses.
func (f *flow) run(d draws, program *interp.Program, excused map[string]int) []string {
	r := &driver{draws: d, flow: f, machine: program.NewMachine(), now: at, timers: map[string]time.Time{}}
	inputs, err := schema.Encode(d.value(f.inputs, 4))
	if err != nil {
		return []string{err.Error()}
	}
	start := &journal.Start{RunID: "01sound0000000000000000000", Inputs: inputs, Trigger: "manual", ScheduledAt: at, Interpreter: interp.Version}
	if err := r.apply(journal.Event{Kind: journal.Started, Start: start}); err != nil {
		return []string{err.Error()}
	}
	for range 2_000 {
		if r.machine.Done() {
			return r.failures(excused)
		}
		if err := r.step(); err != nil {
			return []string{err.Error()}
		}
	}
	status, reason := r.machine.Status()
	return append(r.failures(excused), fmt.Sprintf("the run does not end: %s %s", status, reason))
}

func (r *driver) step() error {
	if len(r.waiting) > 0 {
		next := r.waiting[0]
		r.waiting = r.waiting[1:]
		return r.apply(next)
	}
	path, first := "", time.Time{}
	for one, when := range r.timers {
		if path == "" || when.Before(first) || when.Equal(first) && one < path {
			path, first = one, when
		}
	}
	if path == "" {
		status, reason := r.machine.Status()
		return fmt.Errorf("nothing is left to happen in a run that is %s %s", status, reason)
	}
	delete(r.timers, path)
	if first.After(r.now) {
		r.now = first
	}
	return r.apply(journal.Event{Kind: journal.TimerFired, Path: path})
}

// apply gives the Machine an event as the journal would give it back.
func (r *driver) apply(ev journal.Event) error {
	ev.At = r.now
	data, err := json.Marshal(ev)
	if err != nil {
		return err
	}
	var stored journal.Event
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	commands, err := r.machine.Apply(stored)
	if err != nil {
		return err
	}
	for _, command := range commands {
		switch command.Kind {
		case journal.CommandCall:
			r.waiting = append(r.waiting, r.answer(command))
		case journal.CommandTimer:
			r.timers[command.Path] = command.Timer.At
		case journal.CommandCancel:
			delete(r.timers, command.Path)
		}
	}
	return nil
}

// answer draws what a service says: outputs that conform, or a refusal.
func (r *driver) answer(command journal.Command) journal.Event {
	ev := journal.Event{Path: command.Path}
	if r.chance(12) {
		ev.Kind = journal.Failed
		ev.Failed = &runs.Error{Kind: pick(r.draws, plan.KindNotFound, plan.KindConflict), Message: "no", Applied: runs.NotApplied}
		return ev
	}
	action := r.flow.actions[command.Call.Action]
	says := schema.MustFromJSON(string(action.Output))
	if r.chance(30) {
		says = opened(says) // more than the schema allows: it is not read
	}
	output, err := schema.Encode(r.value(says, 4))
	if err != nil {
		panic(err)
	}
	ev.Kind, ev.Completed = journal.Completed, &runs.Completed{Output: output}
	if action.Paging != nil && command.Call.PageCursor == "" && r.chance(50) {
		ev.Completed.NextCursor = "next"
	}
	return ev
}

// opened returns the type of answers that may have more than t allows.
func opened(t *schema.Type) *schema.Type {
	if t == nil {
		return nil
	}
	wide := *t
	wide.Open = t.Kind == schema.Object && t.Additional == nil
	wide.Elem = opened(t.Elem)
	wide.Fields = slices.Clone(t.Fields)
	for i := range wide.Fields {
		wide.Fields[i].Type = opened(wide.Fields[i].Type)
	}
	return &wide
}

// constraints are what an input's schema says beyond its type: text that a
// service's words do not allow.
var constraints = []string{"must be one of", "is not a time", "is not a duration", "are needed", "at most", "must be greater than 0", "does not match", "can't be written"}

// failures lists what failed by a type, by null or by a missing field.
func (r *driver) failures(excused map[string]int) []string {
	var found []string
	look := func(place string, failure *runs.Error) {
		if failure == nil || failure.Kind != plan.KindInvalid && failure.Kind != plan.KindInternal && failure.Kind != plan.KindUnexpectedResponse {
			return
		}
		message := failure.Message
		if at := strings.Index(message, "t.yaml:"); at >= 0 {
			parts := strings.SplitN(message[at:], ": ", 2)
			message = parts[len(parts)-1]
		}
		why := excuseOf(failure.Reason, message)
		switch {
		case failure.Reason == "assertion" || failure.Reason == "duplicate_key" || failure.Reason == "repeated_item":
			why = failure.Reason
		case why == "" && slices.ContainsFunc(constraints, func(words string) bool { return strings.Contains(message, words) }):
			why = "constraint of an input"
		}
		if why == "" {
			found = append(found, place+": "+string(failure.Kind)+" "+failure.Reason+": "+failure.Message)
			return
		}
		excused[why]++
	}
	for _, view := range r.machine.Steps() {
		look(view.Path, view.Error)
	}
	look("the run", r.machine.Error())
	return found
}
