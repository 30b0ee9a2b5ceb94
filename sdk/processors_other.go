//go:build !unix

package sdk

import "time"

// tellsProcessorTime says whether processorTime can tell it.
const tellsProcessorTime = false

// processorTime tells nothing here: flowrun does not run on this system.
func processorTime() time.Duration { return 0 }
