package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"crypto/rand"

	bolt "go.etcd.io/bbolt"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/ports"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/upkeep"
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
	report, err := e.Backup(t.Context(), upkeep.BackupRequest{})
	if err != nil || filepath.Dir(report.Path) != filepath.Join(dir, upkeep.BackupFolder) {
		t.Fatalf("%+v: %v", report, err)
	}
	later := runHello(t, e)
	stats, err := e.DBStats(t.Context())
	if err != nil || stats.Runs[runs.RunSucceeded] != 2 || stats.Oldest != id || stats.LastBackup == nil || stats.LastBackup.Path != report.Path ||
		stats.Schema == 0 || stats.FileBytes == 0 || stats.UsedBytes > stats.FileBytes || len(stats.Buckets) == 0 {
		t.Errorf("stats: %+v %v", stats, err)
	}
	var conflict *fault.ConflictError
	if _, err := e.Backup(t.Context(), upkeep.BackupRequest{Path: report.Path}); !errors.As(err, &conflict) {
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
	if !errors.As(err, &store) || store.Fault != fault.StoreNewer || !strings.Contains(err.Error(), "needs flowrun 9.1.0 or newer") || !strings.Contains(store.Hint.Text, "--state") {
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
		if !errors.As(upkeep.StoreError("x", t.TempDir(), err), &store) || store.Fault != fault.StoreIO || !strings.Contains(store.Hint.Text, want) {
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
	if !strings.Contains(store.Hint.Text, "flowrun db stats") || !strings.Contains(store.Hint.Text, "retention") || !strings.Contains(store.Hint.Text, "db compact") {
		t.Errorf("hint: %s", store.Hint.Text)
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
		if _, err := e.RemoveRun(t.Context(), id, upkeep.RemoveRequest{}); err != nil && !errors.Is(err, fault.ErrRunNotFound) {
			t.Errorf("killed at step %d: again: %v", at, err)
		}
		e.Sweep(t.Context())
		if left, err := e.Backup(t.Context(), upkeep.BackupRequest{Path: filepath.Join(t.TempDir(), "copy.db"), Temporary: true}); err != nil || left.Sealed != 0 {
			t.Errorf("killed at step %d: sealed outputs are left: %+v, %v", at, left, err)
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
