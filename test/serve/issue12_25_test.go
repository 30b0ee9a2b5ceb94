package serve

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/access"
)

const askWorkflow = `flowrun: v1
name: ask
inputs:
  name: {type: string, minLength: 1}
  rows: {type: array, items: {type: object, required: [id], properties: {id: {type: integer}}}, default: []}
steps:
  - id: cleanup
    uses: core.approve
    with:
      message: "go on?"
      form: {label: {type: string, default: stale}, limit: {type: integer, minimum: 1}}
  - id: paid
    uses: core.wait
    with: {signal: paid, schema: {type: object, required: [id], properties: {id: {type: integer}}}}
`

// caller asks the API of a product with a token of an operator.
type caller struct {
	t       *testing.T
	address string
	token   string
	clock   *clock
}

func (c *caller) ask(method, path, body string, headers ...string) (int, http.Header, map[string]any) {
	c.t.Helper()
	headers = append(headers, "Authorization: Bearer "+c.token)
	if body != "" {
		headers = append(headers, "Content-Type: application/json")
	}
	status, header, text := askAt(c.t, c.address, method, "/api/v1"+path, body, headers...)
	var answer map[string]any
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		c.t.Fatalf("%s %s: %d %q: %v", method, path, status, text, err)
	}
	return status, header, answer
}

// newCaller serves a product that has the workflow ask.
func newCaller(t *testing.T) *caller {
	t.Helper()
	p := newProduct(t)
	p.write("project/workflows/ask.yaml", askWorkflow)
	if _, err := p.engine.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.server.API.Now = p.clock.Now
	_, address := p.listen()
	return &caller{t: t, address: address, token: p.token(access.NewToken{Scope: "operator"}), clock: p.clock}
}

func (c *caller) start() string {
	c.t.Helper()
	status, _, answer := c.ask("POST", "/workflows/ask/runs", `{"inputs":{"name":"a"}}`)
	run, _ := answer["run"].(map[string]any)
	if status != http.StatusCreated {
		c.t.Fatalf("start: %d %v", status, answer)
	}
	return run["id"].(string)
}

// pointersOf lists where the problems of an answer point to.
func pointersOf(answer map[string]any) string {
	var pointers []string
	problems, _ := answer["problems"].([]any)
	for _, one := range problems {
		problem, _ := one.(map[string]any)
		if text, _ := problem["detail"].(string); text == "" {
			return "a problem without its detail"
		}
		pointer, _ := problem["pointer"].(string)
		pointers = append(pointers, pointer)
	}
	return strings.Join(pointers, " ")
}

// TestIssue12_25AllMistakesAtOnce: of inputs, forms and backfills.
func TestIssue12_25AllMistakesAtOnce(t *testing.T) {
	c := newCaller(t)
	run := c.start()
	for name, r := range map[string]struct {
		path, body string
		status     int
		want       string
	}{
		"inputs":          {"/workflows/ask/runs", `{"inputs":{"rows":[{"id":"x"},{}],"nope":1}}`, 422, "/inputs/nope /inputs/name /inputs/rows/0/id /inputs/rows/1"},
		"texts":           {"/workflows/ask/runs", `{"input_texts":{"name":"","rows":"x"}}`, 422, "/input_texts/name /input_texts/rows"},
		"a plan":          {"/plan", `{"workflow":"ask","inputs":{"name":1,"rows":1}}`, 422, "/inputs/name /inputs/rows"},
		"a rerun":         {"/runs/" + run + "/rerun", `{"inputs":{"name":1},"input_texts":{"rows":"x"}}`, 422, "/inputs/name /input_texts/rows"},
		"a form":          {"/runs/" + run + "/steps/cleanup/approve", `{"form":{"labl":"x","label":7},"form_texts":{"limit":"x"}}`, 422, "/form/label /form/labl /form_texts/limit"},
		"a missing field": {"/runs/" + run + "/steps/cleanup/approve", `{"form":{"label":"x"}}`, 422, "/form/limit"},
		"a whole answer":  {"/runs/" + run + "/steps/cleanup/approve", `{"payload":{"limit":"x"}}`, 422, "/payload/limit"},
		"a backfill":      {"/schedules/hello/morning/backfill", `{"from":"2999-01-01T00:00:00Z","max_parallel":-1}`, 422, "/from /max_parallel"},
		"its times":       {"/schedules/hello/morning/backfill", `{"from":"monday","until":"friday"}`, 400, "/from /until"},
		"a trigger":       {"/schedules/hello/morning/trigger", `{"at":"monday","by":1}`, 400, "/at /by"},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, answer := c.ask("POST", r.path, r.body)
			if got := pointersOf(answer); status != r.status || got != r.want {
				t.Errorf("%d, told are %q, want %q: %v", status, got, r.want, answer)
			}
		})
	}
}

