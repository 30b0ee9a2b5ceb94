package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/flowrun/flowrun/engine/schema"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// toldCases are those of plugins that describe what they are told.
func toldCases() []testCase {
	return []testCase{
		toldCase("settings.schema", "says what it can be told, and the same when it is told", "settings",
			"Without settings the plugin answers with settings_schema, a JSON Schema of an object without writeOnly in it. It is the same in both answers.",
			"write the schema out of the program alone, close its objects, and leave secrets to the config", settingsSchema),
		toldCase("settings.name", "describes itself under the name that it is given", "settings",
			"The plugin describes itself under the name that the project gives it.", "answer with the name of the request", settingsName),
		toldCase("settings.refuses", "refuses settings that do not fit its schema", "settings",
			"What it has against the settings is in diagnostics, with pointers into the value. It holds them against its own schema too.",
			"check the settings as you check an input, and answer with an error that has the pointer", settingsRefused),
		toldCase("settings.recipes", "needs its recipes alone for a call", "settings",
			"No call depends on settings that were told to the process before: what a call needs of them is a recipe.",
			"put what a call needs of the settings into the recipe of its action, and what a connection needs into that of the description", recipesAlone),
		toldCase("index.whole", "describes the actions of its index as it has them there", "index",
			"DescribeActions gives the actions that are named in it whole, in that order, with the same name, doc, effect, default_timeout, limiters, paging, range, incremental and deprecated.",
			"make both of one source", wholeEntries),
		toldCase("index.alone", "describes an action alone as among others", "index",
			"It is as pure as Describe, and may go to a process that was not asked to describe itself.",
			"make an action of the settings and its name, and of nothing that was asked before", aloneAsAmongOthers),
	}
}

// toldCase is a case that is skipped where the plugin takes no settings, or is told none.
func toldCase(id, title, section, contract, change string, run func(context.Context, *kit) error) testCase {
	return testCase{
		id: id, title: title, needs: needsDescription, section: section, contract: contract, change: change,
		run: func(ctx context.Context, k *kit) error {
			switch {
			case k.told.base == nil:
				return skip("it takes no settings")
			case k.told.settings == nil:
				return skip("the kit's config does not say what it is told: `with`")
			case strings.HasPrefix(id, "index.") && len(k.told.entries) == 0:
				return skip("it describes no index")
			}
			return run(ctx, k)
		},
	}
}

func settingsSchema(_ context.Context, k *kit) error {
	const sent = "Describe without settings"
	t, err := schema.FromJSON(k.told.base.GetSettingsSchema())
	switch {
	case err != nil:
		return fault(sent, "its settings_schema can't be read: %v", err)
	case t.Kind != schema.Object:
		return fault(sent, "its settings_schema describes %s", t)
	case t.HasSecret():
		return fault(sent, "its settings_schema has a secret")
	case !bytes.Equal(k.told.base.GetSettingsSchema(), k.described.GetSettingsSchema()):
		return fault("Describe with the settings", "another settings_schema than without")
	}
	return nil
}

func settingsName(ctx context.Context, k *kit) error {
	p, err := k.plugin(ctx)
	if err != nil {
		return err
	}
	r := k.describeRequest()
	r.Name, r.Settings = "named-otherwise", k.told.settings
	answered, err := p.rpc.Describe(p.authorized(ctx), r)
	if err != nil {
		return fault("Describe with the name named-otherwise", "the gRPC error %v", err)
	}
	if answered.GetName() != r.GetName() {
		return fault("Describe with the name named-otherwise", "the name %q", answered.GetName())
	}
	return nil
}

