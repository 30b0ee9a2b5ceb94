// Package wire holds what the SDK speaks against gRPC as others speak it: grpc-go's client
// and server, go-plugin's client, and hosts of other descriptors of the protocol.
package wire

import (
	"os"
	"testing"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
)

// TestMain is also a plugin: a test starts this binary again with the cookie of the
// handshake.
func TestMain(m *testing.M) {
	if os.Getenv(handshake.MagicCookieKey) != "" || os.Getenv(runByHand) != "" {
		processPlugin().Serve()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const runByHand = "FLOWRUN_TEST_BY_HAND"
