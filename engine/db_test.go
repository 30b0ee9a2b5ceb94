package engine

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"crypto/rand"

	bolt "go.etcd.io/bbolt"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/ports"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/workspace"
)

// dbEngine is an engine over a state folder with settings of its own.
func dbEngine(t *testing.T, dir string, change func(*workspace.Config)) (*Engine, error) {
	t.Helper()
	config := workspace.Config{
		StateDir: dir, Dir: t.TempDir(), Executable: "none", Version: "test", Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&config)
	}
	project, err := LoadProject(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Open(t.Context(), project)
	if err != nil {
		project.Close()
	}
	return e, err
}

func closeEngine(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

const helloWorkflow = "flowrun: v1\nname: hello\nsteps:\n  - uses: core.log\n    with: {text: hello}\n"

// runHello runs a workflow to its end and returns its id.
func runHello(t *testing.T, e *Engine) string {
	t.Helper()
	run, problems, err := e.Start(t.Context(), StartRequest{File: "hello.yaml", Source: []byte(helloWorkflow)})
	if err != nil || run == nil {
		t.Fatalf("start: %v %v", err, problems)
	}
	result, err := e.Wait(t.Context(), run.ID)
	if err != nil || result.Run.Status != runs.RunSucceeded {
		t.Fatalf("%+v: %v", result, err)
	}
	return run.ID
}

func TestP15_ABackupIsRestoredElsewhere(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	e, err := dbEngine(t, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := runHello(t, e)
	report, err := e.Backup(t.Context(), BackupRequest{})
	if err != nil || filepath.Dir(report.Path) != filepath.Join(dir, BackupFolder) {
		t.Fatalf("%+v: %v", report, err)
	}
	later := runHello(t, e)
	stats, err := e.DBStats(t.Context())
	if err != nil || stats.Runs[runs.RunSucceeded] != 2 || stats.Oldest != id || stats.LastBackup == nil || stats.LastBackup.Path != report.Path ||
		stats.Schema == 0 || stats.FileBytes == 0 || stats.UsedBytes > stats.FileBytes || len(stats.Buckets) == 0 {
		t.Errorf("stats: %+v %v", stats, err)
	}
	var conflict *fault.ConflictError
	if _, err := e.Backup(t.Context(), BackupRequest{Path: report.Path}); !errors.As(err, &conflict) {
		t.Errorf("onto itself: %v", err)
	}
	closeEngine(t, e)
	config := workspace.Config{StateDir: other, Now: time.Now}
	restored, err := RestoreStore(t.Context(), config, report.Path)
	if err != nil || restored.Parked != 0 || restored.Old != "" || !restored.Sum {
		t.Fatalf("restore: %+v %v", restored, err)
	}
	if e, err = dbEngine(t, other, nil); err != nil {
		t.Fatal(err)
	}
	defer closeEngine(t, e)
	if result, err := e.Get(t.Context(), id); err != nil || result.Run.Status != runs.RunSucceeded {
		t.Errorf("the run of before: %+v %v", result, err)
	}
	if _, err := e.Get(t.Context(), later); !errors.Is(err, fault.ErrRunNotFound) {
		t.Errorf("the run of after: %v", err)
	}
	var locked *fault.LockedError
	if _, err := RestoreStore(t.Context(), config, report.Path); !errors.As(err, &locked) {
		t.Errorf("restore beside an engine: %v", err)
	}
	if _, err := CompactStore(t.Context(), config); !errors.As(err, &locked) {
		t.Errorf("compact beside an engine: %v", err)
	}
	if _, err := CheckStore(t.Context(), config, filepath.Join(other, workspace.StoreFile)); !errors.As(err, &locked) {
		t.Errorf("check beside an engine: %v", err)
	}
}

// newerStore makes the schema of a store file a newer one.
func newerStore(t *testing.T, path string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		put := func(key string, payload []byte) error {
			table := crc32.MakeTable(crc32.Castagnoli)
			sum := crc32.Update(crc32.Update(0, table, []byte("meta\x00"+key)), table, payload)
			return tx.Bucket([]byte("meta")).Put([]byte(key), append(binary.BigEndian.AppendUint32([]byte{1}, sum), payload...))
		}
		return errors.Join(put("schema_version", binary.BigEndian.AppendUint64(nil, 99)), put("needs", []byte("9.1.0")))
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestP19_AStoreOfANewerFlowrunIsRefused(t *testing.T) {
	dir := t.TempDir()
	e, err := dbEngine(t, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	closeEngine(t, e)
	newerStore(t, filepath.Join(dir, workspace.StoreFile))
	_, err = dbEngine(t, dir, nil)
	var store *fault.StoreError
	if !errors.As(err, &store) || store.Fault != fault.StoreNewer || !strings.Contains(err.Error(), "needs flowrun 9.1.0 or newer") || !strings.Contains(store.Hint, "--state") {
		t.Errorf("open: %v (%+v)", err, store)
	}
	if _, err := CheckStore(t.Context(), workspace.Config{StateDir: dir, Now: time.Now}, filepath.Join(dir, workspace.StoreFile)); !errors.As(err, &store) || store.Fault != fault.StoreNewer {
		t.Errorf("check: %v", err)
	}
}

func TestWhatKeepsAStoreFromBeingUsedHasItsOwnHint(t *testing.T) {
	tests := map[error]string{
		&os.PathError{Op: "open", Path: "x", Err: syscall.EROFS}:  "mounted read-only",
		&os.PathError{Op: "open", Path: "x", Err: syscall.EACCES}: "the right to read and write",
		&os.PathError{Op: "read", Path: "x", Err: syscall.EIO}:    "the disk reported an error",
	}
	for err, want := range tests {
		var store *fault.StoreError
		if !errors.As(storeError("x", t.TempDir(), err), &store) || store.Fault != fault.StoreIO || !strings.Contains(store.Hint, want) {
			t.Errorf("%v: %+v", err, store)
		}
	}
}

// room is a disk whose free bytes a test sets.
func room(free *atomic.Uint64) func(*workspace.Config) {
	return func(c *workspace.Config) {
		c.FreeSpace = func(string) (uint64, uint64, error) { return free.Load(), 100 << 30, nil }
		base, asked := time.Now(), new(atomic.Int64) // every look is a second later: no answer is kept
		c.Now = func() time.Time { return base.Add(time.Duration(asked.Add(1)) * time.Second) }
	}
}

func TestP12_AlmostFullDiskRefusesRuns(t *testing.T) {
	var free atomic.Uint64
	free.Store(50 << 30)
	e, err := dbEngine(t, t.TempDir(), room(&free))
	if err != nil {
		t.Fatal(err)
	}
	defer closeEngine(t, e)
	id := runHello(t, e)
	free.Store(300 << 20)
	_, _, err = e.Start(t.Context(), StartRequest{File: "hello.yaml", Source: []byte(helloWorkflow)})
	var store *fault.StoreError
	if !errors.As(err, &store) || store.Fault != fault.StoreFull {
		t.Fatalf("start: %v", err)
	}
	for _, want := range []string{e.config.StateDir, "314572800"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message lacks %s: %s", want, err)
		}
	}
	if !strings.Contains(store.Hint, "flowrun db stats") || !strings.Contains(store.Hint, "retention") || !strings.Contains(store.Hint, "db compact") {
		t.Errorf("hint: %s", store.Hint)
	}
	if stats, err := e.DBStats(t.Context()); err != nil || stats.Pressure == "" {
		t.Errorf("stats: %+v %v", stats, err)
	}
	if _, err := e.Get(t.Context(), id); err != nil {
		t.Errorf("reads work: %v", err)
	}
	free.Store(50 << 30)
	runHello(t, e)
}

func TestP12_CallsWaitWhileTheDiskIsAlmostFull(t *testing.T) {
	var free atomic.Uint64
	free.Store(50 << 30)
	e, err := dbEngine(t, t.TempDir(), room(&free))
	if err != nil {
		t.Fatal(err)
	}
	defer closeEngine(t, e)
	gate := ports.NewSpaceGate(e.store.Pressure, e.config.Now, time.After)
	free.Store(100 << 20)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var reasons []string
	err = gate.Enter(ctx, func(reason string, until time.Time) { reasons = append(reasons, reason) })
	if !errors.Is(err, context.DeadlineExceeded) || len(reasons) == 0 || reasons[0] != "disk almost full" {
		t.Errorf("a full disk: %v %v", err, reasons)
	}
	looks := make(chan time.Time)
	gate.After = func(time.Duration) <-chan time.Time { return looks }
	entered := make(chan error, 1)
	waits := make(chan struct{})
	go func() { entered <- gate.Enter(t.Context(), func(string, time.Time) { waits <- struct{}{} }) }()
	<-waits
	looks <- time.Now()
	<-waits // still full
	free.Store(50 << 30)
	looks <- time.Now()
	if err := <-entered; err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func TestOldRunsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "flowrun.yaml")
	if err := os.WriteFile(file, []byte("retention: {keep: 1d, max_runs: 22}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var shift atomic.Int64
	open := func() *Engine {
		t.Helper()
		e, err := dbEngine(t, dir, func(c *workspace.Config) {
			c.ProjectFile, c.Dir = file, filepath.Dir(file)
			c.Now = func() time.Time { return time.Now().Add(time.Duration(shift.Load())) }
		})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := open()
	var ids []string
	for range 25 {
		ids = append(ids, runHello(t, e))
	}
	if _, err := e.project.Services().Seal(t.Context(), pluginhost.SealRequest{RunID: ids[0], Value: []byte(`"canary"`)}); err != nil {
		t.Fatal(err)
	}
	e.keeper.last = time.Minute
	closeEngine(t, e) // a short process makes its pass when it ends
	e = open()
	for i, id := range ids {
		_, err := e.Get(t.Context(), id)
		if gone := errors.Is(err, fault.ErrRunNotFound); gone != (i < 3) {
			t.Errorf("run %d of 25: %v", i+1, err)
		}
	}
	var gone *RunNotFoundError
	if _, err := e.Get(t.Context(), ids[0]); !errors.As(err, &gone) || !strings.Contains(gone.Hint, "22 runs are kept") {
		t.Errorf("a run above the number: %v %+v", err, gone)
	}
	if runs, err := e.project.Services().OutputOwners(); err != nil || len(runs) != 0 {
		t.Errorf("sealed outputs of %v are left: %v", runs, err)
	}
	cuts, err := e.HistoryCuts()
	if err != nil || len(cuts) != 1 || cuts[0].Workflow != "hello" || cuts[0].By != "max_runs" || cuts[0].Limit != 22 || time.Since(cuts[0].UpTo) > time.Hour {
		t.Errorf("a history that is cut before its time: %+v %v", cuts, err)
	}
	shift.Store(int64(48 * time.Hour))
	ticks := make(chan time.Time)
	k := newKeeper(e, func(time.Duration) <-chan time.Time { return ticks })
	k.batch = time.Minute // nothing has ticked yet
	ticks <- time.Now()
	ticks <- time.Now() // the first pass is over
	k.stop()
	k.done.Wait()
	if rows, _, err := e.List(t.Context(), RunFilter{}); err != nil || len(rows) != workspace.KeptRuns {
		t.Errorf("%d runs are left after two days: %v", len(rows), err)
	}
	if _, err := e.Get(t.Context(), ids[3]); !errors.As(err, &gone) || !strings.Contains(gone.Hint, "older than 1d") {
		t.Errorf("a run that is too old: %v %+v", err, gone)
	}
	if cuts, err := e.HistoryCuts(); err != nil || len(cuts) != 0 {
		t.Errorf("age alone would have cut it by now: %+v %v", cuts, err)
	}
	closeEngine(t, e)
}

// TestOutputsGoWithTheirRun: a pass of retention leaves no sealed output of what
// it removes. The sweep, which comes once an hour, is for what a crash left.
func TestOutputsGoWithTheirRun(t *testing.T) {
	var shift atomic.Int64
	e, err := dbEngine(t, t.TempDir(), func(c *workspace.Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(shift.Load())) }
	})
	if err != nil {
		t.Fatal(err)
	}
	defer closeEngine(t, e)
	e.keeper.stop() // the passes are made here
	e.keeper.done.Wait()
	var ids []string
	for range workspace.KeptRuns + 3 {
		id := runHello(t, e)
		if _, err := e.project.Services().Seal(t.Context(), pluginhost.SealRequest{RunID: id, Value: []byte(`"canary"`)}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if removed := e.keeper.pass(t.Context()); removed != 0 {
		t.Fatalf("%d runs are removed before their time", removed)
	}
	shift.Store(int64(workspace.DefaultKeep + time.Hour))
	if removed := e.keeper.pass(t.Context()); removed != 3 {
		t.Fatalf("%d runs are removed", removed)
	}
	left, err := e.project.Services().OutputOwners()
	if slices.Sort(left); err != nil || !slices.Equal(left, ids[3:]) {
		t.Errorf("sealed outputs are left of %v, %v", left, err)
	}
}

// TestRunsAreRemovedThoughTheirOutputsCanNotBe: that is told, the history says where
// it was cut all the same, and the sweep takes the outputs later.
func TestRunsAreRemovedThoughTheirOutputsCanNotBe(t *testing.T) {
	e := stateProject(t, time.Now, map[string]string{"flowrun.yaml": "retention: {max_runs: 20}\n"})
	e.keeper.stop()
	e.keeper.done.Wait()
	var ids []string
	for range 22 {
		id := runHello(t, e)
		if _, err := e.project.Services().Seal(t.Context(), pluginhost.SealRequest{RunID: id, Value: []byte(`"canary"`)}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	e.project.Services().Detach()
	removed, err := e.expire(t.Context(), time.Now().UTC())
	if err := errors.Join(err, e.project.Services().Attach(e.store.KV())); !errors.Is(err, services.ErrNoStore) {
		t.Error(err)
	}
	if !slices.Equal(removed, ids[:2]) {
		t.Errorf("removed %q, %v", removed, err)
	}
	if cuts, err := e.HistoryCuts(); err != nil || len(cuts) != 1 || cuts[0].Workflow != "hello" {
		t.Errorf("the history does not say where it was cut: %+v, %v", cuts, err)
	}
	if swept, err := e.sweepOutputs(t.Context(), time.Now()); err != nil || swept != 2 {
		t.Errorf("swept %d, %v", swept, err)
	}
}

func TestOutputsOfNothingAreSwept(t *testing.T) {
	e, err := dbEngine(t, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closeEngine(t, e)
	kept := runHello(t, e)
	fresh, err := e.newID(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{kept, "01k8zq4c0vdx3y6t7k9m2n5p8r", callPrefix + "01k8zq4c0vdx3y6t7k9m2n5p8r", callPrefix + fresh} {
		if _, err := e.project.Services().Seal(t.Context(), pluginhost.SealRequest{RunID: id, Value: []byte(`"canary"`)}); err != nil {
			t.Fatal(err)
		}
	}
	swept, err := e.sweepOutputs(t.Context(), time.Now())
	if err != nil || swept != 2 {
		t.Errorf("swept %d: %v", swept, err)
	}
	if runs, err := e.project.Services().OutputOwners(); err != nil || !slices.Equal(runs, []string{kept, callPrefix + fresh}) {
		t.Errorf("left: %v %v", runs, err)
	}
}

// TestAnExportHoldsNoSecret plants canaries into everything that an export reads,
// as if nobody had masked them when they were written.
func TestAnExportHoldsNoSecret(t *testing.T) {
	canaries := map[string]string{"stored": "canary-stored-11", "env": "canary-env-22", "sealed": "canary-sealed-33", "nested": "canary-nested-44", "number": "5512345678901"}
	e, err := dbEngine(t, t.TempDir(), func(c *workspace.Config) { c.Environ = []string{"FLOWRUN_SECRET_E=" + canaries["env"]} })
	if err != nil {
		t.Fatal(err)
	}
	defer closeEngine(t, e)
	if _, err := e.SetSecret(t.Context(), "S", canaries["stored"]); err != nil {
		t.Fatal(err)
	}
	all := strings.Join([]string{canaries["stored"], canaries["env"], canaries["sealed"], canaries["nested"]}, " ")
	const source = "flowrun: v1\nname: leak\ninputs: {who: {type: string}}\nsteps:\n  - {id: say, uses: core.log, with: {text: \"${{ inputs.who }}\"}}\n" +
		"  - {id: no, uses: core.fail, with: {message: \"${{ inputs.who }}\"}}\n"
	run, problems, err := e.Start(t.Context(), StartRequest{File: "leak.yaml", Source: []byte(source), Inputs: map[string]workspace.Input{"who": {Text: all}}})
	if err != nil || run == nil {
		t.Fatalf("start: %v %v", err, problems)
	}
	result, err := e.Wait(t.Context(), run.ID)
	if err != nil || result.Error == nil {
		t.Fatalf("%+v: %v", result, err)
	}
	for _, value := range []string{`"` + canaries["sealed"] + `"`, `{"pin":"` + canaries["nested"] + `","number":` + canaries["number"] + `}`} {
		if _, err := e.project.Services().Seal(t.Context(), pluginhost.SealRequest{RunID: run.ID, Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
	}
	records, err := e.store.Records(run.ID, 1, 100)
	if err != nil {
		t.Fatal(err)
	}
	stored := make(chan error, 1)
	e.store.Append(run.ID, []*journal.Record{{Seq: records[len(records)-1].Seq + 1, Event: journal.Event{
		Kind: journal.Signaled, At: time.Now(), Signal: &journal.Signal{Name: all, Payload: json.RawMessage(`{"` + canaries["stored"] + `":` + canaries["number"] + `}`)},
	}}}, nil, []runs.Log{{At: time.Now(), Level: "info", Message: "said " + all}}, func(err error) { stored <- err })
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	var kinds []string
	if err := e.ExportRun(t.Context(), run.ID, func(line ExportLine) error {
		kinds = append(kinds, line.Type)
		encoded, err := json.Marshal(line)
		text.Write(encoded)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for name, canary := range canaries {
		if strings.Contains(text.String(), canary) {
			t.Errorf("the canary %s is in the export", name)
		}
	}
	kinds = slices.Compact(kinds)
	if want := []string{ExportHead, ExportRunRow, ExportPlan, ExportInputs, ExportOutputs, ExportError, ExportStep, ExportEvent, ExportLog, ExportEnd}; !slices.Equal(kinds, want) {
		t.Errorf("the lines are %v, want %v", kinds, want)
	}
	// The control: with no masks they are all there.
	text.Reset()
	x := &export{engine: e, masks: e.project.Redactor(), emit: func(line ExportLine) error { text.Write(line.Data); return nil }}
	x.run(t.Context(), run.ID)
	if x.err != nil || !strings.Contains(text.String(), canaries["env"]) || !strings.Contains(text.String(), canaries["number"]) {
		t.Errorf("the canaries were not planted: %v", x.err)
	}
}

// TestP15_ARemovalKilledAtAnyStepCanBeDoneAgain: afterwards nothing of the run is
// left, neither rows nor sealed outputs, and the store is whole.
func TestP15_ARemovalKilledAtAnyStepCanBeDoneAgain(t *testing.T) {
	origin := t.TempDir()
	e, err := dbEngine(t, origin, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := runHello(t, e)
	for _, value := range []string{`"one"`, `"two"`, `"three"`} {
		if _, err := e.project.Services().Seal(t.Context(), pluginhost.SealRequest{RunID: id, Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
	}
	closeEngine(t, e)
	for at := 1; ; at++ {
		dir := filepath.Join(t.TempDir(), "state")
		if err := errors.Join(os.CopyFS(dir, os.DirFS(origin)), os.Chmod(filepath.Join(dir, services.KeyFile), 0o600)); err != nil {
			t.Fatal(err)
		}
		finished := killChild(t, dir, at, removeInChild+"="+id)
		if e, err = dbEngine(t, dir, nil); err != nil {
			t.Fatalf("killed at step %d: %v", at, err)
		}
		if _, err := e.RemoveRun(t.Context(), id, RemoveRequest{}); err != nil && !errors.Is(err, fault.ErrRunNotFound) {
			t.Errorf("killed at step %d: again: %v", at, err)
		}
		if _, err := e.sweepOutputs(t.Context(), time.Now()); err != nil {
			t.Error(err)
		}
		if left, err := e.sealedValues(); err != nil || left != 0 {
			t.Errorf("killed at step %d: %d sealed outputs are left: %v", at, left, err)
		}
		closeEngine(t, e)
		report, err := CheckStore(t.Context(), workspace.Config{StateDir: dir, Now: time.Now}, filepath.Join(dir, workspace.StoreFile))
		if err != nil || len(report.Problems) > 0 || report.Runs != 0 || report.Records != 0 {
			t.Errorf("killed at step %d: %+v %v", at, report, err)
		}
		if finished {
			t.Logf("killed at each of %d steps", at-1)
			return
		}
	}
}
