package trigger_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/notify"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/workspace"
)

// hookServer notes what is posted to it; status says what it answers.
type hookServer struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	got    []notify.Message
	keys   []string
}

func newHookServer(t *testing.T) *hookServer {
	h := &hookServer{status: http.StatusOK}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var message notify.Message
		if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
			t.Error(err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got = append(h.got, message)
		h.keys = append(h.keys, r.Header.Get("Idempotency-Key"))
		w.WriteHeader(h.status)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hookServer) events() (events []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.got {
		events = append(events, m.Event+" "+m.Workflow)
	}
	return events
}

func noticeProject(h *hookServer) map[string]string {
	return map[string]string{
		"flowrun.yaml": fmt.Sprintf(`workflows: [flows]
notify:
  ops: {webhook: "%s/ops", on: [failed, paused, recovered]}
  quiet: {webhook: "%s/quiet"}
`, h.URL, h.URL),
		"flows/may.yaml": `flowrun: v1
name: may
inputs: {fail: {type: boolean, default: false}, pause: {type: boolean, default: false}}
steps:
  - {id: bad, if: inputs.fail, uses: core.fail, with: {message: broken}}
  - {id: hold, if: inputs.pause, uses: core.fail, with: {message: look at it}, on_error: pause}
`,
	}
}

func startMay(t *testing.T, e *engine.Engine, inputs map[string]string) *runs.Result {
	t.Helper()
	given := map[string]workspace.Input{}
	for name, text := range inputs {
		given[name] = workspace.Input{Text: text}
	}
	run, problems, err := e.StartNamed(t.Context(), "may", engine.NamedStart{Inputs: given})
	if err != nil || run == nil {
		t.Fatal(err, problems)
	}
	return ended(t, e, run.ID)
}

func TestTargetsAreToldOfTheEndsOfRuns(t *testing.T) {
	h := newHookServer(t)
	dir := t.TempDir()
	e := serving(t, dir, noticeProject(h))
	startMay(t, e, nil)
	failed := startMay(t, e, map[string]string{"fail": "true"})
	startMay(t, e, map[string]string{"fail": "true"})
	startMay(t, e, nil)
	startMay(t, e, nil)
	startMay(t, e, map[string]string{"pause": "true"})
	want := []string{"failed may", "failed may", "recovered may", "paused may"}
	eventually(t, "the target is told", func() bool { return len(h.events()) >= len(want) })
	n := trigger.NewNotices(e.Triggers, time.After)
	eventually(t, "that is noted", func() bool { // until then a notice may come again, under the same key
		known, err := n.Known("may")
		return err == nil && known.Failing == 1 && known.Status == "paused"
	})
	closeEngine(t, e)
	if got := h.events(); !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
	first := h.got[0]
	if first.Run != failed.Run.ID || first.To != "ops" || first.Step != "bad" || !strings.Contains(first.Text, "broken") {
		t.Errorf("the first notice: %+v", first)
	}
	if !strings.Contains(h.got[1].Text, "2 in a row") || !strings.Contains(h.got[2].Text, "after 2 in a row") || !strings.Contains(h.got[3].Text, "look at it") {
		t.Errorf("texts: %q, %q, %q", h.got[1].Text, h.got[2].Text, h.got[3].Text)
	}
	if slices.Sort(h.keys); len(slices.Compact(h.keys)) != len(want) {
		t.Errorf("keys %v", h.keys)
	}
	// What was told is not told again.
	e = serving(t, dir, nil)
	startMay(t, e, map[string]string{"fail": "true"})
	eventually(t, "the target is told", func() bool { return len(h.events()) > len(want) })
	closeEngine(t, e)
	if got := h.events(); !slices.Equal(got, append(want, "failed may")) {
		t.Errorf("after a restart: %v", got)
	}
}

// A notice leaves the machine: no secret of the project stands in it, however it
// came into the text, and of a secret no form.
func TestNoticesHoldNoSecret(t *testing.T) {
	const canary = "canary-notice-4711"
	h := newHookServer(t)
	files := noticeProject(h)
	files["flows/tell.yaml"] = "flowrun: v1\nname: tell\ninputs: {what: {type: string}}\nsteps:\n  - {id: bad, uses: core.fail, with: {message: \"${{ inputs.what }}\"}}\n"
	e := serving(t, t.TempDir(), files)
	defer closeEngine(t, e)
	if _, err := e.SetSecret(t.Context(), "KEY", canary); err != nil {
		t.Fatal(err)
	}
	given := "no entry with " + canary + " nor " + base64.StdEncoding.EncodeToString([]byte(canary))
	run, problems, err := e.StartNamed(t.Context(), "tell", engine.NamedStart{Inputs: map[string]workspace.Input{"what": {Text: given}}})
	if err != nil || run == nil {
		t.Fatal(err, problems)
	}
	ended(t, e, run.ID)
	eventually(t, "the target is told of the run", func() bool { return len(h.events()) == 1 })
	state := &runs.TriggerState{Workflow: "tell", Trigger: "tick", Paused: true, PausedBy: "ann", Reason: "the key was " + canary}
	n := trigger.NewNotices(e.Triggers, time.After)
	if err := n.Take(t.Context(), runs.OutboxEntry{Seq: 99, Kind: runs.OutboxTriggerPaused, Trigger: state}, ""); err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.got) != 2 || !strings.Contains(h.got[0].Text, "no entry with ") || !strings.Contains(h.got[1].Text, "the key was ") {
		t.Fatalf("told %+v", h.got)
	}
	for _, message := range h.got {
		if text := fmt.Sprintf("%+v", message); strings.Contains(text, canary) || strings.Contains(text, strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(canary)), "=")) {
			t.Errorf("the secret stands in %q", text)
		}
	}
}

