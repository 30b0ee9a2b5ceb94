// Package openapi is the plugin of services that have an OpenAPI document, or a
// description in few lines: each operation of the document is an action, typed by its
// schemas. What the document says and an action can't express is told when the plugin
// describes itself.
//
// A process that runs a step never reads the document: what it needs is in the recipe of
// the action (package recipe), which the host keeps with the description.
package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/sdk"
)

// Version is the version of the plugin.
const Version = "1.0.0"

// Options are what the plugin takes from outside.
type Options struct {
	// Simulator is the command of the program that stands for a service in a sandbox; the
	// settings go behind it, as JSON. None = nothing does.
	Simulator []string
}

// New returns the plugin without a simulator.
func New() *sdk.Plugin { return NewWith(Options{}) }

// NewWith returns the plugin with what its program passes in.
func NewWith(o Options) *sdk.Plugin {
	known := &recipes{}
	return sdk.New("openapi", Version, "Any HTTP service by its OpenAPI document, or by a description of it: each operation is an action.",
		sdk.Described[Settings, Config]{
			Describe: o.describe, Execute: known.execute, Validate: known.validate,
			ValidateConfig: func(_ []byte, config Config) []sdk.Problem { return checkConfig(config) },
		},
		sdk.CheckConnection(checkConnection),
		sdk.UsesState(),
	)
}

// describe makes the index of what a project tells, and its actions when they are asked
// for.
func (o Options) describe(told sdk.Told[Settings]) (sdk.Manifest, error) {
	document, ok := told.File("/document")
	if !ok {
		return sdk.Manifest{}, sdk.Invalid("/document", "the host hands over no file").WithHint("write the path of the service's document")
	}
	files := Files{Document: document.Content}
	if overlay, ok := told.File("/overlay"); ok {
		files.Overlay = overlay.Content
	}
	service, err := Read(told.Settings, files)
	if err != nil {
		return sdk.Manifest{}, refused(err)
	}
	m, err := service.manifest()
	if err == nil && len(o.Simulator) > 0 {
		settings, encodeErr := json.Marshal(told.Settings)
		if encodeErr != nil {
			return m, fmt.Errorf("encode the settings: %w", encodeErr)
		}
		m.Parts = append(m.Parts, sdk.Simulator(o.Simulator[0], append(slices.Clone(o.Simulator[1:]), string(settings))...))
	}
	return m, err
}

// refused is the first mistake of the settings, as the host shows it at its place.
func refused(err error) error {
	var wrong *ProblemsError
	if !errors.As(err, &wrong) {
		return sdk.Invalid("/document", "%v", err)
	}
	first := wrong.Problems[0]
	failure := sdk.Invalid(first.Pointer, "%s", first.Summary)
	if first.Detail != "" {
		failure = failure.WithHint("%s", first.Detail)
	}
	return failure
}

// connectionRecipe is what a connection needs of the settings.
type connectionRecipe struct {
	Check   *recipe.Recipe `json:"check,omitempty"`
	Account string         `json:"account,omitempty"`
}

// manifest is the service as the host is told of it.
func (s *Service) manifest() (sdk.Manifest, error) {
	m := sdk.Manifest{Doc: s.Doc, Config: s.ConfigSchema()}
	for _, name := range s.limitNames() {
		part, err := s.limits[name].of(name).Part()
		if err != nil {
			return m, sdk.Invalid(child("/limits", name), "%v", err)
		}
		m.Parts = append(m.Parts, part)
	}
	own := connectionRecipe{}
	if check := s.settings.Check; check != nil {
		a, err := s.checkAction(check.Operation)
		if err != nil {
			return m, err
		}
		own = connectionRecipe{Check: a.Recipe, Account: check.Account}
	}
	var err error
	if m.Recipe, err = json.Marshal(own); err != nil {
		return m, fmt.Errorf("encode the connection's recipe: %w", err)
	}
	for _, note := range s.Notes() {
		m.Warnings = append(m.Warnings, sdk.Warningf("/document", "%s", note))
	}
	for _, o := range s.Operations {
		m.Actions = append(m.Actions, s.head(o).Entry())
	}
	m.Action = s.body
	return m, nil
}

// checkAction is the action that tries a connection: a read that needs no input.
func (s *Service) checkAction(pattern string) (*Action, error) {
	for _, o := range s.Operations {
		if !o.taken(pattern) {
			continue
		}
		if o.EffectWord() != effectRead {
			return nil, sdk.Invalid("/check/operation", "%s is no read: a test of a connection must be harmless", o.Name)
		}
		return s.Action(o.Name)
	}
	problem := s.noOperation("/check/operation", pattern, s.Operations)
	return nil, sdk.Invalid(problem.Pointer, "%s", problem.Summary).WithHint("%s", problem.Detail)
}

// body is the rest of an action.
func (s *Service) body(name string) (sdk.ActionBody, error) {
	a, err := s.Action(name)
	if err != nil {
		return sdk.ActionBody{}, err
	}
	whole, err := s.compiled(a)
	if err != nil {
		return sdk.ActionBody{}, err
	}
	return sdk.ActionBody{Input: whole.Input, Output: whole.Output, Recipe: whole.Recipe, Options: whole.Options()}, nil
}

// recipes keeps those that a process has read: it serves the actions of one description.
// Safe for concurrent use.
type recipes struct{ known sync.Map }

// of reads a recipe, once.
func (k *recipes) of(text []byte) (*recipe.Recipe, error) {
	if known, ok := k.known.Load(string(text)); ok {
		return known.(*recipe.Recipe), nil
	}
	r, err := recipe.Decode(text)
	if err == nil {
		k.known.Store(string(text), r)
	}
	return r, err
}

// execute makes one call by the recipe of its action.
func (k *recipes) execute(c *sdk.Call[Config], text []byte, input sdk.Value) (sdk.Value, error) {
	r, err := k.of(text)
	if err != nil {
		return nil, err
	}
	return recipe.Do(c, r, with(c), input)
}

// validate refuses what the recipe refuses.
func (k *recipes) validate(text []byte, input sdk.Value, unknown []string) ([]sdk.Problem, sdk.Value) {
	r, err := k.of(text)
	if err != nil {
		return []sdk.Problem{sdk.Problemf("", "%v", err)}, nil
	}
	return r.Refused(input, unknown), nil
}

func with(c *sdk.Call[Config]) recipe.With {
	return recipe.With{Credentials: credentials(c), BaseURL: c.Config.BaseURL, Headers: c.Config.Headers}
}

// checkConnection makes the request that the settings name as harmless.
func checkConnection(c *sdk.Call[Config]) (string, error) {
	var own connectionRecipe
	if text := c.Recipe(); len(text) > 0 {
		if err := json.Unmarshal(text, &own); err != nil {
			return "", fmt.Errorf("read the connection's recipe: %w", err)
		}
	}
	if own.Check == nil {
		c.NotTried("the settings of the plugin name no harmless request: write check: {operation: NAME} there")
		return "", nil
	}
	output, err := recipe.Do(c, own.Check, with(c), sdk.Value("{}"))
	if err != nil {
		return "", err
	}
	return recipe.Text(output, own.Account), nil
}
