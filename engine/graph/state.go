package graph

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/runs"
)

// State is how a step of a run is. Text is a few letters beside its mark: how
// long it took, how many items are done.
type State struct {
	Status runs.StepStatus
	Text   string
	// Warn says that the step ended well though parts of it failed: the items of a loop
	// that collects its errors.
	Warn bool
}

// The mark and the class of a State with Warn.
const (
	warnClass = "t-wait"
	warnMark  = "M8 2.8 14 13.2H2ZM8 6.8v3M8 11.6h.1"
)

// tags are the mark and the class of each status.
var tags = map[runs.StepStatus]struct{ class, mark string }{
	runs.StepPending:   {"t-calm", "M4 8h.1M8 8h.1M12 8h.1"},
	runs.StepRunning:   {"t-run", "M8 3a5 5 0 1 1-5 5"},
	runs.StepWaiting:   {"t-wait", "M8 3a5 5 0 1 1-.1 0M8 5v3l2 1.4"},
	runs.StepRetrying:  {"t-wait", "M12.5 8A4.5 4.5 0 1 1 11 4.7M12.5 2.7v2.5H10"},
	runs.StepSucceeded: {"t-ok", "m3.5 8.3 3 3 6-6.5"},
	runs.StepFailed:    {"t-bad", "m4.5 4.5 7 7m0-7-7 7"},
	runs.StepSkipped:   {"t-calm", "m4 4.5 3.5 3.5L4 11.5m5-7L12.5 8 9 11.5"},
	runs.StepBlocked:   {"t-calm", "M4 8h8"},
	runs.StepCanceled:  {"t-calm", "M8 3a5 5 0 1 1-.1 0M4.5 11.5l7-7"},
	runs.StepUnknown:   {"t-hold", "M6 6a2 2 0 1 1 2 2.3v1.2M8 12h.1"},
}

func (s State) tone() string {
	if s.Warn {
		return warnClass
	}
	return cmp.Or(tags[s.Status].class, "t-calm")
}

func (s State) mark() string {
	if s.Warn {
		return warnMark
	}
	return tags[s.Status].mark
}

// words are the state for those who don't see the mark.
func (s State) words() string {
	status := string(s.Status)
	if s.Warn {
		status += " with failures"
	}
	return strings.TrimSuffix(status+", "+s.Text, ", ")
}

// Sizes of a tag, in pixels.
const (
	tagHigh = 18
	tagWide = 6.65 // of its 11 px letters
	tagMark = 14
)

// tagSunk is how much of a tag lies inside its box. Below a loop's last step there is
// room for its tag and the loop's own.
const tagSunk = 4

// tag writes a state over the lower right corner of a box, which ends at right and
// bottom: arrows come in at the top.
func (d *drawing) tag(right, bottom int, state State) {
	width := tagMark + 8
	if state.Text != "" {
		width += textWidth(state.Text, tagWide) + 5
	}
	x, y := right-width-8, bottom-tagSunk
	fmt.Fprintf(&d.body, "<g class=\"tag\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"9\"/>", x, y, width, tagHigh)
	d.mark(x+4, y+2, state.mark())
	d.text("", x+tagMark+7, y+13, state.Text, tagWide)
	d.body.WriteString("</g>")
}

func (d *drawing) mark(x, y int, path string) {
	fmt.Fprintf(&d.body, "<svg x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" viewBox=\"0 0 16 16\"><path d=\"%s\"/></svg>", x, y, tagMark, tagMark, path)
}

// warns reports whether a state is shown that ended well though parts of it failed.
func (o Options) warns() bool {
	for _, state := range o.States {
		if state.Warn {
			return true
		}
	}
	return false
}

func (d *drawing) link(path string) string {
	if d.options.Link == nil {
		return ""
	}
	return d.options.Link(path)
}

// stateStyle has the colours of states, for a drawing with a style sheet.
const stateStyle = `ROOT{--ok:#14713f;--bad:#b3261e;--run:#1d4fb8;--wait:#835500;--hold:#7336ab}
@media (prefers-color-scheme:dark){ROOT{--ok:#62cf95;--bad:#ff938b;--run:#86b1ff;--wait:#e6b660;--hold:#cba3f3}}
ROOT .t-ok{--c:var(--ok)}ROOT .t-bad{--c:var(--bad)}ROOT .t-run{--c:var(--run)}ROOT .t-wait{--c:var(--wait)}ROOT .t-hold{--c:var(--hold)}ROOT .t-calm{--c:var(--mute)}
ROOT .in>rect{stroke:var(--c)}ROOT .out .title{fill:var(--mute)}ROOT .tag rect{fill:var(--page);stroke:var(--c)}ROOT .tag path{fill:none;stroke:var(--c);stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
ROOT .tag text{fill:var(--c);font-size:11px}
`
