package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/wire"
)

const jsonType = "application/json"

// send is request for a path that is escaped already.
func send(handler http.Handler, method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", jsonType)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func TestWorkflowsAreFoundByTheirNames(t *testing.T) {
	a := newAlwaysOn(t)
	client, ctx := a.client(), t.Context()
	list, err := client.Workflows(ctx)
	if err != nil || len(list) != 1 || list[0].File != "workflows/a.yaml" {
		t.Errorf("list %+v, %v", list, err)
	}
	detail, err := client.Workflow(ctx, oddName)
	if err != nil || detail.Name != oddName || string(detail.Inputs) != `{"type":"object"}` {
		t.Errorf("detail %+v, %v", detail, err)
	}
	_, err = client.Workflow(ctx, "v")
	var problem *Problem
	if !errors.As(err, &problem) || problem.Code != wire.CodeNotFound || problem.Hint.Text != "did you mean `w`?" {
		t.Errorf("an unknown one: %v", err)
	}
}

func TestANamedWorkflowIsStarted(t *testing.T) {
	a := newAlwaysOn(t)
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	asked := engine.NamedStart{
		Inputs:      map[string]workspace.Input{"site": {Text: "A"}, "n": {JSON: []byte("9007199254740993")}},
		ScheduledAt: at, RequestID: "k1", By: "ann",
	}
	answer, err := a.client().StartNamed(t.Context(), oddName, asked, 0)
	if err != nil || answer.Run.ID != knownRun || answer.Outputs != nil {
		t.Fatalf("answer %+v, %v", answer, err)
	}
	asked.RequestID = "api//" + oddName + "/k1"
	if diff := cmp.Diff([]engine.NamedStart{asked}, a.workflows.started, asOneRequest()); diff != "" {
		t.Error(diff)
	}
}

func TestAStartThatWaitsHasTheResult(t *testing.T) {
	a := newAlwaysOn(t)
	a.runs.status = runs.RunFailed
	w := send(a.remote(ci()), "POST", Prefix+"/workflows/w/runs?wait=10m", "")
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(w.Body.Bytes(), &keys); err != nil || w.Code != http.StatusCreated {
		t.Fatalf("%d %s %v", w.Code, w.Body, err)
	}
	if string(keys["outputs"]) != `{"big":9007199254740993}` || keys["steps"] == nil || string(keys["error"]) != "null" || keys["run"] == nil || len(keys) != 4 {
		t.Errorf("answer %s", w.Body)
	}
}

