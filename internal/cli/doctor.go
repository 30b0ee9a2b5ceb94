package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) doctorCommand() *cobra.Command {
	var fix bool
	var output string
	c := &cobra.Command{
		Use: "doctor", Short: "Look whether everything that flowrun needs is well, and say what to do", Args: exactArgs(),
		Long: "Doctor looks at the project, the state folder, the store, the key, backups, the disk, the clock, plugins,\n" +
			"connections, triggers and what killed processes left behind. It changes nothing, unless --fix is given: that\n" +
			"mends what is safe to mend (modes of files, a dead socket, orphaned plugins). Each plugin is started, and\n" +
			"each connection makes one harmless request.\n" +
			"Exit code: 0 when nothing has failed, warnings or not; else that of the first failure: 3 the project or a\n" +
			"workflow, 4 a login, 5 a connection, 11 a plugin, 73 to 77 the store.",
		Example: "  flowrun doctor\n  flowrun doctor --fix\n  flowrun doctor -o json",
		RunE:    func(c *cobra.Command, _ []string) error { return a.doctor(c.Context(), fix, output) },
	}
	c.Flags().BoolVar(&fix, "fix", false, "mend what is safe to mend")
	outputFlag(c, &output, "text", "json")
	a.sandboxFlag(c, "look at the sandbox's state; its connections are not tried")
	return c
}

// doctor is one look at everything. Not safe for concurrent use.
type doctor struct {
	app *app
	fix bool
	at  place

	project *engine.Project // nil when the project file is wrong
	owner   *web.Owner      // nil when no process answers
	session *session        // nil when the store can't be used, or is not there
	refused bool            // the state folder is one that others could change

	found []view.Finding
	exit  int // of the first failure
}

func (a *app) doctor(ctx context.Context, fix bool, output string) error {
	at, err := a.locate()
	if err != nil {
		return err
	}
	ctx, killed, end := a.untilSignal(ctx)
	defer end()
	d := &doctor{app: a, fix: fix, at: at}
	err = d.examine(ctx)
	d.close()
	if err != nil {
		return killed(err)
	}
	diagnosis := view.Diagnosis{Status: d.worst(), Items: d.found}
	if output == "json" {
		err = view.JSON(a.sys.Stdout, diagnosis)
	} else {
		a.page(a.sys.Stdout).Diagnosis(a.sys.Stdout, diagnosis)
		d.summary()
	}
	if err != nil {
		return err
	}
	return exitWith(d.exit)
}

// examine looks at one thing after the other; later ones need what earlier ones
// have found.
func (d *doctor) examine(ctx context.Context) error {
	for _, look := range []func(context.Context){
		d.checkStrict, d.checkProject, d.checkWorkflows, d.checkServer, d.checkFolder, d.checkOwner, d.checkStore, d.checkContents, d.checkKey,
		d.checkBackup, d.checkDisk, d.checkOrphans, d.checkClock, d.checkZones, d.checkKernel, d.checkFiles, d.checkTraces,
		d.checkSandbox, d.checkPlugins, d.checkGrants, d.checkConnections, d.checkTriggers,
	} {
		look(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (d *doctor) close() {
	if d.session != nil {
		if err := d.session.close(nil); err != nil {
			d.fail("store", "", exitCode(err), err.Error(), "")
		}
	}
	if d.project != nil {
		d.project.Close()
	}
}

func (d *doctor) add(f view.Finding) {
	f.Detail, f.Hint = strings.TrimSpace(f.Detail), d.app.localCommands(f.Hint)
	d.found = append(d.found, f)
}

func (d *doctor) ok(check, subject, format string, args ...any) {
	d.add(view.Finding{Check: check, Subject: subject, Status: view.FindingOK, Detail: fmt.Sprintf(format, args...)})
}

func (d *doctor) warn(check, subject, detail, hint string) {
	d.add(view.Finding{Check: check, Subject: subject, Status: view.FindingWarn, Detail: detail, Hint: hint})
}

func (d *doctor) skip(check, subject, why string) {
	d.add(view.Finding{Check: check, Subject: subject, Status: view.FindingSkipped, Detail: why})
}

// fail adds a failure; the first one decides the exit code.
func (d *doctor) fail(check, subject string, exit int, detail, hint string) {
	if d.exit == exitOK {
		d.exit = exit
	}
	d.add(view.Finding{Check: check, Subject: subject, Status: view.FindingFail, Detail: detail, Hint: hint})
}

// failWith is fail for an error, with the hint that it may carry.
func (d *doctor) failWith(check, subject string, err error) {
	d.fail(check, subject, exitCode(err), err.Error(), hintOf(err))
}

// mend tries to mend what is wrong when that was asked for; else it says so.
func (d *doctor) mend(f view.Finding, exit int, mend func() error) {
	f.CanFix = true
	if !d.fix {
		if f.Hint == "" {
			f.Hint = "`flowrun doctor --fix` mends it"
		} else {
			f.Hint += "; `flowrun doctor --fix` does it"
		}
	} else if err := mend(); err != nil {
		f.Hint = fmt.Sprintf("it could not be mended: %v; %s", err, f.Hint)
	} else {
		f.Status, f.Fixed, f.Hint = view.FindingOK, true, ""
	}
	if f.Status == view.FindingFail && d.exit == exitOK {
		d.exit = exit
	}
	d.add(f)
}

// worst is the status of all.
func (d *doctor) worst() string {
	worst := view.FindingOK
	for _, f := range d.found {
		if f.Status == view.FindingFail || f.Status == view.FindingWarn && worst == view.FindingOK {
			worst = f.Status
		}
	}
	return worst
}

func (d *doctor) summary() {
	warned, failed, fixable := 0, 0, 0
	for _, f := range d.found {
		switch f.Status {
		case view.FindingWarn:
			warned++
		case view.FindingFail:
			failed++
		}
		if f.CanFix && !f.Fixed {
			fixable++
		}
	}
	switch {
	case warned+failed == 0:
		d.app.note("all is well")
	default:
		d.app.note("%s, %s", count(failed, "failure"), count(warned, "warning"))
	}
	if fixable > 0 && !d.fix {
		d.app.page(d.app.sys.Stderr).Next(d.app.sys.Stderr, "mend what is safe to mend:", "doctor", "--fix")
	}
}
