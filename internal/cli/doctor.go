package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/doctor"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) doctorCommand() *cobra.Command {
	var fix bool
	c := &cobra.Command{
		Use: "doctor", Short: "Look whether everything that flowrun needs is well, and say what to do", Args: exactArgs(),
		Long: "Doctor looks at the project, the state folder, the store, the key, backups, the disk, the clock, plugins,\n" +
			"connections, triggers and what killed processes left behind. It changes nothing, unless --fix is given: that\n" +
			"mends what is safe to mend (modes of files, a dead socket, orphaned plugins). Each plugin is started, and\n" +
			"each connection makes one harmless request.\n" +
			"Exit code: 0 when nothing has failed, warnings or not; else that of the first failure: 3 the project or a\n" +
			"workflow, 4 a login, 5 a connection, 11 a plugin, 73 to 77 the store.",
		Example: "  flowrun doctor\n  flowrun doctor --fix\n  flowrun doctor -o json",
		RunE:    func(c *cobra.Command, _ []string) error { return a.doctor(c.Context(), fix) },
	}
	c.Flags().BoolVar(&fix, "fix", false, "mend what is safe to mend")
	a.sandboxFlag(c, "look at the sandbox's state; its connections are not tried")
	return withText(c)
}

func (a *app) doctor(ctx context.Context, fix bool) error {
	at, err := a.locate()
	if err != nil {
		return err
	}
	ctx, killed, end := a.untilSignal(ctx)
	defer end()
	ready := readiness{app: a}
	report, err := doctor.Examine(ctx, doctor.Options{
		Config: a.engineConfig(at), Fix: fix, Sandbox: a.sandbox, Zone: a.times.Location, Words: wording{a}, Connect: a.examined,
		Lacking: func(ctx context.Context, project *workspace.Workspace, workflow *plan.Workflow) diag.List {
			ready.project = project
			return asWarnings(ready.lacking(ctx, workflow), workflow)
		},
	})
	if err != nil {
		return killed(err)
	}
	for i, finding := range report.Items {
		hint := finding.Hint.Or(hintOf(finding.Err))
		if loose, ok := errors.AsType[*workspace.UnconfinedError](finding.Err); ok {
			hint = hint.Or(loose.Hint)
		}
		report.Items[i].Hint = hint.Typed(a.commandText)
	}
	err = a.print(report, func() {
		a.page(a.sys.Stdout).Diagnosis(a.sys.Stdout, report)
		a.summarize(report, fix)
	})
	if err != nil {
		return err
	}
	return exitWith(exitOfFinding(report.FirstFailure()))
}

// wording is how this command tells a person of things.
type wording struct{ app *app }

func (w wording) Path(path string) string       { return w.app.shown(path) }
func (w wording) Time(at time.Time) string      { return w.app.times.Full(at) }
func (w wording) Size(bytes int64) string       { return view.Size(bytes) }
func (w wording) Command(args ...string) string { return w.app.commandText(args...) }

// examinedStore is a session as the doctor asks it.
type examinedStore struct {
	*web.Client
	session *session
}

func (s examinedStore) Leave() error { return s.session.close(nil) }

// examined connects for the doctor.
func (a *app) examined(ctx context.Context) (doctor.Store, error) {
	session, err := a.connect(ctx, roleLook)
	if err != nil {
		return nil, err
	}
	return examinedStore{session.client, session}, nil
}

// exitOfCause is the exit code of what the doctor finds wrong.
var exitOfCause = map[doctor.Cause]int{
	doctor.Invalid: exitInvalid, doctor.Plugin: exitPlugin, doctor.Locked: exitLocked, doctor.StoreIO: exitStoreIO,
	doctor.StoreFull: exitStoreFull, doctor.StoreCorrupt: exitStoreCorrupt, doctor.Machine: exitInternal,
}

// exitOfFinding is the exit code of the first failure; nil = there is none.
func exitOfFinding(f *doctor.Finding) int {
	if f == nil {
		return exitOK
	}
	if code, ok := exitOfCause[f.Cause]; ok {
		return code
	}
	if call, ok := errors.AsType[*runs.Error](f.Err); ok {
		return exitOfCall(call)
	}
	return exitCode(f.Err)
}

// summarize says how much is wrong, and whether --fix would help.
func (a *app) summarize(report doctor.Report, fix bool) {
	warned, failed, fixable := 0, 0, 0
	for _, f := range report.Items {
		switch f.Status {
		case doctor.Warn:
			warned++
		case doctor.Fail:
			failed++
		}
		if f.CanFix && !f.Fixed {
			fixable++
		}
	}
	if warned+failed == 0 {
		a.note("all is well")
	} else {
		a.note("%s, %s", diag.Count(failed, "failure"), diag.Count(warned, "warning"))
	}
	if fixable > 0 && !fix {
		a.next("mend what is safe to mend:", "doctor", "--fix")
	}
}
