package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// settings are what the plugin is told, where its fault is one of those that are told.
var settings = object([]string{"greeting"}, schema{"greeting": text})

// isTold reports whether the plugin takes settings.
func (p *plugin) isTold() bool {
	return p.fault == "told" || strings.HasPrefix(p.fault, "settings.") || strings.HasPrefix(p.fault, "index.")
}

// told is the description by what the plugin is told: an index.
func (p *plugin) told(d *pluginv1.DescribeResponse, r *pluginv1.DescribeRequest) *pluginv1.DescribeResponse {
	d.Plugin.Features = append(d.Plugin.Features, "settings", "index")
	d.SettingsSchema = settings.bytes()
	if r.GetSettings() == nil {
		d.Actions = nil
		return d
	}
	if found := check(r.GetSettings().GetValue().GetJson(), settings, nil); len(found) > 0 && !p.has("settings.refuses") {
		return &pluginv1.DescribeResponse{Name: r.GetName(), Plugin: d.GetPlugin(), SettingsSchema: d.GetSettingsSchema(), Diagnostics: diagnostics(found)}
	}
	if d.Name = r.GetName(); p.has("settings.name") {
		d.Name = "faulty"
	}
	if p.has("settings.schema") {
		d.SettingsSchema = object([]string{}, schema{"greeting": text}).bytes()
	}
	d.Recipe = []byte("recipe of connections")
	for _, a := range d.GetActions() {
		p.actions = append(p.actions, proto.Clone(a).(*pluginv1.Action))
		a.InputSchema, a.OutputSchema, a.Examples = nil, nil, nil
	}
	return d
}

// DescribeActions gives the actions of the index whole.
func (p *plugin) DescribeActions(ctx context.Context, r *pluginv1.DescribeActionsRequest) (*pluginv1.DescribeActionsResponse, error) {
	p.one.Lock()
	defer p.one.Unlock()
	p.actions = nil
	if _, err := p.Describe(ctx, &pluginv1.DescribeRequest{Name: r.GetName(), Settings: r.GetSettings()}); err != nil {
		return nil, err
	}
	response := &pluginv1.DescribeActionsResponse{}
	for _, name := range r.GetActions() {
		for _, a := range p.actions {
			if a.GetName() != name {
				continue
			}
			a.Recipe = []byte("recipe of " + name)
			if p.has("index.whole") {
				a.Doc += ", whole"
			}
			if p.has("index.alone") && len(r.GetActions()) == 1 {
				a.Examples = nil
				a.Faults = []*pluginv1.Fault{{Code: 1, Reason: "alone"}}
			}
			response.Actions = append(response.Actions, a)
		}
	}
	return response, nil
}

// recipeOf refuses a call without the recipe of its action.
func (p *plugin) recipeOf(action string, recipe []byte) error {
	if _, known := inputs[action]; p.isTold() && known && string(recipe) != "recipe of "+action {
		return fmt.Errorf("the recipe of %s is %q", action, recipe)
	}
	return nil
}

// connectRecipe refuses a connection without its recipe.
func (p *plugin) connectRecipe(r *pluginv1.ConnectRequest) error {
	if p.isTold() && string(r.GetRecipe()) != "recipe of connections" || p.has("settings.recipes") && r.GetConnection() == "kit-recipes" {
		return errors.New("the settings are not known")
	}
	return nil
}
