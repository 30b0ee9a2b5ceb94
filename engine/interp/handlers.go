package interp

import (
	"github.com/flowrun/flowrun/engine/runs"
)

// handlerKind is the name of a handler, as paths and files write it.
type handlerKind string

const (
	onSuccess handlerKind = runs.HandlerSuccess
	onFailure handlerKind = runs.HandlerFailure
	finally   handlerKind = runs.HandlerFinally
)

// queueHandlers notes which handlers follow the run's status.
func (m *Machine) queueHandlers() {
	kinds := []handlerKind{finally}
	switch m.status {
	case runs.RunSucceeded:
		kinds = []handlerKind{onSuccess, finally}
	case runs.RunFailed, runs.RunTimedOut:
		kinds = []handlerKind{onFailure, finally}
	}
	m.handlers, m.queued = nil, nil
	for _, kind := range kinds {
		if m.program.handlers[kind] != nil {
			m.queued = append(m.queued, kind)
		}
	}
}

// nextHandler begins the next handler when the one before has ended, and closes
// the run after the last. It reports whether one began.
func (m *Machine) nextHandler() bool {
	if n := len(m.handlers); n > 0 && !m.handlers[n-1].ended {
		return false
	}
	if len(m.queued) == 0 {
		m.phase = closed
		return false
	}
	kind := m.queued[0]
	m.queued = m.queued[1:]
	handler := m.newList(m.program.handlers[kind], runs.HandlerPrefix(string(kind), m.ends), m.handlerEnv())
	m.handlers = append(m.handlers, handler)
	handler.enqueue()
	return true
}
