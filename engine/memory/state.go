// Package memory is what workflows keep between runs, values and cursors, as people see
// and change it.
package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Memory is what workflows keep between runs, as people see and change it. Safe for
// concurrent use.
type Memory struct {
	project *workspace.Workspace
	store   store.Store
	now     func() time.Time
	fault   func(error) error
}

// New reads and changes rows of a store. fault makes the engine's own errors of
// the store's.
func New(project *workspace.Workspace, rows store.Store, fault func(error) error) *Memory {
	return &Memory{project: project, store: rows, now: project.Config().Now, fault: fault}
}

// maxStateValue bounds a state value that a person sets, in bytes of JSON. What
// a run sets is bounded like every result of an expression.
const maxStateValue = 256 << 10

// StateItem is one value of a workflow's state. Version 0 is the default, which
// no run and no person has changed.
type StateItem struct {
	Workflow string          `json:"workflow"`
	Name     string          `json:"name"`
	Value    json.RawMessage `json:"value"`
	Version  uint64          `json:"version"`
	Default  bool            `json:"default,omitempty"`
	Type     string          `json:"type,omitempty"` // "an integer"; "" = not declared any more
	At       *time.Time      `json:"changed_at,omitempty"`
	By       string          `json:"by,omitempty"`
	Run      string          `json:"run,omitempty"`
}

// CursorItem is one stored cursor. Several of one name differ in what was asked:
// Identity names that.
type CursorItem struct {
	Workflow  string     `json:"workflow"`
	Name      string     `json:"name"`
	Identity  string     `json:"identity"`
	Watermark string     `json:"watermark"` // the plugin's own: its size and digest
	Version   uint64     `json:"version"`
	At        *time.Time `json:"changed_at,omitempty"`
	By        string     `json:"by,omitempty"`
	Run       string     `json:"run,omitempty"`
}

// StateChange is one entry of a value's history.
type StateChange struct {
	At      time.Time       `json:"at"`
	Value   json.RawMessage `json:"value"` // null with Reset
	Reset   bool            `json:"reset,omitempty"`
	Version uint64          `json:"version"`
	By      string          `json:"by,omitempty"`
	Run     string          `json:"run,omitempty"`
}

// StateRequest names a value, and what is to become of it. Value is set by
// SetState; a ResetState without Name resets the workflow's values and cursors.
type StateRequest struct {
	Workflow string          `json:"workflow"`
	Name     string          `json:"name,omitempty"`
	Value    workspace.Input `json:"value,omitzero"`
	By       string          `json:"by,omitempty"`
}

// State returns the values of a workflow's state, or one of them: as they are
// declared, with what is stored, then what is stored and declared no more.
func (m *Memory) State(_ context.Context, workflow, name string) ([]StateItem, error) {
	declared, ok, err := m.declaredState(workflow)
	if err != nil {
		return nil, err
	}
	stored, err := m.store.State(workflow)
	if err != nil {
		return nil, m.fault(err)
	}
	if !ok && len(stored) == 0 {
		return nil, m.unknownWorkflow(workflow)
	}
	var items []StateItem
	if declared != nil {
		for _, field := range declared.Fields {
			items = append(items, stateItem(workflow, field, stored))
		}
	}
	for _, value := range stored {
		if !slices.ContainsFunc(items, func(i StateItem) bool { return i.Name == value.Name }) {
			items = append(items, storedItem(value))
		}
	}
	if name == "" {
		return items, nil
	}
	for _, item := range items {
		if item.Name == name {
			return []StateItem{item}, nil
		}
	}
	return nil, unknownState(workflow, name, items)
}

func stateItem(workflow string, field schema.Field, stored []runs.StateValue) StateItem {
	item := StateItem{Workflow: workflow, Name: field.Name, Value: json.RawMessage("null"), Default: true}
	if len(field.Type.Default) > 0 {
		item.Value = field.Type.Default
	}
	for _, value := range stored {
		if value.Name == field.Name {
			item = storedItem(value)
		}
	}
	item.Type = field.Type.Article()
	return item
}

func storedItem(value runs.StateValue) StateItem {
	at := value.At
	return StateItem{
		Workflow: value.Workflow, Name: value.Name, Value: value.Value, Version: value.Version, At: &at, By: value.By, Run: value.Run,
	}
}

