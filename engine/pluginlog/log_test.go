package pluginlog_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/pluginlog"
)

var moment = time.Date(2026, 11, 23, 22, 0, 0, 0, time.UTC)

func write(t *testing.T, log *pluginlog.Log, text string) {
	t.Helper()
	if err := log.Write(pluginlog.Line{At: moment, Stream: pluginlog.Stderr, Text: text}); err != nil {
		t.Error(err)
	}
}

func TestIssue15_TheLogOfAPluginIsBoundedAndPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	var writers sync.WaitGroup
	for w := range 4 { // as four processes do
		log := pluginlog.In(dir, "words")
		writers.Go(func() {
			defer log.Close()
			for i := range 1500 {
				write(t, log, fmt.Sprintf("%d %d %s", w, i, strings.Repeat("x", 100)))
			}
		})
	}
	writers.Wait()
	size := int64(0)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %s", entry.Name(), info.Mode())
		}
		size += info.Size()
	}
	if size > pluginlog.Kept+4*200 || size < pluginlog.Kept/2 { // each writer may be at a line when another turns
		t.Errorf("%d bytes are kept in %d files", size, len(entries))
	}
	lines, err := pluginlog.Last(dir, "words", 0)
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]int{}
	for _, line := range lines {
		var w, i int
		if _, err := fmt.Sscanf(line.Text, "%d %d ", &w, &i); err != nil {
			t.Fatalf("a broken line: %q", line.Text)
		}
		if before, seen := last[fmt.Sprint(w)]; seen && i != before+1 {
			t.Fatalf("writer %d: line %d follows %d", w, i, before)
		}
		last[fmt.Sprint(w)] = i
	}
	if got, _ := pluginlog.Last(dir, "words", 3); len(got) != 3 || got[2] != lines[len(lines)-1] {
		t.Errorf("the last three are %v", got)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info, err)
	}
}

func TestIssue15_AFollowerSeesWhatComes(t *testing.T) {
	dir := t.TempDir()
	log := pluginlog.In(dir, "words")
	f, err := pluginlog.Follow(dir, "words") // before there is one
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write(t, log, "one")
	next := func() (texts []string) {
		t.Helper()
		lines, err := f.Next()
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			texts = append(texts, line.Text)
		}
		return texts
	}
	if got := next(); len(got) != 1 || got[0] != "one" {
		t.Errorf("first %q", got)
	}
	seen := 0
	for i := range 2000 { // over the turn of the file
		write(t, log, fmt.Sprint(i, strings.Repeat("y", 200)))
		if i%300 == 0 {
			seen += len(next())
		}
	}
	if seen += len(next()); seen != 2000 {
		t.Errorf("%d of 2000 lines were seen", seen)
	}
	late, err := pluginlog.Follow(dir, "words")
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if lines, _ := late.Next(); len(lines) != 0 {
		t.Errorf("a late follower sees %d old lines", len(lines))
	}
	log.Close()
	write(t, log, "after its end")
	if got := next(); len(got) != 0 {
		t.Errorf("after its end %q", got)
	}
}
