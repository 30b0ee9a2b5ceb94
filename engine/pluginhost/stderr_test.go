package pluginhost

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func testOutput(now func() time.Time) (*output, *bytes.Buffer) {
	var log bytes.Buffer
	masks := &masks{values: []string{"hunter-2222"}}
	o := Options{
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), Now: now, Redactor: masks,
		Limits: Limits{LogLine: 100, LogRate: 1000}.withDefaults(),
	}
	return newOutput(o, o.gate(), "evil"), &log
}

func TestOutputKeepsTheTail(t *testing.T) {
	o, _ := testOutput(time.Now)
	w := o.stream("stderr")
	for range 10_000 {
		_, _ = w.Write([]byte("a line of some length, to fill the tail\n"))
	}
	_, _ = w.Write([]byte("the key hunter-2222 is wrong\xff"))
	got := o.last()
	if len(got) > tailSize+10 || len(got) < tailSize-100 || !strings.HasSuffix(got, "the key [redacted] is wrong�") {
		t.Errorf("%d bytes, ends %q", len(got), got[len(got)-60:])
	}
	_, _ = w.Write(bytes.Repeat([]byte("z"), 3*tailSize))
	if got := o.last(); len(got) != tailSize {
		t.Errorf("%d bytes after one huge write", len(got))
	}
}

func TestOutputLogsBoundedMaskedLines(t *testing.T) {
	now := time.Unix(1000, 0)
	o, log := testOutput(func() time.Time { return now })
	w := o.stream("stderr")
	for _, part := range []string{"one ", "line\ntwo hunter-2222\n", strings.Repeat("y", 500), "yy\nthree\n"} {
		_, _ = w.Write([]byte(part))
	}
	_, _ = w.Write([]byte(`{"@level":"warn","@message":"careful","time":"forged"}` + "\n"))
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 5 {
		t.Fatalf("log:\n%s", log)
	}
	for i, want := range []string{`plugin.line="one line"`, `plugin.line="two [redacted]"`, "plugin.line=" + strings.Repeat("y", 100), "plugin.line=three", "level=WARN"} {
		if !strings.Contains(lines[i], want) || !strings.Contains(lines[i], "plugin.name=evil") {
			t.Errorf("line %d = %s, want %s", i, lines[i], want)
		}
	}
	log.Reset()
	for range 100 {
		_, _ = w.Write([]byte(strings.Repeat("x", 99) + "\n"))
	}
	if passed := strings.Count(log.String(), "\n"); passed > 10 {
		t.Errorf("%d lines in one second", passed)
	}
	now = now.Add(time.Second)
	_, _ = w.Write([]byte("later\n"))
	if !strings.Contains(log.String(), "plugin.lines=9") || !strings.Contains(log.String(), "plugin.line=later") {
		t.Errorf("log ends without a count of what was dropped:\n%s", log)
	}
}

// TestALineWithoutAnEndTakesABoundedRoom: what a plugin writes without a line feed
// is kept up to the limit of a line, and what hides a secret at the cut; it is one
// line of the log, and the line behind it is whole again.
func TestALineWithoutAnEndTakesABoundedRoom(t *testing.T) {
	for _, piece := range []int{1, 512, 32 << 10, 4 << 20} { // a pipe gives it in pieces
		o, log := testOutput(time.Now)
		w, whole := o.stream("stderr"), 4<<20
		if piece < 512 {
			whole = 200 << 10
		}
		for range whole / piece {
			_, _ = w.Write(bytes.Repeat([]byte("q"), piece))
			if kept := len(o.lines["stderr"]); kept > o.limits.LogLine+overlap {
				t.Fatalf("pieces of %d bytes: %d bytes of a line are kept", piece, kept)
			}
		}
		_, _ = w.Write([]byte("\nnext\n"))
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 2 || strings.Count(lines[0], "q") > o.limits.LogLine || !strings.Contains(lines[1], "plugin.line=next") {
			t.Errorf("pieces of %d bytes: the log is\n%.500s", piece, log)
		}
	}
}

func TestLastWordsPrefersThePanic(t *testing.T) {
	got := []string{
		lastWords("starting\npanic: boom\n\ngoroutine 1 [running]:\nmain.main()"), lastWords("one\ntwo"), lastWords(""), lastWords(strings.Repeat("ü", 400)),
	}
	want := []string{"panic: boom", "two", "", strings.Repeat("ü", 150) + "…"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("last words (-want +got):\n%s", diff)
	}
}

func TestALongDumpKeepsItsFirstLine(t *testing.T) {
	o := newOutput(Options{Log: slog.New(slog.DiscardHandler), Now: time.Now, Limits: Limits{}.withDefaults()}, Options{}.gate(), "weather")
	w := o.stream("stderr")
	_, _ = w.Write([]byte("starting\nSIGABRT: abort\nPC=0x46\n\n"))
	for range 10_000 {
		_, _ = w.Write([]byte("goroutine 7 [running]:\n"))
	}
	_, _ = w.Write([]byte("gs     0x0\n"))
	if got := lastWords(o.last()); got != "SIGABRT: abort" {
		t.Errorf("the last words are %q", got)
	}
	if got := o.last(); len(got) > tailSize+400 {
		t.Errorf("%d bytes are kept", len(got))
	}
}

func TestLimitsHaveDefaultsAndCeilings(t *testing.T) {
	got := Limits{Start: time.Hour, Grace: time.Second, IdleStop: -1, Message: 1 << 30}.withDefaults()
	want := Limits{
		Start: time.Minute, Grace: time.Second, IdleStop: -1, Message: 64 << 20, LogLine: 64 << 10, LogRate: 1 << 20, LogTotal: 16 << 20,
		Events: 1000, Files: 256, FileSize: 1 << 30, Processes: 64, Memory: 2 << 30,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
}
