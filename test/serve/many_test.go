package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	cryptorand "crypto/rand"

	"github.com/oklog/ulid/v2"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/suitesize"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/page"
)

// planted is how many failures lie among the stored runs.
const planted = 37

// many is a store of many runs with a page and an API on it, and no guard before
// them.
type many struct {
	tb      testing.TB
	engine  *engine.Engine
	handler http.Handler
	failed  []string // ids of the planted failures, which nothing has settled
}

// newMany stores runs of 20 workflows over 80 days. The planted failures are of any
// age, and of a workflow of which no run succeeds.
func newMany(tb testing.TB, runs int) *many {
	tb.Helper()
	dir := tb.TempDir()
	state := filepath.Join(dir, "state")
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	write("flowrun.yaml", "workflows: [workflows]\nretention: {keep: 9999d, max_runs: 1000000}\n")
	write("workflows/hello.yaml", "flowrun: v1\nname: hello\nsteps:\n  - {id: one, let: {n: 1}}\n")
	write("state/.keep", "")
	m := &many{tb: tb}
	m.fill(filepath.Join(state, "flowrun.db"), runs)
	project, err := engine.LoadProject(tb.Context(), workspace.Config{
		StateDir: state, ProjectFile: filepath.Join(dir, "flowrun.yaml"), Dir: dir, WorkDir: dir,
		Executable: "none", Version: "test", Now: time.Now, Entropy: cryptorand.Reader, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	if m.engine, err = engine.Open(tb.Context(), project); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := m.engine.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	mux := http.NewServeMux()
	routes := page.Routes(page.Options{Engine: m.engine, Catalog: engine.Offline{Workspace: project}, Now: time.Now, Version: "test", StateDir: state})
	routes = append(routes, web.API(web.Options{Runs: m.engine, Catalog: engine.Offline{Workspace: project}, Workflows: m.engine, Schedules: m.engine, Gate: web.NewGate()})...)
	for _, route := range routes {
		mux.Handle(route.Pattern, route.Handler)
	}
	m.handler = mux
	return m
}

func (m *many) fill(path string, rows int) {
	m.tb.Helper()
	store, err := boltstore.Open(path, boltstore.Options{})
	if err != nil {
		m.tb.Fatal(err)
	}
	random := rand.New(rand.NewPCG(18, uint64(rows)))
	bad := map[int]bool{}
	for len(bad) < planted {
		bad[random.IntN(rows)] = true
	}
	begin, step := time.Now().Add(-80*24*time.Hour), 80*24*time.Hour/time.Duration(rows)
	next := make(chan *runs.Run, 256)
	var writers sync.WaitGroup
	for range 256 {
		writers.Go(func() {
			for run := range next {
				store1(m.tb, store, run)
			}
		})
	}
	for i := range rows {
		at := begin.Add(time.Duration(i) * step).UTC()
		end := at.Add(time.Second)
		run := &runs.Run{
			ID: idAt(at, i), Workflow: fmt.Sprintf("busy%02d", i%20), Status: runs.RunSucceeded, Attempt: 1, Trigger: "manual",
			ScheduledAt: at, StartedAt: at, FinishedAt: &end, DurationMS: 1000, Closed: true,
		}
		if bad[i] {
			run.Workflow, run.Status = "hello", runs.RunFailed
			run.Error = &runs.Error{Kind: plan.KindInvalid, Message: "no luck today", Step: "one"}
			m.failed = append(m.failed, run.ID)
		}
		next <- run
	}
	close(next)
	writers.Wait()
	if err := store.Close(); err != nil {
		m.tb.Fatal(err)
	}
}

func store1(tb testing.TB, store *boltstore.Store, run *runs.Run) {
	content := []byte(`{"format":1,"name":"` + run.Workflow + `"}`)
	sum := sha256.Sum256(content)
	run.PlanHash = hex.EncodeToString(sum[:])
	first := &journal.Record{Seq: 1, Event: journal.Event{Kind: journal.Started, At: run.StartedAt, Start: &journal.Start{RunID: run.ID, Trigger: "manual", PlanHash: run.PlanHash}}}
	if _, err := store.CreateRun(context.Background(), run, content, "", first); err != nil {
		tb.Error(err)
	}
}

func idAt(at time.Time, n int) string {
	var id ulid.ULID
	if err := id.SetTime(uint64(at.UnixMilli())); err != nil {
		panic(err)
	}
	id[14], id[15], id[13] = byte(n>>8), byte(n), byte(n>>16)
	return strings.ToLower(id.String())
}

func (m *many) get(path string) string {
	m.tb.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	caller := guard.Caller{Name: "page of ann", Scope: guard.Admin, Remote: "127.0.0.1", CSRF: "csrf-of-this-session"}
	w := httptest.NewRecorder()
	m.handler.ServeHTTP(w, r.WithContext(guard.WithCaller(r.Context(), caller)))
	if w.Code != http.StatusOK {
		m.tb.Fatalf("GET %s: %d\n%.500s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// manyPages are those that name the failures; all of them stay flat.
func manyPages() []string { return []string{"/", "/workflows/hello", "/runs?status=attention"} }

// TestIssue12_18NoFailureIsLost plants failures of any age among many runs: the first
// page, the page of their workflow and the API name all of them, and what they cost
// does not depend on how many runs are stored. FLOWRUN_STORED_RUNS changes their
// number.
func TestIssue12_18NoFailureIsLost(t *testing.T) {
	large := newMany(t, suitesize.Of(t, "FLOWRUN_STORED_RUNS", 6000))
	for _, path := range manyPages()[:2] {
		body := large.get(path)
		for _, id := range large.failed {
			if !strings.Contains(body, `href="/runs/`+id+`"`) {
				t.Errorf("%s does not name %s", path, id)
			}
		}
		if len(body) > 60<<10 {
			t.Errorf("%s has %d bytes", path, len(body))
		}
	}
	summary := new(engine.RunsSummary)
	if err := json.Unmarshal([]byte(large.get("/api/v1/runs/summary")), summary); err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, run := range summary.Needy {
		named[run.ID] = true
	}
	for _, id := range large.failed {
		if !named[id] {
			t.Errorf("the API does not name %s", id)
		}
	}
	if summary.Attention != planted || summary.Runs[runs.RunFailed] != planted || len(summary.Workflows) != 21 || summary.Workflows[0].Workflow != "hello" {
		t.Errorf("%d need attention, %v, %d workflows", summary.Attention, summary.Runs, len(summary.Workflows))
	}
	var listed struct{ Items []runs.Run }
	if err := json.Unmarshal([]byte(large.get("/api/v1/runs?attention=true&limit=1000")), &listed); err != nil || len(listed.Items) != planted {
		t.Errorf("%d listed, %v", len(listed.Items), err)
	}
	small := newMany(t, 1000)
	for _, path := range append(manyPages(), "/api/v1/runs/summary", "/api/v1/runs?workflow=hello&status=failed", "/api/v1/runs?status=failed", "/runs?status=failed") {
		few := testing.AllocsPerRun(5, func() { small.get(path) })
		lots := testing.AllocsPerRun(5, func() { large.get(path) })
		if lots > 1.3*few+500 {
			t.Errorf("%s takes %.0f allocations with %d runs, %.0f with more", path, few, 1000, lots)
		}
	}
}

// TestIssue12_18AFailureStaysUntilItIsSeenOrSettled: many quick runs of others do not
// hide it; a button, the API or a later success does.
func TestIssue12_18AFailureStaysUntilItIsSeenOrSettled(t *testing.T) {
	m := newMany(t, 400)
	caller := guard.Caller{Name: "page of ann", Scope: guard.Operator, Remote: "127.0.0.1", CSRF: "csrf-of-this-session"}
	post := func(path, kind, body string) int {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		m.handler.ServeHTTP(w, r.WithContext(guard.WithCaller(r.Context(), caller)))
		return w.Code
	}
	attention := func() int {
		summary, err := m.engine.Summary(t.Context(), engine.SummaryRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return summary.Attention
	}
	if strings.Contains(m.get("/"), "0 failed") && strings.Contains(m.get("/"), "Nothing fails") {
		t.Error("the first page says that nothing fails")
	}
	if code := post("/api/v1/runs/acknowledge", "application/json", `{"runs":["`+m.failed[0]+`"]}`); code != http.StatusOK {
		t.Errorf("acknowledge: %d", code)
	}
	if got := attention(); got != planted-1 {
		t.Errorf("%d need attention after one was acknowledged", got)
	}
	form := "csrf=csrf-of-this-session&workflow=hello&up_to=" + m.failed[9]
	if code := post("/runs/acknowledge", "application/x-www-form-urlencoded", form); code != http.StatusSeeOther {
		t.Errorf("the button: %d", code)
	}
	if got := attention(); got != planted-10 {
		t.Errorf("%d need attention after those up to the tenth were acknowledged", got)
	}
	for _, body := range []string{`{}`, `{"up_to":"x"}`, `{"runs":["` + m.failed[1] + `"],"workflow":"hello"}`} {
		if code := post("/api/v1/runs/acknowledge", "application/json", body); code != http.StatusBadRequest {
			t.Errorf("%s: %d", body, code)
		}
	}
	if code := post("/api/v1/runs/acknowledge", "application/json", `{"runs":["01k8zq4c0vdx3y6t7k9m2n5p8r"]}`); code != http.StatusNotFound {
		t.Errorf("a run that is not there: %d", code)
	}
	run, problems, err := m.engine.StartNamed(t.Context(), "hello", engine.NamedStart{})
	if err != nil || run == nil {
		t.Fatal(err, problems)
	}
	if _, err := m.engine.Wait(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	if got := attention(); got != 0 {
		t.Errorf("%d need attention after a success", got)
	}
	if !strings.Contains(m.get("/"), "Nothing fails") || !strings.Contains(m.get("/workflows/hello"), m.failed[3]) {
		t.Error("what has failed is not to be found any more, or still called for")
	}
}

// BenchmarkManyRuns measures the pages that name the failures, with few and with
// many runs stored.
func BenchmarkManyRuns(b *testing.B) {
	for _, runs := range []int{1000, 100_000} {
		m := newMany(b, runs)
		for _, path := range append(manyPages(), "/api/v1/runs/summary", "/runs?status=failed&workflow=hello") {
			b.Run(fmt.Sprintf("runs=%d %s", runs, path), func(b *testing.B) {
				m.tb = b
				size := 0
				for b.Loop() {
					size = len(m.get(path))
				}
				b.ReportMetric(float64(size)/1024, "KiB")
			})
		}
	}
}
