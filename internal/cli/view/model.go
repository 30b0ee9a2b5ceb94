// Package view shows runs to people and programs: a live block, plain lines,
// tables, and JSON.
package view

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
)

// model is what is known of a run: its row, and one row per top-level step. Not
// safe for concurrent use.
type model struct {
	run   runs.Run
	rows  []*row
	index map[string]*row
	subs  map[string][]Question // of sub-workflows, by the path of their step
}

// row is a top-level step with what is known of the steps of its items.
type row struct {
	step     runs.Step
	active   map[string]runs.Step   // steps inside that run, wait or retry, by path
	waits    map[string]limiterWait // limiter waits, by path
	progress *runs.Progress
}

// limiterWait is a call that a rate limit holds back.
type limiterWait struct {
	reason string
	until  time.Time
}

func newModel() *model { return &model{index: map[string]*row{}, subs: map[string][]Question{}} }

// topOf returns the top-level step of a path: domains of
// domains[example.com].whois.
func topOf(path string) string { return runs.ParsePath(path).Top().String() }

// isTop reports whether path is a top-level step's own.
func isTop(path string) bool { return topOf(path) == path }

func (m *model) row(path string) *row {
	name := topOf(path)
	if existing := m.index[name]; existing != nil {
		return existing
	}
	added := &row{
		step:   runs.Step{Path: name, Status: runs.StepPending},
		active: map[string]runs.Step{}, waits: map[string]limiterWait{},
	}
	m.rows, m.index[name] = append(m.rows, added), added
	return added
}

// apply folds an update in.
func (m *model) apply(update engine.Update) {
	switch update.Kind {
	case engine.UpdateRun:
		m.run = *update.Run
	case engine.UpdateStep:
		m.applyStep(*update.Step)
	case engine.UpdateWait:
		waits := m.row(update.Path).waits
		if update.Until.IsZero() {
			delete(waits, update.Path)
		} else {
			waits[update.Path] = limiterWait{update.Wait, update.Until}
		}
	case engine.UpdateProgress:
		m.row(update.Path).progress = update.Progress
	}
}

func (m *model) applyStep(step runs.Step) {
	step.Outputs = nil // never shown while the run goes on, and may be large
	r := m.row(step.Path)
	if step.Status.Ended() || step.Status == runs.StepPending {
		delete(r.waits, step.Path)
		delete(r.active, step.Path)
	} else if !isTop(step.Path) {
		r.active[step.Path] = step
	}
	if isTop(step.Path) {
		if step.Status != r.step.Status {
			r.progress = nil
		}
		r.step = step
	}
}

// nextWait returns the limiter wait that ends first.
func (r *row) nextWait() (limiterWait, bool) {
	var first limiterWait
	for _, wait := range r.waits {
		if first.until.IsZero() || wait.until.Before(first.until) {
			first = wait
		}
	}
	return first, !first.until.IsZero()
}

// counts returns how many steps of items run and retry.
func (r *row) counts() (running, retrying int) {
	for _, step := range r.active {
		switch step.Status {
		case runs.StepRunning:
			running++
		case runs.StepRetrying:
			retrying++
		}
	}
	return max(running-len(r.waits), 0), retrying
}

// retries reports whether a step waits for its next attempt, and none for a person.
func (m *model) retries() bool {
	some := false
	for _, r := range m.rows {
		for _, step := range r.active {
			some = some || step.Status == runs.StepRetrying
			if step.ForPerson() {
				return false
			}
		}
		some = some || r.step.Status == runs.StepRetrying
		if r.step.ForPerson() {
			return false
		}
	}
	return some
}

// prompts returns what people must do, in the order of the steps, and of a step's
// items by their paths. Steps that ask for the same thing ask once.
func (m *model) prompts() []*runs.Prompt {
	var out []*runs.Prompt
	add := func(prompt *runs.Prompt) {
		if prompt != nil && !seen(out, prompt) {
			out = append(out, prompt)
		}
	}
	for _, r := range m.rows {
		if !r.step.Status.Ended() {
			add(r.step.Prompt)
		}
		for _, path := range slices.Sorted(maps.Keys(r.active)) {
			add(r.active[path].Prompt)
		}
	}
	return out
}

// rawText returns JSON text as the string it holds, or as it is.
func rawText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
