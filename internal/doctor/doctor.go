// Package doctor looks whether everything that flowrun needs is well: the project,
// the state folder, the store, the key, backups, the disk, the clock, plugins,
// connections, triggers, and what killed processes left behind. What it finds is
// plain data; who shows it, and which exit code that is, is the command's matter.
package doctor

import (
	"context"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web"
)

// projectFileName is how the project's file is called in what is said.
const projectFileName = "flowrun.yaml"

// atOnce is how many plugins, and how many connections, are tried at the same time.
const atOnce = 4

// Each tries what has names, some at a time, and returns when all have been tried.
func Each(names []string, try func(i int, name string)) {
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			try(i, name)
		})
	}
	all.Wait()
}

// Options are what is looked at, and by which means.
type Options struct {
	// Config names the project and the state folder; it has the clock, the
	// environment and the version of this flowrun.
	Config  workspace.Config
	Fix     bool // mend what is safe to mend
	Sandbox bool // the state folder is a sandbox's: its connections are not tried
	Zone    *time.Location
	Words   Words
	// Connect takes the store, or reaches its owner.
	Connect func(context.Context) (Store, error)
	// Lacking tells what a workflow without faults lacks before it can run here.
	Lacking func(context.Context, *workspace.Workspace, *plan.Workflow) diag.List
}

// Words are how a person is told of things.
type Words interface {
	// Path is a file or folder as seen from the working directory.
	Path(path string) string
	// Time is a point in time with its zone.
	Time(at time.Time) string
	// Size is a number of bytes.
	Size(bytes int64) string
	// Command is a command of flowrun that acts on the same project and state.
	Command(args ...string) string
}

// Store is what the doctor asks of the process that owns the store, which may be
// this one.
type Store interface {
	Tester
	DBStats(ctx context.Context) (*upkeep.DBStats, error)
	CheckKey(ctx context.Context) (*services.KeyReport, error)
	Runs(ctx context.Context, filter runs.Filter) (*web.Page[runs.Run], error)
	Schedules(ctx context.Context) (*web.SchedulePage, error)
	// Leave gives the store back where this process took it.
	Leave() error
}

// Tester lets a connection make one harmless request.
type Tester interface {
	TestConnection(ctx context.Context, name string) (connections.Test, error)
}

// Examine looks at one thing after the other; later ones need what earlier ones
// have told. It changes nothing unless Fix is set. The error is the context's.
func Examine(ctx context.Context, options Options) (Report, error) {
	e := &examination{Options: options}
	defer e.end()
	nothing := func() bool { return true }
	aFolder := func() bool { return !e.refused } // that others can't change
	aProject := func() bool { return e.project != nil }
	aStore := func() bool { return e.store != nil }
	for _, look := range []struct {
		check string // how it is called in findings
		needs func() bool
		at    func(ctx context.Context, check string)
	}{
		{"state folder", nothing, e.checkStrict},
		{"project", nothing, e.checkProject},
		{"workflows", aProject, e.checkWorkflows},
		{"certificate", aProject, e.checkServer},
		{"state folder", aFolder, e.checkFolder},
		{"owner", aFolder, e.checkOwner},
		{"store", aFolder, e.checkStore},
		{"space", aStore, e.checkContents},
		{"key", aStore, e.checkKey},
		{"backup", aStore, e.checkBackup},
		{"disk", nothing, e.checkDisk},
		{"left processes", aProject, e.checkOrphans},
		{"clock", nothing, e.checkClock},
		{"time zones", nothing, e.checkZones},
		{"kernel", nothing, e.checkKernel},
		{"open files", nothing, e.checkFiles},
		{"traces", nothing, e.checkTraces},
		{"plugin sandbox", aProject, e.checkSandbox},
		{"plugin", aProject, e.checkPlugins},
		{"grants", aProject, e.checkGrants},
		{"connection", aProject, e.checkConnections},
		{"schedules", aStore, e.checkTriggers},
	} {
		if look.needs() {
			look.at(ctx, look.check)
		}
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
	}
	e.leave()
	return e.report(), nil
}

// examination is one look at everything. Not safe for concurrent use.
type examination struct {
	Options

	project *workspace.Workspace // nil when the project file is wrong
	owner   *web.Owner           // nil when no process answers
	store   Store                // nil when it can't be used, or is not there
	refused bool                 // the state folder is one that others could change

	findings []Finding
}

// leave gives the store back, which may fail as any use of it.
func (e *examination) leave() {
	if e.store == nil {
		return
	}
	if err := e.store.Leave(); err != nil {
		e.failWith("store", "", err)
	}
	e.store = nil
}

// end gives back what is still in use.
func (e *examination) end() {
	e.leave()
	if e.project != nil {
		e.project.Close()
	}
}
