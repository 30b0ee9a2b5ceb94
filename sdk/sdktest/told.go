package sdktest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/sdk"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// Told is what a project tells a plugin that is sdk.Described.
type Told struct {
	Name     string            // of the plugin in the project; "" = that of New
	Settings any               // encoded as JSON; nil = {}
	Files    map[string]string // contents, by the JSON Pointer to the path in the settings
}

// Tell serves a plugin that is told something, as a host does: it describes itself, all
// its actions are asked for, and each call gets the recipe of its action. What it has
// against the settings is in Describe().Problems; there are no actions then.
func Tell(t testing.TB, plugin *sdk.Plugin, told Told) *Plugin {
	t.Helper()
	p := Serve(t, plugin)
	if told.Name == "" {
		told.Name = plugin.Name()
	}
	settings := told.wire(t)
	described := p.describe(&pluginv1.DescribeRequest{HostVersion: "sdktest", Name: told.Name, Settings: settings})
	p.recipe, p.recipes = described.GetRecipe(), map[string][]byte{}
	var names []string
	for _, entry := range described.GetActions() {
		names = append(names, entry.GetName())
	}
	if len(names) > 0 {
		whole, err := p.client.DescribeActions(t.Context(), &pluginv1.DescribeActionsRequest{Name: told.Name, Settings: settings, Actions: names})
		if err != nil {
			t.Fatalf("describe the actions: %v", err)
		}
		described.Actions = whole.GetActions()
	}
	for _, action := range described.GetActions() {
		p.recipes[action.GetName()] = action.GetRecipe()
	}
	p.described = description(described)
	return p
}

// OpenTold is Tell with an open connection, as Open has it. Settings that the plugin
// refuses fail the test.
func OpenTold(t testing.TB, plugin *sdk.Plugin, told Told, config any) *Plugin {
	t.Helper()
	p := Tell(t, plugin, told)
	for _, problem := range p.described.Problems {
		if !problem.Warning {
			t.Fatalf("the settings: %s %s", problem.Pointer, problem.Summary)
		}
	}
	for _, problem := range p.Connect(Connection, config) {
		if !problem.Warning {
			t.Fatalf("open the connection: %s %s", problem.Pointer, problem.Summary)
		}
	}
	return p
}

func (told Told) wire(t testing.TB) *pluginv1.Settings {
	t.Helper()
	value := encode(t, told.Settings)
	var document any
	if err := json.Unmarshal(value, &document); err != nil {
		t.Fatal(err)
	}
	settings := &pluginv1.Settings{Value: &pluginv1.Value{Json: value}}
	for _, pointer := range slices.Sorted(maps.Keys(told.Files)) {
		path, is := at(document, pointer).(string)
		if !is {
			t.Fatalf("the settings name no file at %s", pointer)
		}
		settings.Files = append(settings.Files, &pluginv1.SettingsFile{Pointer: pointer, Path: path, Content: []byte(told.Files[pointer])})
	}
	return settings
}

// at returns what stands at a JSON Pointer through objects; nil where nothing does.
func at(document any, pointer string) any {
	for _, name := range strings.Split(pointer, "/")[1:] {
		object, _ := document.(map[string]any)
		document = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return document
}
