//go:build !linux

package eval

import "time"

// began is when the tests were started.
var began = time.Now()

// processorTime is the time that has gone by: these systems do not tell a
// thread's own.
func processorTime() time.Duration { return time.Since(began) }
