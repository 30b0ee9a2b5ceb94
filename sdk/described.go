package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// Effect says whether an action may be called once more. Read, Idempotent, Keyed and Once
// declare it for actions of their own; an Entry names it.
type Effect int

// The effects; what each means says the function of its name.
const (
	EffectRead       = Effect(pluginv1.Effect_EFFECT_READ)
	EffectIdempotent = Effect(pluginv1.Effect_EFFECT_IDEMPOTENT)
	EffectKeyed      = Effect(pluginv1.Effect_EFFECT_KEYED)
	EffectOnce       = Effect(pluginv1.Effect_EFFECT_ONCE)
)

// Described is a part that makes a plugin one whose actions are made of what a project
// tells it: `plugins: {crm: {source: ./p, with: {document: ./crm.json}}}`. S is a struct of
// its settings: `format:"project-file"` on a text has the host read that file of the
// project. C is the config of its connections: a struct, or Value where each field is
// made of the settings.
//
// The plugin describes itself twice over: what it is told gives a Manifest, with an entry
// for each action; the schemas of an action are made when a workflow uses it. What a call
// needs of the settings goes into recipes: a process that is started for a call gets the
// recipe of its action and never sees the settings. There are no actions besides.
type Described[S, C any] struct {
	// Describe reads what the project tells. It is pure: no network, no time, no
	// environment; the same settings give the same manifest. An error that has a pointer
	// into the settings (Error.Pointer) is shown at that place of flowrun.yaml.
	Describe func(told Told[S]) (Manifest, error)
	// Execute makes one call of an action. The input fits the action's schema, and has
	// its defaults; what it gives is held against the output's: a misfit is
	// CodeUnexpectedResponse.
	Execute func(c *Call[C], recipe []byte, input Value) (Value, error)
	// Validate is ValidateWith and NarrowWith for every action; nil = schemas say all.
	Validate func(recipe []byte, input Value, unknown []string) (problems []Problem, narrowed Value)
	// ValidateConfig checks a connection's config beyond its schema, by the recipe of the
	// manifest; nil = the schema says all.
	ValidateConfig func(recipe []byte, config C) []Problem
	// Reconcile is ReconcileWith for every action; nil = the plugin can't tell.
	Reconcile func(c *Call[C], recipe []byte, input Value) (Reconciled[Value], error)
}

// Told is what a project tells a plugin.
type Told[S any] struct {
	Name     string // of the plugin in the project: what stands before the dot in `uses`
	Settings S
	Files    []ToldFile // those that the settings name
}

// ToldFile is a file of the project that settings name.
type ToldFile struct {
	Pointer string // JSON Pointer to its path in the settings
	Path    string // as written
	Content []byte
}

// File returns the file that the settings name at a JSON Pointer, such as "/document".
func (t Told[S]) File(pointer string) (file ToldFile, ok bool) {
	at := slices.IndexFunc(t.Files, func(f ToldFile) bool { return f.Pointer == pointer })
	if at < 0 {
		return ToldFile{}, false
	}
	return t.Files[at], true
}

// Manifest is what a plugin makes of what it is told.
type Manifest struct {
	Doc      string    // one line about the plugin; "" = that of New
	Config   Value     // JSON Schema of a connection's config; nil = as the tags of C say
	Recipe   []byte    // for connections: Call.Recipe and ValidateConfig get it; at most 1 MiB, no secrets
	Parts    []Part    // limiters, Login, Delivery, TokenAction, Simulator: what is said of the plugin and not run
	Warnings []Problem // what it does not take of the settings, with pointers into them: told once
	Actions  []Entry
	// Action makes one of the actions: it is called for those that somebody uses, in the
	// process that has made the manifest.
	Action func(name string) (ActionBody, error)
}

// Entry says of an action what lists show. Options are those that take no type of an
// input: Limits, Paged, ItemsNamedBy, ItemsMayRepeat, RangeMax, Incremental, Timeout, Deprecated.
type Entry struct {
	Name, Doc string
	Effect    Effect
	Options   []ActionOption
}

// ActionBody is the rest of an action. Options are Example and Fault.
type ActionBody struct {
	Input, Output Value  // JSON Schemas
	Recipe        []byte // for Execute, Validate and Reconcile; at most 1 MiB, no secrets
	Options       []ActionOption
}

// Recipe returns what Manifest.Recipe gave to the connection of this call; nil where the
// plugin is not Described.
func (c *Call[C]) Recipe() []byte { return c.core.conn.recipe }

// describer is a Described without its types.
type describer struct {
	settingsType reflect.Type
	configType   reflect.Type
	settings     *schema
	describe     func(name string, settings any, files []ToldFile) (Manifest, error)
	run          func(c *core, config any, recipe []byte, input Value) (any, error)
	validate     func(recipe []byte, input Value, unknown []string) ([]Problem, Value)
	check        func(recipe []byte, config any) []Problem
	reconcile    func(c *core, config any, recipe []byte, input Value) (Applied, any, string, error)

	mu   sync.Mutex
	last *manifest // of what the plugin was told last
	read map[string]*action
}

