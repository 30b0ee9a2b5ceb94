//go:build linux

package blobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// most is what host and plugin may each have resident, whatever the size of the value.
const most = 64 << 20

// size is that of the value.
func size(t *testing.T) int64 {
	t.Helper()
	text := os.Getenv("FLOWRUN_BLOB_BYTES")
	if text == "" {
		return 96 << 20
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestIssue16_3_ALargeValueTakesNoMemory: through http into the store, back to http, and
// into a file, with the host and the plugin below one bound each. The file is a pipe, so
// that the host can be looked at when all of it has come out.
func TestIssue16_3_ALargeValueTakesNoMemory(t *testing.T) {
	t.Parallel()
	n := size(t)
	host := make(chan int, 1)
	var plugin int64
	s := serve(t, &service{size: n, ranges: true, at: n - 1})
	s.called = func(context.Context) {
		pid := <-host
		host <- pid
		for _, below := range plugins(pid) {
			plugin = max(plugin, peak(below))
		}
	}
	p := newProject(t, s)
	pipe := filepath.Join(p.dir, "out.pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	run := p.command(t.Context(), "run", "send.yaml", "--out", "file="+pipe)
	run.Stderr = os.Stderr
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	host <- run.Process.Pid
	out, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	sum := sha256.New()
	if _, err := io.CopyN(sum, out, n-1<<20); err != nil {
		t.Fatal(err)
	}
	resident := peak(run.Process.Pid) // it can't have ended: a pipe holds less than what is left
	for _, below := range plugins(run.Process.Pid) {
		plugin = max(plugin, peak(below))
	}
	if _, err := io.Copy(sum, out); err != nil {
		t.Fatal(err)
	}
	if err := run.Wait(); err != nil {
		t.Fatal(err)
	}
	want := digestOf(n)
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != want || s.digest != want || s.taken != n || s.length != n {
		t.Errorf("came out as %s, was sent as %s with %d of %d bytes, want %s", got, s.digest, s.taken, s.length, want)
	}
	t.Logf("%d MiB: host %.1f MiB, plugin %.1f MiB", n>>20, float64(resident)/(1<<20), float64(plugin)/(1<<20))
	if resident == 0 || plugin == 0 {
		t.Fatal("the processes could not be looked at")
	}
	if resident > most || plugin > most {
		t.Errorf("host %d, plugin %d bytes resident, at most %d are meant", resident, plugin, most)
	}
}
