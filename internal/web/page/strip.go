package page

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/runs"
)

// stripHalf is how far the strip of a schedule looks back and ahead: a day in
// all.
const stripHalf = 12 * time.Hour

// slotMark is one slot of a schedule, or several that lie close together and ended
// alike.
type slotMark struct {
	from, to time.Time
	kind     string // the status of its run; skipped, coming
	note     string
	count    int
	more     bool // there are more between from and to than were counted
	paused   bool
}

// strip is the day around now of one schedule: what ran, what was skipped, what
// comes.
type strip struct {
	now      time.Time
	location *time.Location
	marks    []slotMark
}

// newStrip puts marks on a line, oldest first. What lies beyond it is left out.
func newStrip(now time.Time, location *time.Location, marks []slotMark) *strip {
	s := &strip{now: now, location: location}
	marks = slices.DeleteFunc(marks, func(m slotMark) bool { return m.from.Before(now.Add(-stripHalf)) || m.from.After(now.Add(stripHalf)) })
	order.Sort(marks, func(a, b slotMark) int { return a.from.Compare(b.from) })
	s.marks = thinned(joined(marks, stripHalf/30), stripHalf/24)
	return s
}

// joined makes one mark of neighbours that are alike and closer than gap: a
// schedule of every minute is a band.
func joined(marks []slotMark, gap time.Duration) []slotMark {
	var out []slotMark
	for _, next := range marks {
		if last := len(out) - 1; last >= 0 && out[last].kind == next.kind && next.from.Sub(out[last].to) <= gap {
			out[last].to = later(out[last].to, next.to)
			out[last].count, out[last].more = out[last].count+next.count, out[last].more || next.more
			if out[last].note != next.note {
				out[last].note = ""
			}
			continue
		}
		out = append(out, next)
	}
	return out
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// mostMarks bounds what one line draws.
const mostMarks = 64

// thinned makes buckets of too many marks. Each has the kind that is worth
// looking at first.
func thinned(marks []slotMark, bucket time.Duration) []slotMark {
	if len(marks) <= mostMarks {
		return marks
	}
	var out []slotMark
	for _, next := range marks {
		last := len(out) - 1
		if last < 0 || next.from.Sub(out[last].from) >= bucket || (out[last].kind == "coming") != (next.kind == "coming") {
			out = append(out, next)
			continue
		}
		out[last].to = later(out[last].to, next.to)
		out[last].count, out[last].more = out[last].count+next.count, out[last].more || next.more
		if urgency(next.kind) > urgency(out[last].kind) {
			out[last].kind, out[last].note = next.kind, next.note
		}
	}
	return out
}

// urgency orders what hides what.
func urgency(kind string) int {
	return slices.Index([]string{"coming", "succeeded", "ran", "canceled", "queued", "running", "waiting", "skipped", "paused", "timed_out", "failed"}, kind)
}

// place is how far along the line a time lies, in percent.
func (s *strip) place(at time.Time) float64 {
	return 50 + 50*float64(at.Sub(s.now))/float64(stripHalf)
}

// Words says what the line shows.
func (s *strip) Words() string {
	counts, more := map[string]int{}, map[string]string{}
	var order []string
	for _, m := range s.marks {
		if counts[m.kind] == 0 {
			order = append(order, m.kind)
		}
		counts[m.kind] += m.count
		if m.more {
			more[m.kind] = " and more"
		}
	}
	if len(order) == 0 {
		return "nothing in the 12 hours before and after now"
	}
	parts := make([]string, len(order))
	for i, kind := range order {
		parts[i] = fmt.Sprintf("%d%s %s", counts[kind], more[kind], strings.ReplaceAll(kind, "_", " "))
	}
	return "12 hours before and after now: " + strings.Join(parts, ", ")
}

// SVG draws the line. Its positions are shares of the width, so that it fits any
// without growing distorted.
func (s *strip) SVG() template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="strip" role="img" aria-label="%s" width="100%%" height="26">`, template.HTMLEscapeString(s.Words()))
	for _, tick := range s.ticks() {
		fmt.Fprintf(&b, `<line class="tick" x1="%s" x2="%s" y1="3" y2="23"/>`, percent(s.place(tick)), percent(s.place(tick)))
	}
	b.WriteString(`<line class="rail" x1="0" x2="100%" y1="13" y2="13"/>`)
	for _, m := range s.marks {
		s.mark(&b, m)
	}
	b.WriteString(`<line class="now" x1="50%" x2="50%" y1="0" y2="26"/></svg>`)
	return template.HTML(b.String()) //nolint:gosec // texts are escaped
}

// markClasses are the classes of marks that are of no status.
var markClasses = map[string]string{"coming": "coming", "skipped": "missed", "ran": "t-ok"}

// shapes tell the kinds apart without their colours.
func (s *strip) mark(b *strings.Builder, m slotMark) {
	class := cmp.Or(markClasses[m.kind], "t-"+toneOf(m.kind))
	if m.paused {
		class += " off"
	}
	from, to := s.place(m.from), s.place(m.to)
	fmt.Fprintf(b, `<g class="%s">`, class)
	switch {
	case to-from > 1:
		fmt.Fprintf(b, `<rect x="%s" width="%s" y="8" height="10" rx="5"/>`, percent(from), percent(to-from))
	case m.kind == "skipped": // a cross, in a box that is placed by its middle
		fmt.Fprintf(b, `<svg x="%s" y="8" width="1" height="10" overflow="visible"><path d="m-5 0 10 10m0-10L-5 10"/></svg>`, percent(from))
	case toneOf(m.kind) == "bad":
		fmt.Fprintf(b, `<svg x="%s" y="7" width="1" height="12" overflow="visible"><path d="M0 0 6.5 12H-6.5Z"/></svg>`, percent(from))
	default:
		fmt.Fprintf(b, `<circle cx="%s" cy="13" r="5"/>`, percent((from+to)/2))
	}
	fmt.Fprintf(b, `<title>%s</title></g>`, template.HTMLEscapeString(s.title(m)))
}

// title says what a mark is, for the pointer.
func (s *strip) title(m slotMark) string {
	kind := strings.ReplaceAll(m.kind, "_", " ")
	if m.paused {
		kind += ", but paused"
	}
	text := clockOf(m.from.In(s.location)) + " " + kind
	if m.to.Sub(m.from) >= time.Second {
		text = clockOf(m.from.In(s.location)) + "–" + clockOf(m.to.In(s.location)) + " " + kind
	}
	switch {
	case m.more:
		text += " (many)"
	case m.count > 1:
		text += fmt.Sprintf(" (%d)", m.count)
	}
	if m.note != "" {
		text += ": " + m.note
	}
	return text
}

// ticks are the hours that the axis names: every third of the location's clock.
func (s *strip) ticks() []time.Time {
	var ticks []time.Time
	begin := s.now.Add(-stripHalf).In(s.location)
	at := time.Date(begin.Year(), begin.Month(), begin.Day(), begin.Hour(), 0, 0, 0, s.location)
	for ; !at.After(s.now.Add(stripHalf)); at = at.Add(time.Hour) {
		if at.In(s.location).Hour()%3 == 0 && at.After(begin) {
			ticks = append(ticks, at)
		}
	}
	return ticks
}

// axis is the line of hours above the strips.
func axis(now time.Time, location *time.Location) template.HTML {
	s := &strip{now: now, location: location}
	var b strings.Builder
	b.WriteString(`<svg class="strip hours" aria-hidden="true" width="100%" height="18">`)
	for _, tick := range s.ticks() {
		place := s.place(tick)
		if place < 3 || place > 97 || place > 43 && place < 57 {
			continue
		}
		class := ""
		if tick.In(location).Hour()%6 != 0 || place > 36 && place < 64 {
			class = ` class="odd"` // left out where there is little room
		}
		fmt.Fprintf(&b, `<text%s x="%s" y="13" text-anchor="middle">%s</text>`, class, percent(place), tick.In(location).Format("15:04"))
	}
	b.WriteString(`<text class="is" x="50%" y="13" text-anchor="middle">now</text></svg>`)
	return template.HTML(b.String()) //nolint:gosec // digits alone
}

// skipTexts say why a slot has no run.
var skipTexts = map[string]string{
	runs.SkipOverlap:  "the run before it was still active",
	runs.SkipLate:     "nobody was there, and it lies before the catch-up window",
	runs.SkipCatchup:  "missed, and a later slot was taken in its place",
	runs.SkipPaused:   "the schedule was paused",
	runs.SkipRestored: "it lies before the restore of the store",
	runs.SkipInvalid:  "the inputs could not be made",
	runs.SkipBusy:     "there was no room for another run",
	runs.SkipRepeated: "the event has its run already",
	runs.SkipFailed:   "the call of the poll failed",
	runs.SkipBacklog:  "more slots were missed than are looked at",
}

// skipText is the reason in words; one that is not known stays as it is.
func skipText(reason string) string { return cmp.Or(skipTexts[reason], reason) }
