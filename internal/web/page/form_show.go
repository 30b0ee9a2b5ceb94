package page

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/flowrun/flowrun/engine/workspace"
)

// longText is the length from which a text gets several lines.
const longText = 200

// exactNumber is the largest integer that a number's control keeps exact.
const exactNumber = 1 << 53

// show chooses the control and fills it with a JSON value; nil is an empty one.
func (f *field) show(value json.RawMessage) {
	empty := len(value) == 0 || string(value) == "null"
	switch f.Kind {
	case workspace.FieldChoice:
		f.showChoice(value)
	case workspace.FieldBoolean:
		f.showBoolean(value)
	case workspace.FieldInteger, workspace.FieldNumber:
		if empty {
			value = nil
		}
		f.showNumber(string(value))
	case workspace.FieldTime:
		f.showTime(plainText(value), empty)
	case workspace.FieldList:
		f.showList(value, empty)
	case workspace.FieldJSON:
		f.showJSON(value, empty)
	case workspace.FieldText:
		f.showText(value, empty)
	default:
		f.Control, f.Type = controlInput, "text"
		if !empty && f.Kind != workspace.FieldSecret {
			f.Value = plainText(value)
		}
	}
}

// showText keeps every text: one that a control would change is shown as JSON.
func (f *field) showText(value json.RawMessage, empty bool) {
	f.Control, f.Type = controlInput, "text"
	if f.MaxLength != nil && *f.MaxLength >= longText {
		f.Control, f.Rows = controlArea, 4
	}
	if empty {
		return
	}
	text := plainText(value)
	f.Value = text
	switch {
	case text == "" && f.Nullable, strings.ContainsFunc(text, lostByControls):
		f.asJSON(value)
	case strings.Contains(text, "\n") || len(text) >= longText:
		f.Control, f.Rows = controlArea, rowsOf(text, 3)
	}
}

// lostByControls reports whether browsers change the character when they send a
// control's value.
func lostByControls(r rune) bool { return r == '\r' || r == 0 || unicode.Is(unicode.Cs, r) }

func (f *field) asJSON(value json.RawMessage) {
	f.AsJSON, f.Control, f.Value = true, controlArea, workspace.ReadableJSON(value)
	f.Rows = rowsOf(f.Value, 3)
}

func (f *field) showJSON(value json.RawMessage, empty bool) {
	f.Control = controlArea
	if !empty {
		f.Value = workspace.ReadableJSON(value)
	}
	f.Rows = rowsOf(f.Value, 4)
}

// rowsOf is the height of an area: what is in it, within bounds.
func rowsOf(text string, least int) int {
	const most = 16
	return min(max(strings.Count(text, "\n")+1, least), most)
}

func (f *field) showChoice(value json.RawMessage) {
	f.Control, f.Options = controlSelect, nil
	shown := string(compacted(value))
	ok := false
	for _, choice := range f.Choices {
		selected := string(choice) == shown
		ok = ok || selected
		f.Options = append(f.Options, option{Value: string(choice), Text: plainText(choice), Selected: selected})
	}
	f.withoutValue(ok, shown)
}

// withoutValue puts the choices in front that stand for no value: the one that
// says that none was made, and null.
func (f *field) withoutValue(ok bool, shown string) {
	var front []option
	if f.Default == nil && !f.Nullable && !ok {
		front = append(front, option{Text: "choose …", Selected: shown == ""})
	}
	if f.Nullable {
		front = append(front, option{Value: "null", Text: "no value (null)", Selected: shown == "null" || shown == ""})
	}
	if !ok && shown != "" && shown != "null" { // what was sent is none of them: it is shown all the same
		front = append(front, option{Value: shown, Text: plainText(json.RawMessage(shown)), Selected: true})
	}
	f.Options = append(front, f.Options...)
}

func compacted(value json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if json.Compact(&out, value) != nil {
		return value
	}
	return out.Bytes()
}

// showBoolean makes a box to tick where one of two holds from the beginning; who
// has to decide, decides.
func (f *field) showBoolean(value json.RawMessage) {
	shown := string(value)
	if f.Default != nil && !f.Nullable && (shown == "true" || shown == "false") {
		f.Control, f.Checked = controlCheck, shown == "true"
		return
	}
	f.Control, f.Options = controlSelect, nil
	for _, choice := range []option{{Value: "true", Text: "yes (true)"}, {Value: "false", Text: "no (false)"}} {
		choice.Selected = choice.Value == shown
		f.Options = append(f.Options, choice)
	}
	f.withoutValue(shown == "true" || shown == "false", shown)
}

