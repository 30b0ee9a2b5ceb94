package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/flowrun/flowrun/internal/cli/term"
)

// serveLogger returns the log of a server: lines of text or of JSON on stderr.
func (a *app) serveLogger(format, level string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, usageError(fmt.Errorf("--log-level takes debug, info, warn or error, not %q", level), "")
	}
	if format != "text" && format != "json" {
		return nil, usageError(fmt.Errorf("--log-format takes text or json, not %q", format), "")
	}
	a.logSink = &logSink{}
	return slog.New(newSafeHandler(a.sys.Stderr, format, least, a.logSink)), nil
}

// logSink is what the handlers of one log share: it is known later than the log
// what is secret and who counts the lines. Safe for concurrent use.
type logSink struct {
	redact atomic.Pointer[func(string) string]
	count  atomic.Pointer[func(slog.Level)]
}

// safeHandler lets nothing into a log that is a secret, or that a terminal or a
// reader of lines takes for more than text (CWE-117).
type safeHandler struct {
	next slog.Handler
	sink *logSink
}

func newSafeHandler(out io.Writer, format string, level slog.Leveler, sink *logSink) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return &safeHandler{slog.NewJSONHandler(out, options), sink}
	}
	return &safeHandler{slog.NewTextHandler(out, options), sink}
}

// Enabled reports whether lines of the level are written.
func (h *safeHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle writes a line.
func (h *safeHandler) Handle(ctx context.Context, record slog.Record) error {
	if count := h.sink.count.Load(); count != nil {
		(*count)(record.Level)
	}
	safe := slog.NewRecord(record.Time, record.Level, h.clean(record.Message), record.PC)
	record.Attrs(func(attribute slog.Attr) bool {
		safe.AddAttrs(h.attribute(attribute))
		return true
	})
	return h.next.Handle(ctx, safe)
}

// WithAttrs returns a handler whose lines hold the attributes.
func (h *safeHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	safe := make([]slog.Attr, len(attributes))
	for i, attribute := range attributes {
		safe[i] = h.attribute(attribute)
	}
	return &safeHandler{h.next.WithAttrs(safe), h.sink}
}

// WithGroup returns a handler whose attributes stand in a group.
func (h *safeHandler) WithGroup(name string) slog.Handler {
	return &safeHandler{h.next.WithGroup(h.clean(name)), h.sink}
}

// attribute makes a value safe. What is neither a number nor a time is text in
// the end, and is cleaned as the text that it is.
func (h *safeHandler) attribute(attribute slog.Attr) slog.Attr {
	value := attribute.Value.Resolve()
	switch value.Kind() {
	case slog.KindString:
		value = slog.StringValue(h.clean(value.String()))
	case slog.KindGroup:
		var members []slog.Attr
		for _, member := range value.Group() {
			members = append(members, h.attribute(member))
		}
		value = slog.GroupValue(members...)
	case slog.KindAny:
		value = slog.StringValue(h.clean(textOf(value.Any())))
	}
	return slog.Attr{Key: h.clean(attribute.Key), Value: value}
}

// textOf is how a value stands in a line.
func textOf(value any) string {
	switch value := value.(type) {
	case error:
		return value.Error()
	case fmt.Stringer:
		return value.String()
	case []byte:
		return string(value)
	}
	if encoded, err := json.Marshal(value); err == nil {
		return string(encoded)
	}
	return fmt.Sprint(value)
}

func (h *safeHandler) clean(text string) string {
	if redact := h.sink.redact.Load(); redact != nil {
		text = (*redact)(text)
	}
	return term.Clean(text)
}
