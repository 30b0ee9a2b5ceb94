package ratelimit

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/duration"
)

// Spec is a rate limit. The zero Spec limits nothing.
type Spec struct {
	Requests      int           // in a Window; 0 = no rate
	Window        time.Duration // of Requests
	Fixed         bool          // all at once allowed, in windows of the service; else spread evenly
	MaxConcurrent int           // calls in flight; 0 = no bound
}

// Parse reads "60/1m": requests, a slash, a duration. The result is a fixed window; callers set Fixed to keep another kind.
func Parse(text string) (Spec, error) {
	wrong := func() (Spec, error) {
		return Spec{}, fmt.Errorf("%q is not a rate; write requests/duration, such as 60/1m", text)
	}
	count, window, ok := strings.Cut(text, "/")
	requests, err := strconv.Atoi(count)
	if !ok || err != nil || requests <= 0 || strings.HasPrefix(count, "+") {
		return wrong()
	}
	length, err := duration.Parse(window)
	if err != nil {
		return wrong()
	}
	return Spec{Requests: requests, Window: length, Fixed: true}, nil
}

// String is the inverse of Parse; "unlimited" without a rate.
func (s Spec) String() string {
	if !s.limitsRate() {
		return "unlimited"
	}
	return fmt.Sprintf("%d/%s", s.Requests, duration.Text(s.Window))
}

func (s Spec) limitsRate() bool { return s.Requests > 0 && s.Window > 0 }

// interval is the distance of two spread requests.
func (s Spec) interval() time.Duration { return s.Window / time.Duration(s.Requests) }