func (d Described[S, C]) addTo(p *Plugin) {
	if p.described != nil {
		p.failf("the plugin has Described twice")
		return
	}
	if d.Describe == nil || d.Execute == nil {
		p.failf("Described needs Describe and Execute")
		return
	}
	own := &describer{settingsType: reflect.TypeFor[S](), configType: reflect.TypeFor[C](), read: map[string]*action{}}
	p.useConfig("Described", own.configType)
	var err error
	if own.settings, err = reflectSchema(own.settingsType, closedObjects); err != nil {
		p.failf("settings: %w", err)
		own.settings = &schema{types: []string{"object"}}
	}
	own.describe = func(name string, settings any, files []ToldFile) (Manifest, error) {
		return d.Describe(Told[S]{Name: name, Settings: *settings.(*S), Files: files})
	}
	own.run = func(c *core, config any, recipe []byte, input Value) (any, error) {
		output, err := d.Execute(newCall[C](c, config), recipe, input)
		return &output, err
	}
	own.validate = d.Validate
	if d.ValidateConfig != nil {
		own.check = func(recipe []byte, config any) []Problem { return d.ValidateConfig(recipe, *config.(*C)) }
	}
	if d.Reconcile != nil {
		own.reconcile = func(c *core, config any, recipe []byte, input Value) (Applied, any, string, error) {
			r, err := d.Reconcile(newCall[C](c, config), recipe, input)
			if r.Output == nil {
				return r.Applied, nil, r.Note, err
			}
			return r.Applied, r.Output, r.Note, err
		}
	}
	p.described = own
}

// actionOf is the action that a recipe describes. The one that was read last under a name
// is kept: a process serves the actions of one description.
func (d *describer) actionOf(p *Plugin, name string, recipe []byte) (*action, error) {
	if len(recipe) == 0 {
		return nil, errors.New("the host hands no recipe back: it is older than the settings of plugins")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.read[name]; known != nil && string(known.wire) == string(recipe) {
		return known, nil
	}
	var described pluginv1.Action
	if err := proto.Unmarshal(recipe, &described); err != nil || described.GetName() != name {
		return nil, errors.New("the recipe is not one of this plugin's")
	}
	a := d.newAction(&described)
	a.wire = recipe
	var err error // others were found when it was described
	if a.input, err = parseSchema(a.rawInput); err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	if a.output, err = parseSchema(a.rawOutput); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	a.finished.Do(func() {}) // it is read
	d.read[name] = a
	return a, nil
}

// misfit is the failure of a call whose output is not what the action describes: the author
// passes on what a service says, and the schema is all that is known of it.
func (a *action) misfit(output Value) error {
	refused := &Error{Code: CodeUnexpectedResponse, Applied: AppliedFully}
	if a.effect == pluginv1.Effect_EFFECT_READ {
		refused.Applied = NotApplied
	}
	document, err := decodeTree(output)
	if err != nil {
		refused.Message = "the answer is no JSON: " + plain(cut(err.Error(), 200))
		return refused
	}
	c := checker{}
	c.value(wholeNumbers(document), a.output, "")
	if wrong := firstError(c.problems); wrong != nil {
		refused.Message = "the answer does not fit the output that " + a.name + " describes: " + strings.TrimPrefix(wrong.Pointer+": ", ": ") + wrong.Message
		refused.Details = map[string]any{"output_pointer": wrong.Pointer}
		return refused
	}
	return nil
}

// lastRead is the action that was read last under a name, nil for none.
func (d *describer) lastRead(name string) *action {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.read[name]
}

// newAction is an action as it was described, which runs what the author gave.
func (d *describer) newAction(described *pluginv1.Action) *action {
	recipe := described.GetRecipe()
	a := &action{
		name: described.GetName(), doc: described.GetDoc(), effect: described.GetEffect(), configType: d.configType,
		inputType: rawType, outputType: rawType, outputShape: rawType,
		rawInput: described.GetInputSchema(), rawOutput: described.GetOutputSchema(),
		limiters: described.GetLimiters(), paging: described.GetPaging(), rng: described.GetRange(), incremental: described.GetIncremental(),
		timeout: described.GetDefaultTimeout().AsDuration(), deprecated: described.GetDeprecated(),
	}
	a.run = func(c *core, config, input any) (any, error) {
		output, err := d.run(c, config, recipe, *input.(*Value))
		if !failed(err) {
			err = a.misfit(*output.(*Value))
		}
		return output, err
	}
	if d.validate != nil {
		a.validators = append(a.validators, func(input any, unknown []string) []Problem {
			problems, _ := d.validate(recipe, *input.(*Value), unknown)
			return problems
		})
		a.narrowers = append(a.narrowers, func(input any, unknown []string) json.RawMessage {
			_, narrowed := d.validate(recipe, *input.(*Value), unknown)
			return narrowed
		})
	}
	if d.reconcile != nil {
		a.reconcile = &reconciler{
			config: d.configType, input: rawType, output: rawType,
			ask: func(c *core, config, input any) (Applied, any, string, error) {
				return d.reconcile(c, config, recipe, *input.(*Value))
			},
		}
	}
	return a
}

// finish checks what needs the whole plugin.
func (d *describer) finish(p *Plugin) {
	if len(p.actions) > 0 {
		p.failf("action %s: a plugin that is Described has no actions besides", p.actions[0].name)
	}
	if p.tokenAction != "" || p.login != nil || p.delivery != nil {
		p.failf("TokenAction, Login and Delivery of a plugin that is Described are parts of its manifest")
	}
	if d.settings.hasSecrets() {
		p.failf("settings: they have secrets, which are for the config of a connection")
	}
}

// action finds an action by its name: of the plugin's parts, or of the recipe that the host
// has handed back.
func (s *service) action(name string, recipe []byte) (*action, error) {
	if d := s.plugin.described; d != nil {
		return d.actionOf(s.plugin, name, recipe)
	}
	return s.plugin.action(name), nil
}
