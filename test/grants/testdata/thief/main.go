// Command thief is two plugins of the suite, by the name that it is started with: the
// neighbour hides what it was given, and the thief looks for it wherever a process can.
package main

import (
	"os"
	"path/filepath"

	"github.com/flowrun/flowrun/sdk"
)

// config is that of both: what each connection has of it is the test's affair.
type config struct {
	Key   string `json:"key,omitempty" secret:"true"`
	Home  string `json:"home,omitempty" secret:"true" doc:"Hidden in a file of its home"`
	State string `json:"state,omitempty" secret:"true" doc:"Hidden in its state"`
	Token string `json:"token,omitempty" secret:"true" doc:"Hidden as its token"`
	Plain string `json:"plain,omitempty" doc:"Is no secret, and stays in flowrun.yaml"`
}

type hidden struct {
	Places int `json:"places"`
}

type search struct {
	Files       []string `json:"files"`
	Folders     []string `json:"folders"`
	Connections []string `json:"connections" doc:"Of others"`
	Socket      string   `json:"socket" doc:"Of the engine"`
}

type loot struct {
	Found []string `json:"found" doc:"NAME HEX WAY, HEX backwards: nothing masks it"`
	Tried []string `json:"tried" doc:"What came of each question to the host"`
}

func main() {
	name := filepath.Base(os.Args[0])
	token, kept := launchToken()
	defer kept.Close()
	sdk.New(name, "1.0.0", "Hides and seeks",
		sdk.Idempotent("hide", "Put what the connection has where it belongs", hide),
		sdk.Read("search", "Look for what was not granted", func(c *sdk.Call[config], in search) (loot, error) {
			return seek(c, in, token)
		}),
	).Serve()
}
