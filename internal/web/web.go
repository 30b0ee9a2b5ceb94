// Package web is the HTTP API of the process that owns the store, and the Go
// client of it. The API is served on a unix socket of mode 0600 in the state
// directory: the file mode is its authority. An owner is a client of its own
// handler through InProcess, so that every command takes one path.
package web

import (
	"context"
	"encoding/json"
	"regexp"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/deliver"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/preview"
	"github.com/flowrun/flowrun/engine/rundiff"
	"github.com/flowrun/flowrun/engine/runquery"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Prefix stands before every path of the API but /healthz and /readyz.
const Prefix = "/api/v1"

// Runs is what the API needs of an engine to act on runs.
type Runs interface {
	Start(ctx context.Context, r engine.StartRequest) (*runs.Run, diag.List, error)
	Get(ctx context.Context, id string) (*runs.Result, error)
	GetInShort(ctx context.Context, id string) (*runs.Result, error)
	GetOpen(ctx context.Context, id string) (*runs.Result, error)
	Output(ctx context.Context, id, name string) (*engine.RunOutput, error)
	OpenBlob(ctx context.Context, id, digest string) (engine.BlobReader, error)
	List(ctx context.Context, f runs.Filter) ([]runs.Run, string, error)
	Diff(ctx context.Context, a, b string) (*rundiff.Diff, error)
	Summary(ctx context.Context, r engine.SummaryRequest) (*engine.RunsSummary, error)
	Acknowledge(ctx context.Context, r engine.AcknowledgeRequest) (int, error)
	Steps(ctx context.Context, id string) ([]runs.Step, error)
	StepsInShort(ctx context.Context, id string) ([]runs.Step, error)
	Events(ctx context.Context, id string, from uint64, limit int) (events []workspace.Event, next uint64, err error)
	LogPage(ctx context.Context, id string, q engine.LogQuery) (*engine.LogPage, error)
	WatchTogether(ctx context.Context, id string, from uint64) (<-chan engine.Updates, error)
	WatchRuns(ctx context.Context, from uint64) (<-chan engine.RunsUpdate, error)
	Cancel(ctx context.Context, id, by string) error
	Resume(ctx context.Context, id string, r engine.ResumeRequest) (*runs.Run, error)
	Decide(ctx context.Context, id, step string, act engine.Act, r engine.DecideRequest) (*engine.DecideResult, error)
	Deliver(ctx context.Context, id string, r deliver.Request) ([]runs.Delivery, error)
	Rerun(ctx context.Context, id string, r engine.RerunRequest) (*runs.Run, diag.List, error)
	Call(ctx context.Context, r calls.Request, sink runs.Sink) (calls.Result, error)
}

// Catalog is what the API needs of a project: what can run.
type Catalog interface {
	Check(ctx context.Context, file string, src []byte) (*plan.Workflow, diag.List)
	CheckText(ctx context.Context, name string, src []byte) (*plan.Workflow, diag.List)
	Preview(ctx context.Context, workflow *plan.Workflow, options preview.Options) (*preview.Preview, error)
	Plugins(ctx context.Context) []workspace.PluginInfo
	Actions(ctx context.Context, plugin string) ([]*plan.Action, error)
	Action(name string) (*plan.Action, error) // with its schemas
	WorkflowSchema(ctx context.Context) (json.RawMessage, error)
	Test(ctx context.Context, files []workspace.TestFile, options workspace.TestOptions) []workspace.TestResult
	TestBeside(workflow string) (workspace.TestFile, error)
	ReadFile(name string, limit int64) ([]byte, error)
	Root() string
}

// Owner describes the process that owns a store.
type Owner struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Since   time.Time `json:"since"`
	Socket  string    `json:"socket,omitempty"`  // "" = flowrun.sock beside owner.json
	Version string    `json:"version,omitempty"` // of flowrun
	Config  string    `json:"config,omitempty"`  // its flowrun.yaml; "" = none
	Serve   bool      `json:"serve,omitempty"`   // it is a `flowrun serve`
	URL     string    `json:"url,omitempty"`     // of its TCP server

	Sandbox *OwnerSandbox `json:"sandbox,omitempty"` // nil = it is none
}

// OwnerSandbox is what the owner of a sandbox was given, and says of it.
type OwnerSandbox struct {
	Live  []string `json:"live,omitempty"`
	Mocks []string `json:"mocks,omitempty"` // test files by absolute path, with #CASE
	Lines []string `json:"lines,omitempty"` // for people
}

