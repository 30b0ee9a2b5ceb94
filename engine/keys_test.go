package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/workspace"
)

// sealedEach is how many values of each kind fillSealed seals: few by default,
// FLOWRUN_ROTATE_ROWS names more. Above 256 a rotation needs several
// transactions for each kind.
func sealedEach() int {
	if rows, err := strconv.Atoi(os.Getenv("FLOWRUN_ROTATE_ROWS")); err == nil && rows > 0 {
		return rows
	}
	return 9
}

// fillSealed seals values of every kind in a state folder and returns their
// number.
func fillSealed(t *testing.T, dir string) int {
	t.Helper()
	e, err := openAt(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	each := sealedEach()
	for n := range each {
		if _, err := e.SetSecret(t.Context(), fmt.Sprintf("SECRET_%d", n), sealedText(n)); err != nil {
			t.Fatal(err)
		}
		if _, err := e.project.Services().Seal(t.Context(), pluginhost.SealRequest{RunID: "01k8zq4c0vdx3y6t7k9m2n5p8r", Value: []byte(`"` + sealedText(n) + `"`)}); err != nil {
			t.Fatal(err)
		}
		key := pluginhost.StateKey{Plugin: "tasks", Scope: "work", Key: strconv.Itoa(n)}
		if _, ok, err := e.project.Services().PutState(t.Context(), key, []byte(sealedText(n)), 0, 0); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	return 3 * each
}

func sealedText(n int) string { return fmt.Sprintf("canary-value-%d", n) }

// checkSealed opens the folder and wants all of fillSealed's values. The faults
// are returned: a control wants some.
func checkSealed(t *testing.T, dir string, values int) error {
	t.Helper()
	e, err := openAt(t, dir)
	if err != nil {
		return err
	}
	defer func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	report, err := e.CheckKey(t.Context())
	if err != nil {
		return err
	}
	if report.Values != values || len(report.Lost) > 0 {
		return fmt.Errorf("%d values, want %d; lost: %v", report.Values, values, report.Lost)
	}
	for n := range sealedEach() {
		if value, err := e.project.Services().Reveal(t.Context(), fmt.Sprintf("SECRET_%d", n)); err != nil || value != sealedText(n) {
			return fmt.Errorf("secret %d is %q: %w", n, value, err)
		}
		value, version, found, err := e.project.Services().GetState(t.Context(), pluginhost.StateKey{Plugin: "tasks", Scope: "work", Key: strconv.Itoa(n)})
		if err != nil || !found || string(value) != sealedText(n) || version == 0 {
			return fmt.Errorf("state %d is %q: %w", n, value, err)
		}
	}
	return nil
}

func keyLines(t *testing.T, path string) []string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(content))
}