// showNumber uses the browser's control for numbers unless it would change what
// is in it.
func (f *field) showNumber(text string) {
	f.Control, f.Type, f.Value = controlInput, "number", text
	f.Low, f.High, f.Step = boundText(f.Min), boundText(f.Max), "any"
	if f.Kind == workspace.FieldInteger {
		f.Step = "1"
	}
	number, err := strconv.ParseFloat(text, 64)
	if text != "" && (err != nil || math.Abs(number) >= exactNumber || !json.Valid([]byte(text))) {
		f.Type = "text"
	}
}

// The forms of a time in the browser's control.
const (
	localTime   = "2006-01-02T15:04:05"
	localMillis = "2006-01-02T15:04:05.000"
)

// showTime shows a time by the clock of the form's zone, or of UTC where that
// clock has it twice. What the control can't hold stays text.
func (f *field) showTime(text string, empty bool) {
	f.Control, f.Type, f.Step = controlTime, "datetime-local", "1"
	zone := f.zone
	at, err := time.Parse(time.RFC3339, text)
	switch {
	case empty:
		text = ""
	case err != nil || at.Year() < 1 || at.Year() > 9999 || at.Nanosecond()%int(time.Millisecond) != 0:
		f.Type = "text"
	default:
		if len(civil(at.In(zone), zone)) != 1 {
			zone = time.UTC
		}
		text = at.In(zone).Format(localTime)
		if at.Nanosecond() != 0 {
			text, f.Step = at.In(zone).Format(localMillis), "0.001"
		}
	}
	f.Value = text
	f.showZones(zone.String())
}

func (f *field) showZones(chosen string) {
	f.Zones = []option{{Value: "UTC", Text: "UTC"}}
	if name := f.zone.String(); name != "UTC" {
		f.Zones = append([]option{{Value: name, Text: zoneText(f.zone)}}, f.Zones...)
	}
	for i := range f.Zones {
		f.Zones[i].Selected = f.Zones[i].Value == chosen
	}
}

// plainZone is UTC for the zone of a machine that has no other.
func plainZone(zone *time.Location) *time.Location {
	for _, month := range []time.Month{time.January, time.July} {
		if name, offset := time.Date(2026, month, 1, 0, 0, 0, 0, zone).Zone(); name != "UTC" || offset != 0 {
			return zone
		}
	}
	return time.UTC
}

// zoneText names a zone for people: that of the machine has no name of its own but
// those of its winter and its summer.
func zoneText(zone *time.Location) string {
	if zone != time.Local {
		return zone.String()
	}
	winter, _ := time.Date(2026, time.January, 1, 0, 0, 0, 0, zone).Zone()
	summer, _ := time.Date(2026, time.July, 1, 0, 0, 0, 0, zone).Zone()
	if winter == summer {
		return winter
	}
	return winter + "/" + summer
}

// chosenZone is the zone that a time's control shows.
func (f *field) chosenZone() string {
	for _, zone := range f.Zones {
		if zone.Selected {
			return zone.Value
		}
	}
	return ""
}

// civil returns the instants at which the clock of a zone shows the same as at
// this one: two in an hour that is repeated.
func civil(at time.Time, zone *time.Location) []time.Time {
	shown := at.In(zone).Format(localMillis)
	var all []time.Time
	const step = 15 * time.Minute // the smallest change of any clock is 20 minutes or a multiple of this
	for shift := -3 * time.Hour; shift <= 3*time.Hour; shift += step {
		if moved := at.Add(shift); moved.In(zone).Format(localMillis) == shown {
			all = append(all, moved)
		}
	}
	return all
}

// showList shows one item a line, and as JSON where lines can't tell.
func (f *field) showList(value json.RawMessage, empty bool) {
	f.Control, f.Rows = controlArea, 3
	if empty {
		return
	}
	var items []json.RawMessage
	if json.Unmarshal(value, &items) != nil {
		f.asJSON(value)
		return
	}
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i] = plainText(item)
	}
	text := strings.Join(lines, "\n")
	if (len(items) == 0 && f.Nullable) || !f.keptByLines(items, text) {
		f.asJSON(value)
		return
	}
	f.Value, f.Rows = text, rowsOf(text, 3)
}

// keptByLines reports whether reading the lines gives the same items.
func (f *field) keptByLines(items []json.RawMessage, text string) bool {
	read, err := f.items(text)
	if err != nil {
		return false
	}
	again, err := json.Marshal(items)
	return err == nil && string(compacted(read)) == string(compacted(again))
}
