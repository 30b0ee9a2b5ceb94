package interp_test

import (
	"testing"

	"github.com/flowrun/flowrun/engine/enginetest"
)

// TestTheMachineShowsWhatEveryDriverMust: the cases that drivers are held to are
// the Machine's rules. The reference driver adds nothing but the calls.
func TestTheMachineShowsWhatEveryDriverMust(t *testing.T) {
	enginetest.Exercise(t, func(testing.TB) enginetest.Driver { return &enginetest.Reference{} })
}

// TestTheMachineTakesLateAndDoubleEvents: the same, with events that come late, twice
// and for calls that are no longer open.
func TestTheMachineTakesLateAndDoubleEvents(t *testing.T) {
	enginetest.Exercise(t, func(testing.TB) enginetest.Driver { return &enginetest.Reference{Hostile: true} })
}
