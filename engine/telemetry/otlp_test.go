package telemetry_test

import (
	"testing"

	"github.com/flowrun/flowrun/engine/telemetry"
)

// Of a variable that is set twice the last one counts, as for every program.
func TestTheEnvironmentSaysWhetherTracesAreSent(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318"
	for name, c := range map[string]struct {
		environ []string
		want    bool
	}{
		"nothing":                  {nil, false},
		"a collector":              {[]string{endpoint}, true},
		"one for traces alone":     {[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:4318"}, true},
		"switched off":             {[]string{endpoint, "OTEL_SDK_DISABLED=true"}, false},
		"switched off and on":      {[]string{endpoint, "OTEL_SDK_DISABLED=true", "OTEL_SDK_DISABLED=false"}, true},
		"switched on and off":      {[]string{"OTEL_SDK_DISABLED=false", "OTEL_SDK_DISABLED=TRUE", endpoint}, false},
		"an exporter of another":   {[]string{endpoint, "OTEL_TRACES_EXPORTER=console"}, false},
		"several exporters":        {[]string{endpoint, "OTEL_TRACES_EXPORTER=console,otlp"}, true},
		"an endpoint that is none": {[]string{endpoint, "OTEL_EXPORTER_OTLP_ENDPOINT="}, false},
	} {
		if got := telemetry.Traced(c.environ); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
