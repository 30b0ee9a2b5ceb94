package pluginhost

import (
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/pluginhost/gate"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/runs"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// meter passes the logs and progress of one call to its sink, within the
// limits; what is above them is dropped and counted. Not safe for concurrent
// use: one goroutine reads a stream.
type meter struct {
	options Options
	step    string
	sink    runs.Sink

	window  time.Time
	events  int // in this second
	bytes   int // of logs in this second
	total   int // bytes of logs of the call
	dropped int // log lines
}

func newMeter(o Options, step string, sink runs.Sink) *meter {
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

// log passes a line on. It returns an excess when the call has said all that it
// may.
func (m *meter) log(l *pluginv1.Log) *excess {
	if !m.admit() {
		m.dropped++
		return nil
	}
	line := logOf(l, m.step, m.options.Now())
	line.Message = gate.Clip(line.Message, m.options.Limits.LogLine)
	if len(line.Message)+len(l.GetFields()) > m.options.Limits.LogLine {
		line.Fields = []byte(fmt.Sprintf(`{"dropped_bytes":%d}`, len(l.GetFields())))
	}
	size := len(line.Message) + len(line.Fields)
	m.bytes += size
	if m.bytes > m.options.Limits.LogRate {
		m.dropped++
		return nil
	}
	if total := m.total + size; total > m.options.Limits.LogTotal {
		return &excess{quota: quota.Log, field: "log", size: int64(total), limit: int64(m.options.Limits.LogTotal)}
	}
	m.total += size
	m.sink.Log(line)
	return nil
}

func (m *meter) progress(p *pluginv1.Progress) {
	if !m.admit() {
		return
	}
	m.sink.Progress(progressOf(p))
}

// close says how many lines were dropped.
func (m *meter) close() {
	if m.dropped == 0 || m.sink == nil {
		return
	}
	m.sink.Log(runs.Log{
		At: m.options.Now(), Level: "warn", Step: m.step,
		Message: fmt.Sprintf("%d log lines of the plugin were dropped: it wrote more than the limits allow", m.dropped),
	})
}