func unknownState(workflow, name string, items []StateItem) error {
	names := diag.NamesOf(items, func(item StateItem) string { return item.Name })
	hint := diag.DidYouMean(name, names).Or(diag.Sayf("%s lists what there is", diag.Command{"state", "get", workflow}))
	return &fault.UnknownError{What: "state of workflow " + workflow, Name: name, Hint: hint}
}

func (m *Memory) unknownWorkflow(workflow string) error {
	var names []string
	if files, err := m.project.NamedWorkflows(); err == nil {
		names = slices.Sorted(maps.Keys(files))
	}
	return &fault.UnknownError{What: "workflow with state", Name: workflow, Hint: diag.DidYouMean(workflow, names).Or(diag.Say("give the `name` of a workflow of this project, or of one that has run here"))}
}

// SetState sets a value by a person's word, typed by its declaration. A run that
// HasAction read the value before ends with a conflict if it sets it too.
func (m *Memory) SetState(ctx context.Context, request StateRequest) (*StateItem, error) {
	declared, exists, err := m.declaredState(request.Workflow)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, m.unknownWorkflow(request.Workflow)
	}
	t, ok := declared.Field(request.Name)
	if !ok {
		items, err := m.State(ctx, request.Workflow, "")
		if err != nil {
			return nil, err
		}
		return nil, unknownState(request.Workflow, request.Name, items)
	}
	value := request.Value.JSON
	if len(value) == 0 {
		if value, err = workspace.ConvertText(t, request.Value.Text); err != nil {
			return nil, wrongState(request.Name, t, err)
		}
	}
	decoded, err := t.DecodeExact(value)
	if err != nil {
		return nil, wrongState(request.Name, t, err)
	}
	if value, err = schema.Encode(decoded); err != nil {
		return nil, wrongState(request.Name, t, err)
	}
	if len(value) > maxStateValue {
		return nil, &fault.InputError{Input: request.Name, Message: fmt.Sprintf("state `%s`: the value has more than %d bytes", request.Name, maxStateValue)}
	}
	if _, err := m.store.Change(store.Change{
		Workflow: request.Workflow, Name: request.Name, Value: value, At: m.now().UTC(), By: request.By,
	}); err != nil {
		return nil, m.fault(err)
	}
	items, err := m.State(ctx, request.Workflow, request.Name)
	if err != nil {
		return nil, err
	}
	return &items[0], nil
}

func wrongState(name string, t *schema.Type, err error) error {
	return &fault.InputError{Input: name, Message: fmt.Sprintf("state `%s`: %v", name, err), Hint: diag.Takes(t.Article())}
}

// ResetState puts the default in the place of a value, and lets a cursor begin
// at the start: those of a name, or all of the workflow. It returns the names
// that were reset.
func (m *Memory) ResetState(_ context.Context, request StateRequest) ([]string, error) {
	values, err := m.store.State(request.Workflow)
	if err != nil {
		return nil, m.fault(err)
	}
	cursors, err := m.store.Cursors(request.Workflow, "")
	if err != nil {
		return nil, m.fault(err)
	}
	declared, ok, err := m.declaredState(request.Workflow)
	if err != nil {
		return nil, err
	}
	if !ok && len(values)+len(cursors) == 0 {
		return nil, m.unknownWorkflow(request.Workflow)
	}
	names, exists := []string{}, request.Name == ""
	for _, value := range append(values, cursors...) {
		if request.Name != "" && value.Name != request.Name {
			continue
		}
		exists = true
		if _, err := m.store.Change(store.Change{
			Workflow: request.Workflow, Name: value.Name, Key: value.Key, At: m.now().UTC(), By: request.By,
		}); err != nil {
			return nil, m.fault(err)
		}
		if !slices.Contains(names, value.Name) {
			names = append(names, value.Name)
		}
	}
	if _, isDeclared := declared.Field(request.Name); !exists && !isDeclared {
		return nil, unknownState(request.Workflow, request.Name, nil)
	}
	return names, nil
}

