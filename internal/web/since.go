package web

import (
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
)

// readSince reads a time, or a duration that is taken off now, as the command
// line's --since; "" is the zero time.
func (s *server) readSince(text string) (time.Time, *Problem) { return s.readMoment("since", text) }

// readMoment is readSince for a parameter or field of another name.
func (s *server) readMoment(name, text string) (time.Time, *Problem) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	ago, err := duration.Parse(text)
	if err != nil || ago < 0 || s.Now == nil {
		problem := newProblem(CodeBadRequest, fmt.Sprintf("%s %q is neither an RFC 3339 time nor a duration", name, shorten(text)))
		problem.Input, problem.Hint = name, diag.Say("such as 2026-03-01T09:00:00Z, or 24h")
		return time.Time{}, problem
	}
	return s.Now().Add(-ago), nil
}
