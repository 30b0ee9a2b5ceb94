package page

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/order"
)

const maxLanes = 8

// loopBars are the items of a loop in lanes, and below them where they failed.
func (m *rowMaker) loopBars(n *node) template.HTML {
	var list []bar
	for _, one := range n.items {
		from, to := times(one.nodes)
		if from.IsZero() {
			continue
		}
		status, to := string(one.status), cmp.Or(to, m.now)
		list = append(list, bar{from: from, to: to, tone: toneOf(status), kind: "item", title: one.key + ": " + status + ", " + duration(to.Sub(from))})
	}
	lanes(list, min(max(n.def.Loop.MaxParallel, 1), maxLanes))
	failed := failures(m.scale, list)
	list = thin(m.scale, list)
	order.Sort(list, func(a, b bar) int { return cmp.Compare(badness(a), badness(b)) }) // drawn last, a failure lies on top
	words := barWords(n.step, m.now) + "; " + newLoopItems(n).words()
	return m.scale.bars(append(append(m.gapBars(), list...), failed...), words)
}

func badness(b bar) int {
	if b.tone == "bad" {
		return 1
	}
	return 0
}

// failureWidth is how much of the width a mark of failures takes, in per cent.
const failureWidth = 4

// failures are marks for the items that failed: those that would lie on each other
// are one mark with their number.
func failures(s *scale, list []bar) []bar {
	var ends []time.Time
	for _, b := range list {
		if b.tone == "bad" {
			ends = append(ends, b.to)
		}
	}
	slices.SortFunc(ends, time.Time.Compare)
	var marks []bar
	for _, at := range ends {
		if last := len(marks) - 1; last >= 0 && s.x(at)-s.x(marks[last].from) < failureWidth {
			marks[last].to, marks[last].count = at, marks[last].count+1
			continue
		}
		marks = append(marks, bar{from: at, to: at, tone: "bad", kind: "failed", count: 1})
	}
	for i := range marks {
		marks[i].title = plural(marks[i].count, "item") + " failed"
	}
	return marks
}

// thin joins bars of a lane that would lie on the same spot and have the same
// colour, so that a loop of thousands of items stays small.
func thin(s *scale, list []bar) []bar {
	if len(list) <= 200 {
		return list
	}
	type place struct {
		lane int
		tone string
	}
	var kept []bar
	last := map[place]int{} // indexes in kept
	for _, b := range list {
		at := place{b.lane, b.tone}
		if i, ok := last[at]; ok && s.x(b.to)-s.x(kept[i].from) < 0.4 {
			kept[i].to = later(kept[i].to, b.to)
			kept[i].count++
			continue
		}
		last[at] = len(kept)
		b.count = 1
		kept = append(kept, b)
	}
	for i := range kept {
		if kept[i].count > 1 {
			kept[i].title = plural(kept[i].count, "item") + " " + toneWords[kept[i].tone]
		}
	}
	return kept
}

// toneWords say what a colour stands for.
var toneWords = map[string]string{"ok": "succeeded", "bad": "failed", "run": "under way", "wait": "waiting", "hold": "of unknown outcome", "calm": "skipped, blocked or canceled"}

// failureHigh is how high the line of the failures is.
const failureHigh = 11

// failure draws a mark of failures at a place from the top.
func (s *scale) failure(out *strings.Builder, b bar, top int) {
	fmt.Fprintf(out, `<svg class="t-bad failed" x="%s" y="%d" width="1" height="%d" overflow="visible"><title>%s</title><path d="m-3 3 6 6m0-6-6 6"/>`,
		percent(s.x(b.from)), top, failureHigh, template.HTMLEscapeString(b.title))
	if b.count > 1 {
		fmt.Fprintf(out, `<text x="6" y="10">%d</text>`, b.count)
	}
	out.WriteString(`</svg>`)
}
