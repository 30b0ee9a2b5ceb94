// Command flowrun-plugin-endpoints is a plugin whose actions a project tells it: each
// endpoint of a JSON file that flowrun.yaml names is one.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// settings are what a project tells the plugin: `with` in its flowrun.yaml.
type settings struct {
	Document string   `json:"document" doc:"JSON file with the endpoints" format:"project-file" min:"1"`
	Only     []string `json:"only,omitempty" doc:"Names of the endpoints to have; none = all"`
}

// endpoint is one entry of the document.
type endpoint struct {
	Doc    string    `json:"doc"`
	Path   string    `json:"path"` // with the names of inputs in braces: /users/{id}
	Input  sdk.Value `json:"input"`
	Output sdk.Value `json:"output"`
}

type config struct {
	sdk.HTTPSettings
}

// describe makes the index. Schemas are not looked at here.
func describe(told sdk.Told[settings]) (sdk.Manifest, error) {
	file, _ := told.File("/document") // the host has read it
	var endpoints map[string]endpoint
	if err := json.Unmarshal(file.Content, &endpoints); err != nil {
		return sdk.Manifest{}, wrong("/document", "%s has no endpoints: %v", file.Path, err)
	}
	for i, name := range told.Settings.Only {
		if _, there := endpoints[name]; !there {
			return sdk.Manifest{}, wrong(fmt.Sprintf("/only/%d", i), "%s has no endpoint %s", file.Path, name)
		}
	}
	manifest := sdk.Manifest{Doc: "The endpoints of " + file.Path}
	for _, name := range slices.Sorted(maps.Keys(endpoints)) {
		if len(told.Settings.Only) == 0 || slices.Contains(told.Settings.Only, name) {
			manifest.Actions = append(manifest.Actions, sdk.Entry{Name: name, Doc: endpoints[name].Doc, Effect: sdk.EffectRead})
		}
	}
	manifest.Action = func(name string) (sdk.ActionBody, error) {
		e := endpoints[name]
		return sdk.ActionBody{Input: e.Input, Output: e.Output, Recipe: []byte(e.Path)}, nil
	}
	return manifest, nil
}

// execute makes a call: all that it needs of the document is the path.
func execute(c *sdk.Call[config], recipe []byte, input sdk.Value) (output sdk.Value, err error) {
	var fields map[string]any
	if err := json.Unmarshal(input, &fields); err != nil {
		return nil, err
	}
	path, query := string(recipe), url.Values{}
	for name, value := range fields {
		if text := fmt.Sprint(value); strings.Contains(path, "{"+name+"}") {
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(text))
		} else {
			query.Set(name, text)
		}
	}
	err = c.HTTP().GetJSON(path, query, &output)
	return output, err
}

// wrong is an error that is shown at its place in flowrun.yaml.
func wrong(pointer, format string, args ...any) error {
	return &sdk.Error{Code: sdk.CodeInvalid, Message: fmt.Sprintf(format, args...), Pointer: pointer}
}

// plugin is what main serves, and the tests.
func plugin() *sdk.Plugin {
	return sdk.New("endpoints", "1.0.0", "The endpoints that a file of the project lists",
		sdk.Described[settings, config]{Describe: describe, Execute: execute})
}

func main() { plugin().Serve() }
