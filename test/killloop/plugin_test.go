package killloop

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/flowrun/flowrun/sdk"
)

// The headers by which the plugin says whose request it is.
const (
	headerKey     = "X-Flow-Key"
	headerRun     = "X-Flow-Run"
	headerStep    = "X-Flow-Step"
	headerAttempt = "X-Flow-Attempt"
)

type counterConfig struct{ sdk.HTTPSettings }

type nameIn struct {
	Name string `json:"name" doc:"What the effect is counted under"`
}

type valueOut struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
}

type listIn struct {
	Feed   string  `json:"feed" doc:"Which list"`
	Size   int     `json:"size" doc:"Items of a page" min:"1" max:"100"`
	Cursor *string `json:"cursor,omitempty"`
}

type listItem struct {
	ID int64 `json:"id"`
}

type listOut struct {
	Items []listItem `json:"items"`
	Next  string     `json:"next_cursor,omitempty"`
	Last  int64      `json:"last"`
}

// counterPlugin has an action of each effect; the service behind it counts.
func counterPlugin() *sdk.Plugin {
	return sdk.New("counter", "1.0.0", "Counts effects",
		sdk.Read("read", "Read a value", func(c *sdk.Call[counterConfig], in nameIn) (valueOut, error) {
			return send(c, http.MethodGet, "/read", in.Name)
		}),
		sdk.Idempotent("set", "Set a value", func(c *sdk.Call[counterConfig], in nameIn) (valueOut, error) {
			return send(c, http.MethodPut, "/idempotent", in.Name)
		}),
		sdk.Keyed("pay", "An effect that the service does once a key", func(c *sdk.Call[counterConfig], in nameIn) (valueOut, error) {
			return send(c, http.MethodPost, "/keyed", in.Name)
		}),
		sdk.Once("invite", "An effect that every request repeats", func(c *sdk.Call[counterConfig], in nameIn) (valueOut, error) {
			return send(c, http.MethodPost, "/once", in.Name)
		}),
		sdk.Once("mail", "As invite, and the service can be asked whether it happened", func(c *sdk.Call[counterConfig], in nameIn) (valueOut, error) {
			return send(c, http.MethodPost, "/once", in.Name)
		}, sdk.ReconcileWith(reconcile)),
		sdk.Read("list", "Read a list page by page", list, sdk.Paged("cursor", "items", "next_cursor"), sdk.Incremental()),
	)
}

func send(c *sdk.Call[counterConfig], method, path, name string) (out valueOut, err error) {
	response, err := c.HTTP().Do(&sdk.Request{
		Method: method, Path: path, Query: url.Values{"name": {name}}, Header: origin(c),
	})
	if err != nil {
		return out, err
	}
	return out, response.JSON(&out)
}

// reconcile asks the service for the answer to a lost call.
func reconcile(c *sdk.Call[counterConfig], _ nameIn) (found sdk.Reconciled[valueOut], err error) {
	err = c.HTTP().GetJSON("/known", url.Values{"key": {c.Run.IdempotencyKey}}, &found.Output)
	if found.Applied = sdk.NotApplied; found.Output != nil {
		found.Applied = sdk.AppliedFully
	}
	return found, err
}

func list(c *sdk.Call[counterConfig], in listIn) (out listOut, err error) {
	cursor := c.PageCursor()
	if cursor == "" && in.Cursor != nil {
		cursor = *in.Cursor
	}
	response, err := c.HTTP().Do(&sdk.Request{Path: "/list", Header: origin(c), Query: url.Values{
		"feed": {in.Feed}, "size": {strconv.Itoa(in.Size)}, "cursor": {cursor}, "after": {string(c.Watermark())},
	}})
	if err != nil {
		return out, err
	}
	if err := response.JSON(&out); err != nil {
		return out, err
	}
	c.Next(out.Next)
	if out.Last > 0 {
		c.SetWatermark([]byte(strconv.FormatInt(out.Last, 10)))
	}
	return out, nil
}

func origin(c *sdk.Call[counterConfig]) http.Header {
	return http.Header{
		headerKey: {c.Run.IdempotencyKey}, headerRun: {c.Run.RunID}, headerStep: {c.Run.Step}, headerAttempt: {strconv.Itoa(c.Run.Attempt)},
	}
}
