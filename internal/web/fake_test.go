package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/deliver"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/preview"
	"github.com/flowrun/flowrun/engine/rundiff"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

const knownRun = "01k8zq4c0vdx3y6t7k9m2n5p8r"

// fakeRuns is an engine with one run. err, when set, is what every method
// returns.
type fakeRuns struct {
	mu           sync.Mutex
	err          error
	started      []engine.StartRequest
	canceled     []string
	filters      []runs.Filter
	summaries    []engine.SummaryRequest
	acknowledged []engine.AcknowledgeRequest
	logQueries   []engine.LogQuery
	steps        []runs.Step
	next         uint64          // of a page of logs
	lines        int             // of the log
	feed         []engine.Update // what Watch sends before it blocks
	hold         chan struct{}   // Watch ends when it is closed; nil = at once
	status       runs.Status     // of the run; "" = running
	calls        chan struct{}   // Call waits for it; nil = does not wait
}

func (f *fakeRuns) fail(id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	if id != knownRun {
		return fmt.Errorf("look up %s: %w", id, fault.ErrRunNotFound)
	}
	return nil
}

func (f *fakeRuns) row() runs.Run {
	return runs.Run{ID: knownRun, Workflow: "w", Status: cmp.Or(f.status, runs.RunRunning)}
}

