package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// ErrNotHTTP says that the environment asks for a protocol that we do not speak.
var ErrNotHTTP = errors.New("traces are sent as OTLP over HTTP (http/protobuf) only")

// Traced reports whether the environment names a collector for traces:
// OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set, and
// neither OTEL_SDK_DISABLED nor OTEL_TRACES_EXPORTER says otherwise.
func Traced(environ []string) bool {
	_, endpoint := Collector(environ)
	switch exporter := variable(environ, "OTEL_TRACES_EXPORTER"); {
	case endpoint == "", strings.EqualFold(variable(environ, "OTEL_SDK_DISABLED"), "true"):
		return false
	default:
		return exporter == "" || strings.Contains(exporter, "otlp")
	}
}

// Collector returns the variable that names the collector for traces, and what it
// says, "" where none does.
func Collector(environ []string) (name, endpoint string) {
	name = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	if variable(environ, name) == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT"
	}
	return name, variable(environ, name)
}

// How long a batch is tried before it is lost.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 5 * time.Second
	giveUp     = 30 * time.Second
)

// NewOTLP returns what sends spans to the collector that the environment names.
// The library reads the other OTEL_EXPORTER_OTLP_* variables by itself: headers,
// certificates, compression, timeout. ErrNotHTTP when it shall speak gRPC.
func NewOTLP(ctx context.Context, environ []string, log *slog.Logger) (sdktrace.SpanExporter, error) {
	protocol := cmp.Or(variable(environ, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), variable(environ, "OTEL_EXPORTER_OTLP_PROTOCOL"))
	if protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("%w, not as %q: unset OTEL_EXPORTER_OTLP_PROTOCOL and name the collector's HTTP port, 4318 by default", ErrNotHTTP, protocol)
	}
	// What the library has to say goes where our own lines go, not to stderr.
	otel.SetLogger(logr.FromSlogHandler(log.Handler()))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces not sent", "error", err) }))
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
		Enabled: true, InitialInterval: firstRetry, MaxInterval: lastRetry, MaxElapsedTime: giveUp,
	}))
	if err != nil {
		return nil, fmt.Errorf("send traces: %w", err)
	}
	return exporter, nil
}

// variable returns a variable of an environment, "" when it is not set.
func variable(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return value
		}
	}
	return ""
}
