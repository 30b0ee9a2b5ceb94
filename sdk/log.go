package sdk

import (
	"encoding/json"
	"fmt"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// maxLogText bounds one message and its fields, in bytes (RELIABILITY 5).
const maxLogText = 64 << 10

// Log writes lines into the log of the step. Values of secret fields are
// masked. Safe for concurrent use; lines after the end of the call are dropped.
type Log struct{ core *core }

// Debug writes a line that is shown only on demand. kv are pairs of a key and
// a value.
func (l *Log) Debug(message string, kv ...any) { l.write(pluginv1.Log_LEVEL_DEBUG, message, kv) }

// Info writes a line.
func (l *Log) Info(message string, kv ...any) { l.write(pluginv1.Log_LEVEL_INFO, message, kv) }

// Warn writes a line about something that may need a person's attention.
func (l *Log) Warn(message string, kv ...any) { l.write(pluginv1.Log_LEVEL_WARN, message, kv) }

// Error writes a line about something that went wrong and was survived.
func (l *Log) Error(message string, kv ...any) { l.write(pluginv1.Log_LEVEL_ERROR, message, kv) }

func (l *Log) write(level pluginv1.Log_Level, message string, kv []any) {
	l.core.log(level, message, kv)
}

func (c *core) log(level pluginv1.Log_Level, message string, kv []any) {
	fields := c.masks.now().bytes(logFields(kv))
	if len(fields) > maxLogText || len(kv) > 0 && !json.Valid(fields) {
		fields, _ = json.Marshal(map[string]string{"dropped": "the fields are too large or are not JSON"})
	}
	c.events.log(level, cut(c.masks.now().text(message), maxLogText), fields, c.now())
}

// logFields encodes pairs as one JSON object. A value that is no JSON is
// written as text.
func logFields(kv []any) []byte {
	if len(kv) == 0 {
		return nil
	}
	fields := map[string]any{}
	for i := 0; i < len(kv); i += 2 {
		key := fmt.Sprint(kv[i])
		if i+1 == len(kv) {
			fields["extra"] = key
			break
		}
		fields[key] = logValue(kv[i+1])
	}
	encoded, err := marshalJSON(fields)
	if err != nil {
		return nil
	}
	return encoded
}

func logValue(v any) any {
	switch typed := v.(type) {
	case error:
		return typed.Error()
	case string, bool, int, int64:
		return typed
	case fmt.Stringer:
		return typed.String()
	}
	if _, err := json.Marshal(v); err != nil {
		return fmt.Sprint(v)
	}
	return v
}