// RunAnswer is the answer to a request that made or moved a run. Problems holds
// the warnings of the check.
type RunAnswer struct {
	Run      *runs.Run `json:"run"`
	Problems diag.List `json:"problems,omitempty"`
}

// Page is one page of a list. NextCursor is nil on the last page.
type Page[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"next_cursor"`
}

// ValidateRequest asks for the problems of one file.
type ValidateRequest struct {
	File   string `json:"file"`
	Source string `json:"source"`
}

// ValidateAnswer holds the problems of the files that were checked.
type ValidateAnswer struct {
	Problems diag.List `json:"problems"`
	Files    int       `json:"files"`
}

// ActionItem is one action of GET /plugins/{name}/actions.
type ActionItem struct {
	Action       string          `json:"action"`
	Plugin       string          `json:"plugin"`
	Doc          string          `json:"doc,omitempty"`
	Effect       plan.Effect     `json:"effect"`
	InputSchema  json.RawMessage `json:"input_schema"`
	OutputSchema json.RawMessage `json:"output_schema"`
	Limiters     []LimiterItem   `json:"limiters"`
	Paging       *plan.Paging    `json:"paging"`
	Range        *RangeItem      `json:"range"`
	Incremental  bool            `json:"incremental"`
	Faults       []plan.Fault    `json:"faults"`
	Examples     []plan.Example  `json:"examples"`
	Deprecated   string          `json:"deprecated,omitempty"`
}

// LimiterItem is a limiter with its window in seconds.
type LimiterItem struct {
	Name          string   `json:"name"`
	Requests      int      `json:"requests"`
	WindowS       float64  `json:"window_s"`
	FixedWindow   bool     `json:"fixed_window"`
	MaxConcurrent int      `json:"max_concurrent,omitempty"`
	Scope         []string `json:"scope,omitempty"`
}

// RangeItem is a range limit with its length in seconds.
type RangeItem struct {
	FromField string  `json:"from_field"`
	ToField   string  `json:"to_field"`
	MaxS      float64 `json:"max_s"`
}

// NewActionItem turns an action into its form for lists.
func NewActionItem(a *plan.Action) ActionItem {
	item := ActionItem{
		Action: a.FullName(), Plugin: a.Plugin, Doc: a.Doc, Effect: a.Effect, InputSchema: a.Input, OutputSchema: a.Output,
		Limiters: []LimiterItem{}, Paging: a.Paging, Incremental: a.Incremental,
		Faults: append([]plan.Fault{}, a.Faults...), Examples: append([]plan.Example{}, a.Examples...), Deprecated: a.Deprecated,
	}
	for _, l := range a.Limiters {
		item.Limiters = append(item.Limiters, LimiterItem{
			Name: l.Name, Requests: l.Requests, WindowS: l.Window.Seconds(), FixedWindow: l.FixedWindow,
			MaxConcurrent: l.MaxConcurrent, Scope: l.Scope,
		})
	}
	if a.Range != nil {
		item.Range = &RangeItem{FromField: a.Range.FromField, ToField: a.Range.ToField, MaxS: a.Range.Max.Seconds()}
	}
	return item
}

// CallLine is one line of the answer to a call: what it says while it runs, and
// last its result or the problem that kept it from running.
type CallLine struct {
	Log      *runs.Log      `json:"log,omitempty"`
	Progress *runs.Progress `json:"progress,omitempty"`
	Prompt   *runs.Prompt   `json:"prompt,omitempty"`
	Result   *calls.Result  `json:"result,omitempty"`
	Problem  *Problem       `json:"problem,omitempty"`
}

// ValidCursor reports whether text may be the cursor of a list of runs, which is
// the id of the last run that was listed.
func ValidCursor(text string) bool { return runquery.IsID(text) }

// ValidRunID reports whether a text has the form of a run's id.
func ValidRunID(text string) bool { return runquery.IsID(text) }

// ValidID reports whether id may name a run or a plugin in a path: up to 63 small letters,
// digits, _ and -, of which the first is a letter or digit.
func ValidID(id string) bool {
	for i := range len(id) {
		switch c := id[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case i > 0 && (c == '_' || c == '-'):
		default:
			return false
		}
	}
	return id != "" && len(id) <= 63
}

// connectionPattern is wider than the names of flowrun.yaml, so that one in
// capitals gets its near match.
var connectionPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$`) })

// ValidConnection reports whether name may stand for a connection in a path.
func ValidConnection(name string) bool { return connectionPattern().MatchString(name) }
