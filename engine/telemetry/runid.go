package telemetry

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"github.com/oklog/ulid/v2"
	"go.opentelemetry.io/otel/trace"
)

// TraceID is the trace of a run: the 16 bytes of its id, so that one is found
// from the other without a table, before and after a restart.
func TraceID(runID string) trace.TraceID {
	id, err := ulid.ParseStrict(strings.ToUpper(runID))
	if err != nil { // an id of a test or of another program
		sum := sha256.Sum256([]byte(runID))
		return trace.TraceID(sum[:16])
	}
	return trace.TraceID(id)
}

// spanID names a part of a run. The same part has the same id in every process.
func spanID(runID string, parts ...string) trace.SpanID {
	sum := sha256.Sum256([]byte(runID + "\x00" + strings.Join(parts, "\x00")))
	return trace.SpanID(sum[:8])
}

func runSpan(runID string, attempt int) trace.SpanID {
	return spanID(runID, "run", strconv.Itoa(attempt))
}

func stepSpan(runID string, attempt int, path string) trace.SpanID {
	return spanID(runID, "step", strconv.Itoa(attempt), path)
}
