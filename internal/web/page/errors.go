package page

import (
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/lastwords"
	"github.com/flowrun/flowrun/engine/runs"
)

// errorBox is a failure as it is shown: where, what, and what to do.
type errorBox struct {
	*runs.Error
	URL   string // of the step's page; "" = the error is the run's own
	Facts []string
	Wrote []string // what a dead plugin wrote last
}

func newErrorBox(run string, e *runs.Error) *errorBox {
	box := &errorBox{Error: e, Wrote: lastwords.Of(e.Details)}
	if e.Step != "" {
		box.URL = stepURL(run, e.Step)
	}
	add := func(format string, args ...any) { box.Facts = append(box.Facts, fmt.Sprintf(format, args...)) }
	add("%s", e.Kind)
	if e.Reason != "" {
		add("reason %s", e.Reason)
	}
	if e.Attempt > 1 {
		add("attempt %d", e.Attempt)
	}
	if e.HTTPStatus != 0 {
		add("HTTP %d", e.HTTPStatus)
	}
	if text := e.AppliedWords(); text != "" {
		add("%s", text)
	}
	if e.Pointer != "" {
		add("at %s of its input", e.Pointer)
	}
	if e.RetryAfterS > 0 {
		add("again after %s", duration(time.Duration(e.RetryAfterS*float64(time.Second))))
	}
	return box
}