func TestTheKeyIsRotated(t *testing.T) {
	dir := t.TempDir()
	values := fillSealed(t, dir)
	old := keyLines(t, filepath.Join(dir, services.KeyFile))
	e, err := openAt(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	versionOf := func() uint64 {
		t.Helper()
		_, version, found, err := e.project.Services().GetState(t.Context(), pluginhost.StateKey{Plugin: "tasks", Scope: "work", Key: "7"})
		if err != nil || !found {
			t.Fatal(found, err)
		}
		return version
	}
	before := versionOf()
	rotated, err := e.RotateKey(t.Context())
	if err != nil || rotated.Values != values || rotated.Continued {
		t.Fatalf("%+v: %v", rotated, err)
	}
	if after := versionOf(); after != before {
		t.Errorf("the version of a row went from %d to %d: who compares and sets would lose", before, after)
	}
	if _, err := e.SetSecret(t.Context(), "SECRET_0", sealedText(0)); err != nil { // the process goes on
		t.Fatal(err)
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := checkSealed(t, dir, values); err != nil {
		t.Error(err)
	}
	now := keyLines(t, filepath.Join(dir, services.KeyFile))
	if len(now) != 1 || now[0] == old[0] {
		t.Errorf("the key file has %d keys, the old one among them: %v", len(now), now[0] == old[0])
	}
	if kept := keyLines(t, rotated.OldKey); len(kept) != 1 || kept[0] != old[0] {
		t.Errorf("%s does not keep the old key", rotated.OldKey)
	}
	if info, err := os.Stat(rotated.OldKey); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v %v", rotated.OldKey, info.Mode(), err)
	}
}

// TestIssue12_36_OldKeysDoNotPileUp: the newest three stay, and what somebody else
// keeps there.
func TestIssue12_36_OldKeysDoNotPileUp(t *testing.T) {
	dir := t.TempDir()
	fillSealed(t, dir)
	e, err := openAt(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	mine := filepath.Join(dir, services.KeyFile+".mine.bak")
	if err := os.WriteFile(mine, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var kept []string
	for n := range 6 {
		rotated, err := e.RotateKey(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, rotated.OldKey)
		if want := max(0, n-2) - max(0, n-3); len(rotated.Removed) != want {
			t.Errorf("rotation %d removed %v, want %d", n, rotated.Removed, want)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, services.KeyFile+".*.bak"))
	if err != nil || len(files) != 4 {
		t.Fatalf("%v: %v, want the newest three and the user's own", files, err)
	}
	for _, path := range append(kept[3:], mine) { // a name of the same second may be given again
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s is gone", path)
		}
	}
}

func TestARotationWithTheWrongKeyChangesNothing(t *testing.T) {
	dir := t.TempDir()
	values := fillSealed(t, dir)
	path := filepath.Join(dir, services.KeyFile)
	right, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("ab", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := openAt(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	report, err := e.CheckKey(t.Context())
	if err != nil || report.Values != values || len(report.Lost) != values {
		t.Errorf("check: %+v %v", report, err)
	}
	_, err = e.RotateKey(t.Context())
	var conflict *fault.ConflictError
	if !errors.As(err, &conflict) || !strings.Contains(err.Error(), "secret SECRET_0") || strings.Contains(err.Error(), "canary") {
		t.Errorf("rotate: %v", err)
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, right, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkSealed(t, dir, values); err != nil {
		t.Error(err)
	}
}

// rotateChild names the folder of a child process, and the durable step that it
// is killed at.
const rotateChild, rotateKillAt = "FLOWRUN_TEST_ROTATE", "FLOWRUN_TEST_ROTATE_KILL"

// removeInChild names the run that the child removes, instead of a rotation.
const removeInChild = "FLOWRUN_TEST_REMOVE"

// TestKeyRotationChild is the process that the tests below kill.
func TestKeyRotationChild(t *testing.T) {
	dir := os.Getenv(rotateChild)
	if dir == "" {
		t.Skip("runs as a child of the test below")
	}
	killAt, err := strconv.Atoi(os.Getenv(rotateKillAt))
	if err != nil {
		t.Fatal(err)
	}
	var armed atomic.Bool
	var steps atomic.Int64
	project, err := LoadProject(t.Context(), workspace.Config{
		StateDir: dir, Dir: filepath.Dir(dir), Executable: "none", Version: "test", Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler),
		OnCommit: func(string) {
			if armed.Load() && steps.Add(1) == int64(killAt) {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := Open(t.Context(), project)
	if err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	if run := os.Getenv(removeInChild); run != "" {
		_, err = e.RemoveRun(t.Context(), run, upkeep.RemoveRequest{})
	} else {
		_, err = e.RotateKey(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	armed.Store(false)
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// killRotation rotates in a child that is killed at a durable step. It reports
// whether the rotation came to its end before.
func killRotation(t *testing.T, dir string, at int) (finished bool) {
	t.Helper()
	return killChild(t, dir, at)
}

func killChild(t *testing.T, dir string, at int, environ ...string) (finished bool) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestKeyRotationChild$")
	child.Env = append(append(os.Environ(), rotateChild+"="+dir, rotateKillAt+"="+strconv.Itoa(at)), environ...)
	output, err := child.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return false
	}
	if err != nil {
		t.Fatalf("child killed at step %d: %v\n%s", at, err, output)
	}
	return true
}

// rotationKills kills a rotation at each of its durable steps, spoils the folder
// as a control wants it, and returns the first fault that the next process finds.
func rotationKills(t *testing.T, spoil func(dir string)) (steps int, fault error) {
	t.Helper()
	origin := t.TempDir()
	values := fillSealed(t, origin)
	for at := 1; ; at++ {
		dir := filepath.Join(t.TempDir(), "state")
		if err := os.CopyFS(dir, os.DirFS(origin)); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, services.KeyFile), 0o600); err != nil {
			t.Fatal(err)
		}
		finished := killRotation(t, dir, at)
		spoil(dir)
		if err := checkSealed(t, dir, values); err != nil {
			return at, fmt.Errorf("killed at step %d: %w", at, err)
		}
		if finished {
			return at - 1, nil
		}
		killRotation(t, dir, 1<<30) // the next one goes on
		if err := checkSealed(t, dir, values); err != nil {
			return at, fmt.Errorf("killed at step %d, then finished: %w", at, err)
		}
		if keys := keyLines(t, filepath.Join(dir, services.KeyFile)); len(keys) != 1 {
			return at, fmt.Errorf("killed at step %d, then finished: %d keys in the file", at, len(keys))
		}
	}
}

func TestP15_AKeyRotationKilledAtAnyStepLosesNothing(t *testing.T) {
	steps, err := rotationKills(t, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if steps < 10 { // the key file twice, its copy, and a transaction for each bucket with rows
		t.Errorf("%d steps only", steps)
	}
	t.Logf("killed at each of %d steps", steps)
}

// TestP15_ControlOneKeyAtATime takes the second key out of the key file, as if
// the rotation had begun with replacing it: the suite must see the loss.
func TestP15_ControlOneKeyAtATime(t *testing.T) {
	_, err := rotationKills(t, func(dir string) {
		path := filepath.Join(dir, services.KeyFile)
		if keys := keyLines(t, path); len(keys) > 1 {
			if err := os.WriteFile(path, []byte(keys[0]+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	if err == nil {
		t.Fatal("the suite does not see values that no key opens")
	}
}
