package pluginhost

import (
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	pluginv1 "github.com/flowrun/flowrun/proto/flowrun/plugin/v1"
)

// meter passes the logs and progress of one call to its sink, within the
// limits; what is above them is dropped and counted. Not safe for concurrent
// use: one goroutine reads a stream.
type meter struct {
	options Options
	step    string
	sink    plan.Sink

	window  time.Time
	events  int // in this second
	bytes   int // of logs in this second
	total   int // bytes of logs of the call
	dropped int // log lines
}

func newMeter(o Options, step string, sink plan.Sink) *meter {
	return &meter{options: o, step: step, sink: sink}
}

// admit counts an event and reports whether it may pass.
func (m *meter) admit() bool {
	if now := m.options.Now(); now.Sub(m.window) >= time.Second || now.Before(m.window) {
		m.window, m.events, m.bytes = now, 0, 0
	}
	m.events++
	return m.sink != nil && m.events <= m.options.Limits.Events
}

func (m *meter) log(l *pluginv1.Log) {
	if !m.admit() {
		m.dropped++
		return
	}
	line := logOf(l, m.step, m.options.Now())
	line.Message = clip(line.Message, m.options.Limits.LogLine)
	if len(line.Message)+len(line.Fields) > m.options.Limits.LogLine {
		line.Fields = nil
	}
	size := len(line.Message) + len(line.Fields)
	m.bytes += size
	if m.bytes > m.options.Limits.LogRate || m.total+size > m.options.Limits.LogTotal {
		m.dropped++
		return
	}
	m.total += size
	line.Message = m.options.mask(line.Message)
	if fields := m.options.mask(string(line.Fields)); fields != string(line.Fields) {
		line.Fields = documentOf([]byte(fields)) // gone when the mask broke its JSON
	}
	m.sink.Log(line)
}

func (m *meter) progress(p *pluginv1.Progress) {
	if !m.admit() {
		return
	}
	progress := progressOf(p)
	progress.Message = m.options.mask(progress.Message)
	m.sink.Progress(progress)
}

// close says how many lines were dropped.
func (m *meter) close() {
	if m.dropped == 0 || m.sink == nil {
		return
	}
	m.sink.Log(plan.Log{
		At: m.options.Now(), Level: "warn", Step: m.step,
		Message: fmt.Sprintf("%d log lines of the plugin were dropped: it wrote more than the limits allow", m.dropped),
	})
}
