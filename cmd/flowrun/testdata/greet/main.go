// Command greet is the plugin of docs/plugins/debug.md.
package main

import (
	"fmt"
	"os"

	"github.com/flowrun/flowrun/sdk"
)

type config struct {
	Key string `json:"key,omitempty" doc:"Key of the service" secret:"true"`
}

type helloIn struct {
	Name string `json:"name" doc:"Whom to greet"`
}

type helloOut struct {
	Text string `json:"text"`
}

func hello(c *sdk.Call[config], in helloIn) (helloOut, error) {
	fmt.Fprintf(os.Stderr, "greeting %q with %s\n", in.Name, c.Config.Key)
	first := make(chan byte)
	go func() { first <- in.Name[0] }() // a panic of a goroutine is in no call: it ends the process
	return helloOut{Text: fmt.Sprintf("hello %s, %c.", in.Name, <-first)}, nil
}

func main() {
	sdk.New("greet", "1.0.0", "Greets people", sdk.Read("hello", "Greet somebody", hello)).Serve()
}
