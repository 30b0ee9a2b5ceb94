package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/internal/cli/term"
)

// pluginFlags are the flags of commands that run plugins, for those who write one.
type pluginFlags struct {
	logs     []string // plugins whose output is shown
	attach   []string // NAME=ADDR
	timeouts bool
}

func (f *pluginFlags) add(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.logs, "plugin-log", nil, "show what plugin NAME prints, on stderr (repeatable)")
	c.Flags().StringArrayVar(&f.attach, "attach", nil, "let plugin NAME be the process at ADDR, which somebody started with --debug: NAME=ADDR (repeatable)")
	c.Flags().BoolVar(&f.timeouts, "timeouts", false, "keep the timeouts of steps of attached plugins")
}

// usePlugins settles which processes are attached and whose output is shown; stop ends the
// latter.
func (a *app) usePlugins(flags *pluginFlags) (stop func(), err error) {
	if a.isRemote() && len(flags.attach)+len(flags.logs) > 0 {
		return nil, usageError(errors.New("--attach and --plugin-log are for plugins on this machine, and a server on another one runs its own"), "leave them out")
	}
	attached := map[string]string{}
	for _, text := range flags.attach {
		name, address, ok := strings.Cut(text, "=")
		if !ok || name == "" || address == "" || term.Clean(text) != text {
			return nil, usageError(fmt.Errorf("--attach takes NAME=ADDR, not %q", text), "a plugin that is started with --debug prints its address")
		}
		if attached[name] != "" {
			return nil, usageError(fmt.Errorf("--attach names plugin %s twice", name), "")
		}
		attached[name] = a.abs(address)
	}
	switch {
	case len(attached) == 0 && flags.timeouts:
		return nil, usageError(errors.New("--timeouts is for plugins that are attached"), "other steps keep their timeouts anyway")
	case len(attached) > 0 && a.boolSetting("locked"):
		return nil, usageError(errors.New("--attach: nobody has verified what the process is, and --locked runs nothing else than flowrun.lock has"), "leave out one of the two")
	}
	if len(attached) > 0 {
		a.attached, a.attachTimeouts = attached, flags.timeouts
	}
	return a.tailPlugins(flags.logs)
}

// noteAttached says whose word is taken.
func (a *app) noteAttached() {
	for _, name := range slices.Sorted(maps.Keys(a.attached)) {
		a.note("plugin %s is the process at %s: nothing verifies it, and nothing holds it", name, a.attached[name])
	}
}

// ownsAttached refuses to attach plugins of another process: that one runs them.
func (a *app) ownsAttached(pid int) error {
	if len(a.attached) == 0 {
		return nil
	}
	return usageError(fmt.Errorf("process %d owns the store and runs the plugins: it takes --attach when it is started", pid),
		"`flowrun serve --attach NAME=ADDR`; or end it, or name another folder with --state")
}
