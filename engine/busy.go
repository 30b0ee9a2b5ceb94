package engine

import "github.com/flowrun/flowrun/engine/fault"

// maxWaitingRuns is how many runs a process takes beyond those that it works on at
// a time (docs/reliability.md, "Limits").
const maxWaitingRuns = 10_000

// admit refuses a new run with a *BusyError where too many are there already.
func (e *Engine) admit() error {
	limit := e.project.Declared().Limits.MaxActiveRuns
	if limit == 0 {
		limit = 1000
	}
	if runs := e.driver.Active(); runs >= limit+maxWaitingRuns {
		return &fault.BusyError{Runs: runs}
	}
	return nil
}
