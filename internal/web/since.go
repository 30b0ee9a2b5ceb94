package web

import (
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// readMoment reads a time, or a duration that is taken off now, as the command
// line's --since; "" is the zero time. name is the parameter or field that has it.
func (s *server) readMoment(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	ago, err := duration.Parse(text)
	if err != nil || ago < 0 || s.Now == nil {
		problem := wire.NewProblem(wire.CodeBadRequest, fmt.Sprintf("%s %q is neither an RFC 3339 time nor a duration", name, shorten(text))).
			With(diag.Say("such as 2026-03-01T09:00:00Z, or 24h"))
		problem.Input = name
		return time.Time{}, problem
	}
	return s.Now().Add(-ago), nil
}
