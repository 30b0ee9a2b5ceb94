//go:build linux && (amd64 || arm64)

package systrace_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/test/systrace"
)

// childVariable makes the test program play the traced process.
const childVariable = "SYSTRACE_TEST_CHILD"

func TestMain(m *testing.M) {
	if role, folder, ok := strings.Cut(os.Getenv(childVariable), " "); ok {
		os.Exit(children[role](folder))
	}
	os.Exit(m.Run())
}

var children = map[string]func(folder string) int{
	"files":   writeFiles,
	"threads": writeOnThreads,
	"wait":    func(string) int { time.Sleep(time.Minute); return 0 },
	"die":     func(string) int { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); time.Sleep(time.Minute); return 0 },
}

func writeFiles(folder string) int {
	file, err := os.Create(filepath.Join(folder, "new"))
	if err != nil {
		return 1
	}
	steps := []func() error{
		func() error { _, err := file.WriteAt([]byte("hello"), 8192); return err },
		func() error { _, err := file.Write([]byte("first")); return err },
		func() error { return syscall.Fdatasync(int(file.Fd())) },
		func() error { return file.Truncate(16384) },
		func() error { return file.Sync() },
		func() error { return os.Rename(file.Name(), filepath.Join(folder, "final")) },
		func() error { _, err := file.WriteAt([]byte("more"), 0); return err },
		func() error { return os.Link(filepath.Join(folder, "final"), filepath.Join(folder, "twin")) },
		func() error { return os.Remove(filepath.Join(folder, "final")) },
		func() error { return os.Mkdir(filepath.Join(folder, "sub"), 0o700) },
	}
	for i, step := range steps {
		if err := step(); err != nil {
			fmt.Printf("step %d: %v\n", i, err)
		}
	}
	fmt.Println("done")
	return 7
}

func writeOnThreads(folder string) int {
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			file, err := os.Create(filepath.Join(folder, fmt.Sprint(n)))
			if err != nil {
				return
			}
			for i := range 50 {
				_, _ = fmt.Fprintf(file, "%d %d\n", n, i)
				_ = file.Sync() // blocks, so that the other goroutines get threads of their own
			}
		})
	}
	all.Wait()
	return 0
}

// trace runs a role of the test program and returns the calls on files of the
// folder, what the process printed, and its end.
func trace(t *testing.T, role, folder string, enter func(*systrace.Call) syscall.Errno) (calls []*systrace.Call, printed string, outcome systrace.Outcome) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	outcome, err = systrace.Run(t.Context(), command(role, folder, out), systrace.Handler{
		Enter: func(c *systrace.Call) syscall.Errno {
			if enter == nil || !strings.HasPrefix(c.Path, folder) {
				return 0
			}
			return enter(c)
		},
		Exit: func(c *systrace.Call) {
			if strings.HasPrefix(c.Path, folder+"/") {
				calls = append(calls, c)
			}
		},
	})
	skipWhereRefused(t, err)
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return calls, string(text), outcome
}

func command(role, folder string, out *os.File) systrace.Command {
	return systrace.Command{
		Path: "/proc/self/exe", Args: []string{"child"}, Files: []*os.File{nil, out, out},
		Env: append(os.Environ(), childVariable+"="+role+" "+folder),
	}
}

