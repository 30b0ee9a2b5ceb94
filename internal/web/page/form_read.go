package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/workspace"
)

// take keeps what was sent as it is and makes an input of it. given is false for
// what counts as not filled in.
func (f *field) take(text string, values url.Values) (input workspace.Input, given bool, err error) {
	text = strings.ReplaceAll(text, "\r\n", "\n") // as HTML sends every line's end
	if values.Get(f.Input+".as") == "json" {
		f.AsJSON, f.Control, f.Value, f.Rows = true, controlArea, text, rowsOf(text, 3)
		return f.takeJSON(text)
	}
	f.AsJSON = false
	switch f.Kind {
	case workspace.FieldChoice:
		return f.takeChoice(text)
	case workspace.FieldBoolean:
		return f.takeBoolean(text)
	case workspace.FieldTime:
		return f.takeTime(text, values.Get(f.Input+".zone"))
	case workspace.FieldList:
		f.Control, f.Value, f.Rows = controlArea, text, rowsOf(text, 3)
		if strings.TrimSpace(text) == "" && f.Nullable {
			return null(), true, nil
		}
		items, err := f.items(text)
		return workspace.Input{JSON: items}, true, err
	case workspace.FieldJSON:
		f.Control, f.Value, f.Rows = controlArea, text, rowsOf(text, 4)
		return f.takeJSON(text)
	case workspace.FieldText:
		return f.takeText(text)
	case workspace.FieldInteger, workspace.FieldNumber:
		f.showNumber(text)
	case workspace.FieldSecret: // it is not shown again
	default:
		f.Value = text
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return f.nothing()
	}
	return workspace.Input{Text: text}, true, nil
}

func null() workspace.Input { return workspace.Input{JSON: json.RawMessage("null")} }

// nothing is what an empty control stands for: null where that is a value, else
// the default, or that it is missing.
func (f *field) nothing() (workspace.Input, bool, error) {
	if f.Nullable {
		return null(), true, nil
	}
	return workspace.Input{}, false, nil
}

// takeText takes a text as it is. An empty one is a text where another stood
// there from the beginning.
func (f *field) takeText(text string) (workspace.Input, bool, error) {
	f.Control, f.Type, f.Value = controlInput, "text", text
	if strings.Contains(text, "\n") || len(text) >= longText || f.MaxLength != nil && *f.MaxLength >= longText {
		f.Control, f.Rows = controlArea, rowsOf(text, 4)
	}
	if text == "" && (f.Nullable || f.Default == nil) {
		return f.nothing()
	}
	encoded, _ := json.Marshal(text) // a text
	return workspace.Input{JSON: encoded}, true, nil
}

func (f *field) takeChoice(text string) (workspace.Input, bool, error) {
	if text == "" {
		f.showChoice(nil)
		return workspace.Input{}, false, nil
	}
	if !f.isChoice(text) && text != "null" {
		encoded, _ := json.Marshal(text) // a text
		if !f.isChoice(string(encoded)) {
			f.showChoice(encoded)
			return workspace.Input{JSON: encoded}, true, nil // refused with the values that are allowed
		}
		text = string(encoded)
	}
	f.showChoice(json.RawMessage(text))
	return workspace.Input{JSON: json.RawMessage(text)}, true, nil
}

func (f *field) takeBoolean(text string) (workspace.Input, bool, error) {
	f.showBoolean(json.RawMessage(text))
	if text == "" {
		return f.nothing()
	}
	return workspace.Input{Text: text}, true, nil
}

func (f *field) takeJSON(text string) (workspace.Input, bool, error) {
	if strings.TrimSpace(text) == "" {
		return f.nothing()
	}
	if why := engine.WhyNoJSON([]byte(text)); why != "" {
		return workspace.Input{}, false, fmt.Errorf("this is not JSON: %s", why)
	}
	return workspace.Input{JSON: json.RawMessage(strings.TrimSpace(text))}, true, nil
}

// items reads a list: JSON, or one item a line, where empty lines count nothing.
func (f *field) items(text string) (json.RawMessage, error) {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "[") && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed), nil
	}
	items := []json.RawMessage{}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		items = append(items, f.item(line))
	}
	return json.Marshal(items)
}

// item is the JSON of a line. What does not fit its type is sent as text, which
// is refused with what was typed.
func (f *field) item(line string) json.RawMessage {
	encoded, _ := json.Marshal(line) // a text
	plain := json.RawMessage(line)
	switch f.Item {
	case workspace.FieldChoice:
		if !f.isChoice(string(encoded)) && f.isChoice(line) {
			return plain
		}
	case workspace.FieldInteger, workspace.FieldNumber, workspace.FieldBoolean:
		if json.Valid(plain) && !bytes.ContainsAny(plain, `"[{`) {
			return plain
		}
	}
	return encoded
}

// takeTime reads a time with its offset, or one of the clock of a zone.
func (f *field) takeTime(text, zoneName string) (workspace.Input, bool, error) {
	text = strings.TrimSpace(text)
	f.Control, f.Type, f.Step, f.Value = controlTime, "datetime-local", "1", text
	zone := f.zone
	if zoneName == "UTC" {
		zone = time.UTC
	}
	f.showZones(zone.String())
	if text == "" {
		return f.nothing()
	}
	for _, layout := range []string{"2006-01-02T15:04", localTime, "2006-01-02 15:04", "2006-01-02 15:04:05"} {
		at, err := time.ParseInLocation(layout, text, zone)
		if err != nil {
			continue
		}
		if at.Nanosecond() != 0 {
			f.Step = "0.001"
		}
		return f.civilTime(at, text, zone)
	}
	f.Type = "text"
	return workspace.Input{Text: text}, true, nil
}

// civilTime refuses what a clock never shows, and what it shows twice.
func (f *field) civilTime(at time.Time, text string, zone *time.Location) (workspace.Input, bool, error) {
	shown := at.Format("2006-01-02T15:04")
	switch {
	case strings.Replace(text, " ", "T", 1)[:len(shown)] != shown:
		return workspace.Input{}, false, fmt.Errorf("this time does not exist in %s: the clock is put forward there", zoneText(zone))
	case len(civil(at, zone)) > 1:
		return workspace.Input{}, false, fmt.Errorf("the clock of %s shows this time twice: give it in UTC", zoneText(zone))
	}
	return workspace.Input{Text: at.Format(time.RFC3339Nano)}, true, nil
}
