package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/project"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/secret"
)

// ConnectionUse is a connection that a step names, or takes by default.
type ConnectionUse struct {
	Plugin, Name string
	place        diag.Pos // of the step
	what         string   // "step post"; "" = not told
}

// says is what a sandbox has against the use.
func (u ConnectionUse) says(outside *SandboxError) string {
	if u.what == "" {
		return outside.Message
	}
	return outside.Message + " (" + u.what + ")"
}

// uses lists the connections of a workflow that are known before it runs, each
// once, with the first step that takes it.
func uses(workflow *plan.Workflow) []ConnectionUse {
	one := make([]string, 1) // of the step at hand
	return usesOf(workflow, func(_ *plan.Workflow, _ string, step *plan.Step) (names []string, below bool) {
		var ok bool
		if one[0], ok = literalText(step.Connection); !ok {
			return nil, true
		}
		return one, true
	})
}

// usesOf lists the connections that the steps of a workflow take, each once. take
// gives those of a step, in a list that it may use again, and whether to go on below it.
func usesOf(workflow *plan.Workflow, take func(w *plan.Workflow, path string, step *plan.Step) (names []string, below bool)) []ConnectionUse {
	var list []ConnectionUse
	type use struct{ plugin, name string }
	seen := map[use]bool{}
	eachStep(workflow, func(w *plan.Workflow, path string, step *plan.Step) bool {
		names, below := take(w, path, step)
		plugin, _, _ := strings.Cut(step.Uses, ".")
		for _, name := range names {
			if key := (use{plugin, name}); !seen[key] {
				seen[key] = true
				list = append(list, ConnectionUse{Plugin: plugin, Name: name, place: placeIn(w, step.Pos), what: whoCalls(path)})
			}
		}
		return below
	})
	return list
}

// placeIn is a place of a workflow's file.
func placeIn(w *plan.Workflow, pos plan.Pos) diag.Pos {
	return diag.Pos{File: w.File, Line: pos.Line, Column: pos.Column}
}

// literalText is a text that is written out: of a connection, where it is known before
// the run.
func literalText(v *plan.Value) (text string, ok bool) {
	if v == nil || v.Kind != plan.ValueLiteral {
		return "", false
	}
	return plan.TextOf(v.Literal)
}

// LiteralText is a text that is written out, "" where it is not.
func LiteralText(v *plan.Value) string {
	text, _ := literalText(v)
	return text
}

// eachStep visits the steps of a workflow and of those that it calls, handlers and
// loops included, with their paths in their own workflow, and the destinations of its
// outputs: those of a workflow that it calls go nowhere. visit returns whether to go on
// below a step: into its loop, or into the workflow that it calls.
func eachStep(workflow *plan.Workflow, visit func(w *plan.Workflow, path string, step *plan.Step) bool) {
	eachOwnStep(workflow, visit)
	runs.EachDelivery(workflow, func(_ *plan.Output, to *plan.Step) { visit(workflow, destinationPath+to.ID, to) })
}

func eachOwnStep(workflow *plan.Workflow, visit func(w *plan.Workflow, path string, step *plan.Step) bool) {
	runs.EachStep(workflow, func(path string, step *plan.Step, _ bool) bool {
		below := visit(workflow, path, step)
		if child := workflow.Workflows[step.Workflow]; below && child != nil {
			eachOwnStep(child, visit)
		}
		return below
	})
}

// destinationPath begins the path of a destination, which no step has.
const destinationPath = "outputs."

// whoCalls names a step, or an output that goes somewhere, for people.
func whoCalls(path string) string {
	if id, is := strings.CutPrefix(path, destinationPath); is {
		return "output " + id
	}
	return "step " + path
}

// checkSettings reports wrong settings of the connections that a workflow uses,
// at their places in the project file.
func (p *Workspace) checkSettings(workflow *plan.Workflow) diag.List {
	var problems diag.List
	for _, u := range append(uses(workflow), polledConnections(workflow)...) {
		if !p.Live(u.Name) {
			continue // its own settings do not count
		}
		if declared, ok := p.file.Connection(u.Name); ok && declared.Plugin == u.Plugin {
			problems = append(problems, p.checkConnection(declared)...)
		}
	}
	return problems
}