func skipWhereRefused(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, systrace.ErrRefused) {
		t.Skipf("SKIPPED, this system does not allow it: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestCallsAreSeenInOrderWithTheirBytes(t *testing.T) {
	folder := t.TempDir()
	calls, printed, outcome := trace(t, "files", folder, nil)
	if outcome.Exit != 7 || printed != "done\n" {
		t.Errorf("outcome %+v, printed %q", outcome, printed)
	}
	var got []string
	last := uint64(0)
	for _, c := range calls {
		if c.Began <= last || c.Ended <= c.Began {
			t.Errorf("%v began at %d and ended at %d, the one before it ended at %d", c, c.Began, c.Ended, last)
		}
		last = c.Ended
		line := strings.ReplaceAll(c.String(), folder+"/", "")
		if c.Kind == systrace.Write {
			line += " " + string(c.Data)
		}
		got = append(got, line)
	}
	want := []string{
		"openat new", "pwrite64 new 5 bytes at 8192 hello", "write new 5 bytes at -1 first", "fdatasync new",
		"ftruncate new to 16384 bytes", "fsync new", "renameat new to final", "pwrite64 final 4 bytes at 0 more",
		"linkat final to twin",
		"unlinkat final", "mkdirat sub",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestACallIsAnsweredWithAnError(t *testing.T) {
	for _, test := range []struct {
		name   string
		result syscall.Errno
		says   string
		size   int64
	}{
		{"pwrite64", syscall.EIO, "step 0: write ", 16384},
		{"fdatasync", syscall.ENOSPC, "step 2: no space left on device", 16384},
		{"ftruncate", syscall.EIO, "step 3: truncate ", 8197},
		{"ftruncate", syscall.EINTR, "done", 16384}, // Go tries again
	} {
		t.Run(test.name+" "+test.result.Error(), func(t *testing.T) {
			folder, refused := t.TempDir(), 0
			keep := filepath.Join(folder, "keep")
			calls, printed, _ := trace(t, "files", folder, func(c *systrace.Call) syscall.Errno {
				if c.Kind == systrace.Remove {
					_ = os.Link(c.Path, keep)
				}
				if c.Name != test.name || refused > 0 {
					return 0
				}
				refused++
				return test.result
			})
			if !strings.HasPrefix(printed, test.says) || refused != 1 {
				t.Errorf("printed %q after %d refusals", printed, refused)
			}
			info, err := os.Stat(keep)
			if err != nil || info.Size() != test.size {
				t.Errorf("size is not %d: %v, %v", test.size, info, err)
			}
			seen := 0
			for _, c := range calls {
				if c.Err == test.result {
					seen++
				}
			}
			if seen != 1 {
				t.Errorf("%d calls ended with %v", seen, test.result)
			}
		})
	}
}

func TestAllThreadsAreFollowed(t *testing.T) {
	folder := t.TempDir()
	calls, _, outcome := trace(t, "threads", folder, nil)
	written, threads := map[string]string{}, map[int]bool{}
	for _, c := range calls {
		if c.Kind == systrace.Write {
			written[c.Path] += string(c.Data)
			threads[c.Thread] = true
		}
	}
	for path, text := range written {
		stored, err := os.ReadFile(path)
		if err != nil || string(stored) != text {
			t.Errorf("%s: the trace differs from the file (%v)", path, err)
		}
	}
	if len(written) != 8 || outcome.Exit != 0 || len(threads) < 2 {
		t.Errorf("%d files by %d threads, outcome %+v", len(written), len(threads), outcome)
	}
}

func TestTheEndBySignalAndByContext(t *testing.T) {
	_, _, outcome := trace(t, "die", t.TempDir(), nil)
	if outcome.Exit != -1 || outcome.Signal != syscall.SIGKILL {
		t.Errorf("outcome %+v", outcome)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	outcome, err := systrace.Run(ctx, command("wait", t.TempDir(), nil), systrace.Handler{})
	if errors.Is(err, systrace.ErrRefused) {
		skipWhereRefused(t, err)
	}
	if !errors.Is(err, context.DeadlineExceeded) || outcome.Signal != syscall.SIGKILL {
		t.Errorf("outcome %+v, err %v", outcome, err)
	}
}

// Other children are none of a tracer's business, not even those that its own
// thread has started.
func TestOtherChildrenAreLeftAlone(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	waiting, err := os.StartProcess("/proc/self/exe", []string{"child"}, &os.ProcAttr{
		Files: []*os.File{nil, nil, nil}, Env: append(os.Environ(), childVariable+"=wait "+t.TempDir()),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := waiting.Kill(); err != nil {
			t.Error(err)
		}
		if state, err := waiting.Wait(); err != nil || state.Success() {
			t.Errorf("%v, %v", state, err)
		}
	}()
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			reader, writer, err := os.Pipe()
			if err != nil {
				t.Error(err)
				return
			}
			defer reader.Close()
			process, err := os.StartProcess("/proc/self/exe", []string{"child"}, &os.ProcAttr{
				Files: []*os.File{nil, writer, nil}, Env: append(os.Environ(), childVariable+"=files "+t.TempDir()),
			})
			writer.Close()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, reader)
			if state, err := process.Wait(); err != nil || state.ExitCode() != 7 {
				t.Errorf("%v, %v", state, err)
			}
		})
	}
	for range 3 {
		trace(t, "threads", t.TempDir(), nil)
	}
	others.Wait()
}

func TestAMissingProgramIsNoRefusal(t *testing.T) {
	_, err := systrace.Run(t.Context(), systrace.Command{Path: "/nowhere"}, systrace.Handler{})
	if !errors.Is(err, os.ErrNotExist) || errors.Is(err, systrace.ErrRefused) {
		t.Errorf("err = %v", err)
	}
}
