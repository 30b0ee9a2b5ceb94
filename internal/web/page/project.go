package page

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/vitals"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Project is what the pages of workflows, schedules, connections and the store
// need.
type Project interface {
	Workflows
	Schedules
	Connections
	Store
}

// Workflows are the workflow files in force.
type Workflows interface {
	WorkflowList(ctx context.Context) ([]engine.WorkflowInfo, error)
	Workflow(ctx context.Context, name string) (*engine.WorkflowDetail, error)
	StartNamed(ctx context.Context, name string, r engine.NamedStart) (*runs.Run, diag.List, error)
	Reload(ctx context.Context) (*engine.ReloadResult, error)
}

// Schedules are the triggers that fire by the clock, and what they did.
type Schedules interface {
	Schedules(ctx context.Context) ([]trigger.ScheduleItem, error)
	NextFires(ctx context.Context, id string, from time.Time, n int) (*trigger.NextFires, error)
	Fires(ctx context.Context, f runs.FireFilter) ([]runs.Fire, string, error)
	PauseSchedule(ctx context.Context, id string, r trigger.PauseRequest) (*trigger.ScheduleItem, error)
	ResumeSchedule(ctx context.Context, id string, r trigger.PauseRequest) (*trigger.ScheduleItem, error)
	DisableWorkflow(ctx context.Context, name string, r trigger.PauseRequest) error
	EnableWorkflow(ctx context.Context, name string) error
	TriggerSchedule(ctx context.Context, id string, r trigger.Request) (*runs.Run, error)
	Backfill(ctx context.Context, id string, r trigger.BackfillRequest) (*trigger.BackfillResult, error)
}

// Connections are the connections to services and their logins.
type Connections interface {
	ListConnections(ctx context.Context) []workspace.ConnectionStatus
	TestConnection(ctx context.Context, connection string) (connections.Test, error)
	Login(ctx context.Context, connection string, r connections.LoginRequest, sink runs.Sink) (calls.Result, error)
	Logout(ctx context.Context, connection string) (connections.LogoutResult, error)
}

// Store is what the engine keeps its runs in.
type Store interface {
	DBStats(ctx context.Context) (*upkeep.DBStats, error)
	Backup(ctx context.Context, r upkeep.BackupRequest) (*upkeep.BackupReport, error)
	StoreStats() vitals.StoreStats
	Active() int
	Busy() int
}

// Catalog is what can be called: the plugins and their actions.
type Catalog interface {
	Plugins(ctx context.Context) []workspace.PluginInfo
	Actions(ctx context.Context, plugin string) ([]*plan.Action, error)
	Action(name string) (*plan.Action, error) // with its schemas
}

func workflowURL(name string) string { return "/workflows/" + url.PathEscape(name) }

func scheduleURL(workflow, trigger string) string {
	return "/schedules/" + url.PathEscape(workflow) + "/" + url.PathEscape(trigger)
}

func connectionURL(name string) string { return "/connections/" + url.PathEscape(name) }

func actionURL(plugin, action string) string {
	return "/plugins/" + url.PathEscape(plugin) + "/" + url.PathEscape(action)
}

// listRows is how many rows a page of a list has that the engine gives as a
// whole.
const listRows = 18

// listPage is one page of such a list, with the links to its neighbours. Pages
// count from 1.
type listPage[T any] struct {
	Items    []T
	Query    string // what was searched for
	Total    int    // that fit the search
	All      int    // without it
	From, To int
	Previous string // path; "" = none
	Next     string
}

// pageOf takes the page that the URL asks for of those that fit its search.
func pageOf[T any](r *http.Request, all []T, fits func(item *T, word string) bool) listPage[T] {
	query := r.URL.Query()
	page := listPage[T]{Query: strings.TrimSpace(query.Get("q")), All: len(all)}
	word := strings.ToLower(page.Query)
	var found []T
	for i := range all {
		if word == "" || fits(&all[i], word) {
			found = append(found, all[i])
		}
	}
	page.Total = len(found)
	number, err := strconv.Atoi(query.Get("page"))
	last := max(1, (len(found)+listRows-1)/listRows)
	if err != nil || number < 1 {
		number = 1
	}
	number = min(number, last)
	from := (number - 1) * listRows
	to := min(from+listRows, len(found))
	page.Items, page.From, page.To = found[from:to], from+1, to
	link := func(number int) string {
		query.Set("page", strconv.Itoa(number))
		return r.URL.Path + "?" + query.Encode()
	}
	if number > 1 {
		page.Previous = link(number - 1)
	}
	if number < last {
		page.Next = link(number + 1)
	}
	return page
}

// contains reports whether one of the texts has the word, which is in lower case.
func contains(word string, texts ...string) bool {
	for _, text := range texts {
		if strings.Contains(strings.ToLower(text), word) {
			return true
		}
	}
	return false
}

func (s *site) projectViews() []view {
	return []view{
		{pattern: "/workflows", build: s.workflows},
		{pattern: "/workflows/{name}", build: s.workflow},
		{pattern: "/approvals", build: s.approvals},
		{pattern: "/schedules", build: s.schedules},
		{pattern: "/schedules/{workflow}/{trigger}", build: s.schedule},
		{pattern: "/connections", build: s.connections},
		{pattern: "/connections/{name}", build: ofConnection(s, s.connection)},
		{pattern: "/plugins", build: s.plugins},
		{pattern: "/plugins/{plugin}", build: s.plugin},
		{pattern: "/plugins/{plugin}/{action}", build: s.pluginAction},
		{pattern: "/system", build: s.system},
		{pattern: "/device", build: s.device},
	}
}

func (s *site) projectActions() []action {
	return []action{
		{"/workflows/reload", "operator", s.reload},
		{"/workflows/{name}/runs", "operator", s.startRun},
		{"/workflows/{name}/disable", "operator", s.disableWorkflow},
		{"/workflows/{name}/enable", "operator", s.enableWorkflow},
		{"/approvals", "operator", s.decideApproval},
		{"/schedules/{workflow}/{trigger}/pause", "operator", s.pauseSchedule},
		{"/schedules/{workflow}/{trigger}/resume", "operator", s.resumeSchedule},
		{"/schedules/{workflow}/{trigger}/trigger", "operator", s.triggerSchedule},
		{"/schedules/{workflow}/{trigger}/backfill", "operator", s.backfill},
		{"/connections/{name}/test", "operator", ofConnection(s, s.testConnection)},
		{"/connections/{name}/login", "operator", ofConnection(s, s.beginLogin)},
		{"/connections/{name}/stop", "operator", s.endLogin},
		{"/connections/{name}/logout", "operator", ofConnection(s, s.logoutConnection)},
		{"/system/backup", "admin", s.backup},
		{"/device", "operator", s.decideDevice},
	}
}
