// Package telemetry turns what the engine tells its observer into figures that
// Prometheus reads, into OpenTelemetry traces, and into lines of a log. Nothing
// of it runs unless somebody asks for it: the engine does not import it, the
// program joins the two (docs/observability.md).
package telemetry