// CursorPositions are the positions of cursors by their names; nil of nil.
func CursorPositions(items []CursorItem) map[string][]string {
	if items == nil {
		return nil
	}
	positions := map[string][]string{}
	for _, item := range items {
		positions[item.Name] = append(positions[item.Name], item.Watermark)
	}
	return positions
}

// StateCursors returns the stored cursors, all or those of a workflow.
func (m *Memory) StateCursors(_ context.Context, workflow string) ([]CursorItem, error) {
	stored, err := m.store.Cursors(workflow, "")
	if err != nil {
		return nil, m.fault(err)
	}
	items := []CursorItem{}
	for _, value := range stored {
		_, _, identity, _ := runs.SplitCursorKey(value.Key)
		at := value.At
		items = append(items, CursorItem{
			Workflow: value.Workflow, Name: value.Name, Identity: identity, Watermark: workspace.OpaqueOf(value.Value).String(),
			Version: value.Version, At: &at, By: value.By, Run: value.Run,
		})
	}
	return items, nil
}

// StateHistory returns what changed a value, or the cursors of that name, the
// newest last. It holds the last 50 changes.
func (m *Memory) StateHistory(ctx context.Context, workflow, name string) ([]StateChange, error) {
	changes, err := m.store.History(workflow, name, "")
	if err != nil {
		return nil, m.fault(err)
	}
	history := shownChanges([]StateChange{}, changes, orNull)
	cursors, err := m.store.CursorKeys(workflow, name)
	if err != nil {
		return nil, m.fault(err)
	}
	for _, key := range cursors {
		changes, err := m.store.History(workflow, name, key)
		if err != nil {
			return nil, m.fault(err)
		}
		history = shownChanges(history, changes, shownWatermark)
	}
	order.Sort(history, func(a, b StateChange) int { return a.At.Compare(b.At) })
	if len(history) == 0 {
		if _, err := m.State(ctx, workflow, name); err != nil {
			return nil, err
		}
	}
	return history, nil
}

// shownChanges puts changes behind a history, with their values as people see them.
func shownChanges(history []StateChange, changes []runs.StateChange, shown func([]byte) json.RawMessage) []StateChange {
	for _, change := range changes {
		history = append(history, StateChange{
			At: change.At, Value: shown(change.Value), Reset: change.Version == 0, Version: change.Version, By: change.By, Run: change.Run,
		})
	}
	return history
}

func orNull(value []byte) json.RawMessage {
	if len(value) == 0 {
		return json.RawMessage("null")
	}
	return value
}

// shownWatermark is what people see of a watermark; null where it was reset.
func shownWatermark(stored []byte) json.RawMessage {
	seen := workspace.OpaqueOf(stored)
	if seen == nil {
		return json.RawMessage("null")
	}
	text, _ := json.Marshal(seen.String()) // a text always can be encoded
	return text
}

// declaredState returns the declared state of a workflow: that of the project's
// file of this name, else that of its newest run. exists is false when there is
// neither. The type is never nil.
func (m *Memory) declaredState(workflow string) (t *schema.Type, exists bool, err error) {
	empty := schema.ObjectOf()
	files, err := m.project.Workflows()
	if err != nil {
		return empty, false, err
	}
	for _, file := range files {
		source, err := os.ReadFile(filepath.Join(m.project.Config().Dir, filepath.FromSlash(file)))
		if err != nil {
			continue // told by whoever runs it
		}
		tree, problems := spec.V1().ParseWithin(file, source, spec.LargestLimits())
		if tree == nil || problems.HasErrors() {
			continue
		}
		if name, state, ok := check.StateOf(tree); ok && name == workflow {
			t, err := schema.FromJSONOr(state, schema.ObjectOf())
			return t, true, err
		}
	}
	rows, _, err := m.store.Runs(runs.Filter{Workflow: workflow, Limit: 1})
	if err != nil || len(rows) == 0 {
		return empty, false, m.fault(err)
	}
	encoded, err := m.store.Plan(rows[0].PlanHash)
	if err != nil {
		return empty, false, m.fault(err)
	}
	decoded, err := plan.Decode(encoded)
	if err != nil {
		return empty, false, fmt.Errorf("run %s: %w", rows[0].ID, err)
	}
	t, err = schema.FromJSONOr(decoded.State, schema.ObjectOf())
	return t, true, err
}
