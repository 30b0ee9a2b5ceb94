// Command flowrun-plugin-pluginname makes actions of a service that keeps notes.
package main

import "github.com/flowrun/flowrun/sdk"

type config struct {
	sdk.HTTPSettings
	Key string `json:"key" doc:"Key of the service" secret:"true" min:"1"`
}

type note struct {
	Text  string `json:"text" doc:"What it says" min:"1" example:"buy milk"`
	Level string `json:"level" doc:"How much it matters" enum:"low,normal,high" default:"normal"`
}

type added struct {
	ID string `json:"id" doc:"The service's name for it"`
}

func add(c *sdk.Call[config], in note) (out added, err error) {
	response, err := c.HTTP().WithBearer(c.Config.Key).Post("/v1/notes", in)
	if err == nil {
		err = response.JSON(&out)
	}
	return out, err
}

type notes struct {
	Notes []note `json:"notes"`
}

func list(c *sdk.Call[config], _ struct{}) (out notes, err error) {
	err = c.HTTP().WithBearer(c.Config.Key).GetJSON("/v1/notes", nil, &out)
	return out, err
}

func plugin() *sdk.Plugin {
	return sdk.New("pluginname", "0.1.0", "Notes of a service", sdk.Simulator("simulator"),
		sdk.Keyed("add", "Add a note", add, sdk.Example("Buy milk", note{Text: "buy milk", Level: "normal"}, added{ID: "n1"})),
		sdk.Read("list", "List the notes", list))
}

func main() { plugin().Serve() }
