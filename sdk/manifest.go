package sdk

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// manifest is a Manifest that was read: the plugin as it is by what it was told.
type manifest struct {
	of      [sha256.Size]byte // of what was told
	author  Manifest
	plugin  *Plugin                     // its parts
	entries map[string]*pluginv1.Action // of the index
	problem error                       // that the author has to mend
	refused *Error                      // what is wrong with the settings
}

// manifestOf reads what the plugin is told. The last one is kept: the actions of an index
// are asked for right after it.
func (d *describer) manifestOf(p *Plugin, name string, told *pluginv1.Settings) (*manifest, error) {
	request, err := proto.MarshalOptions{Deterministic: true}.Marshal(&pluginv1.DescribeActionsRequest{Name: name, Settings: told})
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	of := sha256.Sum256(request)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last != nil && d.last.of == of {
		return d.last, nil
	}
	d.last = &manifest{of: of}
	d.last.read(d, p, name, told)
	return d.last, nil
}

// read has the author's function make the manifest, and checks it.
func (m *manifest) read(d *describer, p *Plugin, name string, told *pluginv1.Settings) {
	defer onPanic(func(text, _ string) { m.problem = fmt.Errorf("describe what it is told: %s", text) })
	if !isName(name, nameLetters+"-") {
		m.problem = fmt.Errorf("%q is no name of a plugin", cut(plain(name), 64))
		return
	}
	settings, problems := decodeInto(told.GetValue().GetJson(), d.settings, d.settingsType, nil)
	if m.refused = firstError(problems); m.refused != nil {
		return
	}
	var files []ToldFile
	for _, f := range told.GetFiles() {
		files = append(files, ToldFile{Pointer: f.GetPointer(), Path: f.GetPath(), Content: f.GetContent()})
	}
	var err error
	if m.author, err = d.describe(name, settings, files); failed(err) {
		m.refused = asError(err)
		return
	}
	m.problem = m.build(d, p, name)
}

// build makes the plugin of the manifest's parts, and its index.
func (m *manifest) build(d *describer, p *Plugin, name string) error {
	own := &Plugin{
		name: name, version: p.version, doc: cmp.Or(m.author.Doc, p.doc), grants: proto.Clone(p.grants).(*pluginv1.Grants), limiters: slices.Clone(p.limiters),
		tokenAction: p.tokenAction, login: p.login, delivery: p.delivery, simulator: p.simulator, defaultBaseURL: p.defaultBaseURL, configType: d.configType,
	}
	for _, part := range m.author.Parts {
		part.addTo(own)
	}
	if len(own.actions) > 0 {
		own.failf("the parts of a manifest have the action %s: it is an Entry", own.actions[0].name)
	}
	m.plugin, m.entries = own, map[string]*pluginv1.Action{}
	var err error
	if own.config = p.config; m.author.Config != nil {
		if own.config, err = parseSchema(m.author.Config); err != nil {
			return fmt.Errorf("config: %w", err)
		}
	}
	for _, entry := range m.author.Actions {
		if m.entries[entry.Name] != nil {
			own.failf("action %q is declared twice", entry.Name)
		}
		a := &action{name: entry.Name, doc: entry.Doc, effect: pluginv1.Effect(entry.Effect)} //nolint:gosec // one of four
		for _, option := range entry.Options {
			option(own, a)
		}
		if a.paging != nil {
			a.paging.Identity = cmp.Or(a.identity, itemsAsWhole)
		}
		m.entries[entry.Name] = a.entry()
	}
	return errors.Join(own.errs...)
}

// entry is what an index says of an action.
func (a *action) entry() *pluginv1.Action {
	return &pluginv1.Action{
		Name: a.name, Doc: a.doc, Effect: a.effect, DefaultTimeout: protoDuration(a.timeout),
		Limiters: a.limiters, Paging: a.paging, Range: a.rng, Incremental: a.incremental, Deprecated: a.deprecated,
	}
}