// TestIssue12_25AKeyIsOneRequest over HTTP: the same body again is a replay, whatever
// the order of its fields; another one is refused.
func TestIssue12_25AKeyIsOneRequest(t *testing.T) {
	c := newCaller(t)
	run := c.start()
	for name, r := range map[string]struct{ path, body, same, other string }{
		"a start":   {"/workflows/ask/runs", `{"inputs":{"name":"a","rows":[{"id":1}]}}`, `{ "inputs": {"rows": [{"id": 1}], "name": "a"}, "by": "x" }`, `{"inputs":{"name":"b"}}`},
		"a rerun":   {"/runs/" + run + "/rerun", `{"inputs":{"name":"b"}}`, `{"inputs":{"name":"b"}}`, `{}`},
		"a trigger": {"/schedules/hello/morning/trigger", `{}`, `{}`, `{"at":"2026-03-02T09:00:00Z"}`},
	} {
		t.Run(name, func(t *testing.T) {
			id := func(body string) (string, string, int, any) {
				status, header, answer := c.ask("POST", r.path, body, "Idempotency-Key: k-"+strings.ReplaceAll(name, " ", "-"))
				run, _ := answer["run"].(map[string]any)
				text, _ := run["id"].(string)
				return text, header.Get("Idempotent-Replayed"), status, answer["code"]
			}
			first, replayed, status, _ := id(r.body)
			if first == "" || replayed != "" || status != http.StatusCreated {
				t.Fatalf("%d, run %q, replayed %q", status, first, replayed)
			}
			if again, replayed, status, _ := id(r.same); again != first || replayed != "true" || status != http.StatusCreated {
				t.Errorf("again: %d, run %q, replayed %q", status, again, replayed)
			}
			if again, replayed, status, code := id(r.other); again != "" || replayed != "" || status != http.StatusUnprocessableEntity || code != "idempotency_key_reused" {
				t.Errorf("another body: %d %v, run %q", status, code, again)
			}
		})
	}
}

// TestIssue12_25WhatTheAPITakes: words of the command line, and an end of a run that
// has none.
func TestIssue12_25WhatTheAPITakes(t *testing.T) {
	c := newCaller(t)
	run := c.start()
	for _, path := range []string{"/runs?since=24h", "/runs?since=7d", "/fires?since=24h&until=1h", "/schedules/hello/morning/next?from=24h"} {
		if status, _, answer := c.ask("GET", path, ""); status != http.StatusOK {
			t.Errorf("%s: %d %v", path, status, answer)
		}
	}
	c.clock.add(time.Hour)
	for since, want := range map[string]int{"30m": 0, "2h": 1} {
		if _, _, answer := c.ask("GET", "/runs?since="+since, ""); len(answer["items"].([]any)) != want {
			t.Errorf("since %s: %v", since, answer)
		}
	}
	if status, _, answer := c.ask("POST", "/schedules/hello/morning/backfill", `{"from":"3d","dry_run":true}`); status != http.StatusOK || len(answer["slots"].([]any)) != 3 {
		t.Errorf("a backfill without an end: %d %v", status, answer)
	}
	if status, _, answer := c.ask("POST", "/runs/"+run+"/steps/cleanup/resolve", `{"outcome":"bananas"}`); status != http.StatusBadRequest || !strings.Contains(answer["detail"].(string), "happened, did_not, skip") {
		t.Errorf("bananas: %d %v", status, answer)
	}
	if status, _, answer := c.ask("POST", "/runs/"+run+"/cancel", ""); status != http.StatusAccepted {
		t.Fatalf("cancel: %d %v", status, answer)
	}
	for range 100 { // until it has ended; a cancel of a run that ends is taken
		if status, _, _ := c.ask("POST", "/runs/"+run+"/cancel", ""); status == http.StatusConflict {
			break
		}
	}
	if status, _, answer := c.ask("POST", "/runs/"+run+"/cancel", ""); status != http.StatusConflict || answer["code"] != "conflict" {
		t.Errorf("cancel of a run that has ended: %d %v", status, answer)
	}
	_, _, document := c.ask("GET", "/openapi.json", "")
	servers, _ := document["servers"].([]any)
	if server, _ := servers[0].(map[string]any); server["url"] != "http://"+c.address {
		t.Errorf("servers: %v", servers)
	}
}

// TestIssue12_25TheBodiesOfThePageOfPeople are taken as they stand there.
func TestIssue12_25TheBodiesOfThePageOfPeople(t *testing.T) {
	c := newCaller(t)
	page, err := os.ReadFile("../../docs/people.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "<!-- bodies -->")
	rows := regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| `(\\{.*?\\})`[ ;:,|]").FindAllStringSubmatch(table, -1)
	if !found || len(rows) != 4 {
		t.Fatalf("the page has the bodies %q", rows)
	}
	for _, row := range rows {
		act, body, run := row[1], row[2], c.start()
		step, want := "cleanup", http.StatusAccepted
		switch act {
		case "signal":
			step = "paid"
		case "resolve": // no outcome is unknown here: it is understood, and refused for that
			want = http.StatusConflict
		}
		if status, _, answer := c.ask("POST", "/runs/"+run+"/steps/"+step+"/"+act, body); status != want {
			t.Errorf("%s with %s: %d %v", act, body, status, answer)
		}
	}
}
