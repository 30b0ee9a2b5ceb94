package engine

import "fmt"

// maxWaitingRuns is how many runs a process takes beyond those that it works on at
// a time (docs/reliability.md, "Limits").
const maxWaitingRuns = 10_000

// BusyError says that no new run is taken since too many are there already.
// Nothing was stored: the same request can be sent again later.
type BusyError struct{ Runs int }

func (e *BusyError) Error() string {
	return fmt.Sprintf("%d runs are running or waiting here: no new run is taken until some have ended", e.Runs)
}

// admit refuses a new run with a *BusyError where too many are there already.
func (e *Engine) admit() error {
	limit := e.project.file.Limits.MaxActiveRuns
	if limit == 0 {
		limit = 1000
	}
	if runs := e.driver.Active(); runs >= limit+maxWaitingRuns {
		return &BusyError{Runs: runs}
	}
	return nil
}
