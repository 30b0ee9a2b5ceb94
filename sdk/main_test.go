package sdk_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/flowrun/flowrun/proto/handshake"
)

// TestMain is also a plugin: a test starts this binary again with the cookie of
// the handshake.
func TestMain(m *testing.M) {
	if os.Getenv(handshake.MagicCookieKey) != "" || os.Getenv(runByHand) != "" {
		processPlugin().Serve()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

const runByHand = "FLOWRUN_TEST_BY_HAND"
