package web

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/internal/web/guard"
)

// fakeWorkflows is a project with the workflow oddName, which is good, and the
// workflow broken, which never was.
type fakeWorkflows struct {
	started []engine.NamedStart
	lacking diag.List // what a run would lack; nil = nothing
	err     error
}

func (f *fakeWorkflows) WorkflowList(context.Context) ([]engine.WorkflowInfo, error) {
	return []engine.WorkflowInfo{{Name: oddName, File: "workflows/a.yaml", Problems: diag.List{}, Triggers: []trigger.Info{}}}, f.err
}

func (f *fakeWorkflows) Workflow(_ context.Context, name string) (*engine.WorkflowDetail, error) {
	detail := &engine.WorkflowDetail{WorkflowInfo: engine.WorkflowInfo{Name: name, Problems: diag.List{}, Triggers: []trigger.Info{}}, Inputs: json.RawMessage(`{"type":"object"}`)}
	switch name {
	case oddName, "w":
		detail.Workflow = &plan.Workflow{Name: name, Steps: []plan.Step{{ID: "say", Uses: "core.log"}}}
	case "broken":
		detail.Problems.Errorf(diag.Pos{File: "b.yaml", Line: 1, Column: 1}, "FR1001", "it is wrong")
	default:
		return nil, &fault.UnknownError{What: "workflow", Name: name, Hint: diag.Say("did you mean `w`?")}
	}
	return detail, f.err
}

func (f *fakeWorkflows) StartNamed(_ context.Context, name string, r engine.NamedStart) (*runs.Run, diag.List, error) {
	f.started = append(f.started, r)
	if f.lacking != nil {
		return nil, f.lacking, nil
	}
	return &runs.Run{ID: knownRun, Workflow: name, Status: runs.RunQueued}, nil, f.err
}

func (f *fakeWorkflows) Definition(context.Context, string) (*engine.RunDefinition, error) {
	return &engine.RunDefinition{Workflow: &plan.Workflow{Name: "w", Steps: []plan.Step{{ID: "then", Uses: "core.log"}}}}, f.err
}

// fakeSchedules is an engine with the schedule scheduleKnown.
type fakeSchedules struct {
	asked   []any
	filter  runs.FireFilter
	err     error
	nothing bool // a trigger gives no run
}

func (f *fakeSchedules) known(id string) error {
	if id != scheduleKnown {
		return &fault.UnknownError{What: "schedule", Name: id, Hint: diag.Say("look")}
	}
	return f.err
}

// scheduleKnown has letters that a path must escape.
const scheduleKnown = "über . &%/nightly"

func (f *fakeSchedules) item(id string) *trigger.ScheduleItem {
	workflow, name, _ := runs.SplitTriggerID(id)
	return &trigger.ScheduleItem{ID: id, Workflow: workflow, Trigger: name, Kind: plan.TriggerCron, Timezone: "UTC"}
}

func (f *fakeSchedules) Schedules(context.Context) ([]trigger.ScheduleItem, error) {
	return []trigger.ScheduleItem{*f.item(scheduleKnown)}, f.err
}

func (f *fakeSchedules) NextFires(_ context.Context, id string, from time.Time, n int) (*trigger.NextFires, error) {
	f.asked = append(f.asked, from, n)
	return &trigger.NextFires{ID: id, Next: []time.Time{}, Fires: []trigger.NextFire{}}, f.known(id)
}

func (f *fakeSchedules) Fires(_ context.Context, filter runs.FireFilter) ([]runs.Fire, string, error) {
	f.filter = filter
	return []runs.Fire{{Workflow: "w", Trigger: "t", Run: knownRun}}, "more", f.err
}

func (f *fakeSchedules) PauseSchedule(_ context.Context, id string, r trigger.PauseRequest) (*trigger.ScheduleItem, error) {
	item := f.item(id)
	item.Paused, item.PausedBy, item.PausedReason = true, r.By, r.Reason
	return item, f.known(id)
}

func (f *fakeSchedules) ResumeSchedule(_ context.Context, id string, _ trigger.PauseRequest) (*trigger.ScheduleItem, error) {
	return f.item(id), f.known(id)
}

func (f *fakeSchedules) DisableWorkflow(_ context.Context, name string, r trigger.PauseRequest) error {
	f.asked = append(f.asked, r)
	return f.workflowKnown(name)
}

func (f *fakeSchedules) EnableWorkflow(_ context.Context, name string) error {
	f.asked = append(f.asked, name)
	return f.workflowKnown(name)
}

func (f *fakeSchedules) workflowKnown(name string) error {
	if name != "w" {
		return &fault.UnknownError{What: "workflow", Name: name}
	}
	return nil
}

func (f *fakeSchedules) TriggerSchedule(_ context.Context, id string, r trigger.Request) (*runs.Run, error) {
	f.asked = append(f.asked, r)
	if f.nothing {
		return nil, f.known(id)
	}
	return &runs.Run{ID: knownRun}, f.known(id)
}

func (f *fakeSchedules) Backfill(_ context.Context, id string, r trigger.BackfillRequest) (*trigger.BackfillResult, error) {
	f.asked = append(f.asked, r)
	return &trigger.BackfillResult{ID: id, DryRun: r.DryRun, Slots: []runs.Fire{}, Skipped: []runs.Fire{}}, f.known(id)
}

func (f *fakeSchedules) TZData() (version, source string) { return "2026a", "embedded" }

// fakeHooks takes webhooks of the trigger w/hook.
type fakeHooks struct {
	requests []trigger.HookRequest
	answer   trigger.HookAnswer
	err      error
}

func (f *fakeHooks) Hook(_ context.Context, workflow, trigger string, r trigger.HookRequest) (*trigger.HookAnswer, error) {
	if f.err == nil && runs.TriggerID(workflow, trigger) != scheduleKnown {
		return nil, &fault.UnknownError{What: "webhook", Name: "secret things", Hint: diag.Say("did you mean `other`?")}
	}
	f.requests = append(f.requests, r)
	return &f.answer, f.err
}

// alwaysOn is an API over fakes of what a server has.
type alwaysOn struct {
	runs      *fakeRuns
	workflows *fakeWorkflows
	schedules *fakeSchedules
	hooks     *fakeHooks
	gate      *Gate
}

func newAlwaysOn(t *testing.T) *alwaysOn {
	t.Helper()
	a := &alwaysOn{runs: new(fakeRuns), workflows: new(fakeWorkflows), schedules: new(fakeSchedules), hooks: new(fakeHooks), gate: NewGate()}
	t.Cleanup(a.gate.Close)
	return a
}

func (a *alwaysOn) options() Options {
	return Options{
		Runs: a.runs, Catalog: fakeCatalog{}, Access: new(fakeAccess), Memory: new(fakeMemory),
		Workflows: a.workflows, Schedules: a.schedules, Hooks: a.hooks, Gate: a.gate,
	}
}

func (a *alwaysOn) client() *Client { return NewClient(InProcess(NewSocketHandler(a.options()))) }

// remote is the API as a caller of the guard has it, over TCP.
func (a *alwaysOn) remote(caller guard.Caller) http.Handler {
	mux := http.NewServeMux()
	for _, route := range API(a.options()) {
		mux.Handle(route.Pattern, route.Handler)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(guard.WithCaller(r.Context(), caller)))
	})
}

func ci() guard.Caller {
	return guard.Caller{ID: "t1", Name: "token ci", Scope: guard.Operator, Remote: "10.0.0.1"}
}
