package interp

import (
	"encoding/json"
	"fmt"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// The caps of one run's journal (docs/reliability.md, P20). Its bytes are bounded by
// the driver, which counts what is stored by the quota of the project (ADR 29); runs
// from before version 4 keep the bound that they had here.
const (
	maxHistoryEvents = 50_000
	maxHistoryBytes  = 64 << 20
)

// history measures a run's journal by what is large in it.
type history struct {
	events int
	bytes  int
}

func (h *history) addEvent(ev journal.Event) {
	h.events++
	if ev.Completed != nil {
		h.bytes += len(ev.Completed.Output)
	}
	if ev.Pending != nil {
		h.bytes += len(ev.Pending.Checkpoint)
	}
	if ev.Child != nil {
		h.bytes += len(ev.Child.Outputs)
	}
}

func (h *history) addCommands(commands []journal.Command) {
	for i := range commands {
		if call := commands[i].Call; call != nil {
			h.bytes += len(call.Input) + len(call.Checkpoint) + len(call.PageNote)
		}
	}
}

// exceeded says which cap is exceeded, "" when none is.
func (h *history) exceeded(ofBytes bool) string {
	switch {
	case h.events > maxHistoryEvents:
		return fmt.Sprintf("the run has more than %d events", maxHistoryEvents)
	case ofBytes && h.bytes > maxHistoryBytes:
		return fmt.Sprintf("the run's journal holds more than %d MiB", maxHistoryBytes>>20)
	}
	return ""
}

// checkHistory ends a run whose journal grew over its caps.
func (m *Machine) checkHistory() {
	message := m.history.exceeded(!m.since(4))
	if m.phase != running || message == "" {
		return
	}
	m.stop(verdict{runs.RunFailed, &runs.Error{
		Kind:    plan.KindInvalid,
		Reason:  reasonLimit,
		Message: message,
		Hint:    diag.Say("split the work into several runs, or bound `repeat` with `max`"),
		Details: json.RawMessage(`{"limit":"history"}`),
	}})
}
