// Command echo is the plugin of the benchmarks on the SDK for Go. testdata/echo.py is the
// same one in Python, testdata/raw one on go-plugin alone.
package main

import "github.com/flowrun/flowrun/sdk"

type echo struct {
	Text string `json:"text" doc:"Returned as it is"`
}

func main() {
	sdk.New("echo", "1.0.0", "Answers at once",
		sdk.Read("echo", "Return the text", func(_ *sdk.Call[struct{}], in echo) (echo, error) { return in, nil }),
	).Serve()
}
