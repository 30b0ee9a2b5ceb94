package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
)

// pluginPatience is how long a plugin may take to start.
const pluginPatience = 15 * time.Second

// sandboxHint says what has all parts of the sandbox.
const sandboxHint = "Linux 6.12 or newer holds all parts; `limits: {sandbox: require}` in " + projectFileName + " runs no plugin without"

// checkSandbox tells part by part whether plugins are held to what they were given.
func (e *examination) checkSandbox(_ context.Context, check string) {
	if e.project.SandboxMode() == "off" {
		e.warn(check, "", "`limits.sandbox` is off: a plugin may do what its user may", "take it out of "+projectFileName)
		return
	}
	if err := e.project.CheckSandbox(); err != nil {
		e.add(Finding{Check: check, Status: Fail, Cause: Plugin, Err: err, Detail: err.Error()})
	}
	var parts []string
	for _, part := range e.project.Confinement() {
		if part.Held {
			parts = append(parts, part.Part)
			continue
		}
		if part.Watched {
			e.skip(part.Part, "", "not held: "+part.Why)
			continue
		}
		e.warn(check, part.Part, "not held: "+part.Why, sandboxHint)
	}
	if len(parts) > 0 {
		e.ok(check, "", "held: %s", strings.Join(parts, ", "))
	}
}

// checkGrants shows what plugins ask for and were not given, before somebody gives it.
func (e *examination) checkGrants(_ context.Context, check string) {
	for _, name := range e.project.PluginNames() {
		_, granted, err := e.project.PluginGrants(name)
		if err != nil {
			continue // checkPlugins has said so
		}
		if !granted.Empty() {
			e.ok(check, name, "%s", granted)
		}
		if lacking := e.project.Missing(name); !lacking.Empty() {
			e.warn(check, name, "it asks for more than it is given: "+lacking.String(),
				fmt.Sprintf("see whether it should have it; then `plugins: {%s: {grants: %s}}` in %s", name, lacking.YAML(), projectFileName))
		}
	}
}

// checkPlugins starts each plugin, some at a time.
func (e *examination) checkPlugins(ctx context.Context, check string) {
	names := e.project.PluginNames()
	failures := make([]error, len(names))
	Each(names, func(i int, name string) {
		bounded, cancel := context.WithTimeout(ctx, pluginPatience)
		defer cancel()
		failures[i] = e.project.Host().Start(bounded, name)
	})
	if ctx.Err() != nil {
		return
	}
	var well []string
	for i, name := range names {
		if failures[i] == nil {
			well = append(well, name)
			continue
		}
		e.fail(check, name, Plugin, failures[i].Error(), "look at `plugins` in "+projectFileName+"; started by hand with --debug the plugin says more")
	}
	if len(well) > 0 {
		e.ok("plugins", "", "%s started: %s", diag.Count(len(well), "plugin"), strings.Join(well, ", "))
	}
}

// checkOrphans looks for plugins that killed processes left behind.
func (e *examination) checkOrphans(ctx context.Context, check string) {
	if !exists(e.Config.StateDir) {
		return
	}
	orphans, err := e.project.Host().Orphans()
	if err != nil {
		e.failWith(check, "", err)
		return
	}
	if len(orphans) == 0 {
		e.ok(check, "", "no plugin was left behind")
		return
	}
	var names []string
	for _, orphan := range orphans {
		names = append(names, fmt.Sprintf("%s (%d)", orphan.Plugin, orphan.PID))
	}
	e.mend(Finding{
		Check: check, Status: Warn, Detail: "plugins of a process that was killed still run: " + strings.Join(names, ", "), Hint: diag.Say("the next owner ends them"),
	}, func() error {
		_, err := e.project.Host().ReapOrphans(ctx)
		return err
	})
}
