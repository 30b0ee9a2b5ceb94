package ratelimit_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/flowrun/flowrun/engine/ratelimit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newLimiter runs on the clock of the synctest bubble that it is called in.
func newLimiter() *ratelimit.Limiter { return ratelimit.New(time.Now, time.After) }

func fixed(requests int, window time.Duration) ratelimit.Spec {
	return ratelimit.Spec{Requests: requests, Window: window, Fixed: true}
}