// whole makes one action of the index, and checks it as New checks others.
func (m *manifest) whole(d *describer, name string) (described *pluginv1.Action, err error) {
	defer onPanic(func(text, _ string) { described, err = nil, errors.New(text) })
	entry := m.entries[name]
	if entry == nil || m.author.Action == nil {
		return nil, fmt.Errorf("the index has no action %q", cut(plain(name), 64))
	}
	body, err := m.author.Action(name)
	if failed(err) {
		return nil, err
	}
	described = proto.Clone(entry).(*pluginv1.Action)
	described.InputSchema, described.OutputSchema = body.Input, body.Output
	if len(body.Input) == 0 || len(body.Output) == 0 {
		return nil, errors.New("it needs the schemas of its input and its output")
	}
	own := &Plugin{limiters: m.plugin.limiters}
	a := d.newAction(described)
	a.validators, a.narrowers, a.reconcile = nil, nil, nil // examples are held against the schemas
	for _, option := range body.Options {
		option(own, a)
	}
	a.finish(own)
	if err := errors.Join(own.errs...); err != nil {
		return nil, err
	}
	full := a.describe()
	full.Paging = entry.GetPaging()
	decided := full.GetSchemasDecide() && d.validate == nil
	full.SchemasDecide = false // a recipe is what a call needs
	full.Recipe = body.Recipe  // the SDK's own recipe is the action, with the author's in it
	if full.Recipe, err = (proto.MarshalOptions{Deterministic: true}).Marshal(full); err != nil {
		return nil, fmt.Errorf("encode its recipe: %w", err)
	}
	full.SchemasDecide = decided
	return full, nil
}

// describeTold is Describe of a plugin that is told something.
func (s *service) describeTold(request *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	d, p := s.plugin.described, s.plugin
	response := p.describe()
	response.Plugin.Features = append(response.Plugin.Features, handshake.FeatureSettings, handshake.FeatureIndex)
	if d.reconcile != nil {
		response.Plugin.Features = append([]string{handshake.FeatureReconcile}, response.Plugin.Features...)
	}
	response.SettingsSchema = d.settings.JSON()
	if request.GetSettings() == nil {
		return response, nil
	}
	m, err := d.manifestOf(p, request.GetName(), request.GetSettings())
	if err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	if m.problem != nil {
		return nil, connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("its author has to mend it: %w", m.problem))
	}
	response.Name = request.GetName()
	if m.refused != nil {
		response.Diagnostics = []*pluginv1.Diagnostic{{
			Severity: pluginv1.Diagnostic_SEVERITY_ERROR, Summary: cut(plain(m.refused.Message), 4096), Detail: cut(plain(m.refused.Hint), 4096), Pointer: m.refused.Pointer,
		}}
		return response, nil
	}
	response.Diagnostics = protoDiagnostics(m.author.Warnings)
	own := m.plugin.describe()
	response.Doc, response.ConfigSchema, response.Limiters, response.Wants = own.Doc, own.ConfigSchema, own.Limiters, own.Wants
	response.TokenAction, response.Login, response.Delivery, response.Simulator = own.TokenAction, own.Login, own.Delivery, own.Simulator
	if m.author.Config != nil {
		response.ConfigSchema = m.author.Config
	}
	for _, entry := range m.author.Actions {
		response.Actions = append(response.Actions, m.entries[entry.Name])
	}
	response.Recipe, err = (proto.MarshalOptions{Deterministic: true}).Marshal(&pluginv1.DescribeResponse{
		Name: response.GetName(), ConfigSchema: response.GetConfigSchema(), Recipe: m.author.Recipe,
	})
	if err != nil {
		return nil, connect.NewError(connect.CodeInternal, err)
	}
	return response, nil
}

// describeActions makes the actions of an index that are asked for.
func (s *service) describeActions(request *pluginv1.DescribeActionsRequest) (*pluginv1.DescribeActionsResponse, error) {
	d := s.plugin.described
	m, err := d.manifestOf(s.plugin, request.GetName(), request.GetSettings())
	if err == nil {
		err = m.problem
	}
	if err == nil && m.refused != nil {
		err = m.refused
	}
	if err != nil {
		return nil, connect.NewError(connect.CodeFailedPrecondition, err)
	}
	response := &pluginv1.DescribeActionsResponse{}
	for _, name := range request.GetActions() {
		described, err := m.whole(d, name)
		if err != nil {
			return nil, connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("action %s: %w", name, err))
		}
		response.Actions = append(response.Actions, described)
	}
	return response, nil
}
