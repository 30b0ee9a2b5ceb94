//go:build linux

package pluginhost

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// swapper exchanges the private copy of a plugin for other programs and puts it back,
// by rename and in place, as fast as it can, until stop is called.
type swapper struct {
	swaps     atomic.Int64
	writes    atomic.Int64 // in place
	end       chan struct{}
	ended     chan struct{}
	scribbled chan struct{}
}

func swap(t *testing.T, place string, right, wrong []byte) *swapper {
	t.Helper()
	s := &swapper{end: make(chan struct{}), ended: make(chan struct{}), scribbled: make(chan struct{})}
	spare := t.TempDir()
	script := []byte("#!/bin/sh\nexit 1\n")
	go func() {
		defer close(s.ended)
		for n := 0; ; n++ {
			select {
			case <-s.end:
				return
			default:
			}
			file, content := filepath.Join(spare, "x"), [][]byte{wrong, right, script, right}[n%4]
			if os.WriteFile(file, content, 0o500) == nil && os.Rename(file, place) == nil {
				s.swaps.Add(1)
			}
			if n%16 == 3 { // in place, as a writer of the same user can
				if file, err := os.OpenFile(place, os.O_WRONLY, 0); err == nil {
					_, _ = file.WriteAt(wrong, 0)
					_ = file.Close()
				}
			}
			_ = os.Remove(file)
		}
	}()
	go s.scribble(place, wrong)
	return s
}

// scribble writes in place, to the copy and to what is about to become one, and as soon
// as it can: with the stamp of what was there where the clock has not ticked since.
func (s *swapper) scribble(place string, wrong []byte) {
	defer close(s.scribbled)
	for {
		select {
		case <-s.end:
			return
		case <-time.After(time.Millisecond):
		}
		files, _ := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(place)), ".copy-*"))
		for _, path := range append(files, place) {
			if file, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
				_, _ = file.WriteAt(wrong, 0)
				_ = file.Close()
				s.writes.Add(1)
			}
		}
	}
}

func (s *swapper) stop() {
	close(s.end)
	<-s.ended
	<-s.scribbled
}

// programs returns one that ends with 0 and one that ends with 1.
func programs(t *testing.T) (right, wrong []byte) {
	t.Helper()
	var read [2][]byte
	for i, name := range []string{"true", "false"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("SKIPPED: there is no program %s", name)
		}
		if read[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return read[0], read[1]
}

func wantedSwaps(t *testing.T, normal int64) int64 {
	t.Helper()
	if text := os.Getenv("FLOWRUN_SWAPS"); text != "" {
		parsed, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatalf("FLOWRUN_SWAPS=%s: %v", text, err)
		}
		return parsed
	}
	return normal
}

// TestIssue13_03_SwappedCopiesAreNotExecuted: while somebody exchanges the private copy,
// what runs has the digest that was hashed, or nothing runs.
func TestIssue13_03_SwappedCopiesAreNotExecuted(t *testing.T) {
	right, wrong := programs(t)
	source := filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(source, right, 0o700); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, "good", func(o *Options) { o.Sources = []Source{{Name: "evil", Path: source}} })
	exe, failure := w.host.plugins["evil"].resolveReady()
	if failure != nil {
		t.Fatal(failure)
	}
	s := swap(t, exe.path, right, wrong)
	want, ran, refused, misled := wantedSwaps(t, 500), 0, 0, 0
	for starts := 0; s.swaps.Load() < want || starts < 30; starts++ {
		err := w.host.Start(context.Background(), "evil")
		w.clock.advance(crashWindow) // each start counts as a crash: there is no handshake
		switch {
		case err == nil:
			t.Fatal("a program without a handshake was ready")
		case strings.Contains(err.Error(), "exit status 1"):
			misled++
		case strings.Contains(err.Error(), "exit status 0"):
			ran++
		default:
			refused++
			t.Logf("refused: %v", err)
		}
	}
	s.stop()
	t.Logf("%d swaps, %d writes in place: %d starts of what was hashed, %d refused, %d wrong", s.swaps.Load(), s.writes.Load(), ran, refused, misled)
	if misled > 0 || ran == 0 {
		t.Errorf("%d wrong executions, %d right ones", misled, ran)
	}
}

// TestIssue13_03_ControlSwapsAreSeenWithoutTheCheck: executed by its name, as it lies
// there, the copy is another program now and then.
func TestIssue13_03_ControlSwapsAreSeenWithoutTheCheck(t *testing.T) {
	right, wrong := programs(t)
	place := filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(place, right, 0o700); err != nil {
		t.Fatal(err)
	}
	s := swap(t, place, right, wrong)
	defer s.stop()
	for range 10_000 {
		if err := exec.Command(place).Run(); err != nil && strings.Contains(err.Error(), "exit status 1") {
			return
		}
	}
	t.Error("no wrong execution was noticed")
}

// TestIssue13_03_AReplacedCopyIsMadeAnew: a copy that somebody has replaced between two
// starts, by another program or by a link, does not run, and the plugin goes on working.
func TestIssue13_03_AReplacedCopyIsMadeAnew(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stolen := filepath.Join(t.TempDir(), "stolen")
	script := "#!/bin/sh\nenv > " + stolen + "\nexit 1\n"
	for name, replace := range map[string]func(path string) error{
		"by a script": func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.WriteFile(path, []byte(script), 0o500)
		},
		"by a link": func(path string) error {
			other := filepath.Join(t.TempDir(), "other")
			if err := os.WriteFile(other, []byte(script), 0o500); err != nil {
				return err
			}
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Symlink(other, path)
		},
		"by a folder behind a link": func(path string) error {
			other := t.TempDir()
			if err := os.WriteFile(filepath.Join(other, filepath.Base(path)), []byte(script), 0o500); err != nil {
				return err
			}
			if err := os.RemoveAll(filepath.Dir(path)); err != nil {
				return err
			}
			return os.Symlink(other, filepath.Dir(path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "good", func(o *Options) {
				o.Sources = []Source{{Name: "evil", Path: self, Command: []string{self, "plugin", "good"}}}
			})
			w.ok("echo", `{}`)
			p := w.host.plugins["evil"].inForce.process
			if err := replace(p.exe.path); err != nil {
				t.Fatal(err)
			}
			w.host.plugins["evil"].inForce.mu.Lock()
			w.host.plugins["evil"].inForce.retire(p)
			w.host.plugins["evil"].inForce.mu.Unlock()
			if answer := w.call("echo", `{}`); answer.Failed != nil {
				t.Errorf("the plugin does not work any more: %v", answer.Failed)
			}
			if _, err := os.Stat(stolen); err == nil {
				t.Error("the script ran")
			}
		})
	}
}

// resolveReady is resolve with the host's folders made.
func (p *plugin) resolveReady() (executable, error) {
	if err := p.host.ready(); err != nil {
		return executable{}, err
	}
	return p.host.library.resolve(p.source)
}
