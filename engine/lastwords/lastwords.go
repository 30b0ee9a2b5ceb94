// Package lastwords reads what a process wrote before it died: the line that says why,
// and the lines that mean something. Go's, Python's, Node's, Java's and Rust's ways to
// die are known; of others the last line is taken.
package lastwords

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Shown is how many lines of a dead plugin people are shown.
const Shown = 20

// loose is how many lines may stand behind a stack trace that still tells why a process
// died: one that it lived on after is followed by more.
const loose = 5

// Lines returns the last lines of a text that mean something, at most that many. Where the
// line that says why stands before them, they begin with it: the dump of a Go program has
// the goroutine at fault first.
func Lines(text string, most int) []string {
	lines := strings.Split(text, "\n")
	kept, why := []string{}, -1
	at := headline(lines)
	for i, line := range lines {
		if idle(line) {
			continue
		}
		if i == at {
			why = len(kept)
		}
		kept = append(kept, strings.TrimRight(line, " \t\r"))
	}
	from := max(len(kept)-most, 0)
	if why >= 0 {
		from = min(from, why)
	}
	return kept[from:min(from+most, len(kept))]
}

// Of returns the lines to show of a failure whose details have what a process wrote to
// stderr: none where it did not die.
func Of(details json.RawMessage) []string {
	var dead struct {
		Stderr string `json:"stderr"`
	}
	if len(details) == 0 || json.Unmarshal(details, &dead) != nil || dead.Stderr == "" {
		return nil
	}
	return Lines(dead.Stderr, Shown)
}

// Headline returns the line that says why the process died, "" for an empty text.
func Headline(text string) string {
	lines := strings.Split(text, "\n")
	at := headline(lines)
	if at < 0 {
		return ""
	}
	line := strings.TrimSpace(lines[at])
	if rust().MatchString(line) && at+1 < len(lines) { // the message stands below
		line += " " + strings.TrimSpace(lines[at+1])
	}
	return line
}

// Tells reports whether a line is the first one of a dying Go process: of a panic, a fatal
// error or a signal.
func Tells(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || signal().MatchString(line)
}

// headline is the place of the line that says why, -1 where there is none.
func headline(lines []string) int {
	best, last := -1, -1
	for i, line := range lines {
		if !idle(line) {
			last = i
		}
		switch {
		case Tells(line), rust().MatchString(line):
			best = i
		case strings.HasSuffix(strings.TrimSpace(line), "Traceback (most recent call last):"):
			best = loosely(lines, raised(lines, i+1), best)
		case frame().MatchString(line):
			best = loosely(lines, thrown(lines, i), best)
		}
	}
	if best < 0 {
		return last
	}
	return best
}

// raised is the line below a traceback of Python that names what was raised, -1 where the
// text ends before.
func raised(lines []string, from int) int {
	for i := from; i < len(lines); i++ {
		if !idle(lines[i]) && !indented(lines[i]) {
			return i
		}
	}
	return -1
}

// thrown is the line above a stack frame that names what was thrown.
func thrown(lines []string, from int) int {
	for i := from - 1; i >= 0; i-- {
		if !idle(lines[i]) && !indented(lines[i]) {
			return i
		}
	}
	return -1
}

// loosely is the place of a trace's headline, or the one before where the process lived on
// after the trace.
func loosely(lines []string, at, before int) int {
	if at < 0 {
		return before
	}
	behind := 0
	for _, line := range lines[at+1:] {
		if !idle(line) && !indented(line) {
			behind++
		}
	}
	if behind > loose {
		return before
	}
	return at
}

func indented(line string) bool { return line != "" && strings.ContainsRune(" \t", rune(line[0])) }

// idle reports whether a line says nothing: an empty one, one of marks below another, and
// what Node and Rust put at the end of whatever happened.
func idle(line string) bool {
	text := strings.TrimSpace(line)
	return strings.Trim(text, "^~ ") == "" || slices.ContainsFunc(trailers(), func(r *regexp.Regexp) bool { return r.MatchString(text) })
}

var (
	signal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^SIG[A-Z]+: `) })
	rust   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^thread '.*' panicked at .*:$`) })
	frame  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s+at \S`) })

	trailers = sync.OnceValue(func() []*regexp.Regexp {
		return []*regexp.Regexp{
			regexp.MustCompile(`^Node\.js v[0-9.]+$`),
			regexp.MustCompile("^note: run with `RUST_BACKTRACE="),
			regexp.MustCompile(`^exit status [0-9]+$`),
			regexp.MustCompile(`^\(Use .node --trace-[a-z-]+ \.\.\.. to show where`),
		}
	})
)
