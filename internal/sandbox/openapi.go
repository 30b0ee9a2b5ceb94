package sandbox

import (
	"context"
	"io"
	"time"

	"github.com/flowrun/flowrun/plugins/openapi/openapisim"
)

// Simulate stands for the service of an OpenAPI document until stdin ends: settings are
// those of the plugin openapi, as JSON, with paths below the working folder.
func Simulate(ctx context.Context, settings string, stdin io.Reader, stdout io.Writer, now func() time.Time) error {
	return openapisim.Serve(ctx, settings, openapisim.Options{Stdin: stdin, Stdout: stdout, Now: now})
}
