package page

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/guard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is an engine on a store of its own, with the page on it and a person in
// front of it.
type desk struct {
	t       testing.TB
	engine  *engine.Engine
	handler http.Handler
	caller  guard.Caller
}

const deskCSRF = "csrf-of-this-session"

// newDesk opens a project with these workflows, by file name.
func newDesk(t testing.TB, workflows map[string]string) *desk {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("flowrun.yaml", "workflows: [workflows]\n")
	for name, text := range workflows {
		write("workflows/"+name, text)
	}
	project, err := engine.LoadProject(t.Context(), workspace.Config{
		StateDir: filepath.Join(dir, "state"), ProjectFile: filepath.Join(dir, "flowrun.yaml"), Dir: dir, WorkDir: dir,
		Executable: "none", Version: "test", Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := engine.Open(t.Context(), project)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	d := &desk{
		t: t, engine: opened,
		caller: guard.Caller{Name: "page of ann", Scope: guard.Admin, Remote: "127.0.0.1", CSRF: deskCSRF},
	}
	mux := http.NewServeMux()
	for _, route := range Routes(Options{Engine: opened, Catalog: project, Now: time.Now, Version: "test", StateDir: filepath.Join(dir, "state")}) {
		mux.Handle(route.Pattern, route.Handler)
	}
	d.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(guard.WithCaller(r.Context(), d.caller)))
	})
	return d
}

// start runs a workflow by its name until it waits, is paused or has ended.
func (d *desk) start(name string, inputs map[string]workspace.Input) string {
	d.t.Helper()
	run, problems, err := d.engine.StartNamed(d.t.Context(), name, engine.NamedStart{Inputs: inputs, By: "ann"})
	if err != nil || run == nil {
		d.t.Fatalf("start %s: %v %v", name, err, problems)
	}
	d.settle(run.ID)
	return run.ID
}

// settle waits until a run waits for a person, is paused or has ended.
func (d *desk) settle(id string) runs.Run {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	defer cancel()
	updates, err := d.engine.Watch(ctx, id, 1<<62)
	if err != nil {
		d.t.Fatal(err)
	}
	for update := range updates {
		if update.Run != nil && (update.Run.Closed || update.Run.Status == runs.RunPaused) {
			break
		}
		if update.Step != nil && update.Step.Form != nil && update.Step.Decision == nil {
			break
		}
	}
	result, err := d.engine.Get(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return result.Run
}

// get loads a page and wants a status.
func (d *desk) get(path string, status int) string {
	d.t.Helper()
	return d.send(httptest.NewRequest(http.MethodGet, path, nil), status)
}

// post sends a form with the session's token, and returns where it leads to, or
// the page that it answers with.
func (d *desk) post(path string, values url.Values, status int) string {
	d.t.Helper()
	if values == nil {
		values = url.Values{}
	}
	values.Set("csrf", deskCSRF)
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return d.send(r, status)
}

func (d *desk) send(r *http.Request, status int) string {
	d.t.Helper()
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		d.t.Fatal(err)
	}
	if w.Code != status {
		d.t.Fatalf("%s %s: %d, want %d\n%s", r.Method, r.URL, w.Code, status, body)
	}
	if status == http.StatusSeeOther {
		return w.Header().Get("Location")
	}
	return string(body)
}

// has wants texts in a page, in this order.
func has(t *testing.T, page string, texts ...string) {
	t.Helper()
	rest := page
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Errorf("the page lacks %q (after those before it)\n%.3000s", text, mainOf(page))
			return
		}
		rest = after
	}
}

func lacks(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(page, text) {
			t.Errorf("the page has %q", text)
		}
	}
}

func mainOf(page string) string {
	_, after, _ := strings.Cut(page, "<main")
	return after
}

func text(value string) workspace.Input { return workspace.Input{Text: value} }

func rawJSON(value string) workspace.Input { return workspace.Input{JSON: json.RawMessage(value)} }

// The workflows of the tests.
const (
	failingFlow = `flowrun: v1
name: failing
description: It fails after two attempts.
labels: {area: test}
steps:
  - id: before
    let: {n: 1}
  - id: broken
    uses: core.fail
    with: {message: "no luck with ${{ steps.before.outputs.n }}", kind: unavailable}
  - id: never
    uses: core.log
    with: {text: not reached}
on_failure:
  - id: alarm
    uses: core.log
    with: {text: it failed, level: error}
`
	askingFlow = `flowrun: v1
name: asking
inputs:
  target: {type: string, default: stable}
  count: {type: integer, default: 2}
steps:
  - id: approve
    uses: core.approve
    with:
      message: "Publish to ${{ inputs.target }}?"
      form:
        amount: {type: integer, minimum: 1}
        note: {type: string, default: ""}
  - id: publish
    uses: core.log
    with: {text: "published ${{ steps.approve.outputs.amount }}"}
outputs:
  target: ${{ inputs.target }}
`
	loopFlow = `flowrun: v1
name: looping
inputs:
  names: {type: array, items: {type: string}}
steps:
  - id: each
    foreach: ${{ inputs.names }}
    as: name
    key: ${{ name }}
    max_parallel: 4
    on_error: collect
    steps:
      - id: look
        let: {upper: "${{ upper(name) }}"}
      - id: check
        uses: core.assert
        with: {that: '${{ !(name startsWith "bad") }}', message: "${{ name }} is bad"}
`
)
