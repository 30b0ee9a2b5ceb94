//go:build linux

package pluginhost

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestIssue13_03_AStampOfAFreshFileIsNotBelieved: a file can be written to again
// within the tick of its last change, and keeps its stamp.
func TestIssue13_03_AStampOfAFreshFileIsNotBelieved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o500); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stamp, err := stampOf(file)
	if err != nil {
		t.Fatal(err)
	}
	const other = "00000000000000000000000000000000000000000000000000000000000000ff" // of what was there before
	for age, believed := range map[time.Duration]bool{0: false, time.Second: false, -time.Hour: false, 3 * time.Second: true} {
		l := &library{dir: t.TempDir(), stat: os.Stat, digests: map[string]digestEntry{path: {fileStamp: stamp, SHA256: other, At: stamp.CTime + int64(age)}}}
		err := l.compare(&code{file: file, path: path}, other)
		if foreign := (*foreignCode)(nil); believed != (err == nil) || !believed && !errors.As(err, &foreign) {
			t.Errorf("read %s after its change: %v", age, err)
		}
	}
}

// TestIssue13_03_ACopyIsReadBeforeItRuns: what was written to it on the way, by whoever,
// does not run.
func TestIssue13_03_ACopyIsReadBeforeItRuns(t *testing.T) {
	source := filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(source, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	l := &library{dir: t.TempDir(), stat: os.Stat}
	exe, err := l.resolve(Source{Name: "evil", Path: source})
	if err != nil {
		t.Fatal(err)
	}
	if entry, found := l.digests[exe.path]; found {
		t.Errorf("the copy is known as %+v before it was read", entry)
	}
}
