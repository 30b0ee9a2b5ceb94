// Package service holds a service as its description was read beforehand: the plugin of
// one service carries that beside its code, so that a process which starts reads neither
// YAML nor documents, and of an action only what a call needs.
package service

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// Service is a service, ready to be a plugin.
type Service struct {
	Doc     string   `json:"doc"`
	Limits  []Limit  `json:"limits,omitempty"`
	Check   *Check   `json:"check,omitempty"` // nil = a connection can't be tried
	Actions []Action `json:"actions"`
}

// Limit is a rate limit of the service, for each base_url.
type Limit struct {
	Name       string   `json:"name"`
	Requests   int      `json:"requests,omitempty"` // in a window; 0 = no limit
	Per        Duration `json:"per,omitempty"`
	Fixed      bool     `json:"fixed,omitempty"`      // the service counts anew in each window
	Concurrent int      `json:"concurrent,omitempty"` // at the same time; 0 = no limit
}

// Check is the read that tries a connection.
type Check struct {
	Action  string `json:"action"`
	Account string `json:"account,omitempty"` // JSON Pointer into its output to whose account it is
}

// Action is one action.
type Action struct {
	Head
	Input    json.RawMessage `json:"input"`  // JSON Schema
	Output   json.RawMessage `json:"output"` // JSON Schema
	Recipe   json.RawMessage `json:"recipe"`
	Data     string          `json:"data,omitempty"` // what the service calls the output, for errors
	Faults   []Fault         `json:"faults,omitempty"`
	Examples []Example       `json:"examples,omitempty"`
}

// Head is what lists show of an action.
type Head struct {
	Name       string   `json:"name"`
	Doc        string   `json:"doc"`
	Effect     string   `json:"effect"` // "read", "idempotent", "keyed" or "once"
	Limits     []string `json:"limits,omitempty"`
	Timeout    Duration `json:"timeout,omitempty"`
	Deprecated string   `json:"deprecated,omitempty"` // what to use instead
	Paging     *Paging  `json:"paging,omitempty"`     // nil = it has no pages
}

// Paging names the members of input and output that pages have.
type Paging struct {
	Input string `json:"input"`           // names a page
	Items string `json:"items,omitempty"` // of the output; "" = its only list
	Next  string `json:"next,omitempty"`  // of the output: the next page
	Named string `json:"named,omitempty"` // field that names an item; "-" = the same may come again
}

// Fault is a failure that an action may end with.
type Fault struct {
	Code   sdk.Code `json:"code"`
	Reason string   `json:"reason,omitempty"`
	Doc    string   `json:"doc"`
}

// Example is an input with what it may give.
type Example struct {
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input"`
	Output json.RawMessage `json:"output,omitempty"`
}

// Encode returns the form of the service that Read reads: an action on each line, so that
// a change is seen in its place.
func (s Service) Encode() []byte {
	actions := s.Actions
	s.Actions = []Action{}
	head := sdk.JSON(s)
	out := append([]byte{}, head[:len(head)-len("]}")]...)
	for i, a := range actions {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, '\n'), sdk.JSON(a)...)
	}
	return append(out, "\n]}\n"...)
}

// Duration is a time.Duration that is written as Go writes it: "1m0s".
type Duration time.Duration

// MarshalText writes the duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads the duration.
func (d *Duration) UnmarshalText(text []byte) error {
	read, err := time.ParseDuration(string(text))
	*d = Duration(read)
	return err
}

// Effects are the effects of actions by their words.
func Effects() map[string]sdk.Effect {
	return map[string]sdk.Effect{"read": sdk.EffectRead, "idempotent": sdk.EffectIdempotent, "keyed": sdk.EffectKeyed, "once": sdk.EffectOnce}
}

// Part declares the limit.
func (l Limit) Part() (sdk.Part, error) {
	if l.Requests == 0 && l.Concurrent == 0 || l.Requests > 0 && l.Per <= 0 {
		return nil, fmt.Errorf("a limit has requests with per, or concurrent")
	}
	options := []sdk.LimitOption{sdk.Scope("base_url")}
	if l.Fixed {
		options = append(options, sdk.FixedWindow())
	}
	if l.Concurrent > 0 {
		options = append(options, sdk.MaxConcurrent(l.Concurrent))
	}
	return sdk.Limit(l.Name, l.Requests, time.Duration(l.Per), options...), nil
}

// Options say of an action what its head says.
func (h Head) Options() []sdk.ActionOption {
	var options []sdk.ActionOption
	if len(h.Limits) > 0 {
		options = append(options, sdk.Limits(h.Limits...))
	}
	if h.Timeout > 0 {
		options = append(options, sdk.Timeout(time.Duration(h.Timeout)))
	}
	if h.Deprecated != "" {
		options = append(options, sdk.Deprecated(h.Deprecated))
	}
	if h.Paging == nil {
		return options
	}
	options = append(options, sdk.Paged(h.Paging.Input, h.Paging.Items, h.Paging.Next))
	switch h.Paging.Named {
	case "":
	case "-":
		options = append(options, sdk.ItemsMayRepeat())
	default:
		options = append(options, sdk.ItemsNamedBy(h.Paging.Named))
	}
	return options
}

// Entry is the action in an index.
func (h Head) Entry() sdk.Entry {
	return sdk.Entry{Name: h.Name, Doc: h.Doc, Effect: Effects()[h.Effect], Options: h.Options()}
}

// Options are the failures and examples of the action.
func (a Action) Options() []sdk.ActionOption {
	var options []sdk.ActionOption
	for _, f := range a.Faults {
		options = append(options, sdk.Fault(f.Code, f.Reason, f.Doc))
	}
	for _, e := range a.Examples {
		var output any
		if e.Output != nil {
			output = e.Output
		}
		options = append(options, sdk.Example(e.Name, e.Input, output))
	}
	return options
}