// checkConnection reports wrong settings of one connection.
func (p *Workspace) checkConnection(declared *project.Connection) diag.List {
	config, problems := p.connectionConfig(declared)
	if !problems.HasErrors() {
		p.checkTokenFrom(declared, config, &problems)
	}
	return problems
}

// Preflight reports what a run would lack: settings and secrets of the
// connections that its workflow uses. It is asked before a run begins, by validate
// and by doctor.
func (p *Workspace) Preflight(ctx context.Context, workflow *plan.Workflow) diag.List {
	var problems diag.List
	p.missingNotifySecrets(ctx, workflow, &problems)
	for _, u := range p.reached(workflow) {
		p.usable(ctx, u, &problems)
	}
	p.missingStepSecrets(ctx, workflow, &problems)
	return problems
}

// Lacking reports what a workflow that is fine by itself still lacks before it can
// run here: settings and secrets of its connections, secrets of its webhooks and
// messages. It is what refuses a run (exit code 3). stored names the secrets that
// lie in a store which is not open.
func (p *Workspace) Lacking(ctx context.Context, workflow *plan.Workflow, stored []string) diag.List {
	p.services.NoteStored(stored)
	if len(workflow.Triggers) > 0 {
		return p.TriggersLack(ctx, workflow)
	}
	return p.Preflight(ctx, workflow)
}

// CheckConnections reports wrong settings of all connections of the project file, and of
// all plugins that it tells something, whether a workflow uses them or not.
func (p *Workspace) CheckConnections() diag.List {
	var problems diag.List
	for i := range p.file.Connections {
		declared := &p.file.Connections[i]
		if slices.Contains(p.PluginNames(), declared.Plugin) { // else checkPlugins says so
			problems = append(problems, p.checkConnection(declared)...)
		}
	}
	for _, plugin := range p.file.Plugins {
		if plugin.With != nil || plugin.Bundled != "" {
			problems = append(problems, p.ToldProblems(plugin.Name)...)
		}
	}
	return problems
}

// usable reports what a connection and the one that it takes its token from lack.
func (p *Workspace) usable(ctx context.Context, u ConnectionUse, problems *diag.List) {
	connection, err := p.Connection(u.Plugin, u.Name)
	if err != nil {
		refusedUse(u, err, problems) // else the checker has said so
		return
	}
	place := u.place
	if declared, ok := p.file.Connection(u.Name); ok && p.Live(u.Name) {
		place = declared.Pos
	}
	p.missing(ctx, u, connection.Config, place, problems)
	if owner := connection.TokenFrom; owner != nil {
		if declared, ok := p.file.Connection(owner.Name); ok {
			place = declared.Pos
		}
		p.missing(ctx, ConnectionUse{Plugin: owner.Plugin, Name: owner.Name}, owner.Config, place, problems)
	}
}

// polledConnections lists the connections that a workflow's triggers ask, as far as
// they are written out.
func polledConnections(workflow *plan.Workflow) []ConnectionUse {
	var connectionUses []ConnectionUse
	for i := range workflow.Triggers {
		if u, ok := polledConnection(workflow, &workflow.Triggers[i]); ok {
			connectionUses = append(connectionUses, u)
		}
	}
	return connectionUses
}

func polledConnection(workflow *plan.Workflow, t *plan.Trigger) (ConnectionUse, bool) {
	if t.Poll == nil {
		return ConnectionUse{}, false
	}
	name, ok := literalText(t.Poll.Connection)
	plugin, _, _ := strings.Cut(t.Poll.Uses, ".")
	return ConnectionUse{Plugin: plugin, Name: name, place: placeIn(workflow, t.Pos), what: "trigger " + t.Name}, ok
}

// PollLacks is preflight for a poll's own call: what no run of the workflow needs
// may be needed by it.
func (p *Workspace) PollLacks(ctx context.Context, workflow *plan.Workflow, t *plan.Trigger) diag.List {
	u, ok := polledConnection(workflow, t)
	if !ok {
		return nil
	}
	var problems diag.List
	p.usable(ctx, u, &problems)
	eachSecret(&t.Poll.With, func(name string) {
		p.missingSecret(ctx, u.Name, name, "poll `"+t.Name+"`", u.place, &problems)
	})
	return problems
}

