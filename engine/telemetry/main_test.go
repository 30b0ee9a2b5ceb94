package telemetry_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when a tracer leaves something running.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
