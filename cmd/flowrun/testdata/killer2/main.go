// Command killer2 is the plugin killer as a later version that says something else
// of its action.
package main

import "github.com/flowrun/flowrun/sdk"

type in struct {
	File string `json:"file,omitempty"`
}

type out struct {
	Count int    `json:"count"`
	Note  string `json:"note"`
}

func main() {
	sdk.New("killer", "2.0.0", "Kills nobody",
		sdk.Read("nap", "Sleep for a moment", func(*sdk.Call[struct{}], in) (out, error) { return out{Count: 1}, nil }),
	).Serve()
}