func TestAStartThatWaitsInVainHasTheRunAlone(t *testing.T) {
	a := newAlwaysOn(t)
	a.runs.hold = make(chan struct{})
	w := send(a.remote(ci()), "POST", Prefix+"/workflows/w/runs?wait=1ms", "")
	if w.Code != http.StatusAccepted || strings.Contains(w.Body.String(), "outputs") || !strings.Contains(w.Body.String(), `"status":"running"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestAStartThatWaitsEndsWithTheOwner(t *testing.T) {
	a := newAlwaysOn(t)
	a.runs.hold = make(chan struct{})
	client, done := a.client(), make(chan error)
	go func() {
		_, err := client.StartNamed(t.Context(), "w", engine.NamedStart{}, 10*time.Minute)
		done <- err
	}()
	a.gate.Close()
	var gone *GoneError
	if err := <-done; err != nil && !errors.As(err, &gone) { // it may come too late to begin
		t.Error(err)
	}
}

func TestAStartOverTCP(t *testing.T) {
	a := newAlwaysOn(t)
	handler := a.remote(ci())
	path := Prefix + "/workflows/" + url.PathEscape(oddName) + "/runs"
	w := send(handler, "POST", path, `{"inputs":{"a":[1]},"input_texts":{"b":"2"},"by":"the boss"}`, "Idempotency-Key", "k1")
	if w.Code != http.StatusCreated || w.Header().Get("Location") != Prefix+"/runs/"+knownRun {
		t.Fatalf("status %d, %v: %s", w.Code, w.Header(), w.Body)
	}
	if w := send(handler, "POST", path, ""); w.Code != http.StatusCreated {
		t.Errorf("without a body: %d %s", w.Code, w.Body)
	}
	want := []engine.NamedStart{
		{
			Inputs:    map[string]workspace.Input{"a": {JSON: []byte("[1]")}, "b": {Text: "2"}},
			RequestID: "api/t1/" + oddName + "/k1", By: "token ci from 10.0.0.1",
		},
		{Inputs: map[string]workspace.Input{}, By: "token ci from 10.0.0.1"},
	}
	if diff := cmp.Diff(want, a.workflows.started, asOneRequest()); diff != "" {
		t.Error(diff)
	}
}

// TestAKeyIsOneRequest: what comes under the same key is told apart by what it asks
// for, and by that alone. The engine refuses another request under a used key by
// the digest that it is given here.
func TestAKeyIsOneRequest(t *testing.T) {
	a := newAlwaysOn(t)
	handler := a.remote(ci())
	digest := func(body string) string {
		t.Helper()
		if w := send(handler, "POST", Prefix+"/workflows/w/runs", body, "Idempotency-Key", "k1"); w.Code != http.StatusCreated {
			t.Fatalf("%s: %d %s", body, w.Code, w.Body)
		}
		return a.workflows.started[len(a.workflows.started)-1].Digest
	}
	seen := map[string]string{}
	for _, same := range [][]string{ // in each line the same request, and no two lines are
		{`{}`, ``, `{"inputs":{}}`, `{"by":"ann"}`},
		{`{"inputs":{"a":1}}`, ` { "inputs" : { "a" : 1 } } `},
		{`{"inputs":{"a":2}}`},
		{`{"inputs":{"a":"1"}}`},
		{`{"inputs":{"a":null}}`},
		{`{"inputs":{"b":1}}`},
		{`{"inputs":{"a":1,"b":2}}`, `{"inputs":{"b":2,"a":1}}`},
		{`{"inputs":{"a":2,"b":1}}`},
		{`{"inputs":{"a":{"x":1,"y":[1,2]}}}`, `{"inputs":{"a":{ "y":[1, 2], "x":1 }}}`},
		{`{"inputs":{"a":{"x":1,"y":[2,1]}}}`},
		{`{"inputs":{"a":9007199254740993}}`},
		{`{"inputs":{"a":9007199254740992}}`},
		{`{"input_texts":{"a":"1"}}`},
		{`{"input_texts":{"a":"2"}}`},
		{`{"input_texts":{"a":"1","b":""}}`},
		{`{"scheduled_at":"2026-03-01T09:00:00Z"}`, `{"scheduled_at":"2026-03-01T10:00:00+01:00"}`},
		{`{"scheduled_at":"2026-03-01T09:00:01Z"}`},
	} {
		first := digest(same[0])
		if before, known := seen[first]; known || first == "" {
			t.Errorf("%s is the same request as %s", same[0], before)
		}
		seen[first] = same[0]
		for _, body := range same[1:] {
			if digest(body) != first {
				t.Errorf("%s is another request than %s", body, same[0])
			}
		}
	}
}

func TestStartsThatAreRefused(t *testing.T) {
	a := newAlwaysOn(t)
	handler := NewSocketHandler(a.options())
	for name, test := range map[string]struct {
		target, body, key string
		want              wire.Code
	}{
		"a wait without a unit":        {"/workflows/w/runs?wait=30", "", "", wire.CodeBadRequest},
		"a wait that is too long":      {"/workflows/w/runs?wait=11m", "", "", wire.CodeBadRequest},
		"a wait back in time":          {"/workflows/w/runs?wait=-1s", "", "", wire.CodeBadRequest},
		"a key with a space":           {"/workflows/w/runs", "", "a b", wire.CodeBadRequest},
		"a key that is too long":       {"/workflows/w/runs", "", strings.Repeat("k", 256), wire.CodeBadRequest},
		"an unknown field":             {"/workflows/w/runs", `{"input":{}}`, "", wire.CodeBadRequest},
		"a list in place of an object": {"/workflows/w/runs", `[]`, "", wire.CodeBadRequest},
		"inputs that are a list":       {"/workflows/w/runs", `{"inputs":[1]}`, "", wire.CodeBadRequest},
		"a text that is a number":      {"/workflows/w/runs", `{"input_texts":{"a":1}}`, "", wire.CodeBadRequest},
		"a time that is none":          {"/workflows/w/runs", `{"scheduled_at":"now"}`, "", wire.CodeBadRequest},
		"two values":                   {"/workflows/w/runs", `{} {}`, "", wire.CodeBadRequest},
		"a name that is too long":      {"/workflows/" + strings.Repeat("w", 401) + "/runs", "", "", wire.CodeNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			w := send(handler, "POST", Prefix+test.target, test.body, "Idempotency-Key", test.key)
			if got := problemCode(t, w); got != test.want {
				t.Errorf("code %s, want %s: %s", got, test.want, w.Body)
			}
		})
	}
	if len(a.workflows.started) > 0 {
		t.Errorf("started %v", a.workflows.started)
	}
	a.workflows.lacking = diag.List{{Code: "FR5001", Message: "a secret is missing"}}
	if w := send(handler, "POST", Prefix+"/workflows/w/runs", ""); problemCode(t, w) != wire.CodeInvalidWorkflow {
		t.Errorf("a run that lacks something: %s", w.Body)
	}
}

func TestAWorkflowIsDrawn(t *testing.T) {
	handler := NewSocketHandler(newAlwaysOn(t).options())
	for target, want := range map[string]string{
		"/workflows/w/graph.svg":                 "say",
		"/workflows/w/graph.svg?run=" + knownRun: "then", // as it was pinned
	} {
		w := send(handler, "GET", Prefix+target, "")
		if w.Code != 200 || w.Header().Get("Content-Type") != "image/svg+xml" || !strings.HasPrefix(w.Body.String(), "<svg") || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %v %.200s", target, w.Code, w.Header(), w.Body)
		}
	}
	for target, want := range map[string]wire.Code{
		"/workflows/v/graph.svg":                                               wire.CodeNotFound,
		"/workflows/broken/graph.svg":                                          wire.CodeInvalidWorkflow,
		"/workflows/w/graph.svg?run=01zzz":                                     wire.CodeNotFound,
		"/workflows/" + url.PathEscape(oddName) + "/graph.svg?run=" + knownRun: wire.CodeNotFound, // a run of another workflow
	} {
		if got := problemCode(t, send(handler, "GET", Prefix+target, "")); got != want {
			t.Errorf("%s: code %s, want %s", target, got, want)
		}
	}
}

func TestAPlanIsOfAWorkflowOrOfAText(t *testing.T) {
	handler := NewSocketHandler(newAlwaysOn(t).options())
	w := send(handler, "POST", Prefix+"/plan", `{"workflow":"w","input_texts":{"a":"1"}}`)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"name":"w"`) || !strings.Contains(w.Body.String(), `"name":"a"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for body, want := range map[string]wire.Code{
		`{}`:                                 wire.CodeBadRequest,
		`{"workflow":"w","source":"x"}`:      wire.CodeBadRequest,
		`{"workflow":"v"}`:                   wire.CodeNotFound,
		`{"workflow":"broken"}`:              wire.CodeInvalidWorkflow,
		`{"source":"wrong","file":"a.yaml"}`: wire.CodeInvalidWorkflow,
	} {
		if got := problemCode(t, send(handler, "POST", Prefix+"/plan", body)); got != want {
			t.Errorf("%s: code %s, want %s", body, got, want)
		}
	}
}

// TestATextOverTCPLeadsToNoFile: its name is for messages alone.
func TestATextOverTCPLeadsToNoFile(t *testing.T) {
	a := newAlwaysOn(t)
	body := `{"file":"/etc/passwd","source":"wrong"}`
	if w := send(NewSocketHandler(a.options()), "POST", Prefix+"/validate", body); !strings.Contains(w.Body.String(), `"file":"/etc/passwd"`) {
		t.Errorf("socket: %s", w.Body)
	}
	for _, path := range []string{"/validate", "/plan"} {
		if w := send(a.remote(ci()), "POST", Prefix+path, body); !strings.Contains(w.Body.String(), `"file":"text:/etc/passwd"`) {
			t.Errorf("TCP %s: %s", path, w.Body)
		}
	}
	w := send(a.remote(ci()), "POST", Prefix+"/runs/"+knownRun+"/resume", `{"latest":true,"dir":"/etc"}`)
	if got := problemCode(t, w); got != wire.CodeBadRequest {
		t.Errorf("a folder of the server: %s %s", got, w.Body)
	}
}

// asOneRequest leaves out what tells a request that is sent again: other tests look
// at it.
func asOneRequest() cmp.Option {
	return cmpopts.IgnoreFields(engine.NamedStart{}, "Digest", "Replayed")
}
