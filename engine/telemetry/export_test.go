package telemetry

// Open returns how many runs are kept in memory.
func (t *Traces) Open() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open)
}

// Open returns how many runs are kept in memory.
func (m *Metrics) Open() int {
	m.runs.mu.Lock()
	defer m.runs.mu.Unlock()
	return len(m.runs.open)
}