// The place of a reader was lost in a crash: it reads what it had handed on.
func TestANoticeIsSentOnceThoughItsPlaceIsLost(t *testing.T) {
	h := newHookServer(t)
	e := serving(t, t.TempDir(), noticeProject(h))
	defer closeEngine(t, e)
	startMay(t, e, map[string]string{"fail": "true"})
	eventually(t, "the target is told", func() bool { return len(h.events()) == 1 })
	n := trigger.NewNotices(e.Triggers, time.After)
	eventually(t, "that is noted", func() bool {
		known, err := n.Known("may")
		return err == nil && known.Failing == 1
	})
	entry := runs.OutboxEntry{Seq: 1, Kind: runs.OutboxClosed, Run: runs.Run{ID: "x", Workflow: "may", Status: runs.RunFailed}}
	if err := n.Take(t.Context(), entry, ""); err != nil {
		t.Fatal(err)
	}
	if got := h.events(); len(got) != 1 {
		t.Errorf("told %v", got)
	}
	entry.Seq = 99
	if err := n.Take(t.Context(), entry, runs.SkipLate); err != nil || len(h.events()) != 1 {
		t.Errorf("what comes too late is told: %v, %v", h.events(), err)
	}
	if known, err := n.Known("may"); err != nil || known.Failing != 2 {
		t.Errorf("what comes too late is not counted: %+v, %v", known, err)
	}
}

func TestATargetThatRefusesIsGivenUp(t *testing.T) {
	h := newHookServer(t)
	e := serving(t, t.TempDir(), noticeProject(h))
	defer closeEngine(t, e)
	for _, status := range []int{http.StatusForbidden, http.StatusServiceUnavailable} {
		attempts := 1
		if status == http.StatusServiceUnavailable {
			attempts += len(trigger.NoticeDelays())
		}
		h.mu.Lock()
		h.status, h.got = status, nil
		h.mu.Unlock()
		var waits []time.Duration
		n := trigger.NewNotices(e.Triggers, func(d time.Duration) <-chan time.Time {
			waits = append(waits, d)
			now := make(chan time.Time, 1)
			now <- time.Time{}
			return now
		})
		entry := runs.OutboxEntry{Seq: uint64(status), Kind: runs.OutboxPaused, Run: runs.Run{ID: "x", Workflow: "may", Status: runs.RunPaused}}
		if err := n.Take(t.Context(), entry, ""); err != nil || len(h.events()) != attempts || len(waits) != attempts-1 {
			t.Errorf("status %d: %d attempts, waits %v, %v", status, len(h.events()), waits, err)
		}
	}
}

// Nobody else would tell that a trigger does not fire any more.
func TestTargetsAreToldOfATriggerThatIsPausedAfterFailures(t *testing.T) {
	h := newHookServer(t)
	files := noticeProject(h)
	files["flows/often.yaml"] = strings.Replace(oftenWorkflow, "pause_after_failures: 3", "pause_after_failures: 1", 1)
	e := serving(t, t.TempDir(), files)
	defer closeEngine(t, e)
	found, problems := e.Project().CheckedIn(t.Context(), "flows/often.yaml", e.Project().Root(), []byte(files["flows/often.yaml"]))
	if found == nil {
		t.Fatal(problems)
	}
	stored, err := found.Stored()
	if err != nil {
		t.Fatal(err)
	}
	ok := startMay(t, e, nil) // its plan is that of another workflow: nothing is paused
	if err := e.CountFailures(closedRun(1, runs.RunFailed, ok.Run.PlanHash)); err != nil {
		t.Fatal(err)
	}
	run, _, err := e.Runs().Begin(t.Context(), found, json.RawMessage("{}"), trigger.Start{Kind: plan.TriggerManual})
	if err != nil {
		t.Fatal(err)
	}
	ended(t, e, run)
	if err := e.CountFailures(closedRun(2, runs.RunFailed, stored.Hash)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the target is told", func() bool { return len(h.events()) > 0 })
	h.mu.Lock()
	defer h.mu.Unlock()
	want := "schedule often/tick is paused: 2 failures in a row\nflowrun schedules resume often/tick"
	if got := h.got[0]; len(h.got) != 1 || got.Text != want || got.Event != "paused" || got.Workflow != "often" || got.Run != "" {
		t.Errorf("told %+v", h.got)
	}
}
