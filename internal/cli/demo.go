package cli

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/guard"
)

//go:embed templates/demo
var demoTemplate embed.FS

// Times of a demo.
const (
	demoSettles = 10 * time.Second      // how long its runs may take to be as they shall be shown
	demoStep    = 20 * time.Millisecond // between two looks at them
)

// demo is a server for somebody who looks around: a project of its own with runs of all
// kinds, which ends with it.
type demo struct {
	app    *app
	folder string // holds all of it; removed at the end
}

func (a *app) demoCommand() *cobra.Command {
	flags := &serveFlags{logFormat: "text", logLevel: "error"}
	c := &cobra.Command{
		Use: "demo [DIR]", Short: "Look around: a server with simulated services and runs of all kinds, until Ctrl-C", Args: rangeArgs(0, "DIR"),
		Long: "Demo starts a server with simulators of the services, makes runs of all kinds, and prints a link that logs a browser\n" +
			"in. Everything lies in a folder of its own, a temporary one or DIR, which must not be there. It is removed when the\n" +
			"demo ends. No project and no store of yours is touched.",
		Example: "  flowrun demo\n  flowrun demo --listen 127.0.0.1:8080",
		RunE:    func(c *cobra.Command, args []string) error { return a.runDemo(c.Context(), flags, argument(args, 0)) },
	}
	c.Flags().StringVar(&flags.listen, "listen", "127.0.0.1:0", "listen on this host:port; port 0 is a free one")
	return c
}

func (a *app) runDemo(ctx context.Context, flags *serveFlags, dir string) (err error) {
	if a.flags.config != "" || a.flags.state != "" {
		return usageError(errors.New("a demo has a project and a state folder of its own"), "leave out --config and --state")
	}
	shown, err := a.newDemo(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shown.remove()) }()
	a.flags.config, a.flags.state = filepath.Join(shown.folder, projectFileName), filepath.Join(shown.folder, ".flowrun", "state")
	a.sandbox = true
	if err := a.prepare(); err != nil {
		return err
	}
	return a.serveAs(ctx, flags, shown)
}

// newDemo makes the folder of a demo with its project.
func (a *app) newDemo(dir string) (*demo, error) {
	folder := a.abs(dir)
	var err error
	if dir == "" {
		folder, err = os.MkdirTemp("", "flowrun-demo-")
	} else {
		err = os.Mkdir(folder, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil, &codedError{code: exitConflict, err: fmt.Errorf("%s is there already, and a demo removes its folder at the end", safePath(dir)), hint: "name a folder that is not there"}
	}
	if err != nil {
		return nil, fmt.Errorf("make the folder of the demo: %w", err)
	}
	shown := &demo{app: a, folder: folder}
	files, err := filesOfTemplate(demoTemplate, "templates/demo")
	for _, file := range files {
		err = errors.Join(err, createFile(filepath.Join(folder, file.path), file.content))
	}
	if err != nil {
		return nil, errors.Join(err, shown.remove())
	}
	return shown, nil
}

// remove takes away what the demo has made. It may be called twice.
func (d *demo) remove() error {
	if err := os.RemoveAll(d.folder); err != nil {
		return fmt.Errorf("remove the folder of the demo: %w", err)
	}
	return nil
}

// demoRun is a run of the demo, and how it is shown. What it is stands in its file.
type demoRun struct {
	workflow string
	becomes  runs.Status
}

func demoRuns() []demoRun {
	return []demoRun{
		{"word-import", runs.RunRunning},
		{"price-probe", runs.RunTimedOut},
		{"domain-report", runs.RunSucceeded},
		{"signup-check", runs.RunFailed},
		{"ledger-sync", runs.RunPaused},
		{"newsletter", runs.RunCanceled},
		{"backup", runs.RunWaiting},
		{"backup", runs.RunQueued},
		{"release", runs.RunWaiting},
	}
}

// demoSchedule has started a run of the demo.
const demoSchedule = "domain-report/weekdays"

// begin makes the runs, and waits until each is what it shall be. One that takes longer
// becomes it before the eyes of who looks: no error.
func (d *demo) begin(ctx context.Context, c *web.Client) error {
	by := d.app.user()
	wanted := map[string]runs.Status{}
	for _, run := range demoRuns() {
		answer, err := c.StartNamed(ctx, run.workflow, engine.NamedStart{By: by}, 0)
		if err == nil && run.becomes == runs.RunCanceled {
			_, err = c.Cancel(ctx, answer.Run.ID, by)
		}
		if err != nil {
			return fmt.Errorf("start %s of the demo: %w", run.workflow, err)
		}
		wanted[answer.Run.ID] = run.becomes
	}
	if _, err := c.TriggerSchedule(ctx, demoSchedule, trigger.Request{By: by}); err != nil {
		return fmt.Errorf("start %s of the demo: %w", demoSchedule, err)
	}
	for end := d.app.sys.Now().Add(demoSettles); d.app.sys.Now().Before(end); {
		page, err := c.Runs(ctx, runs.Filter{Limit: 100})
		if err != nil {
			return fmt.Errorf("look at the runs of the demo: %w", err)
		}
		for _, run := range page.Items {
			if wanted[run.ID] == run.Status {
				delete(wanted, run.ID)
			}
		}
		if len(wanted) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(demoStep):
		}
	}
	return nil
}

// announce prints the link, alone on stdout, and what there is to know of the demo.
func (d *demo) announce(s *serving) error {
	link, err := s.loginLink(d.app.user(), guard.Admin)
	if err != nil {
		return err
	}
	a := d.app
	a.note("a server with simulated services and %d runs; open this in a browser, once and within 15 minutes:", len(demoRuns())+1)
	a.say("%s", a.styleOf(a.sys.Stdout).Cyan(link))
	a.note("all of it lies in %s and is removed at the end; Ctrl-C ends it", term.Clean(d.folder))
	a.note("another link: %s", a.commandText("tokens", "link"))
	a.note("the same runs here: %s", a.commandText("runs"))
	return nil
}
