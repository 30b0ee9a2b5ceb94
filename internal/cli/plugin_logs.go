package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/pluginlog"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/web"
)

// tailStep is between two looks at what plugins print.
const tailStep = 100 * time.Millisecond

func (a *app) pluginLogsCommand() *cobra.Command {
	lines, follow := 0, false
	c := &cobra.Command{
		Use: "logs NAME", Short: "Show the last of what a plugin printed", Args: exactArgs("NAME"),
		Long: "Logs shows what a plugin wrote to stderr, and to stdout behind its handshake: the last 256 KiB of it are kept in\n" +
			"the state folder, over restarts, with the secrets masked that flowrun knew when it was printed.",
		Example: "  flowrun plugins logs netinfo -n 50\n  flowrun plugins logs netinfo --follow",
		RunE:    func(c *cobra.Command, args []string) error { return a.pluginLogs(c.Context(), args[0], lines, follow) },
	}
	c.Flags().IntVarP(&lines, "tail", "n", 200, "how many lines, 0 for all that are kept")
	a.oldFlag(c, "lines", "", "tail")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what comes, until Ctrl-C")
	return withText(c)
}

func (a *app) pluginLogs(ctx context.Context, name string, most int, follow bool) error {
	dir, err := a.pluginLogDir(ctx, name)
	if err != nil {
		return err
	}
	if most < 0 {
		return usageError(fmt.Errorf("-n takes a number from 0, not %d", most), "")
	}
	follower, err := pluginlog.Follow(dir, name) // first: nothing falls between the two
	if err != nil {
		return err
	}
	defer follower.Close()
	lines, err := pluginlog.Last(dir, name, most)
	if err != nil {
		return err
	}
	err = a.print(web.Page[pluginlog.Line]{Items: lines}, func() {
		if len(lines) == 0 && !follow {
			a.note("plugin %s has printed nothing that is kept", name)
		}
		a.showPluginLines(lines)
	})
	if err != nil || !follow {
		return err
	}
	ctx, _, end := a.untilSignal(ctx)
	defer end()
	ticker := time.NewTicker(tailStep)
	defer ticker.Stop()
	for {
		more, err := follower.Next()
		if err != nil {
			return err
		}
		if err := a.followedLines(more); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (a *app) followedLines(lines []pluginlog.Line) error {
	if len(lines) == 0 {
		return nil
	}
	return a.print(web.Page[pluginlog.Line]{Items: lines}, func() { a.showPluginLines(lines) })
}

func (a *app) showPluginLines(lines []pluginlog.Line) {
	style := a.page(a.sys.Stdout).Style
	for _, line := range lines {
		text := term.Clean(line.Text)
		if line.Stream == pluginlog.Host {
			text = style.Dim("(" + text + ")")
		}
		a.say("%s %s", style.Dim(a.times.Full(line.At)), text)
	}
}

// pluginLogDir returns where the logs of plugins are, for a plugin that the project has,
// or had.
func (a *app) pluginLogDir(ctx context.Context, name string) (string, error) {
	at, err := a.locate()
	if err != nil {
		return "", err
	}
	dir := workspace.PluginLogs(at.stateDir)
	project, err := a.loadProject(ctx)
	if err != nil {
		return "", err
	}
	defer project.Close()
	if slices.Contains(project.PluginNames(), name) {
		return dir, nil
	}
	return "", &workspace.UnknownPluginError{Plugin: name, Hint: diag.DidYouMean(name, project.PluginNames())}
}

// tailPlugins shows what plugins print from now on, whichever process runs them, until
// stop is called: by then all is shown that was printed before.
func (a *app) tailPlugins(names []string) (stop func(), err error) {
	if len(names) == 0 {
		return func() {}, nil
	}
	at, err := a.locate()
	if err != nil {
		return nil, err
	}
	tails := map[string]*pluginlog.Follower{}
	for _, name := range names {
		if name == "" || term.Clean(name) != name || slices.Contains([]string{".", ".."}, name) {
			return nil, usageError(fmt.Errorf("--plugin-log takes the name of a plugin, not %q", name), "`flowrun plugins` lists the plugins")
		}
		if tails[name], err = pluginlog.Follow(workspace.PluginLogs(at.stateDir), name); err != nil {
			return nil, err
		}
	}
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		a.tail(tails, ended)
	}()
	return func() {
		close(ended)
		<-done
	}, nil
}

func (a *app) tail(tails map[string]*pluginlog.Follower, ended <-chan struct{}) {
	ticker := time.NewTicker(tailStep)
	defer ticker.Stop()
	for last := false; ; {
		for name, follower := range tails {
			lines, _ := follower.Next() // what can't be read is not there to be shown
			for _, line := range lines {
				fmt.Fprintf(a.sys.Stderr, "%s %s\n", a.style.Dim("["+name+"]"), term.Clean(line.Text))
			}
			if last {
				follower.Close()
			}
		}
		if last {
			return
		}
		select {
		case <-ended:
			last = true
		case <-ticker.C:
		}
	}
}
