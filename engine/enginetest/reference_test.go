package enginetest_test

import (
	"testing"

	"github.com/flowrun/flowrun/engine/enginetest"
)

func TestReferenceDriver(t *testing.T) {
	enginetest.Exercise(t, func(testing.TB) enginetest.Driver { return &enginetest.Reference{} })
}

func TestReferenceDriverWithLateAndDoubleEvents(t *testing.T) {
	enginetest.Exercise(t, func(testing.TB) enginetest.Driver { return &enginetest.Reference{Hostile: true} })
}
