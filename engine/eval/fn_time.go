package eval

import (
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/schema"
)

func timeFunctions() []*function {
	return []*function{
		{
			signature: "now(): time", doc: "The recorded time of the event that led to this evaluation: a resumed run sees the same.", example: "now()",
			run: func(m *machine, _ []any) (any, error) { return schema.FixZone(m.at), nil },
		},
		{
			signature: "duration(text: text): duration", doc: `The duration of a text such as "90s", "7d", "1h30m" or "PT20M".`, example: `duration("168h")`,
			result: (*call).durationLiteral,
			run:    func(_ *machine, args []any) (any, error) { return parseDuration(args[0].(string)) },
		},
		{
			signature: "date(text: text|time, layout?: text, zone?: text): time", doc: "The time of a text in a common form, or in a Go layout; a time stays as it is. parseTime is stricter.", example: `date("2026-01-02")`,
			result: (*call).layoutAndZone,
			run:    func(m *machine, args []any) (any, error) { return m.date(args) },
		},
		{
			signature: "formatTime(time: time, layout: text, zone?: text): text", doc: "The text of a time by a Go layout, in a zone (by default UTC).", example: `formatTime(run.scheduled_at, "2006-01-02 15:04:05", "Europe/Berlin")`,
			result: (*call).layoutAndZone,
			run: func(m *machine, args []any) (any, error) {
				t, err := m.inZone(args[0].(time.Time), args, 2)
				if err != nil {
					return nil, err
				}
				layout := args[1].(string)
				if err := m.text(10*len(layout) + 16); err != nil {
					return nil, err
				}
				return t.Format(layout), m.step(len(layout) / 16)
			},
		},
		{
			signature: "parseTime(text: text, layout: text, zone?: text): time", doc: "The time of a text by a Go layout; a text without an offset is in the zone (by default UTC), and the first of an hour that comes twice.", example: `parseTime("02.01.2026", "02.01.2006", "Europe/Berlin")`,
			result: (*call).layoutAndZone,
			run: func(m *machine, args []any) (any, error) {
				zone, err := m.zone(args, 2)
				if err != nil {
					return nil, err
				}
				text, layout := args[0].(string), args[1].(string)
				if err := m.step((len(text) + len(layout)) / 16); err != nil {
					return nil, err
				}
				t, err := time.ParseInLocation(layout, text, zone)
				if err != nil {
					return nil, failf("parseTime: %s does not have the layout %s", shorten(text), shorten(layout))
				}
				if !namesOffset(layout) {
					t = firstOccurrence(t)
				}
				return schema.FixZone(t), nil
			},
		},
	}
}

// namesOffset reports whether a layout reads the zone out of the text.
func namesOffset(layout string) bool {
	return strings.Contains(layout, "-07") || strings.Contains(layout, "Z07") || strings.Contains(layout, "MST")
}

// parseDuration reads the language's durations and Go's, such as "1.5h".
func parseDuration(text string) (any, error) {
	d, err := duration.Signed(text)
	if err == nil {
		return d, nil
	}
	if d, goErr := time.ParseDuration(text); goErr == nil && text != "0" {
		return d, nil
	}
	return nil, failf("%v", err)
}

// dateLayouts are the forms that expr's date takes.
func dateLayouts() []string {
	return []string{
		"2006-01-02", "15:04:05", "2006-01-02 15:04:05", time.RFC3339, time.RFC822, time.RFC850, time.RFC1123,
	}
}

func (m *machine) date(args []any) (any, error) {
	zone, err := m.zone(args, 2)
	if err != nil {
		return nil, err
	}
	layouts := dateLayouts()
	if len(args) > 1 {
		layouts = []string{args[1].(string)}
	}
	if t, is := args[0].(time.Time); is {
		return t, nil
	}
	text := args[0].(string)
	if err := m.step(2 + len(text)/16); err != nil {
		return nil, err
	}
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			if !namesOffset(layout) {
				t = firstOccurrence(t)
			}
			return schema.FixZone(t), nil
		}
	}
	return nil, failf("date: %s is not a time", shorten(text)).
		hint("write it as 2006-01-02 or 2006-01-02T15:04:05Z, or give a layout")
}

// zone returns the zone of the i-th argument, UTC when it is left out.
func (m *machine) zone(args []any, i int) (*time.Location, error) {
	if len(args) <= i {
		return time.UTC, nil
	}
	name := args[i].(string)
	if zone := m.zones[name]; zone != nil {
		return zone, nil
	}
	if err := m.step(500); err != nil { // reads the zone's file
		return nil, err
	}
	zone, err := m.loadedZone(name)
	if err != nil {
		return nil, err
	}
	if m.zones == nil {
		m.zones = map[string]*time.Location{}
	}
	m.zones[name] = zone
	return zone, nil
}

// loadedZone finds a zone that an earlier run has loaded. What it costs does not
// depend on that: a run must end in the same way each time.
func (m *machine) loadedZone(name string) (*time.Location, error) {
	if m.known == nil {
		return loadZone(name)
	}
	if zone, ok := m.known.Load(name); ok {
		return zone.(*time.Location), nil
	}
	zone, err := loadZone(name)
	if err == nil {
		m.known.Store(name, zone)
	}
	return zone, err
}

// loadZone finds an IANA zone. The host's own zone is none: it differs from
// machine to machine.
func loadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" || strings.ContainsAny(name, "\\.") || strings.HasPrefix(name, "/") {
		return nil, failf("%s is not a time zone", shorten(name)).hint("write an IANA name such as Europe/Berlin, or UTC")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, failf("%s is not a time zone", shorten(name)).hint("write an IANA name such as Europe/Berlin, or UTC")
	}
	return zone, nil
}

func (m *machine) inZone(t time.Time, args []any, i int) (time.Time, error) {
	zone, err := m.zone(args, i)
	if err != nil {
		return time.Time{}, err
	}
	return t.In(zone), nil
}
