package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// logLine writes one line with a handler of each form.
func logLine(t *testing.T, format string, sink *logSink, write func(*slog.Logger)) string {
	t.Helper()
	var out bytes.Buffer
	write(slog.New(newSafeHandler(&out, format, slog.LevelInfo, sink)))
	return out.String()
}

// secretText is known to the sink of these tests.
const secretText = "canary-5f1d"

func redactingSink() *logSink {
	sink := &logSink{}
	redact := func(text string) string { return strings.ReplaceAll(text, secretText, "[redacted]") }
	sink.redact.Store(&redact)
	return sink
}

// leaky is a value that shows a secret however it is printed.
type leaky struct{ Token string }

func (l leaky) String() string { return l.Token }

func TestNoSecretReachesALogLine(t *testing.T) {
	for name, write := range map[string]func(*slog.Logger){
		"in the message":              func(l *slog.Logger) { l.Info("token " + secretText) },
		"in a text":                   func(l *slog.Logger) { l.Info("x", "token", secretText) },
		"in a name":                   func(l *slog.Logger) { l.Info("x", secretText, 1) },
		"in an error":                 func(l *slog.Logger) { l.Info("x", "error", errors.New("refused: "+secretText)) },
		"in a value with a text form": func(l *slog.Logger) { l.Info("x", "value", leaky{secretText}) },
		"in a structure":              func(l *slog.Logger) { l.Info("x", "value", struct{ Token string }{secretText}) },
		"in a map":                    func(l *slog.Logger) { l.Info("x", "value", map[string]any{"token": []string{secretText}}) },
		"in bytes":                    func(l *slog.Logger) { l.Info("x", "value", []byte(secretText)) },
		"in a group":                  func(l *slog.Logger) { l.Info("x", slog.Group("g", slog.String("token", secretText))) },
		"in an attribute of a logger": func(l *slog.Logger) { l.With("token", secretText).Info("x") },
		"in the name of a group":      func(l *slog.Logger) { l.WithGroup(secretText).Info("x", "a", 1) },
		"in a value made late":        func(l *slog.Logger) { l.Info("x", "value", late(secretText)) },
	} {
		for _, format := range []string{"text", "json"} {
			t.Run(name+" as "+format, func(t *testing.T) {
				line := logLine(t, format, redactingSink(), write)
				if strings.Contains(line, secretText) {
					t.Errorf("the line shows the secret: %s", line)
				}
				if !strings.Contains(line, "[redacted]") {
					t.Errorf("the line lacks its mask: %s", line)
				}
				// The control: without the mask each of these shows it.
				if open := logLine(t, format, &logSink{}, write); !strings.Contains(open, secretText) {
					t.Errorf("this line never held the secret: %s", open)
				}
			})
		}
	}
}

// late gives its value when it is written.
type late string

func (l late) LogValue() slog.Value { return slog.StringValue(string(l)) }

func TestNothingInALogLineActsOnATerminalOrMakesAnotherLine(t *testing.T) {
	hostile := "a\x1b]0;title\x07b\r\nlevel=ERROR msg=forged\u009b2J\u202eevil"
	for _, format := range []string{"text", "json"} {
		line := logLine(t, format, &logSink{}, func(l *slog.Logger) {
			l.Info(hostile, "value", hostile, "error", errors.New(hostile), hostile, 1)
		})
		if strings.Count(line, "\n") != 1 || strings.ContainsAny(line, "\x1b\r\u009b\u202e\x07") {
			t.Errorf("%s: %q", format, line)
		}
		for _, escaped := range []string{`\u001b`, `\x1b`, `\u009b`, `\u202e`} {
			if strings.Contains(line, escaped) {
				t.Errorf("%s holds %s: a viewer may undo that: %q", format, escaped, line)
			}
		}
	}
}

func TestNumbersTimesAndDurationsStayWhatTheyAre(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	line := logLine(t, "json", redactingSink(), func(l *slog.Logger) {
		l.Info("run ended", "run", "01j", "duration_ms", 812, "ok", true, "share", 0.5, "at", at, "took", time.Second)
	})
	var got map[string]any
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"run": "01j", "duration_ms": 812.0, "ok": true, "share": 0.5, "at": "2026-03-01T09:00:00Z", "took": 1e9} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
}

func TestEachWrittenLineIsCounted(t *testing.T) {
	sink, counted := &logSink{}, map[slog.Level]int{}
	count := func(level slog.Level) { counted[level]++ }
	sink.count.Store(&count)
	logLine(t, "text", sink, func(l *slog.Logger) {
		l.Debug("not written")
		l.Info("x")
		l.Warn("x")
		l.With("a", 1).Warn("x")
	})
	if counted[slog.LevelDebug] != 0 || counted[slog.LevelInfo] != 1 || counted[slog.LevelWarn] != 2 {
		t.Errorf("counted %v", counted)
	}
}

func TestTheServersLogHasTwoFormsAndFourLevels(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"another form":  {[]string{"serve", "--log-format", "xml"}, `--log-format takes text or json, not "xml"`},
		"another level": {[]string{"serve", "--log-level", "loud"}, `--log-level takes debug, info, warn or error, not "loud"`},
	} {
		t.Run(name, func(t *testing.T) {
			got := runIn(t, t.TempDir(), nil, test.args...)
			if got.code != exitUsage || !strings.Contains(got.stderr, test.want) {
				t.Errorf("exit %d: %s", got.code, got.stderr)
			}
		})
	}
}
