package workspace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/schema"
)

// PluginDoc is what a plugin says of itself, as a person reads of it.
type PluginDoc struct {
	Name        string               `json:"name"`
	Version     string               `json:"version"`
	Doc         string               `json:"doc,omitempty"`
	Wants       Grants               `json:"wants,omitzero"`
	Config      []FieldDoc           `json:"config"` // of its connections
	Limiters    []LimiterDoc         `json:"limiters"`
	TokenAction string               `json:"token_action,omitempty"` // gives the tokens of other connections (token_from)
	Login       *pluginhost.Login    `json:"login,omitempty"`
	Delivery    *pluginhost.Delivery `json:"delivery,omitempty"`
	Simulated   bool                 `json:"simulated"` // it brings a simulator for --sandbox
	Actions     []PluginActionDoc    `json:"actions"`
}

// LimiterDoc is a limiter, with its window in seconds.
type LimiterDoc struct {
	Name          string   `json:"name"`
	Requests      int      `json:"requests,omitempty"`
	WindowS       float64  `json:"window_s,omitempty"`
	FixedWindow   bool     `json:"fixed_window,omitempty"`
	MaxConcurrent int      `json:"max_concurrent,omitempty"`
	Scope         []string `json:"scope,omitempty"` // settings; none = base_url
}

// RangeDoc is a range limit, with its length in seconds.
type RangeDoc struct {
	FromField string  `json:"from_field"`
	ToField   string  `json:"to_field"`
	MaxS      float64 `json:"max_s"`
}

func rangeDoc(r *plan.Range) *RangeDoc {
	if r == nil {
		return nil
	}
	return &RangeDoc{FromField: r.FromField, ToField: r.ToField, MaxS: r.Max.Seconds()}
}

// PluginActionDoc is an action of a PluginDoc.
type PluginActionDoc struct {
	Action      string         `json:"action"` // full name
	Doc         string         `json:"doc,omitempty"`
	Deprecated  string         `json:"deprecated,omitempty"`
	Effect      plan.Effect    `json:"effect"`
	Reconcile   bool           `json:"reconcile,omitempty"` // its plugin can be asked what became of a lost call
	TimeoutS    float64        `json:"timeout_s,omitempty"` // seconds, where a step names none
	Limiters    []string       `json:"limiters,omitempty"`
	Paging      *plan.Paging   `json:"paging,omitempty"`
	Range       *RangeDoc      `json:"range,omitempty"`
	Incremental bool           `json:"incremental,omitempty"`
	Inputs      []FieldDoc     `json:"inputs"`
	Outputs     []FieldDoc     `json:"outputs"`
	Faults      []plan.Fault   `json:"faults"`
	Examples    []plan.Example `json:"examples"`
	Step        string         `json:"step"` // in YAML, ready to paste below `steps:`
}

// PluginDoc reads what a plugin says of itself; nothing else is asked.
func (p *Workspace) PluginDoc(name string) (PluginDoc, error) {
	if !slices.Contains(p.PluginNames(), name) {
		return PluginDoc{}, &UnknownPluginError{Plugin: name, Hint: diag.DidYouMean(name, p.PluginNames())}
	}
	d, err := p.Describe(name)
	if err != nil {
		return PluginDoc{}, err
	}
	config, err := p.configType(name)
	if err != nil {
		return PluginDoc{}, fmt.Errorf("config schema of plugin %s: %w", name, err)
	}
	doc := PluginDoc{
		Name: name, Version: d.Version, Doc: d.Doc, Wants: p.wants(name, d), Config: orNone(fieldDocs(config, "", 0)), Limiters: []LimiterDoc{},
		TokenAction: d.TokenAction, Login: d.Login, Delivery: d.Delivery, Simulated: len(d.Simulator) > 0, Actions: []PluginActionDoc{},
	}
	for _, l := range d.Limiters {
		doc.Limiters = append(doc.Limiters, LimiterDoc{
			Name: l.Name, Requests: l.Requests, WindowS: l.Window.Seconds(), FixedWindow: l.FixedWindow, MaxConcurrent: l.MaxConcurrent, Scope: l.Scope,
		})
	}
	actions, err := p.WholeActions(name)
	if err != nil {
		return PluginDoc{}, err
	}
	for _, action := range actions {
		fields, err := DescribeAction(action)
		if err != nil {
			return PluginDoc{}, err
		}
		doc.Actions = append(doc.Actions, PluginActionDoc{
			Action: action.FullName(), Doc: action.Doc, Deprecated: action.Deprecated, Effect: action.Effect, Reconcile: action.Reconcile, TimeoutS: action.DefaultTimeout.Seconds(),
			Limiters: diag.NamesOf(action.Limiters, func(l plan.Limiter) string { return l.Name }), Paging: action.Paging, Range: rangeDoc(action.Range), Incremental: action.Incremental,
			Inputs: orNone(fields.Inputs), Outputs: orNone(fields.Outputs), Faults: orNone(action.Faults), Examples: orNone(action.Examples), Step: fields.Example,
		})
	}
	return doc, nil
}

// orNone is a list that is written as one where it is empty.
func orNone[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// bounds says what besides its type holds a value.
func bounds(t *schema.Type) string {
	var parts []string
	span := func(what string, low, high string) {
		switch {
		case low != "" && high != "":
			parts = append(parts, low+" to "+high+what)
		case low != "":
			parts = append(parts, "at least "+low+what)
		case high != "":
			parts = append(parts, "at most "+high+what)
		}
	}
	span("", number(t.Min), number(t.Max))
	unit := " characters"
	if t.Kind == schema.List {
		unit = " items"
	}
	span(unit, number(t.MinLength), number(t.MaxLength))
	if t.Pattern != "" {
		parts = append(parts, "matches "+t.Pattern)
	}
	return strings.Join(parts, ", ")
}

func number[T int | float64](n *T) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}
