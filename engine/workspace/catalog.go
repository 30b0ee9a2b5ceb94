package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/schema"
)

// catalog is the checker's view of a project's plugins and connections.
type catalog struct {
	project  *Workspace
	location location // of the file that is checked
}

var (
	_ check.Catalog   = (*catalog)(nil)
	_ check.LastWords = (*catalog)(nil)
	_ check.Advice    = (*catalog)(nil)

	_ check.ConnectionCatalog = (*catalog)(nil)
	_ check.DeliveryCatalog   = (*catalog)(nil)
	_ check.LimitCatalog      = (*catalog)(nil)
	_ check.AheadCatalog      = (*catalog)(nil)
)

// Action returns an action by its full name.
func (c *catalog) Action(name string) (*plan.Action, bool) {
	action, err := c.project.Action(name)
	return action, err == nil
}

// Limits are what flowrun.yaml sets of the limits of runs.
func (c *catalog) Limits() *plan.Limits { return c.project.runLimits() }

// JournalBytes are what the journal of a run may have.
func (c *catalog) JournalBytes() int64 { return c.project.file.Limits.Quotas.Of(quota.Journal) }

// ActionNames returns every known action, for "did you mean".
func (c *catalog) ActionNames() []string {
	names := slices.Collect(maps.Keys(c.project.builtins))
	for _, plugin := range c.project.PluginNames() {
		description, err := c.project.Describe(plugin)
		if err != nil {
			continue
		}
		for _, action := range description.Actions {
			names = append(names, action.FullName())
		}
	}
	slices.Sort(names)
	return names
}

// PluginProblem says why a known plugin can't be described, "" where it can.
func (c *catalog) PluginProblem(plugin string) string {
	if !slices.Contains(c.project.PluginNames(), plugin) {
		return ""
	}
	d, err := c.project.Describe(plugin)
	if told := c.project.ToldProblems(plugin); len(told) > 0 {
		return "what flowrun.yaml tells it is wrong: see " + told[0].Pos.String()
	}
	switch {
	case err != nil:
		return err.Error()
	case d.Bare():
		return "it describes what a project tells it, and flowrun.yaml tells it nothing"
	}
	return ""
}

// LastWords are the last lines of a plugin that died instead of describing itself.
func (c *catalog) LastWords(plugin string) []string {
	_, err := c.project.Describe(plugin)
	return lastWords(err)
}

// PluginHint says what to do about a plugin that can't be described.
func (c *catalog) PluginHint(plugin string) diag.Hint {
	d, err := c.project.Describe(plugin)
	if err == nil && d.Bare() {
		return diag.Sayf("tell it under `plugins` of flowrun.yaml: NAME: {source: .., with: {%s: ..}}", firstSetting(d))
	}
	if failure, ok := errors.AsType[*pluginhost.PluginError](err); ok {
		return failure.Hint
	}
	return diag.Hint{}
}

// firstSetting is a setting that a plugin needs to be told, else any that it takes.
func firstSetting(d *pluginhost.Description) string {
	t, err := schema.FromJSON(d.SettingsSchema)
	if err != nil || len(t.Fields) == 0 {
		return "SETTING"
	}
	for _, field := range t.Fields {
		if field.Required {
			return field.Name
		}
	}
	return t.Fields[0].Name
}

// Delivery returns how a plugin delivers outputs; nil where it does not.
func (c *catalog) Delivery(plugin string) *check.Delivery {
	if !slices.Contains(c.project.PluginNames(), plugin) {
		return nil
	}
	description, err := c.project.Describe(plugin)
	if err != nil || description.Delivery == nil {
		return nil
	}
	d := description.Delivery
	return &check.Delivery{Action: d.Action, Content: d.Content, Markdown: d.Markdown, Path: d.Path, Title: d.Title}
}

// Validate asks the action's plugin about literal inputs.
func (c *catalog) Validate(ctx context.Context, action string, input json.RawMessage, unknown []string) (check.Validation, error) {
	return c.ValidateOn(ctx, action, "", input, unknown)
}

// ValidateOn is Validate for a call through a connection; "" = it is not known.
func (c *catalog) ValidateOn(ctx context.Context, action, connection string, input json.RawMessage, unknown []string) (check.Validation, error) {
	if _, builtin := c.project.builtins[action]; builtin {
		return check.Validation{}, nil
	}
	said, err := c.project.askPluginOn(ctx, action, connection, input, unknown)
	if err != nil {
		return check.Validation{}, err
	}
	validation := check.Validation{Output: said.Output, Identity: said.Identity}
	for _, d := range said.Diagnostics {
		severity := diag.Warning
		if d.Error {
			severity = diag.Error
		}
		validation.Problems = append(validation.Problems, check.ValidationProblem{
			Severity: severity, Summary: d.Summary, Detail: d.Detail, Pointer: d.Pointer,
		})
	}
	return validation, nil
}

// Connections maps connection names to plugins; nil without a project file, and
// in a sandbox, where every name stands for the simulator.
func (c *catalog) Connections() map[string]string {
	if c.project.sandbox != nil || c.project.config.ProjectFile == "" {
		return nil
	}
	connections := map[string]string{}
	for _, connection := range c.project.file.Connections {
		connections[connection.Name] = connection.Plugin
	}
	return connections
}

// DefaultConnection is the connection of a plugin where a step names none, in a
// sandbox: the one that it would have outside. "" leaves it to the checker.
func (c *catalog) DefaultConnection(plugin string) string {
	if c.project.sandbox == nil {
		return ""
	}
	name, err := c.project.DefaultConnection(plugin)
	if err != nil {
		return "" // several: the plugin's own name stands for a simulator
	}
	return name
}
