// Command greeter is a plugin that tests build several times: what it says of itself is
// set when it is linked.
package main

import "github.com/flowrun/flowrun/sdk"

// Set by -ldflags -X.
var (
	version = "1.0.0"
	field   = "name" // of the input: name or who
)

type config struct{}

type byName struct {
	Name string `json:"name" doc:"Whom to greet" example:"Ada"`
}

type byWho struct {
	Who string `json:"who" doc:"Whom to greet" example:"Ada"`
}

type said struct {
	By string `json:"by" doc:"The version that answered"`
}

func greet[In any](*sdk.Call[config], In) (said, error) { return said{By: version}, nil }

func main() {
	action := sdk.Read("greet", "Greet somebody", greet[byName], sdk.Example("Ada", byName{Name: "Ada"}, said{By: "1.0.0"}))
	if field == "who" {
		action = sdk.Read("greet", "Greet somebody", greet[byWho], sdk.Example("Ada", byWho{Who: "Ada"}, said{By: "1.0.0"}))
	}
	sdk.New("greeter", version, "Greets", action).Serve()
}
