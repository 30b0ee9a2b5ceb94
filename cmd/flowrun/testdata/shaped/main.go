// Command shaped is a third party's plugin whose description stands in shape.json beside
// it: what another revision of it changes is a change of that file. Its actions give back
// what they are given, with `by`, the version.
package main

import (
	"cmp"
	"encoding/json"
	"os"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

type shape struct {
	Name    string   `json:"name"` // "" = shaped
	Version string   `json:"version"`
	Config  string   `json:"config"` // "" or region
	Env     []string `json:"env"`
	Rate    int      `json:"rate"` // requests a minute; 0 = as many as one likes
	Actions []struct {
		Name   string          `json:"name"`
		Effect string          `json:"effect"` // read, idempotent, keyed, once
		Input  json.RawMessage `json:"input"`
		Output json.RawMessage `json:"output"`
	} `json:"actions"`
}

type plain struct {
	Colour string `json:"colour,omitempty"`
}

type regional struct {
	Colour string `json:"colour,omitempty"`
	Region string `json:"region" doc:"Where"`
}

func parts[C any](s shape) []sdk.Part {
	echo := func(_ *sdk.Call[C], in sdk.Value) (sdk.Value, error) {
		var fields map[string]any
		if err := json.Unmarshal(in, &fields); err != nil {
			return nil, sdk.Invalid("", "read the input: %v", err)
		}
		fields["by"] = s.Version
		return json.Marshal(fields)
	}
	made := []sdk.Part{sdk.Env(s.Env...)}
	for _, action := range s.Actions {
		options := []sdk.ActionOption{sdk.Input(action.Input), sdk.Output(action.Output)}
		if s.Rate > 0 {
			options = append(options, sdk.Limits("rate"))
		}
		make := sdk.Read[C, sdk.Value, sdk.Value]
		switch action.Effect {
		case "idempotent":
			make = sdk.Idempotent[C, sdk.Value, sdk.Value]
		case "keyed":
			make = sdk.Keyed[C, sdk.Value, sdk.Value]
		case "once":
			make = sdk.Once[C, sdk.Value, sdk.Value]
		}
		made = append(made, make(action.Name, "Gives back what it is given", echo, options...))
	}
	if s.Rate > 0 {
		made = append(made, sdk.Limit("rate", s.Rate, time.Minute))
	}
	return made
}

func main() {
	text, err := os.ReadFile("shape.json")
	if err != nil {
		panic(err) // it stands beside the program
	}
	var s shape
	if err := json.Unmarshal(text, &s); err != nil {
		panic(err)
	}
	made := parts[plain](s)
	if s.Config == "region" {
		made = parts[regional](s)
	}
	sdk.New(cmp.Or(s.Name, "shaped"), s.Version, "Is as shape.json says", made...).Serve()
}
