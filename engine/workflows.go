package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/inforce"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/workspace"
)

// WorkflowList returns the workflow files of the project, by name. One that is
// broken is listed with its problems, and with the revision that is in force if
// there is one.
func (e *Engine) WorkflowList(ctx context.Context) ([]WorkflowInfo, error) {
	loaded, err := e.revisions.Load(ctx)
	if err != nil {
		return nil, err
	}
	return e.workflowInfos(loaded)
}

func (e *Engine) workflowInfos(loaded *inforce.LoadedFiles) ([]WorkflowInfo, error) {
	list := make([]WorkflowInfo, 0, len(loaded.Files))
	for _, file := range loaded.Files {
		info, err := e.workflowInfo(file)
		if err != nil {
			return nil, err
		}
		list = append(list, info)
	}
	sortByName(list)
	return list, nil
}

func sortByName(list []WorkflowInfo) {
	order.Sort(list, func(a, b WorkflowInfo) int { return strings.Compare(a.Name, b.Name) })
}

// fileInfo is what a file says by itself.
func fileInfo(file *inforce.WorkflowFile) WorkflowInfo {
	info := WorkflowInfo{Name: file.Name, File: file.File, Problems: file.AllProblems(), Triggers: []trigger.Info{}}
	if info.Problems == nil {
		info.Problems = diag.List{}
	}
	rev := file.InForce
	if rev == nil {
		return info
	}
	w := rev.Workflow()
	info.Name, info.Description, info.Labels = w.Name, w.Description, w.Labels
	info.Hash, info.LoadedAt, info.Stale, info.Steps = rev.Hash, rev.LoadedAt, rev.Stale, countSteps(w.Steps)
	for i := range w.Triggers {
		info.Triggers = append(info.Triggers, triggerInfo(w.Name, &w.Triggers[i]))
	}
	return info
}

// workflowInfo is fileInfo with the last run.
func (e *Engine) workflowInfo(file *inforce.WorkflowFile) (WorkflowInfo, error) {
	info := fileInfo(file)
	if info.Name == "" {
		return info, nil
	}
	disabled, err := e.Disabled(info.Name)
	if err != nil {
		return info, err
	}
	if disabled != nil {
		info.Disabled = &DisabledInfo{At: disabled.PausedAt, By: disabled.PausedBy, Reason: disabled.Reason}
	}
	if file.InForce == nil {
		return info, nil
	}
	newest, _, err := e.store.Runs(runs.Filter{Workflow: info.Name, Limit: 1})
	if err != nil {
		return info, e.Fault(fmt.Errorf("look for the last run of %s: %w", info.Name, err))
	}
	if len(newest) > 0 {
		e.noteUndriven(&newest[0])
		info.LastRun = &newest[0]
	}
	return info, nil
}

// countSteps counts the steps as they are written, those of loops too.
func countSteps(steps []plan.Step) int {
	n := len(steps)
	for i := range steps {
		if loop := steps[i].Loop; loop != nil {
			n += countSteps(loop.Steps)
		}
	}
	return n
}

func triggerInfo(workflow string, t *plan.Trigger) trigger.Info {
	return trigger.Info{ID: runs.TriggerID(workflow, t.Name), Name: t.Name, Kind: t.Kind, Text: triggerText(workflow, t), Secret: workspace.HookSecretName(t)}
}

// triggerText says in one line when a trigger fires.
func triggerText(workflow string, t *plan.Trigger) string {
	switch {
	case t.Schedule != nil && t.Schedule.Cron != "":
		return t.Schedule.Cron + " " + t.Schedule.Timezone
	case t.Schedule != nil:
		return "every " + schema.FormatDuration(t.Schedule.Every)
	case t.Webhook != nil:
		return "POST " + trigger.HookPath(workflow, t.Name)
	case t.Poll != nil:
		return fmt.Sprintf("poll %s every %s", t.Poll.Uses, schema.FormatDuration(t.Poll.Every))
	case t.After != nil:
		return fmt.Sprintf("after %s: %s", t.After.Workflow, strings.Join(t.After.Status, ", "))
	}
	return string(t.Kind)
}

// Workflow returns one workflow by its name. *UnknownError.
func (e *Engine) Workflow(ctx context.Context, name string) (*WorkflowDetail, error) {
	file, err := e.revisions.File(ctx, name)
	if err != nil {
		return nil, err
	}
	info, err := e.workflowInfo(file)
	if err != nil {
		return nil, err
	}
	return detailOf(file, info), nil
}

// detailOf adds what the file says besides.
func detailOf(file *inforce.WorkflowFile, info WorkflowInfo) *WorkflowDetail {
	detail := &WorkflowDetail{WorkflowInfo: info, Inputs: json.RawMessage(`{"type":"object","properties":{}}`), Source: string(file.Source())}
	if file.InForce == nil {
		return detail
	}
	w := file.InForce.Workflow()
	detail.Workflow, detail.Source, detail.Outputs = w, w.Source, w.OutputSchema
	if len(w.Inputs) > 0 {
		detail.Inputs = w.Inputs
	}
	return detail
}

