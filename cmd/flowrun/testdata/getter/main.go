// Command getter is a third party's plugin for any JSON API, whose caller says what the
// answer is: it narrows the output by that.
package main

import (
	"encoding/json"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

type config struct{ sdk.HTTPSettings }

type request struct {
	Path   string    `json:"path" example:"/v1/x"`
	Answer sdk.Value `json:"answer,omitempty" doc:"JSON Schema of the answer"`
}

type response struct {
	Status int       `json:"status"`
	Body   sdk.Value `json:"body"`
}

func get(c *sdk.Call[config], in request) (response, error) {
	r, err := c.HTTP().Get(in.Path, nil)
	if err != nil {
		return response{}, err
	}
	return response{r.Status, sdk.Value(r.Body)}, nil
}

func narrow(in request, _ []string) json.RawMessage {
	if len(in.Answer) == 0 {
		return nil
	}
	const form = `{"type":"object","properties":{"status":{"type":"integer"},"body":@},"required":["status","body"]}`
	return json.RawMessage(strings.Replace(form, "@", string(in.Answer), 1))
}

func main() {
	sdk.New("lg", "1.0.0", "Any JSON API", sdk.Read("get", "GET", get, sdk.NarrowWith(narrow))).Serve()
}
