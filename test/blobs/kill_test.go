package blobs

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestIssue16_3_AKilledDownloadGoesOnAtThePart: kill -9 of host and plugin while the file
// comes; the run that goes on asks for the rest of it, or for all of it where the service
// has no parts.
func TestIssue16_3_AKilledDownloadGoesOnAtThePart(t *testing.T) {
	t.Parallel()
	const n, half = 24 << 20, 13 << 20
	for name, ranges := range map[string]bool{"with ranges": true, "without ranges": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kill := make(chan struct{})
			s := serve(t, &service{size: n, ranges: ranges, at: half})
			s.called = func(gone context.Context) {
				close(kill)
				<-gone.Done() // the plugin is killed too
			}
			p := newProject(t, s)
			run := p.command(t.Context(), "run", "fetch.yaml")
			if err := run.Start(); err != nil {
				t.Fatal(err)
			}
			<-kill
			below := plugins(run.Process.Pid)
			_ = run.Process.Kill()
			for _, pid := range below {
				if process, err := os.FindProcess(pid); err == nil {
					_ = process.Kill() // it may have ended with its host
				}
			}
			_ = run.Wait() // killed
			p.must(t, "runs", "resume", p.newest(t))
			id := p.newest(t)
			asked := s.requests()
			if len(asked) != 2 || asked[0] != "" {
				t.Fatalf("asked for %q", asked)
			}
			from, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(asked[1], "bytes="), "-"), 10, 64)
			switch {
			case ranges && (err != nil || from <= 0 || from > half): // what was on its way to the plugin is lost
				t.Errorf("it went on with %q, and %d bytes were there", asked[1], half)
			case !ranges && asked[1] != "":
				t.Errorf("a service without an ETag is asked for %q", asked[1])
			}
			p.must(t, "runs", "output", id, "file", "--out", "file.bin")
			sameFile(t, filepath.Join(p.dir, "file.bin"), n)
		})
	}
}

// sameFile compares a file with the content of a size.
func sameFile(t *testing.T, path string, n int64) {
	t.Helper()
	if got := fileDigest(t, path); got != digestOf(n) {
		t.Errorf("%s has the digest %s, want %s", filepath.Base(path), got, digestOf(n))
	}
}
