// Command evil is a plugin that does in each action what an author must not do.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

type in struct{}

type out struct {
	Text string `json:"text"`
}

type call = sdk.Call[struct{}]

// name is set by the linker: a second, healthy plugin is the same program.
var name = "evil"

func main() {
	fmt.Println("a plugin that greets | on stdout")
	sdk.New(name, "1.0.0", "Does what a plugin must not do",
		sdk.Read("nap", "Sleep a little", func(*call, in) (out, error) { time.Sleep(20 * time.Millisecond); return out{}, nil }),
		sdk.Read("crash", "Exit in the middle", func(*call, in) (out, error) { os.Exit(7); return out{}, nil }),
		sdk.Read("panics", "Panic", func(*call, in) (out, error) { panic("oh no") }),
		sdk.Read("hang", "Never answer", func(*call, in) (out, error) { select {} }),
		sdk.Read("huge", "Answer 100 MB", func(*call, in) (out, error) { return out{Text: strings.Repeat("z", 100<<20)}, nil }),
		sdk.Read("shout", "Fail with 50 MB", func(*call, in) (out, error) { return out{}, errors.New(strings.Repeat("e", 50<<20)) }),
		sdk.Read("lie", "Break its schema", func(*call, in) (sdk.Value, error) { return sdk.Value(`{"text":5}`), nil },
			sdk.Output(json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`))),
		sdk.Read("flood", "Log without end", func(c *call, _ in) (out, error) {
			for range 50_000 {
				c.Log().Info(strings.Repeat("x", 1000))
			}
			return out{Text: "done"}, nil
		}),
	).Serve()
}