// StartNamed starts a run of a workflow of the project: of its revision in force.
// *UnknownError, *InputError, *ReusedKeyError; a broken file without a good revision is a
// diag.List, and so is what the run would lack.
func (e *Engine) StartNamed(ctx context.Context, name string, r NamedStart) (*runs.Run, diag.List, error) {
	rev, err := e.revisions.Named(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	request := askedRequest{id: r.RequestID, digest: r.Digest, replayed: r.Replayed}
	if first, err := e.answered(request); first != nil || err != nil { // whatever the file is now
		return first, nil, err
	}
	inputs, err := workspace.StartInputs(rev.Workflow(), r.Inputs)
	if err != nil {
		return nil, nil, err
	}
	if lacking := e.project.Preflight(ctx, rev.Workflow()); lacking.HasErrors() {
		return nil, lacking, nil
	}
	row, err := e.startAsked(request, func() (*runs.Run, string, error) {
		return e.begin(ctx, rev.Checked, inputs, startOptions{Start: trigger.Start{ScheduledAt: r.ScheduledAt, RequestID: r.RequestID, Digest: r.Digest, By: r.By}})
	})
	return row, nil, err
}

// Reload reads all workflow files again, and asks plugins again that could not be
// described. A broken file keeps its last good revision.
func (e *Engine) Reload(ctx context.Context) (*ReloadResult, error) {
	before := e.revisions.Current.Load()
	if before == nil {
		before = &inforce.LoadedFiles{}
	}
	e.project.ForgetFailures()
	now, err := e.revisions.Refresh(ctx, true)
	if err != nil {
		return nil, err
	}
	result := &ReloadResult{At: e.config.Now().UTC(), Changed: []string{}, Removed: []string{}, Broken: []string{}}
	result.compare(before, now)
	result.Workflows, err = e.workflowInfos(now)
	return result, err
}

func (r *ReloadResult) compare(before, now *inforce.LoadedFiles) {
	old := before.ByFile()
	for _, file := range now.Files {
		was := old[file.File]
		delete(old, file.File)
		switch {
		case inforce.FirstError(file.AllProblems()) != nil:
			r.Broken = append(r.Broken, file.File)
		case was == nil || was.InForce == nil || file.InForce == nil || was.InForce.Hash != file.InForce.Hash:
			r.Changed = append(r.Changed, file.File)
		}
	}
	for file := range old {
		r.Removed = append(r.Removed, file)
	}
	slices.Sort(r.Removed)
}

// WorkflowInfo is one workflow file of the project as it is in force.
type WorkflowInfo struct {
	Name        string            `json:"name"` // "" where the file never was good enough to say
	File        string            `json:"file"` // relative to the project's root
	Description string            `json:"description,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Hash        string            `json:"hash,omitempty"` // of the plan in force
	LoadedAt    time.Time         `json:"loaded_at,omitzero"`
	Stale       bool              `json:"stale,omitempty"` // the file is broken: the last good revision is in force
	Problems    diag.List         `json:"problems"`        // of the file as it is now
	Triggers    []trigger.Info    `json:"triggers"`
	Steps       int               `json:"steps"`
	LastRun     *runs.Run         `json:"last_run,omitempty"`
	Disabled    *DisabledInfo     `json:"disabled,omitempty"` // none of its triggers starts a run
}

// DisabledInfo says who disabled a workflow, when and why.
type DisabledInfo struct {
	At     time.Time `json:"at"`
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// WorkflowDetail is one workflow with all that a page needs of it.
type WorkflowDetail struct {
	WorkflowInfo
	Inputs   json.RawMessage `json:"inputs"` // JSON Schema of type object
	Outputs  json.RawMessage `json:"outputs,omitempty"`
	Source   string          `json:"source"`
	Workflow *plan.Workflow  `json:"-"` // the plan in force; must not be changed
}

// NamedStart asks for a run of a workflow of the project by its name.
type NamedStart struct {
	Inputs      map[string]workspace.Input `json:"inputs,omitempty"`
	ScheduledAt time.Time                  `json:"scheduled_at,omitzero"`
	RequestID   string                     `json:"request_id,omitempty"` // the same one again returns the first run
	Digest      string                     `json:"-"`                    // of what is asked for: another one under the same RequestID is a *ReusedKeyError; "" = not compared
	Replayed    *bool                      `json:"-"`                    // set where the run is of an earlier request; nil = nobody asks
	By          string                     `json:"by,omitempty"`
}

// ReloadResult says what a reload of the workflows found.
type ReloadResult struct {
	At        time.Time      `json:"at"`
	Changed   []string       `json:"changed"` // files with a new revision in force
	Removed   []string       `json:"removed"`
	Broken    []string       `json:"broken"` // files whose last good revision stays in force
	Workflows []WorkflowInfo `json:"workflows,omitempty"`
}

// RunsUpdate is one message of the feed of all runs. Seq rises within a process;
// Reset says that the reader has missed something and must read the list again.
type RunsUpdate struct {
	Seq   uint64    `json:"seq"`
	Run   *runs.Run `json:"run,omitempty"`
	Reset bool      `json:"reset,omitempty"`

	Shared *runs.Shared `json:"-"` // the text of an update that many readers get; nil = one reader gets it
}

// Text returns the update as write writes it: once for all who got the same, so that
// write must make the same of it for everybody. Nobody may change the text.
func (u RunsUpdate) Text(write func(RunsUpdate) ([]byte, error)) ([]byte, error) {
	return u.Shared.Text(func() ([]byte, error) { return write(u) })
}
