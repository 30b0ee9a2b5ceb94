package pluginhost

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/lastwords"
	"github.com/flowrun/flowrun/engine/pluginhost/gate"
	"github.com/flowrun/flowrun/engine/pluginlog"
)

// tailSize is how much of a plugin's stderr is kept for the error of a crash.
const tailSize = 64 << 10

// overlap is how much more than what is shown is kept of a text that is cut: a secret
// that lies across the cut is masked as a whole. No form of a secret is longer.
const overlap = 16 << 10

// output takes what one process writes to stdout and stderr: it keeps the tail
// for a crash and hands bounded lines to the log. Safe for concurrent use.
type output struct {
	log    *slog.Logger
	plugin string
	gate   *gate.Gate
	now    func() time.Time
	limits Limits
	kept   *pluginlog.Log // of what it prints; nil = nothing is kept

	mu      sync.Mutex
	tail    []byte
	cut     bool              // the tail had more before
	telling []string          // the latest line that says why a process dies, and those behind it: long dumps push them out of the tail
	lines   map[string][]byte // unfinished line of each stream
	skip    map[string]bool   // the rest of a line that was too long
	window  time.Time
	spent   int // bytes logged in this second
	dropped int
}

func newOutput(o Options, g *gate.Gate, plugin string) *output {
	return &output{
		log: o.Log, plugin: plugin, gate: g, now: o.Now, limits: o.Limits,
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
	const kept = tailSize + overlap
	if len(p) >= kept {
		o.tail, o.cut = append(o.tail[:0], p[len(p)-kept:]...), true
		return
	}
	o.tail = append(o.tail, p...)
	if len(o.tail) > 2*kept {
		o.tail, o.cut = append(o.tail[:0], o.tail[len(o.tail)-kept:]...), true
	}
}

func (o *output) collect(stream string, part []byte) {
	line := o.lines[stream]
	if room := o.limits.LogLine + overlap - len(line); len(part) > room {
		part, o.skip[stream] = part[:room], true
	}
	o.lines[stream] = append(line, part...)
}

// flush logs the collected line of a stream, within the rate.
func (o *output) flush(stream string) {
	line, skipped := o.lines[stream], o.skip[stream]
	o.lines[stream], o.skip[stream] = line[:0], false
	if len(line) == 0 {
		return
	}
	level, text := o.plainLine(line, skipped)
	switch line := gate.Clip(text, maxTelling); {
	case lastwords.Tells(text):
		o.telling = []string{line}
	case len(o.telling) > 0 && len(o.telling) < lastwords.Shown:
		o.telling = append(o.telling, line)
	}
	if now := o.now(); now.Sub(o.window) >= time.Second || now.Before(o.window) {
		if o.dropped > 0 {
			o.log.Warn("plugin log lines dropped", slog.Group("plugin", "name", o.plugin, "lines", o.dropped))
			o.retain(pluginlog.Host, fmt.Sprintf("%d lines are left out: it printed more than %d bytes in a second", o.dropped, o.limits.LogRate))
		}
		o.window, o.spent, o.dropped = now, 0, 0
	}
	if o.spent += len(text); o.spent > o.limits.LogRate {
		o.dropped++
		return
	}
	// One group holds all that comes from the plugin: it can't forge fields.
	o.log.Log(context.Background(), level, "plugin log", slog.Group("plugin", "name", o.plugin, "stream", stream, "line", text))
	o.retain(stream, text)
}

// retain keeps a line for `plugins logs`. What fails costs that line alone.
func (o *output) retain(stream, text string) {
	if o.kept == nil {
		return
	}
	if err := o.kept.Write(pluginlog.Line{At: o.now().UTC(), Stream: stream, Text: text}); err != nil {
		o.log.Debug("plugin log not kept", "plugin", o.plugin, "error", err)
	}
}

// plainLine reads the level and message of hclog's JSON lines; other lines are
// taken as they are. What is shown is masked first and cut then; of a line whose end
// was not kept the last bytes may be half of a secret.
func (o *output) plainLine(line []byte, skipped bool) (slog.Level, string) {
	text := o.gate.Text(string(line))
	if skipped {
		text = text[:max(len(text)-overlap, 0)]
	}
	text = gate.Clip(strings.ToValidUTF8(text, "�"), o.limits.LogLine)
	var entry struct {
		Level   string `json:"@level"`
		Message string `json:"@message"`
	}
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &entry) != nil || entry.Message == "" {
		return slog.LevelDebug, text
	}
	if level, ok := hclogLevels[entry.Level]; ok {
		return level, text
	}
	return slog.LevelDebug, text
}

var hclogLevels = map[string]slog.Level{"error": slog.LevelError, "warn": slog.LevelWarn, "info": slog.LevelInfo}

// last returns the tail, masked, behind the line that says why the process died and
// what followed it, where that one is no longer a part of it.
func (o *output) last() string {
	o.mu.Lock()
	text, cut, telling := o.gate.Text(string(o.tail)), o.cut, slices.Clone(o.telling)
	o.mu.Unlock()
	if cut { // it may begin with half of a secret
		text = text[min(overlap, len(text)):]
	}
	if len(text) > tailSize {
		text = text[len(text)-tailSize:]
	}
	if len(telling) > 0 && !strings.Contains(text, telling[0]) {
		head := strings.Join(telling, "\n") + "\n…\n"
		text = head + text[min(len(head), len(text)):]
	}
	text = strings.ToValidUTF8(text, "�")
	return strings.TrimSpace(text)
}

// lastWords picks the line of a tail that says why the process died.
func lastWords(tail string) string { return gate.Clip(lastwords.Headline(tail), maxTelling) }

// maxTelling bounds a line that is shown, in bytes.
const maxTelling = 300
