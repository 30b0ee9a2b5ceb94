// Package page is the web page of `flowrun serve`: server-rendered HTML that
// works without JavaScript. app.js adds live updates by server-sent events; it
// gets the same HTML that a reload would show. There is no third-party script,
// no inline script and no inline style.
package page

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/packed"
)

// Engine is what the page needs of an engine.
type Engine interface {
	Runs
	Project
}

// Runs is what the pages of runs need.
type Runs interface {
	List(ctx context.Context, f runs.Filter) ([]runs.Run, string, error)
	Summary(ctx context.Context, r engine.SummaryRequest) (*engine.RunsSummary, error)
	Acknowledge(ctx context.Context, r engine.AcknowledgeRequest) (int, error)
	Get(ctx context.Context, id string) (*runs.Result, error)
	OpenBlob(ctx context.Context, id, digest string) (engine.BlobReader, error)
	View(ctx context.Context, id string) (*engine.RunView, error)
	Steps(ctx context.Context, id string) ([]runs.Step, error)
	LogPage(ctx context.Context, id string, q engine.LogQuery) (*engine.LogPage, error)
	LogSteps(ctx context.Context, id string, most int) ([]string, error)
	Events(ctx context.Context, id string, from uint64, limit int) (events []workspace.Event, next uint64, err error)
	Definition(ctx context.Context, id string) (*engine.RunDefinition, error)
	FollowHistory(id, step string) *engine.HistoryReader
	Watch(ctx context.Context, id string, from uint64) (<-chan engine.Update, error)
	WatchRuns(ctx context.Context, from uint64) (<-chan engine.RunsUpdate, error)
	Cancel(ctx context.Context, id, by string) error
	Resume(ctx context.Context, id string, r engine.ResumeRequest) (*runs.Run, error)
	Rerun(ctx context.Context, id string, r engine.RerunRequest) (*runs.Run, diag.List, error)
	Decide(ctx context.Context, id, step string, act engine.Act, r engine.DecideRequest) (*engine.DecideResult, error)
}

// Options are what the page is made of.
type Options struct {
	Engine   Engine
	Catalog  Catalog
	Now      func() time.Time
	Location *time.Location // times are shown in it; nil = UTC
	Version  string         // of flowrun
	Config   string         // the flowrun.yaml in force; "" = none
	StateDir string
	Since    time.Time // when the process began
	Metrics  bool      // whether there is /metrics
	// Go runs what goes on while nobody looks, such as a login: the server owns it,
	// ends its context when it drains, and waits for it. nil = there is no such thing.
	Go func(func(ctx context.Context))
	// Devices are the programs that wait for a person to log them in; nil = none does.
	Devices *guard.Devices
	Flags   []string     // that every command shown needs besides its own: --sandbox
	Log     *slog.Logger // nil = discards
}

// Routes returns every route of the page. Pages ask for the viewer's scope,
// forms for the operator's or more; /static is open, so that the login form has
// its style.
func Routes(o Options) []guard.Route {
	s := newSite(o)
	routes := []guard.Route{
		{Pattern: "GET /static/{file}", Face: guard.FaceOpen, Handler: packed.Handler(http.HandlerFunc(s.static))},
		{Pattern: "GET /ui/stream", Face: guard.FacePage, Scope: guard.Viewer, Handler: http.HandlerFunc(s.stream)},
		{Pattern: "GET /ui/seen", Face: guard.FacePage, Scope: guard.Viewer, Handler: http.HandlerFunc(s.seen)},
	}
	for _, v := range s.views() {
		routes = append(routes, guard.Route{Pattern: "GET " + v.pattern, Face: guard.FacePage, Scope: v.needs(), Handler: packed.Handler(s.show(v))})
	}
	for _, f := range s.files() {
		routes = append(routes, guard.Route{Pattern: "GET " + f.pattern, Face: guard.FacePage, Scope: guard.Viewer, Handler: packed.Handler(s.download(f))})
	}
	routes = append(routes, guard.Route{Pattern: "GET /runs/{id}/log.txt", Face: guard.FacePage, Scope: guard.Viewer, Handler: packed.Handler(http.HandlerFunc(s.saveLogs))})
	routes = append(routes, guard.Route{Pattern: "GET /runs/{id}/blobs/{digest}", Face: guard.FacePage, Scope: guard.Viewer, Handler: packed.Handler(http.HandlerFunc(s.saveBlob))})
	for _, a := range s.actions() {
		routes = append(routes, guard.Route{Pattern: "POST " + a.pattern, Face: guard.FacePage, Scope: a.scope, Handler: packed.Handler(s.act(a))})
	}
	return routes
}

// view is a page that is shown by GET. scope "" is the viewer's.
type view struct {
	pattern string // of net/http's ServeMux, without the method
	scope   guard.Scope
	build   func(*http.Request) (*screen, error)
}

func (v view) needs() guard.Scope { return cmp.Or(v.scope, guard.Viewer) }

// action is a form that is sent by POST. Its form values are parsed and bounded
// and its csrf field is checked before do is called.
type action struct {
	pattern string
	scope   guard.Scope
	do      func(*http.Request) (*outcome, error)
}

// file is something to save: it is sent as an attachment.
type file struct {
	pattern string
	read    func(*http.Request) (*attachment, error)
}

// attachment is the name and the content of a file.
type attachment struct {
	name    string
	content []byte
}

// outcome is where an action leads: to another page, or to a form shown again
// with what was typed and what is wrong with it.
type outcome struct {
	to     string // a path of ours
	screen *screen
}

// done is a screen that shows what an action has done.
func done(result *screen) *outcome {
	result.Status = http.StatusOK
	return &outcome{screen: result}
}

// screen is one page: the template of its content with the data that it shows.
type screen struct {
	Title    string
	Nav      string // the path of the navigation's entry that it belongs to
	Template string
	Data     any
	Live     live
	Status   int // 0 = 200
}

// live says what changes a screen while it is looked at.
type live struct {
	Run   string        // the run whose feed to follow
	Runs  bool          // the feed of all runs
	Every time.Duration // looked at again by the clock; 0 = not
}

func (l live) any() bool { return l.Run != "" || l.Runs || l.Every > 0 }

func (s *site) views() []view { return append(s.runViews(), s.projectViews()...) }

func (s *site) actions() []action { return append(s.runActions(), s.projectActions()...) }