func settingsRefused(ctx context.Context, k *kit) error {
	p, err := k.plugin(ctx)
	if err != nil {
		return err
	}
	t, err := schema.FromJSON(k.told.base.GetSettingsSchema())
	if err != nil || t.Additional != nil || t.Open {
		return skip("its settings may have any name")
	}
	wrong := map[string]any{"no_such_setting": true}
	for name, value := range k.Config.With {
		wrong[name] = value
	}
	value, err := json.Marshal(wrong)
	if err != nil {
		return err
	}
	r := k.describeRequest()
	r.Name, r.Settings = k.told.base.GetName(), proto.CloneOf(k.told.settings)
	r.Settings.Value.Json = value
	sent := "Describe with the settings " + brief(value)
	answered, err := p.rpc.Describe(p.authorized(ctx), r)
	if err != nil {
		return fault(sent, "the gRPC error %v in place of a diagnostic", err)
	}
	for _, d := range errorsIn(answered.GetDiagnostics()) {
		if d.GetPointer() == "/no_such_setting" {
			return nil
		}
	}
	return fault(sent, "%s, and none at /no_such_setting", saidOf(answered.GetDiagnostics()))
}

// recipesAlone makes calls in a process that was never told the settings.
func recipesAlone(ctx context.Context, k *kit) error {
	p, err := k.start(ctx)
	if err != nil {
		return err
	}
	defer p.kill()
	for _, a := range k.actions {
		input := []byte("{}")
		if examples := a.GetExamples(); len(examples) > 0 {
			input = examples[0].GetInput()
		}
		if _, err := k.validate(ctx, p, a.GetName(), input); err != nil {
			return fault("Validate of "+a.GetName()+" with its recipe, in a process that was told nothing", "the gRPC error %v", err)
		}
	}
	if k.unconnected != "" {
		return nil // what a call makes of it can't be tried
	}
	response, err := p.rpc.Connect(p.authorized(ctx), &pluginv1.ConnectRequest{Connection: "kit-recipes", Config: &pluginv1.Value{Json: k.connection}, ConfigHash: "recipes"})
	const sent = "Connect with its recipe, in a process that was told nothing"
	if err != nil {
		return fault(sent, "the gRPC error %v", err)
	}
	if refused := errorsIn(response.GetDiagnostics()); len(refused) > 0 {
		return fault(sent, "it was refused: %s", saidOf(refused))
	}
	return nil
}

func wholeEntries(ctx context.Context, k *kit) error {
	p, err := k.plugin(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, entry := range k.told.entries {
		names = append(names, entry.GetName())
	}
	sent := "DescribeActions of " + strings.Join(names, ", ")
	answered, err := p.rpc.DescribeActions(p.authorized(ctx), k.actionsRequest(names...))
	if err != nil {
		return fault(sent, "the gRPC error %v", err)
	}
	if len(answered.GetActions()) != len(names) {
		return fault(sent, "%d actions", len(answered.GetActions()))
	}
	for i, whole := range answered.GetActions() {
		switch {
		case whole.GetName() != names[i]:
			return fault(sent, "%s in the place of %s", whole.GetName(), names[i])
		case len(whole.GetInputSchema()) == 0:
			return fault(sent, "%s without an input schema", whole.GetName())
		case !proto.Equal(entryIn(whole), entryIn(k.told.entries[i])):
			return fault(sent, "%s as %s, and in the index as %s", whole.GetName(), shown(entryIn(whole)), shown(entryIn(k.told.entries[i])))
		}
	}
	return nil
}

// entryIn is what an index says of an action.
func entryIn(a *pluginv1.Action) *pluginv1.Action {
	return &pluginv1.Action{
		Name: a.GetName(), Doc: a.GetDoc(), Effect: a.GetEffect(), DefaultTimeout: a.GetDefaultTimeout(), Limiters: a.GetLimiters(),
		Paging: a.GetPaging(), Range: a.GetRange(), Incremental: a.GetIncremental(), Deprecated: a.GetDeprecated(),
	}
}

func aloneAsAmongOthers(ctx context.Context, k *kit) error {
	p, err := k.start(ctx)
	if err != nil {
		return err
	}
	defer p.kill()
	for _, a := range k.actions[:min(len(k.actions), 20)] {
		sent := "DescribeActions of " + a.GetName() + " alone, in a process that was asked nothing before"
		answered, err := p.rpc.DescribeActions(p.authorized(ctx), k.actionsRequest(a.GetName()))
		if err != nil {
			return fault(sent, "the gRPC error %v", err)
		}
		if len(answered.GetActions()) != 1 || !proto.Equal(answered.GetActions()[0], a.Action) {
			return fault(sent, "another action than among others: %s", shown(answered))
		}
	}
	return nil
}