// TriggersLack is preflight for what starts runs of a workflow: what its webhooks and
// polls lack, and what the runs would.
func (p *Workspace) TriggersLack(ctx context.Context, workflow *plan.Workflow) diag.List {
	if len(workflow.Triggers) == 0 {
		return nil
	}
	problems := p.Preflight(ctx, workflow)
	for i := range workflow.Triggers {
		t := &workflow.Triggers[i]
		problems = append(problems, p.PollLacks(ctx, workflow, t)...)
		if name := HookSecretName(t); name != "" {
			var missing *secret.NotFoundError
			if clear, err := p.services.Reveal(ctx, name); errors.As(err, &missing) || err == nil && clear == "" {
				problem := problems.Errorf(placeIn(workflow, t.Pos), project.CodeSecretLacks, "webhook `%s` needs the secret %s, which is not set: it takes no request", t.Name, name)
				problem.Hint = p.secretHint("", name)
			}
		}
	}
	return problems
}

// HookSecretName is the secret that senders of a webhook show, "" for other kinds.
func HookSecretName(t *plan.Trigger) string {
	switch {
	case t.Webhook == nil:
	case t.Webhook.HMAC != nil:
		return t.Webhook.HMAC.Secret.Secret
	case t.Webhook.Token != nil:
		return t.Webhook.Token.Secret
	}
	return ""
}

// noSettings are those of a connection that is not declared: they need no decoder.
const noSettings = "{}"

// missing reports the settings and secrets that one connection lacks.
func (p *Workspace) missing(ctx context.Context, u ConnectionUse, settings json.RawMessage, place diag.Pos, problems *diag.List) {
	var config map[string]json.RawMessage
	if string(settings) != noSettings && json.Unmarshal(settings, &config) != nil {
		return
	}
	p.MissingSettings(u, config, place, problems)
	for _, name := range SecretNames(settings) {
		p.missingSecret(ctx, u.Name, name, "connection `"+u.Name+"`", place, problems)
	}
}

// MissingSettings reports the settings that the plugin requires and that a connection
// does not have.
func (p *Workspace) MissingSettings(u ConnectionUse, config map[string]json.RawMessage, place diag.Pos, problems *diag.List) {
	t, err := p.configType(u.Plugin)
	if err != nil {
		return
	}
	for _, field := range t.Fields {
		if _, given := config[field.Name]; given || !field.Required || field.Type.Default != nil {
			continue
		}
		problem := problems.Errorf(place, project.CodeSettingLacks, "connection `%s` of plugin %s needs the setting `%s`", u.Name, u.Plugin, field.Name)
		problem.Hint = diag.Sayf("write it into %s: connections: {%s: {plugin: %s, config: {%s: …}}}", project.FileName, u.Name, u.Plugin, field.Name)
		if slices.Contains(p.config.Bundled, u.Plugin) {
			problem.Hint = problem.Hint.Then("; or try the workflow with --sandbox")
		}
	}
}

// SecretNames lists the secrets that a document refers to, at any depth, each
// once.
func SecretNames(document json.RawMessage) []string {
	if string(document) == noSettings {
		return nil
	}
	var value any
	if json.Unmarshal(document, &value) != nil {
		return nil
	}
	var names []string
	schema.Walk(value, func(part any) bool {
		name, ok := schema.SecretName(part)
		if ok {
			names = append(names, name)
		}
		return !ok
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// checkPlugins reports connections of plugins that there are not.
func (p *Workspace) checkPlugins() diag.List {
	problems := p.checkGranted()
	names := p.PluginNames()
	for _, connection := range p.file.Connections {
		if slices.Contains(names, connection.Plugin) {
			continue
		}
		problem := problems.Errorf(connection.Pos, project.CodeNoPlugin, "connection `%s`: there is no plugin `%s`", connection.Name, connection.Plugin)
		problem.Hint = diag.MeantOr(connection.Plugin, names, "the plugins are ")
		if problem.Hint.Near == "" {
			problem.Hint.Text += "; name others under `plugins`"
		}
	}
	return problems
}
