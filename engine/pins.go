package engine

import (
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

// PluginChangedError says that a plugin is not the one any more that a run was
// accepted with, or can't be had.
type PluginChangedError struct {
	Message string
	Hint    diag.Hint
}

func (e *PluginChangedError) Error() string { return e.Message }

// checkPlugins looks for the plugins that a run goes by. A plugin with a file of its own is
// the revision that the run was accepted with, whatever is in force by now; one of which
// nothing is left is refused. A bundled plugin is the one there is now: where its used
// actions have changed it is refused, and other bytes alone are said in the run's log.
func (e *Engine) checkPlugins(row *runs.Run) error {
	id := row.ID
	workflow, _, err := e.definition(row)
	if err != nil {
		return err
	}
	pinned := workspace.ActionsOf(workflow)
	current := map[string]*plan.Action{}
	for name, action := range pinned {
		if action.Plugin == runs.CorePlugin {
			continue
		}
		own, err := e.project.OwnRevision(action.Plugin, action.PluginDigest)
		if err != nil && action.PluginDigest == plan.Attached {
			return &PluginChangedError{
				Message: fmt.Sprintf("run %s was accepted with a process that was attached as plugin %s, and none is now", id, action.Plugin),
				Hint: diag.Sayf("start the plugin with --debug and attach it, %s, or check the file against the plugin as it is: %s",
					diag.Command{"runs", "resume", id, "--attach", action.Plugin + "=ADDR"}, diag.Command{"runs", "resume", id, "--with-latest"}),
			}
		}
		if err != nil {
			return pluginChanged(id, fmt.Sprintf("run %s was accepted with version %s of a plugin that is not there any more: %v", id, orUnknown(action.PluginVersion), err))
		}
		found := action
		if !own {
			found, err = e.project.Action(name)
		}
		if err != nil {
			return pluginChanged(id, fmt.Sprintf("run %s calls %s: %v", id, name, err))
		}
		current[name] = found
	}
	then, now := plan.PinsOf(pinned, runs.CorePlugin), plan.PinsOf(current, runs.CorePlugin)
	var notes []runs.Log
	for i, pin := range then {
		switch {
		case pin.Contract != now[i].Contract:
			return pluginChanged(id, fmt.Sprintf(
				"plugin %s has changed since run %s began (%s): what it says of %s is different",
				pin.Plugin, id, versions(pin, now[i]), changedAction(pin.Plugin, pinned, current)))
		case pin.Digest != now[i].Digest:
			notes = append(notes, runs.Log{At: e.config.Now().UTC(), Level: "info", Message: fmt.Sprintf(
				"plugin %s is another one than at the start (%s); what it says of the actions used here is the same", pin.Plugin, versions(pin, now[i]))})
		}
	}
	return e.noteInLog(id, notes)
}

// takePluginsInForce lets a plan that was stored go by the plugins in force, for a new run:
// each whose used actions are what they were. Another one stays the revision of the plan,
// as long as something is left of it. Nobody else has the plan.
func (e *Engine) takePluginsInForce(id string, workflow *plan.Workflow) error {
	stored := workspace.ActionsOf(workflow)
	fit := map[string]bool{}
	for _, pin := range plan.PinsOf(stored, runs.CorePlugin) {
		current := map[string]*plan.Action{}
		for name, action := range stored {
			if action.Plugin != pin.Plugin {
				continue
			}
			if found, err := e.project.Action(name); err == nil {
				current[name] = found
			}
		}
		now := plan.PinsOf(current, runs.CorePlugin)
		if fit[pin.Plugin] = len(now) == 1 && now[0].Contract == pin.Contract; fit[pin.Plugin] {
			continue
		}
		if _, err := e.project.OwnRevision(pin.Plugin, pin.Digest); err != nil {
			return &PluginChangedError{
				Message: fmt.Sprintf("plugin %s has changed since run %s began: %v", pin.Plugin, id, err),
				Hint:    diag.Say("put the plugin back as it was, or start a new run of the file"),
			}
		}
	}
	workspace.EachWorkflow(workflow, func(w *plan.Workflow) {
		for _, action := range w.Actions {
			if !fit[action.Plugin] {
				continue
			}
			if found, err := e.project.Action(action.FullName()); err == nil {
				action.PluginVersion, action.PluginDigest = found.PluginVersion, found.PluginDigest
			}
		}
	})
	return nil
}

// noteAttached says in a run's log which of its plugins are processes that a person
// attached: what ran is not known otherwise.
func (e *Engine) noteAttached(id string, pins []plan.PluginPin) error {
	var notes []runs.Log
	for _, pin := range pins {
		if pin.Digest == plan.Attached {
			notes = append(notes, runs.Log{At: e.config.Now().UTC(), Level: "warn", Message: fmt.Sprintf(
				"plugin %s (version %s, by its own word) is attached: the process at %s, which nobody verified", pin.Plugin, orUnknown(pin.Version), e.project.Config().Attach[pin.Plugin])})
		}
	}
	return e.noteInLog(id, notes)
}

// noteInLog adds lines to a run's log.
func (e *Engine) noteInLog(id string, lines []runs.Log) error {
	if len(lines) == 0 {
		return nil
	}
	stored := make(chan error, 1)
	e.store.Append(id, nil, nil, lines, func(err error) { stored <- err })
	return e.Fault(<-stored)
}

func pluginChanged(id, message string) error {
	return &PluginChangedError{
		Message: message,
		Hint:    diag.Sayf("put the plugin back as it was, or check the file against it: %s", diag.Command{"runs", "resume", id, "--with-latest"}),
	}
}

// changedAction names the first action of a plugin whose contract has changed.
func changedAction(plugin string, pinned, current map[string]*plan.Action) string {
	first := "its actions"
	for name, action := range pinned {
		if action.Plugin != plugin {
			continue
		}
		then := plan.PinsOf(map[string]*plan.Action{name: action}, runs.CorePlugin)
		now := plan.PinsOf(map[string]*plan.Action{name: current[name]}, runs.CorePlugin)
		if then[0].Contract != now[0].Contract && (first == "its actions" || name < first) {
			first = name
		}
	}
	return first
}

func versions(then, now plan.PluginPin) string {
	if then.Version != now.Version {
		return "version " + orUnknown(then.Version) + ", now " + orUnknown(now.Version)
	}
	return "version " + orUnknown(now.Version) + ", other bytes"
}

func orUnknown(version string) string {
	if strings.TrimSpace(version) == "" {
		return "?"
	}
	return version
}
