package sdk

import (
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// maxLogBytes bounds what one call may log (RELIABILITY 5); the rest is
// dropped and counted.
const maxLogBytes = 16 << 20

// eventStream sends the events of one call: any number of log and progress
// events from any goroutine, then exactly one terminal event. A nil stream
// drops everything.
type eventStream struct {
	send func(*pluginv1.ExecuteEvent) error

	mu      sync.Mutex
	ended   bool
	logged  int
	dropped int
}

func (s *eventStream) log(level pluginv1.Log_Level, message string, fields []byte, at time.Time) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if s.logged += len(message) + len(fields); s.logged > maxLogBytes {
		s.dropped++
		return
	}
	s.sendLog(level, message, fields, at)
}

// sendLog sends one line. A line that cannot be sent is lost: then the host is
// gone, which the terminal event finds out too.
func (s *eventStream) sendLog(level pluginv1.Log_Level, message string, fields []byte, at time.Time) {
	line := &pluginv1.Log{Level: level, Message: message, Fields: fields, Time: timestamppb.New(at)}
	_ = s.send(&pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Log{Log: line}})
}

func (s *eventStream) progress(fraction float64, message string) {
	if s == nil {
		return
	}
	if !(fraction >= 0) { // NaN too
		fraction = 0
	}
	progress := &pluginv1.Progress{Fraction: min(fraction, 1), Message: cut(message, 1024)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		_ = s.send(&pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Progress{Progress: progress}})
	}
}

// end sends the terminal event; later events are dropped. Its error is that of
// the transport.
func (s *eventStream) end(event *pluginv1.ExecuteEvent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	s.ended = true
	return s.send(event)
}

func (s *eventStream) droppedLines() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

func (s *eventStream) sendDropped(lines int, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sendLog(pluginv1.Log_LEVEL_WARN, "log lines were dropped: the call wrote too many", encoded(map[string]int{"dropped": lines}), at)
}