func (f *fakeRuns) Start(_ context.Context, r engine.StartRequest) (*runs.Run, diag.List, error) {
	if err := f.fail(knownRun); err != nil {
		return nil, nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started = append(f.started, r)
	if string(r.Source) == "wrong" {
		var list diag.List
		list.Errorf(diag.Pos{File: r.File, Line: 1, Column: 1}, "FR1001", "it is wrong")
		return nil, list, nil
	}
	row := f.row()
	return &row, nil, nil
}

func (f *fakeRuns) Output(_ context.Context, id, name string) (*engine.RunOutput, error) {
	if err := f.fail(id); err != nil {
		return nil, err
	}
	return &engine.RunOutput{Name: name, Value: json.RawMessage(`"digest"`), Format: "markdown"}, nil
}

// OpenBlob has one large value, of the digest of nothing but zeros.
func (f *fakeRuns) OpenBlob(_ context.Context, id, digest string) (engine.BlobReader, error) {
	if err := f.fail(id); err != nil {
		return nil, err
	}
	if digest != knownBlob {
		return nil, &fault.UnknownError{What: "large value", Name: digest}
	}
	return largeValue{strings.NewReader(strings.Repeat("0123456789", 200))}, nil
}

// knownBlob is the digest of the large value that a fake has.
const knownBlob = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

type largeValue struct{ *strings.Reader }

func (largeValue) Close() error { return nil }

func (f *fakeRuns) Get(_ context.Context, id string) (*runs.Result, error) {
	if err := f.fail(id); err != nil {
		return nil, err
	}
	return &runs.Result{Run: f.row(), Outputs: map[string]json.RawMessage{"big": json.RawMessage(`9007199254740993`)}}, nil
}

func (f *fakeRuns) GetInShort(ctx context.Context, id string) (*runs.Result, error) {
	return f.Get(ctx, id)
}

func (f *fakeRuns) GetOpen(ctx context.Context, id string) (*runs.Result, error) {
	result, err := f.GetInShort(ctx, id)
	if err == nil {
		result.Steps = map[string]runs.Step{}
	}
	return result, err
}

func (f *fakeRuns) StepsInShort(ctx context.Context, id string) ([]runs.Step, error) {
	return f.Steps(ctx, id)
}

func (f *fakeRuns) List(_ context.Context, filter runs.Filter) ([]runs.Run, string, error) {
	f.mu.Lock()
	f.filters = append(f.filters, filter)
	f.mu.Unlock()
	return []runs.Run{f.row()}, "next", f.fail(knownRun)
}

func (f *fakeRuns) Steps(_ context.Context, id string) ([]runs.Step, error) {
	if f.steps != nil {
		return slices.Clone(f.steps), nil
	}
	return []runs.Step{{Path: "b"}, {Path: "a"}}, f.fail(id)
}

func (f *fakeRuns) Events(_ context.Context, id string, from uint64, limit int) ([]workspace.Event, uint64, error) {
	if err := f.fail(id); err != nil {
		return nil, 0, err
	}
	var records []workspace.Event
	for seq := from; seq <= 5; seq++ {
		if len(records) == limit {
			return records, seq, nil
		}
		var record workspace.Event
		if err := json.Unmarshal(fmt.Appendf(nil, `{"seq":%d,"event":{"kind":"completed","later":1}}`, seq), &record); err != nil {
			return nil, 0, err
		}
		records = append(records, record)
	}
	return records, 0, nil
}

func (f *fakeRuns) LogPage(_ context.Context, id string, q engine.LogQuery) (*engine.LogPage, error) {
	f.mu.Lock()
	f.logQueries = append(f.logQueries, q)
	f.mu.Unlock()
	if f.lines > 0 {
		return f.numbered(q), nil
	}
	return &engine.LogPage{Lines: []runs.Log{{Message: "of " + q.Step}}, Next: f.next}, f.fail(id)
}

// numbered is a page of lines that are their numbers.
func (f *fakeRuns) numbered(q engine.LogQuery) *engine.LogPage {
	first, end := int(max(q.From, 1)), f.lines+1
	if q.Back {
		if q.From > 0 {
			end = int(q.From)
		}
		first = max(end-q.Limit, 1)
	}
	page := new(engine.LogPage)
	for n := first; n < min(end, first+q.Limit); n++ {
		page.Lines = append(page.Lines, runs.Log{Message: strconv.Itoa(n)})
	}
	switch {
	case q.Back && first > 1:
		page.Next = uint64(first)
	case !q.Back && first+q.Limit < end:
		page.Next = uint64(first + q.Limit)
	}
	return page
}

func (f *fakeRuns) WatchTogether(ctx context.Context, id string, from uint64) (<-chan engine.Updates, error) {
	if err := f.fail(id); err != nil {
		return nil, err
	}
	updates := make(chan engine.Updates)
	go func() {
		defer close(updates)
		for _, update := range f.feed {
			if update.Seq != 0 && update.Seq <= from {
				continue
			}
			select {
			case updates <- engine.Together(update):
			case <-ctx.Done():
				return
			}
		}
		if f.hold != nil {
			select {
			case <-f.hold:
			case <-ctx.Done():
			}
		}
	}()
	return updates, nil
}

// WatchRuns sends two changes, or a reset to those who have seen more.
func (f *fakeRuns) WatchRuns(ctx context.Context, from uint64) (<-chan engine.RunsUpdate, error) {
	row := f.row()
	feed := []engine.RunsUpdate{{Seq: 7, Run: &row}, {Seq: 8, Run: &row}}
	if from > 8 {
		feed = []engine.RunsUpdate{{Seq: 8, Reset: true}}
	}
	updates := make(chan engine.RunsUpdate)
	go func() {
		defer close(updates)
		for _, update := range feed {
			if update.Seq <= from && !update.Reset {
				continue
			}
			select {
			case updates <- update:
			case <-ctx.Done():
				return
			}
		}
	}()
	return updates, nil
}

func (f *fakeRuns) Cancel(_ context.Context, id, by string) error {
	if err := f.fail(id); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.canceled = append(f.canceled, id+" by "+by)
	return nil
}

func (f *fakeRuns) Resume(_ context.Context, id string, _ engine.ResumeRequest) (*runs.Run, error) {
	row := f.row()
	return &row, f.fail(id)
}

func (f *fakeRuns) Rerun(_ context.Context, id string, _ engine.RerunRequest) (*runs.Run, diag.List, error) {
	row := f.row()
	return &row, nil, f.fail(id)
}

func (f *fakeRuns) Deliver(_ context.Context, id string, r deliver.Request) ([]runs.Delivery, error) {
	return []runs.Delivery{{Run: id, ID: "digest#1", Output: "digest", To: "mail.team", State: runs.DeliveryDelivered, By: r.By}}, f.fail(id)
}

func (f *fakeRuns) Call(ctx context.Context, _ calls.Request, sink runs.Sink) (calls.Result, error) {
	if err := f.fail(knownRun); err != nil {
		return calls.Result{}, err
	}
	sink.Log(runs.Log{Message: "hello <you>"})
	sink.Progress(runs.Progress{Fraction: 0.5})
	sink.(Prompter).Prompt(runs.Prompt{Title: "log in"})
	if f.calls != nil {
		select {
		case <-f.calls:
		case <-ctx.Done():
			return calls.Result{}, ctx.Err()
		}
	}
	return calls.Result{Outputs: json.RawMessage(`{"n":9007199254740993}`)}, nil
}

// fakeCatalog is a project with one plugin.
type fakeCatalog struct{}

func (fakeCatalog) Check(_ context.Context, file string, src []byte) (*plan.Workflow, diag.List) {
	var list diag.List
	if string(src) == "wrong" {
		list.Errorf(diag.Pos{File: file, Line: 1, Column: 1}, "FR1001", "it is wrong")
	}
	return nil, list
}

func (fakeCatalog) Plugins(context.Context) []workspace.PluginInfo {
	return []workspace.PluginInfo{{Name: "netinfo"}}
}

func (fakeCatalog) Actions(_ context.Context, plugin string) ([]*plan.Action, error) {
	return []*plan.Action{{
		Plugin: plugin, Name: "whois", Effect: plan.EffectRead, Input: json.RawMessage(`{}`), Output: json.RawMessage(`{}`),
		Limiters: []plan.Limiter{{Name: "ip", Requests: 60, Window: time.Minute, FixedWindow: true}},
		Range:    &plan.Range{FromField: "from", ToField: "to", Max: 24 * time.Hour},
	}}, nil
}

func (c fakeCatalog) Action(name string) (*plan.Action, error) {
	plugin, action, _ := strings.Cut(name, ".")
	if action != "whois" {
		return nil, &fault.UnknownError{What: "action", Name: name}
	}
	actions, err := c.Actions(context.Background(), plugin)
	return actions[0], err
}

func (fakeCatalog) WorkflowSchema(context.Context) (json.RawMessage, error) {
	return json.RawMessage(`{"type":"object"}`), nil
}

// Test reads the workflow of each file as it would be read.
func (fakeCatalog) Test(_ context.Context, files []workspace.TestFile, o workspace.TestOptions) (results []workspace.TestResult) {
	for _, file := range files {
		source, _ := o.Read("w.yaml")
		results = append(results, workspace.TestResult{
			File: file.Name, Workflow: string(source), Status: workspace.TestPassed, Problems: diag.List{},
			Cases: []workspace.TestCase{{Name: string(file.Source), Status: workspace.TestPassed}},
		})
	}
	return results
}

func (fakeCatalog) TestBeside(workflow string) (workspace.TestFile, error) {
	return workspace.TestFile{Name: workflow + ".test", Source: []byte("beside")}, nil
}

func (fakeCatalog) ReadFile(name string, _ int64) ([]byte, error) { return []byte("file " + name), nil }

func (fakeCatalog) Root() string { return "/p" }

func (c fakeCatalog) CheckText(ctx context.Context, name string, src []byte) (*plan.Workflow, diag.List) {
	return c.Check(ctx, "text:"+name, src)
}

func (fakeCatalog) Preview(_ context.Context, workflow *plan.Workflow, o preview.Options) (*preview.Preview, error) {
	result := &preview.Preview{Workflow: preview.Workflow{Name: workflow.Name}}
	for name := range o.Inputs {
		result.Inputs = append(result.Inputs, preview.Input{Name: name})
	}
	return result, nil
}

// fakeAccess is an engine with the connection work and the secret T. It keeps
// what it is given.
type fakeAccess struct {
	mu       sync.Mutex
	secrets  map[string]string
	scopes   []string
	loggedIn chan struct{} // Login waits for it; nil = does not wait
	ended    chan error    // gets how Login ended; nil = nobody asks
}

func (f *fakeAccess) known(name string) error {
	if name != "work" {
		return &fault.UnknownError{What: "connection", Name: name, Hint: diag.Say("did you mean `work`?")}
	}
	return nil
}

func (f *fakeAccess) ListConnections(context.Context) []workspace.ConnectionStatus {
	return []workspace.ConnectionStatus{{Name: "work", Plugin: "auth", Login: &workspace.LoginState{State: "valid"}}}
}

func (f *fakeAccess) TestConnection(_ context.Context, name string) (connections.Test, error) {
	return connections.Test{Name: name, OK: true, Account: "ann"}, f.known(name)
}

func (f *fakeAccess) Login(ctx context.Context, name string, r connections.LoginRequest, sink runs.Sink) (calls.Result, error) {
	if err := f.known(name); err != nil {
		return calls.Result{}, err
	}
	f.scopes = r.Scopes
	sink.(Prompter).Prompt(runs.Prompt{Title: "log in", UserCode: "WDJB-MJHT"})
	if f.loggedIn != nil {
		select {
		case <-f.loggedIn:
		case <-ctx.Done():
			f.ended <- ctx.Err()
			return calls.Result{}, ctx.Err()
		}
	}
	return calls.Result{Outputs: json.RawMessage(`{"state":"granted"}`)}, nil
}

func (f *fakeAccess) Logout(_ context.Context, name string) (connections.LogoutResult, error) {
	return connections.LogoutResult{Revoked: true, Forgotten: true}, f.known(name)
}

func (f *fakeAccess) StoredSecretNames(context.Context) ([]string, error) {
	return []string{"TOKEN"}, nil
}

func (f *fakeAccess) ListSecrets(context.Context) ([]workspace.SecretInfo, error) {
	return []workspace.SecretInfo{{Name: "T", Sources: []string{"store"}}}, nil
}

func (f *fakeAccess) SetSecret(_ context.Context, name, value string) (*workspace.SecretInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.secrets == nil {
		f.secrets = map[string]string{}
	}
	f.secrets[name] = value
	return &workspace.SecretInfo{Name: name, Sources: []string{"store"}}, nil
}

func (f *fakeAccess) RemoveSecret(_ context.Context, name string) error {
	if name != "T" {
		return &fault.UnknownError{What: "stored secret", Name: name, Hint: diag.Say("did you mean `T`?")}
	}
	return nil
}

// newTestHandler returns a handler over a fake engine, and the gate in front.
func newTestHandler(t *testing.T, runs *fakeRuns) (http.Handler, *Gate) {
	t.Helper()
	return newAccessHandler(t, runs, new(fakeAccess))
}

func newAccessHandler(t *testing.T, runs *fakeRuns, access *fakeAccess) (http.Handler, *Gate) {
	t.Helper()
	gate := NewGate()
	t.Cleanup(gate.Close)
	owner := Owner{PID: 7, Host: "box", Config: "/p/flowrun.yaml"}
	return NewSocketHandler(Options{Runs: runs, Catalog: fakeCatalog{}, Access: access, Owner: owner, Gate: gate}), gate
}

func newTestClient(t *testing.T, runs *fakeRuns) *Client {
	t.Helper()
	handler, _ := newTestHandler(t, runs)
	return NewClient(InProcess(handler))
}

func (f *fakeRuns) Diff(_ context.Context, a, _ string) (*rundiff.Diff, error) {
	return &rundiff.Diff{A: f.row(), B: f.row()}, f.fail(a)
}

func (f *fakeRuns) Summary(_ context.Context, r engine.SummaryRequest) (*engine.RunsSummary, error) {
	f.mu.Lock()
	f.summaries = append(f.summaries, r)
	f.mu.Unlock()
	return &engine.RunsSummary{
		Runs: engine.RunCounts{runs.RunFailed: 37}, Attention: 37, Needy: []runs.Run{f.row()},
		Workflows: []engine.WorkflowSummary{{Workflow: "w", Runs: engine.RunCounts{runs.RunFailed: 37}, Attention: 37, Newest: knownRun}},
	}, f.fail(knownRun)
}

func (f *fakeRuns) Acknowledge(_ context.Context, r engine.AcknowledgeRequest) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acknowledged = append(f.acknowledged, r)
	return 3, nil
}
