package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/sdk"
)

// Own is what the plugin of a service adds to its description: what is computed.
type Own[C any] struct {
	// With is what recipes need of a connection; nil = nothing.
	With func(c *sdk.Call[C]) recipe.With
	// Around stands around the request of an action, by its name; "" is for all others.
	Around map[string]Around[C]
	// Narrow makes of the output's schema of an action the one that workflows are checked
	// by, see sdk.NarrowWith; by the action's name.
	Narrow map[string]func(output sdk.Value) sdk.Value
}

// Around makes the output of an action of an input: it asks the service with what it makes
// of the input, and makes the output of what the service gives. That is held against the
// output's schema behind it.
type Around[C any] func(c *sdk.Call[C], input sdk.Members, ask func(sdk.Members) (recipe.Reply, error)) (sdk.Value, error)

// Read reads a service that was compiled.
func Read(compiled []byte) (s Service, err error) {
	if err = json.Unmarshal(compiled, &s); err != nil {
		return s, fmt.Errorf("read the service: %w", err)
	}
	return s, nil
}

// New makes the plugin of a service: compiled is its Service as JSON. What is wrong with
// it, Plugin.Err tells.
func New[C any](name, version string, compiled []byte, own Own[C], parts ...sdk.Part) *sdk.Plugin {
	s, err := Read(compiled)
	if err != nil {
		return sdk.New(name, version, "", sdk.Failed(err))
	}
	for _, limit := range s.Limits {
		part, err := limit.Part()
		if err != nil {
			part = sdk.Failed(fmt.Errorf("limit %s: %w", limit.Name, err))
		}
		parts = append(parts, part)
	}
	for _, described := range s.Actions {
		a := newAction(described, own)
		parts = append(parts, a.part())
		if s.Check != nil && s.Check.Action == described.Name {
			parts = append(parts, sdk.CheckConnection(func(c *sdk.Call[C]) (string, error) {
				output, err := a.run(c, sdk.Value("{}"))
				return recipe.Text(output, s.Check.Account), err
			}))
		}
	}
	return sdk.New(name, version, s.Doc, parts...)
}

// action is an action with what a call needs of it, which is read at the first one.
type action[C any] struct {
	Action
	own    Own[C]
	recipe func() (*recipe.Recipe, error)
	schema func() (*sdk.Schema, error) // of the output
}

func newAction[C any](described Action, own Own[C]) *action[C] {
	return &action[C]{
		Action: described, own: own,
		recipe: sync.OnceValues(func() (*recipe.Recipe, error) { return recipe.Decode(described.Recipe) }),
		schema: sync.OnceValues(func() (*sdk.Schema, error) { return sdk.ParseSchema(described.Output) }),
	}
}

// part declares the action.
func (a *action[C]) part() sdk.Part {
	options := append(a.Head.Options(), a.Action.Options()...)
	options = append(options, sdk.Input(a.Input), sdk.Output(a.Output), sdk.ValidateWith(a.refused))
	if narrow := a.own.Narrow[a.Name]; narrow != nil {
		options = append(options, sdk.NarrowWith(func(sdk.Value, []string) json.RawMessage { return narrow(a.Output) }))
	}
	switch Effects()[a.Effect] {
	case sdk.EffectIdempotent:
		return sdk.Idempotent(a.Name, a.Doc, a.run, options...)
	case sdk.EffectKeyed:
		return sdk.Keyed(a.Name, a.Doc, a.run, options...)
	case sdk.EffectOnce:
		return sdk.Once(a.Name, a.Doc, a.run, options...)
	}
	return sdk.Read(a.Name, a.Doc, a.run, options...)
}

// refused says what the description refuses in an input.
func (a *action[C]) refused(input sdk.Value, unknown []string) []sdk.Problem {
	r, err := a.recipe()
	if err != nil {
		return []sdk.Problem{sdk.Problemf("", "%v", err)}
	}
	return r.Refused(input, unknown)
}

// run makes one call: the request of the recipe, inside of what the plugin puts around it.
func (a *action[C]) run(c *sdk.Call[C], input sdk.Value) (sdk.Value, error) {
	r, err := a.recipe()
	if err != nil {
		return nil, err
	}
	fields, isObject := sdk.ReadMembers(input)
	if !isObject {
		return nil, sdk.Invalid("", "the input is no object")
	}
	var with recipe.With
	if a.own.With != nil {
		with = a.own.With(c)
	}
	var last recipe.Reply
	ask := func(sent sdk.Members) (recipe.Reply, error) {
		var err error
		last, err = recipe.Ask(c, r, with, sent.JSON())
		return last, err
	}
	around := a.own.Around[a.Name]
	if around == nil {
		around = a.own.Around[""]
	}
	var output sdk.Value
	if around == nil {
		_, err = ask(fields)
		output = last.Output
	} else {
		output, err = around(c, fields, ask)
	}
	if err != nil || last.Response == nil || r.Page != nil && r.Page.Wrap != "" {
		return output, err
	}
	return output, a.check(last.Response, output)
}

// check holds an output against its schema, leniently: null and what is missing further in
// pass, and the host decides about them.
func (a *action[C]) check(response *sdk.Response, output sdk.Value) error {
	schema, err := a.schema()
	if err != nil {
		return fmt.Errorf("read the schema of the output: %w", err)
	}
	isObject := bytes.HasPrefix(bytes.TrimSpace(output), []byte("{"))
	if !isObject && a.Data != "" && schema.Says() && !schema.Takes("array") && !schema.Takes("string") {
		return response.Fail(sdk.CodeUnexpectedResponse, "`%s` is %s where an object is due", a.Data, sdk.TypeName(output))
	}
	return response.Fits(output, schema)
}

// IsRefused reports whether a failure is the service's own word, and of a code: one of a
// proxy or of a wrong base_url is not.
func IsRefused(err error, code sdk.Code) bool {
	failure, ok := errors.AsType[*sdk.Error](err)
	return ok && failure.Code == code && errors.Is(err, recipe.ErrRefused)
}
