package page

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/runs"
)

// A time line is drawn row by row: each row is an SVG as wide as its cell, with
// places in per cent, so that nothing is laid by a script or an inline style.

// scale turns times into places. Long times in which nothing is done are folded:
// they take foldWidth of the width, whatever their length.
type scale struct {
	pieces []piece
	ticks  []tick
}

// piece is a part of the axis: [from, to) at [left, right), both in per cent.
type piece struct {
	from, to    time.Time
	left, right float64
	folded      bool
}

// tick is a mark of the axis.
type tick struct {
	X    float64
	Text string
}

const (
	foldWidth = 7.0         // per cent
	foldLeast = time.Minute // shorter times are never folded
	foldShare = 0.25        // of the whole: shorter times are not folded
	maxFolds  = 5
	lineRight = 98.5 // the end of the axis, so that a last mark has room
)

// interval is a time from, to.
type interval struct{ from, to time.Time }

// newScale makes the axis of [from, to). busy are the times in which something
// is done; open says that it goes on, so that the axis ends at a round time.
func newScale(from, to time.Time, busy []interval, open bool) *scale {
	if to.Sub(from) < 10*time.Millisecond {
		to = from.Add(10 * time.Millisecond)
	}
	idle := idleTimes(from, to, busy)
	if len(idle) == 0 && open {
		to = from.Add(roundUp(to.Sub(from)))
	}
	s := &scale{}
	linear := to.Sub(from)
	for _, i := range idle {
		linear -= i.to.Sub(i.from)
	}
	width := lineRight - foldWidth*float64(len(idle))
	at, left := from, 0.0
	add := func(end time.Time, share float64, folded bool) {
		if end.After(at) {
			s.pieces = append(s.pieces, piece{at, end, left, left + share, folded})
			at, left = end, left+share
		}
	}
	for _, i := range idle {
		add(i.from, width*float64(i.from.Sub(at))/float64(max(linear, 1)), false)
		add(i.to, foldWidth, true)
	}
	add(to, lineRight-left, false)
	s.mark(from)
	return s
}

// idleTimes are the longest times of [from, to) in which nothing is busy and that
// are worth to be folded, in their order. A little of each stays at its ends, so
// that a wait is still seen as a bar.
func idleTimes(from, to time.Time, busy []interval) []interval {
	total := to.Sub(from)
	rest := total // what is not folded
	order.Sort(busy, func(a, b interval) int { return a.from.Compare(b.from) })
	var idle []interval
	at := from
	look := func(end time.Time) {
		if d := end.Sub(at); d >= foldLeast && float64(d) >= foldShare*float64(total) && len(idle) < maxFolds {
			idle = append(idle, interval{at, end})
			rest -= d
		}
	}
	for _, b := range busy {
		look(b.from)
		at = later(at, b.to)
	}
	look(to)
	for i := range idle {
		edge := min(idle[i].to.Sub(idle[i].from)/20, max(rest/6, 20*time.Millisecond))
		idle[i].from, idle[i].to = idle[i].from.Add(edge), idle[i].to.Add(-edge)
	}
	return idle
}

