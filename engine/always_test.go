package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/notify"
	"github.com/flowrun/flowrun/engine/plan"
)

// serving is an engine over workflow files, with its server's parts running.
func serving(t *testing.T, dir string, files map[string]string, change func(*Config)) *Engine {
	t.Helper()
	for name, text := range files {
		writePlain(t, dir, name, text)
	}
	e, err := dbEngine(t, filepath.Join(dir, "state"), func(c *Config) {
		c.Dir, c.ProjectFile = dir, filepath.Join(dir, "flowrun.yaml")
		if change != nil {
			change(c)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.AlwaysOn(t.Context()); err != nil {
		closeEngine(t, e)
		t.Fatal(err)
	}
	return e
}

// ended waits for the end of a run.
func ended(t *testing.T, e *Engine, id string) *plan.Result {
	t.Helper()
	result, err := e.Wait(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// eventually asks until the answer is good: what happens in the background has no
// other end to wait for.
func eventually(t *testing.T, what string, good func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !good() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("waited in vain: " + what)
		}
	}
}

const approvalWorkflow = `flowrun: v1
name: gate
steps:
  - {id: ask, uses: core.approve, with: {message: "go on?"}}
`

func TestAServerTakesUpWhatNoProcessDrives(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"flowrun.yaml": "workflows: [flows]\n", "flows/hello.yaml": helloWorkflow}
	e := serving(t, dir, files, nil)
	open, problems, err := e.Start(t.Context(), StartRequest{File: "gate.yaml", Source: []byte(approvalWorkflow)})
	if err != nil || open == nil {
		t.Fatal(err, problems)
	}
	done := runHello(t, e)
	closeEngine(t, e)

	e = serving(t, dir, nil, nil)
	defer closeEngine(t, e)
	eventually(t, "the open run is driven", func() bool { return e.driver.Driven(open.ID) })
	if e.driver.Driven(done) {
		t.Error("a run that has ended is driven")
	}
	if err := e.AlwaysOn(t.Context()); !errors.Is(err, errAlwaysOn) {
		t.Errorf("a second AlwaysOn: %v", err)
	}
	if _, err := e.Decide(t.Context(), open.ID, "ask", ActApprove, DecideRequest{}); err != nil {
		t.Fatal(err)
	}
	if result := ended(t, e, open.ID); result.Run.Status != plan.RunSucceeded {
		t.Errorf("it ends as %+v", result.Run)
	}
}

const oneAtATime = `flowrun: v1
name: narrow
concurrency: {key: narrow}
steps:
  - {id: ask, uses: core.approve, with: {message: "go on?"}}
`

// A run that waits for its place, and the one that holds it, are both taken up.
func TestAServerTakesUpTheQueue(t *testing.T) {
	dir := t.TempDir()
	e := serving(t, dir, map[string]string{"flowrun.yaml": "workflows: [flows]\n", "flows/narrow.yaml": oneAtATime}, nil)
	var ids []string
	for range 3 {
		run, problems, err := e.StartNamed(t.Context(), "narrow", NamedStart{})
		if err != nil {
			t.Fatal(err, problems)
		}
		ids = append(ids, run.ID)
	}
	closeEngine(t, e)

	e = serving(t, dir, nil, nil)
	defer closeEngine(t, e)
	for _, id := range ids {
		eventually(t, "run "+id+" waits for a person", func() bool {
			row, err := e.store.Run(id)
			return err == nil && row.Status == plan.RunWaiting && e.driver.Driven(id)
		})
		if _, err := e.Decide(t.Context(), id, "ask", ActApprove, DecideRequest{}); err != nil {
			t.Fatal(err)
		}
		if result := ended(t, e, id); result.Run.Status != plan.RunSucceeded {
			t.Errorf("run %s ends as %+v", id, result.Run)
		}
	}
}

func TestAStopEndsTheServersParts(t *testing.T) {
	e := serving(t, t.TempDir(), map[string]string{"flowrun.yaml": "workflows: [flows]\n"}, nil)
	if !e.always.on() || e.Ready() != nil {
		t.Error("the server's parts do not run")
	}
	if err := e.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.always.parts.Wait() // they end without Close
	if e.always.on() || !errors.Is(e.Ready(), ErrClosing) {
		t.Errorf("after a drain: on %v, ready %v", e.always.on(), e.Ready())
	}
	closeEngine(t, e)
}

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

func startMay(t *testing.T, e *Engine, inputs map[string]string) *plan.Result {
	t.Helper()
	given := map[string]Input{}
	for name, text := range inputs {
		given[name] = Input{Text: text}
	}
	run, problems, err := e.StartNamed(t.Context(), "may", NamedStart{Inputs: given})
	if err != nil || run == nil {
		t.Fatal(err, problems)
	}
	return ended(t, e, run.ID)
}

func TestTargetsAreToldOfTheEndsOfRuns(t *testing.T) {
	h := newHookServer(t)
	dir := t.TempDir()
	e := serving(t, dir, noticeProject(h), nil)
	startMay(t, e, nil)
	failed := startMay(t, e, map[string]string{"fail": "true"})
	startMay(t, e, map[string]string{"fail": "true"})
	startMay(t, e, nil)
	startMay(t, e, nil)
	startMay(t, e, map[string]string{"pause": "true"})
	want := []string{"failed may", "failed may", "recovered may", "paused may"}
	eventually(t, "the target is told", func() bool { return len(h.events()) >= len(want) })
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
	e = serving(t, dir, nil, nil)
	startMay(t, e, map[string]string{"fail": "true"})
	eventually(t, "the target is told", func() bool { return len(h.events()) > len(want) })
	closeEngine(t, e)
	if got := h.events(); !slices.Equal(got, append(want, "failed may")) {
		t.Errorf("after a restart: %v", got)
	}
}

// The place of a reader was lost in a crash: it reads what it had handed on.
func TestANoticeIsSentOnceThoughItsPlaceIsLost(t *testing.T) {
	h := newHookServer(t)
	e := serving(t, t.TempDir(), noticeProject(h), nil)
	defer closeEngine(t, e)
	startMay(t, e, map[string]string{"fail": "true"})
	eventually(t, "the target is told", func() bool { return len(h.events()) == 1 })
	n := &notices{engine: e, target: &e.project.file.Notify[0], after: time.After}
	eventually(t, "that is noted", func() bool {
		known, err := n.known("may")
		return err == nil && known.Failing == 1
	})
	entry := plan.OutboxEntry{Seq: 1, Kind: plan.OutboxClosed, Run: plan.Run{ID: "x", Workflow: "may", Status: plan.RunFailed}}
	if err := n.take(t.Context(), entry, ""); err != nil {
		t.Fatal(err)
	}
	if got := h.events(); len(got) != 1 {
		t.Errorf("told %v", got)
	}
	entry.Seq = 99
	if err := n.take(t.Context(), entry, plan.SkipLate); err != nil || len(h.events()) != 1 {
		t.Errorf("what comes too late is told: %v, %v", h.events(), err)
	}
	if known, err := n.known("may"); err != nil || known.Failing != 2 {
		t.Errorf("what comes too late is not counted: %+v, %v", known, err)
	}
}

func TestATargetThatRefusesIsGivenUp(t *testing.T) {
	h := newHookServer(t)
	e := serving(t, t.TempDir(), noticeProject(h), nil)
	defer closeEngine(t, e)
	for _, status := range []int{http.StatusForbidden, http.StatusServiceUnavailable} {
		attempts := 1
		if status == http.StatusServiceUnavailable {
			attempts += len(noticeDelays())
		}
		h.mu.Lock()
		h.status, h.got = status, nil
		h.mu.Unlock()
		var waits []time.Duration
		n := &notices{engine: e, target: &e.project.file.Notify[0], after: func(d time.Duration) <-chan time.Time {
			waits = append(waits, d)
			now := make(chan time.Time, 1)
			now <- time.Time{}
			return now
		}}
		entry := plan.OutboxEntry{Seq: uint64(status), Kind: plan.OutboxPaused, Run: plan.Run{ID: "x", Workflow: "may", Status: plan.RunPaused}}
		if err := n.take(t.Context(), entry, ""); err != nil || len(h.events()) != attempts || len(waits) != attempts-1 {
			t.Errorf("status %d: %d attempts, waits %v, %v", status, len(h.events()), waits, err)
		}
	}
}

// closedRun is the outbox entry of a run that a trigger started.
func closedRun(seq uint64, status plan.RunStatus, hash string) plan.OutboxEntry {
	return plan.OutboxEntry{Seq: seq, Kind: plan.OutboxClosed, At: time.Date(2026, 3, 1, 0, 0, int(seq), 0, time.UTC), Run: plan.Run{
		ID: "x", Workflow: "often", Status: status, PlanHash: hash, Closed: true,
		Fire: &plan.Fire{Workflow: "often", Trigger: "tick", Kind: plan.TriggerEvery},
	}}
}

const oftenWorkflow = `flowrun: v1
name: often
triggers:
  tick: {every: 1h, pause_after_failures: 3}
steps:
  - {id: say, uses: core.log, with: {text: hello}}
`

func TestFailuresInARowAreCountedOnceAndPauseTheTrigger(t *testing.T) {
	e := stateProject(t, time.Now, map[string]string{"often.yaml": oftenWorkflow})
	run, problems, err := e.Start(t.Context(), StartRequest{File: "often.yaml", Source: []byte(oftenWorkflow)})
	if err != nil || run == nil {
		t.Fatal(err, problems)
	}
	hash := run.PlanHash
	tell := func(entry plan.OutboxEntry) plan.TriggerState {
		t.Helper()
		for range 2 { // each is told twice
			if err := e.countFailures(entry); err != nil {
				t.Fatal(err)
			}
		}
		state, err := e.store.TriggerState("often", "tick")
		if err != nil {
			t.Fatal(err)
		}
		if state == nil {
			return plan.TriggerState{}
		}
		return *state
	}
	if state := tell(closedRun(1, plan.RunSucceeded, hash)); state.Trigger != "" {
		t.Errorf("a success without a failure is written: %+v", state)
	}
	tell(closedRun(2, plan.RunFailed, hash))
	if state := tell(closedRun(3, plan.RunTimedOut, hash)); state.Failures != 2 || state.Paused {
		t.Errorf("two failures: %+v", state)
	}
	if state := tell(closedRun(4, plan.RunCanceled, hash)); state.Failures != 2 {
		t.Errorf("a canceled run counts: %+v", state)
	}
	if state := tell(closedRun(5, plan.RunSucceeded, hash)); state.Failures != 0 {
		t.Errorf("after a success: %+v", state)
	}
	back := closedRun(6, plan.RunFailed, hash)
	back.Run.Fire.Backfill = true
	if state := tell(back); state.Failures != 0 {
		t.Errorf("a backfill counts: %+v", state)
	}
	tell(closedRun(7, plan.RunFailed, hash))
	tell(closedRun(2, plan.RunFailed, hash)) // told again, long after
	tell(closedRun(8, plan.RunFailed, hash))
	state := tell(closedRun(9, plan.RunFailed, hash))
	if state.Failures != 3 || !state.Paused || state.PausedBy != "" || state.Reason != "3 failures in a row" || state.PausedAt.IsZero() {
		t.Errorf("three failures: %+v", state)
	}
	gone := closedRun(10, plan.RunFailed, strings.Repeat("0", 64))
	if state := tell(gone); state.Failures != 4 {
		t.Errorf("a run that is removed: %+v", state)
	}
}

// Nobody else would tell that a trigger does not fire any more.
func TestTargetsAreToldOfATriggerThatIsPausedAfterFailures(t *testing.T) {
	h := newHookServer(t)
	files := noticeProject(h)
	files["flows/often.yaml"] = strings.Replace(oftenWorkflow, "pause_after_failures: 3", "pause_after_failures: 1", 1)
	e := serving(t, t.TempDir(), files, nil)
	defer closeEngine(t, e)
	found, problems := e.project.checkedIn(t.Context(), "flows/often.yaml", e.project.Root(), []byte(files["flows/often.yaml"]))
	if found == nil {
		t.Fatal(problems)
	}
	stored, err := found.stored()
	if err != nil {
		t.Fatal(err)
	}
	ok := startMay(t, e, nil) // its plan is that of another workflow: nothing is paused
	if err := e.countFailures(closedRun(1, plan.RunFailed, ok.Run.PlanHash)); err != nil {
		t.Fatal(err)
	}
	run, _, err := e.begin(t.Context(), found, json.RawMessage("{}"), startOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ended(t, e, run)
	if err := e.countFailures(closedRun(2, plan.RunFailed, stored.hash)); err != nil {
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

func TestTheNameOfATriggerIsQuotedForAShell(t *testing.T) {
	for name, want := range map[string]string{"a/b": "a/b", "täglich.1/b_c-d": "täglich.1/b_c-d", "site report/x": "'site report/x'", "it's/x": `'it'\''s/x'`} {
		if got := shellWord(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestOldEntriesAreLateAndRestoredOnesAreSaidSo(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	e := stateProject(t, func() time.Time { return now }, nil)
	r := &outboxReader{engine: e, begin: 10}
	for name, test := range map[string]struct {
		entry plan.OutboxEntry
		want  string
	}{
		"it has just happened":                 {plan.OutboxEntry{Seq: 10, At: now}, ""},
		"it waited for an hour":                {plan.OutboxEntry{Seq: 10, At: now.Add(-time.Hour)}, ""},
		"it waited for longer":                 {plan.OutboxEntry{Seq: 10, At: now.Add(-time.Hour - 1)}, plan.SkipLate},
		"it came while the server was there":   {plan.OutboxEntry{Seq: 11, At: now.Add(-2 * time.Hour)}, ""},
		"it comes from before the restore":     {plan.OutboxEntry{Seq: 10, At: now, Epoch: 7}, plan.SkipRestored},
		"and is old at the same time":          {plan.OutboxEntry{Seq: 10, At: now.Add(-2 * time.Hour), Epoch: 7}, plan.SkipRestored},
		"a clock that was set back makes none": {plan.OutboxEntry{Seq: 10, At: now.Add(time.Hour)}, ""},
	} {
		if got := r.skip(test.entry); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// What all readers are past is dropped, and nothing before that.
func TestTheOutboxIsEmptiedWhenAllHaveReadIt(t *testing.T) {
	dir := t.TempDir()
	h := newHookServer(t)
	e := serving(t, dir, noticeProject(h), nil)
	for range 5 {
		startMay(t, e, nil)
	}
	closeEngine(t, e)
	store, err := boltstore.Open(filepath.Join(dir, "state", StoreFile), boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if entries, err := store.Outbox(0, 100); err != nil || len(entries) > 4 {
		t.Errorf("%d entries are left, %v", len(entries), err)
	}
}

func TestEntriesAreTriedAgainUntilTheyAreHandedOn(t *testing.T) {
	e := stateProject(t, time.Now, nil)
	var got []uint64
	var waits []time.Duration
	r := &outboxReader{engine: e, name: "test", others: &outboxPlaces{places: map[string]uint64{}}, wake: make(chan struct{}),
		after: func(d time.Duration) <-chan time.Time {
			waits = append(waits, d)
			now := make(chan time.Time, 1)
			now <- time.Time{}
			return now
		}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.take = func(_ context.Context, entry plan.OutboxEntry, _ string) error {
		got = append(got, entry.Seq)
		if entry.Seq == 2 && len(got) < 6 {
			return errors.New("not now")
		}
		if entry.Seq == 3 {
			cancel()
		}
		return nil
	}
	for range 3 {
		runHello(t, e)
	}
	r.run(ctx)
	if !slices.Equal(got, []uint64{1, 2, 2, 2, 2, 2, 3}) || !slices.Equal(waits[:4], []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}) {
		t.Errorf("handed on %v, waits %v", got, waits)
	}
	if place, err := e.outboxPlace("test"); err != nil || place != 3 {
		t.Errorf("its place is %d, %v", place, err)
	}
}
