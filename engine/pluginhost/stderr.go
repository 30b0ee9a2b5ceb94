package pluginhost

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// tailSize is how much of a plugin's stderr is kept for the error of a crash.
const tailSize = 64 << 10

// output takes what one process writes to stdout and stderr: it keeps the tail
// for a crash and hands bounded lines to the log. Safe for concurrent use.
type output struct {
	log    *slog.Logger
	plugin string
	mask   func(string) string
	now    func() time.Time
	limits Limits

	mu      sync.Mutex
	tail    []byte
	telling string            // the latest line that says why a process dies: long dumps push it out of the tail
	lines   map[string][]byte // unfinished line of each stream
	skip    map[string]bool   // the rest of a line that was too long
	window  time.Time
	spent   int // bytes logged in this second
	dropped int
}

func newOutput(o Options, plugin string) *output {
	return &output{
		log: o.Log, plugin: plugin, mask: o.mask, now: o.Now, limits: o.Limits,
		lines: map[string][]byte{}, skip: map[string]bool{},
	}
}

// stream returns a writer for one of the process's streams. Its Write never fails.
func (o *output) stream(name string) *outputStream { return &outputStream{output: o, name: name} }

type outputStream struct {
	output *output
	name   string
}

func (s *outputStream) Write(p []byte) (int, error) {
	s.output.write(s.name, p)
	return len(p), nil
}

func (o *output) write(stream string, p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keep(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part, p = p[:end], p[end+1:]
		} else {
			p = nil
		}
		if !o.skip[stream] {
			o.collect(stream, part)
		}
		if end >= 0 {
			o.flush(stream)
		}
	}
}

// keep appends to the tail; it is cut only when it is twice as long as needed,
// so that a flood is copied once.
func (o *output) keep(p []byte) {
	if len(p) >= tailSize {
		o.tail = append(o.tail[:0], p[len(p)-tailSize:]...)
		return
	}
	o.tail = append(o.tail, p...)
	if len(o.tail) > 2*tailSize {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-tailSize:]...)
	}
}

func (o *output) collect(stream string, part []byte) {
	line := o.lines[stream]
	if room := o.limits.LogLine - len(line); len(part) > room {
		part, o.skip[stream] = part[:room], true
	}
	o.lines[stream] = append(line, part...)
}

// flush logs the collected line of a stream, within the rate.
func (o *output) flush(stream string) {
	line := o.lines[stream]
	o.lines[stream], o.skip[stream] = line[:0], false
	if len(line) == 0 {
		return
	}
	if tells(string(line)) {
		o.telling = clip(string(line), maxTelling)
	}
	if now := o.now(); now.Sub(o.window) >= time.Second || now.Before(o.window) {
		if o.dropped > 0 {
			o.log.Warn("plugin log lines dropped", slog.Group("plugin", "name", o.plugin, "lines", o.dropped))
		}
		o.window, o.spent, o.dropped = now, 0, 0
	}
	if o.spent += len(line); o.spent > o.limits.LogRate {
		o.dropped++
		return
	}
	level, text := plainLine(line)
	// One group holds all that comes from the plugin: it can't forge fields.
	o.log.Log(context.Background(), level, "plugin log", slog.Group("plugin", "name", o.plugin, "stream", stream, "line", o.mask(text)))
}

// plainLine reads the level and message of hclog's JSON lines; other lines are
// taken as they are.
func plainLine(line []byte) (slog.Level, string) {
	text := strings.ToValidUTF8(string(line), "�")
	if len(line) == 0 || line[0] != '{' {
		return slog.LevelDebug, text
	}
	var entry struct {
		Level   string `json:"@level"`
		Message string `json:"@message"`
	}
	if json.Unmarshal(line, &entry) != nil || entry.Message == "" {
		return slog.LevelDebug, text
	}
	switch entry.Level {
	case "error":
		return slog.LevelError, text
	case "warn":
		return slog.LevelWarn, text
	case "info":
		return slog.LevelInfo, text
	}
	return slog.LevelDebug, text
}

// last returns the tail, masked, behind the line that says why the process died
// where that one is no longer a part of it.
func (o *output) last() string {
	o.mu.Lock()
	tail := o.tail
	if len(tail) > tailSize {
		tail = tail[len(tail)-tailSize:]
	}
	text := string(tail)
	if !strings.Contains(text, o.telling) {
		text = o.telling + "\n…\n" + text
	}
	text = strings.ToValidUTF8(text, "�")
	o.mu.Unlock()
	return o.mask(strings.TrimSpace(text))
}

// lastWords picks the line of a tail that tells most: a panic's or fatal
// error's first line, else the last one.
func lastWords(tail string) string {
	lines := strings.Split(tail, "\n")
	best := strings.TrimSpace(lines[len(lines)-1])
	for _, line := range lines {
		if tells(line) {
			best = line
		}
	}
	return clip(best, maxTelling)
}

// maxTelling bounds a line that is shown, in bytes.
const maxTelling = 300

var fatalSignal = regexp.MustCompile(`^SIG[A-Z]+: `)

// tells reports whether a line is the first one of a dying Go process: of a
// panic, a fatal error or a signal.
func tells(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || fatalSignal.MatchString(line)
}

// clip cuts text to at most limit bytes at a character's border.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