// roundTimes are the lengths that an open axis has.
var roundTimes = []time.Duration{
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
	20 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

func roundUp(d time.Duration) time.Duration {
	for _, round := range roundTimes {
		if d < round*9/10 {
			return round
		}
	}
	return d + d/10
}

// mark writes the ticks: round times of an axis without folds, else the ends of
// its pieces.
func (s *scale) mark(from time.Time) {
	if len(s.pieces) == 1 {
		length := s.pieces[0].to.Sub(from)
		step := tickStep(length)
		for at := time.Duration(0); at <= length; at += step {
			s.ticks = append(s.ticks, tick{s.x(from.Add(at)), tickText(at)})
		}
		return
	}
	s.ticks = append(s.ticks, tick{0, "0"})
	if first := s.pieces[0]; !first.folded && first.right > 20 {
		step := tickStep(2 * first.to.Sub(from))
		for at := step; at < first.to.Sub(from)*9/10; at += step {
			s.ticks = append(s.ticks, tick{s.x(from.Add(at)), tickText(at)})
		}
	}
	for _, p := range s.pieces[1:] {
		if last := s.ticks[len(s.ticks)-1]; p.left-last.X > 8 {
			s.ticks = append(s.ticks, tick{p.left, tickText(p.from.Sub(from))})
		}
	}
}

func tickStep(length time.Duration) time.Duration {
	for _, round := range append([]time.Duration{
		time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	}, roundTimes...) {
		if length/round <= 6 {
			return round
		}
	}
	return max(length/5, 1).Truncate(time.Hour)
}

func tickText(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	text := duration(d)
	return strings.TrimSuffix(strings.TrimSuffix(text, "00s"), "00m")
}

// x is the place of a time in per cent.
func (s *scale) x(t time.Time) float64 {
	for _, p := range s.pieces {
		if t.Before(p.to) {
			if t.Before(p.from) {
				return p.left
			}
			return p.left + (p.right-p.left)*float64(t.Sub(p.from))/float64(p.to.Sub(p.from))
		}
	}
	return lineRight
}

// axis is the head of the time line: times, folds and, in defs, the grid that the
// rows repeat.
func (s *scale) axis() template.HTML {
	var out strings.Builder
	out.WriteString(`<svg class="axis" height="18" aria-hidden="true"><defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V6"/></pattern><g id="grid">`)
	for _, p := range s.pieces {
		if p.folded {
			fmt.Fprintf(&out, `<rect class="fold" x="%s" y="0" width="%s" height="100%%"/>`, percent(p.left), percent(p.right-p.left))
		}
	}
	for _, t := range s.ticks {
		fmt.Fprintf(&out, `<line x1="%[1]s" x2="%[1]s" y1="0" y2="100%%"/>`, percent(t.X))
	}
	out.WriteString(`</g></defs>`)
	for _, p := range s.pieces {
		if p.folded {
			fmt.Fprintf(&out, `<text class="folded" x="%s" y="13">%s</text>`, percent((p.left+p.right)/2), duration(p.to.Sub(p.from)))
		}
	}
	for _, t := range s.ticks {
		if !s.covered(t.X) {
			fmt.Fprintf(&out, `<text x="%s" y="13">%s</text>`, percent(t.X), t.Text)
		}
	}
	out.WriteString(`</svg>`)
	return template.HTML(out.String()) //nolint:gosec // digits and units
}

// covered reports whether the text of a fold stands where a tick's would.
func (s *scale) covered(x float64) bool {
	for _, p := range s.pieces {
		if p.folded && x >= p.left-1 && x < p.right {
			return true
		}
	}
	return false
}

func percent(x float64) string {
	text := fmt.Sprintf("%.2f", x)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "%"
}

// bar is one piece of a row.
type bar struct {
	from, to time.Time
	tone     string // ok, bad, run, wait, hold, calm
	kind     string // "" = work, wait, gap, item; failed = a mark below the lanes
	title    string
	lane     int
	count    int // how many items it stands for
}

const (
	rowHigh  = 22
	barHigh  = 10
	waitHigh = 4
	laneHigh = 5
)

// bars draws a row. Of many lanes each is thin.
func (s *scale) bars(list []bar, words string) template.HTML {
	lanes, below := 0, 0
	for _, b := range list {
		lanes = max(lanes, b.lane+1)
		if b.kind == "failed" {
			below = failureHigh
		}
	}
	height := rowHigh
	if lanes > 1 {
		height = max(rowHigh, lanes*(laneHigh+1)+8)
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg class="bars" height="%d" role="img" aria-label="%s"><use href="#grid"/>`, height+below, template.HTMLEscapeString(words))
	for _, b := range list {
		if b.kind == "failed" {
			s.failure(&out, b, height-1)
			continue
		}
		out.WriteString(s.bar(b, lanes, height))
	}
	out.WriteString(`</svg>`)
	return template.HTML(out.String()) //nolint:gosec // texts are escaped
}

func (s *scale) bar(b bar, lanes, height int) string {
	left, right := s.x(b.from), s.x(b.to)
	high, top := barHigh, (height-barHigh)/2
	switch {
	case b.kind == "wait":
		high, top = waitHigh, (height-waitHigh)/2
	case b.kind == "gap":
		high, top = height, 0
	case lanes > 1:
		high, top = laneHigh, 4+b.lane*(laneHigh+1)
	}
	title := ""
	if b.title != "" {
		title = "<title>" + template.HTMLEscapeString(b.title) + "</title>"
	}
	return fmt.Sprintf(`<rect class="t-%s %s" x="%s" y="%d" width="%s" height="%d" rx="2">%s</rect>`,
		b.tone, b.kind, percent(left), top, percent(max(right-left, 0.05)), high, title)
}

// spanBar is a call or a wait of a step as a bar.
func spanBar(span engine.Span, now time.Time) bar {
	b := bar{from: span.From, to: cmp.Or(span.To, now), tone: "run", title: spanText(span, now)}
	if span.Kind.Waits() {
		b.kind, b.tone = "wait", "wait"
		if span.Kind == engine.SpanSleep {
			b.tone = "calm"
		}
		return b
	}
	b.tone = cmp.Or(endTones[span.End], b.tone)
	return b
}

// endTones are the colours of calls by how they ended.
var endTones = map[engine.SpanEnd]string{
	engine.EndOK: "ok", engine.EndFailed: "bad", engine.EndPending: "wait", engine.EndCanceled: "calm", engine.EndLost: "hold",
}

// spanWords are what kinds of spans are called.
var spanWords = map[engine.SpanKind]string{
	engine.SpanCall: "call", engine.SpanAsk: "question what became of a lost call", engine.SpanChild: "run of the sub-workflow",
	engine.SpanRetry: "wait before the next attempt", engine.SpanPoll: "wait before asking again", engine.SpanRepeat: "wait before the next round",
	engine.SpanSleep: "sleep", engine.SpanLimit: "wait for the rate limit",
}

// spanWord is what a span is called.
func spanWord(span engine.Span) string {
	if span.Kind == engine.SpanLimit && span.Message != "" && span.Message != string(runs.WaitRateLimit) {
		return "held back: " + oneLine(span.Message)
	}
	return spanWords[span.Kind]
}

func spanText(span engine.Span, now time.Time) string {
	text := spanWord(span)
	if span.Kind == engine.SpanCall && span.Attempt > 0 {
		text = fmt.Sprintf("attempt %d", span.Attempt)
	}
	if page := runs.ParsePath(span.Operation).Part; page != "" {
		text += ", " + page
	}
	text += ": " + duration(cmp.Or(span.To, now).Sub(span.From))
	switch {
	case span.Error != nil:
		text += ", " + string(span.Error.Kind) + ": " + oneLine(span.Error.Message)
	case span.Cached:
		text += ", from the cache"
	case span.End == engine.EndLost:
		text += ", its answer was lost"
	case span.End == engine.EndPending:
		text += ", not done yet " + oneLine(span.Message)
	case span.To.IsZero():
		text += " so far"
	}
	return strings.TrimSpace(text)
}

// lanes gives intervals that overlap lanes of their own, at most limit of them.
func lanes(list []bar, limit int) {
	var ends []time.Time
	for i := range list {
		lane := -1
		for l, end := range ends {
			if !list[i].from.Before(end) {
				lane = l
				break
			}
		}
		if lane < 0 && len(ends) < limit {
			lane = len(ends)
			ends = append(ends, time.Time{})
		}
		if lane < 0 {
			lane = i % limit
		}
		list[i].lane = lane
		ends[lane] = later(ends[lane], list[i].to)
	}
}
