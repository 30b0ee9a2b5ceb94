package sdk

import (
	"slices"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// describe returns what the plugin is: the same bytes for the same program.
func (p *Plugin) describe() *pluginv1.DescribeResponse {
	response := &pluginv1.DescribeResponse{
		Name: p.name, Version: p.version, Doc: p.doc, Sdk: sdkVersion,
		ProtocolMinor: handshake.ProtocolMinor,
		Plugin:        &pluginv1.Capabilities{},
		ConfigSchema:  p.config.JSON(),
		Limiters:      p.limiters,
		Wants:         p.grants,
		TokenAction:   p.tokenAction,
		Simulator:     p.simulator,
	}
	if l := p.login; l != nil {
		response.Login = &pluginv1.Login{Start: l.Start, Wait: l.Wait, Status: l.Status, Revoke: l.Revoke, Scopes: l.Scopes}
	}
	if d := p.delivery; d != nil {
		response.Delivery = &pluginv1.Delivery{Action: d.Action, Content: d.Content, Markdown: d.Markdown, Path: d.Path, Title: d.Title}
	}
	for _, a := range p.actions {
		response.Actions = append(response.Actions, a.describe())
	}
	if slices.ContainsFunc(p.actions, func(a *action) bool { return a.reconcile != nil }) {
		response.Plugin.Features = append(response.Plugin.Features, handshake.FeatureReconcile)
	}
	if slices.ContainsFunc(p.actions, (*action).looksAtConfig) {
		response.Plugin.Features = append(response.Plugin.Features, handshake.FeatureValidateConfig)
	}
	response.Plugin.Features = append(response.Plugin.Features, handshake.FeatureExecuteStream)
	return response
}

func (a *action) describe() *pluginv1.Action {
	described := &pluginv1.Action{
		Name: a.name, Doc: a.doc, Effect: a.effect,
		DefaultTimeout: protoDuration(a.timeout),
		Limiters:       a.limiters, Paging: a.paging, Range: a.rng,
		Incremental: a.incremental, Faults: a.faults, Deprecated: a.deprecated, SchemasDecide: a.schemasDecide(),
	}
	if described.InputSchema = a.rawInput; a.rawInput == nil {
		described.InputSchema = a.input.JSON()
	}
	if described.OutputSchema = a.rawOutput; a.rawOutput == nil {
		described.OutputSchema = a.output.JSON()
	}
	for _, e := range a.examples {
		described.Examples = append(described.Examples, &pluginv1.Example{Name: e.name, Input: e.input, Output: e.output})
	}
	return described
}
