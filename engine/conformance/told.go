package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// mostEntries is how many actions of an index are tried.
const mostEntries = 200

// told is what the kit tells a plugin that takes settings, and what it got for it.
type told struct {
	base     *pluginv1.DescribeResponse // without settings; nil = it takes none
	settings *pluginv1.Settings         // nil = it is told nothing
	entries  []*pluginv1.Action         // of its index, as they stand there
	recipe   []byte                     // for connections
	recipes  map[string][]byte          // by action
}

// tellingClient says in each call what the host would: the settings, and the recipes.
type tellingClient struct {
	pluginv1grpc.PluginClient
	told *told
}

// Describe asks by the settings.
func (c tellingClient) Describe(ctx context.Context, r *pluginv1.DescribeRequest, o ...grpc.CallOption) (*pluginv1.DescribeResponse, error) {
	if c.told.settings != nil && r.GetSettings() == nil {
		r = proto.CloneOf(r)
		r.Name, r.Settings = c.told.base.GetName(), c.told.settings
	}
	return c.PluginClient.Describe(ctx, r, o...)
}

// Validate hands the recipe of the action on.
func (c tellingClient) Validate(ctx context.Context, r *pluginv1.ValidateRequest, o ...grpc.CallOption) (*pluginv1.ValidateResponse, error) {
	r.Recipe = c.told.recipes[r.GetAction()]
	return c.PluginClient.Validate(ctx, r, o...)
}

// Connect hands the recipe of the description on.
func (c tellingClient) Connect(ctx context.Context, r *pluginv1.ConnectRequest, o ...grpc.CallOption) (*pluginv1.ConnectResponse, error) {
	r.Recipe = c.told.recipe
	return c.PluginClient.Connect(ctx, r, o...)
}

// Execute hands the recipe of the action on.
func (c tellingClient) Execute(ctx context.Context, r *pluginv1.ExecuteRequest, o ...grpc.CallOption) (grpc.ServerStreamingClient[pluginv1.ExecuteEvent], error) {
	r.Recipe = c.told.recipes[r.GetAction()]
	return c.PluginClient.Execute(ctx, r, o...)
}

// Reconcile hands the recipe of the action on.
func (c tellingClient) Reconcile(ctx context.Context, r *pluginv1.ReconcileRequest, o ...grpc.CallOption) (*pluginv1.ReconcileResponse, error) {
	r.Recipe = c.told.recipes[r.GetAction()]
	return c.PluginClient.Reconcile(ctx, r, o...)
}

// describe has the plugin describe itself, by the settings where it takes some and the
// config has them, with the actions of its index.
func (k *kit) describe(ctx context.Context, p *process) error {
	ctx = p.authorized(ctx)
	described, err := p.rpc.Describe(ctx, k.describeRequest())
	if err != nil {
		return err
	}
	features := described.GetPlugin().GetFeatures()
	if slices.Contains(features, handshake.FeatureSettings) {
		k.told.base = described
		if k.Config.With != nil {
			if k.told.settings, err = k.readSettings(described.GetSettingsSchema()); err != nil {
				return err
			}
			if described, err = p.rpc.Describe(ctx, k.describeRequest()); err != nil {
				return err
			}
			if refused := errorsIn(described.GetDiagnostics()); len(refused) > 0 {
				return fmt.Errorf("it refuses `with` of the kit's config: %s", saidOf(refused))
			}
		}
	}
	if slices.Contains(features, handshake.FeatureIndex) {
		if err := k.describeIndex(ctx, p, described); err != nil {
			return err
		}
	}
	k.told.recipe, k.told.recipes = described.GetRecipe(), map[string][]byte{}
	for _, a := range described.GetActions() {
		k.told.recipes[a.GetName()] = a.GetRecipe()
	}
	k.described = described
	return nil
}

// describeIndex puts the actions of an index into the description.
func (k *kit) describeIndex(ctx context.Context, p *process, described *pluginv1.DescribeResponse) error {
	described.Actions = described.GetActions()[:min(len(described.GetActions()), mostEntries)]
	var names []string
	for _, a := range described.GetActions() {
		if len(a.GetInputSchema()) == 0 {
			k.told.entries = append(k.told.entries, a)
			names = append(names, a.GetName())
		}
	}
	if len(names) == 0 {
		return nil
	}
	answered, err := p.rpc.DescribeActions(ctx, k.actionsRequest(names...))
	if err != nil {
		return fmt.Errorf("DescribeActions: %w", err)
	}
	for i, a := range described.GetActions() {
		at := slices.IndexFunc(answered.GetActions(), func(whole *pluginv1.Action) bool { return whole.GetName() == a.GetName() })
		if at >= 0 { // else index.whole tells
			described.Actions[i] = answered.GetActions()[at]
		}
	}
	return nil
}

func (k *kit) actionsRequest(names ...string) *pluginv1.DescribeActionsRequest {
	return &pluginv1.DescribeActionsRequest{Name: k.told.base.GetName(), Settings: k.told.settings, Actions: names}
}

// readSettings is `with` of the config, with the files that it names.
func (k *kit) readSettings(document []byte) (*pluginv1.Settings, error) {
	t, err := schema.FromJSON(document)
	if err != nil {
		return nil, fmt.Errorf("its settings schema: %w", err)
	}
	value, err := json.Marshal(k.Config.With)
	if err != nil {
		return nil, fmt.Errorf("write `with`: %w", err)
	}
	settings := &pluginv1.Settings{Value: &pluginv1.Value{Json: value}}
	return settings, k.addFiles(settings, k.Config.With, t, "")
}

// addFiles reads the files that a part of the settings names.
func (k *kit) addFiles(settings *pluginv1.Settings, value any, t *schema.Type, pointer string) error {
	switch value := value.(type) {
	case string:
		if t == nil || !t.File || value == "" {
			return nil
		}
		if k.ReadFile == nil {
			return errors.New("`with` names a file, and nobody reads it")
		}
		content, err := k.ReadFile(value)
		if err != nil {
			return fmt.Errorf("read the file of `with` at %s: %w", pointer, err)
		}
		settings.Files = append(settings.Files, &pluginv1.SettingsFile{Pointer: pointer, Path: value, Content: content})
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			field, _ := t.Field(name)
			if err := k.addFiles(settings, value[name], field, pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name)); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range value {
			if err := k.addFiles(settings, item, t.Element(), pointer+"/"+strconv.Itoa(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// hostSettings are the settings as the host takes them; nil = the plugin is told nothing.
func (k *kit) hostSettings() func(json.RawMessage) (pluginhost.Settings, error) {
	if k.told.settings == nil {
		return nil
	}
	settings := pluginhost.Settings{Value: k.told.settings.GetValue().GetJson()}
	for _, f := range k.told.settings.GetFiles() {
		settings.Files = append(settings.Files, pluginhost.SettingsFile{Pointer: f.GetPointer(), Path: f.GetPath(), Content: f.GetContent()})
	}
	return func(json.RawMessage) (pluginhost.Settings, error) { return settings, nil }
}
