package sdk

import (
	"os"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
)

// ProjectDir returns the folder of flowrun.yaml, from which the paths in a config are
// meant; "" where the host names none. It says nothing of what the process may open.
func ProjectDir() string { return os.Getenv(handshake.EnvProjectDir) }
