package sdk_test

import (
	"os"
	"testing"

	"github.com/flowrun/flowrun/sdk/internal/leaktest"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
)

// TestMain is also a plugin: a test starts this binary again with the cookie of
// the handshake.
func TestMain(m *testing.M) {
	if os.Getenv(handshake.MagicCookieKey) != "" || os.Getenv(runByHand) != "" {
		processPlugin().Serve()
		os.Exit(0)
	}
	os.Exit(leaktest.Run(m))
}

const runByHand = "FLOWRUN_TEST_BY_HAND"
