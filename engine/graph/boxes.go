package graph

import (
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/plan"
)

// Sizes of a box, in pixels.
const (
	padX      = 14
	padY      = 10
	titleLine = 20
	textLine  = 17
	charWide  = 7.25 // of the 12 px monospaced letters
	titleWide = 8.1  // of the 13 px bold ones
	pillWide  = 6.3  // of the 10 px ones
	pillPad   = 14
	minWidth  = 120
	maxLetter = 46 // of a line; the whole text is the box's title for people who point at it
	loopPad   = 16
)

// newFrame makes the boxes and arrows of a list of steps, and lays them.
func newFrame(w *plan.Workflow, steps []plan.Step, path string) *frame {
	f := &frame{}
	byID, levels := map[string]*box{}, plan.Levels(steps)
	for i := range steps {
		b := newBox(w, &steps[i], path)
		b.rank = levels[steps[i].ID] - 1
		f.boxes = append(f.boxes, b)
		byID[steps[i].ID] = b
	}
	for i := range steps {
		seen := map[string]bool{}
		add := func(ids []string, reads bool) {
			for _, id := range ids {
				if from := byID[id]; from != nil && from != f.boxes[i] && !seen[id] {
					seen[id] = true
					f.edges = append(f.edges, &edge{from: from, to: f.boxes[i], reads: reads})
				}
			}
		}
		add(steps[i].Needs, false)
		add(steps[i].Reads, true)
	}
	f.lay()
	return f
}

func newBox(w *plan.Workflow, step *plan.Step, path string) *box {
	b := &box{step: step, path: path + step.ID, title: step.ID, sub: describe(step), notes: notes(step)}
	if strings.HasPrefix(step.ID, "_") { // nobody can name it
		b.title, b.sub = b.sub, step.Title
	}
	if action := w.Actions[step.Uses]; action != nil && step.Kind == plan.StepAction && action.Plugin != "core" {
		b.effect = action.Effect
	}
	b.size()
	if step.Loop != nil {
		b.inner = newFrame(w, step.Loop.Steps, b.path+".")
		b.innerY = b.h + 2
		b.w = even(max(b.w, b.inner.width+2*loopPad))
		b.h = b.innerY + b.inner.height + loopPad
	}
	return b
}

// notes are what is worth knowing of a step at a glance.
func notes(step *plan.Step) []string {
	lines := conditions(step)
	if step.Paginate != nil {
		lines = append(lines, fmt.Sprintf("at most %d pages", step.Paginate.MaxPages))
	}
	if step.Repeat != nil {
		lines = append(lines, "every "+duration.Text(step.Repeat.Every)+" until "+oneLine(step.Repeat.Until.Source))
	}
	if step.Incremental != "" {
		lines = append(lines, "only what is new: cursor "+step.Incremental)
	}
	return lines
}

// size measures a box without what is inside of a loop.
func (b *box) size() {
	width := textWidth(cut(b.title), titleWide)
	if b.effect != "" {
		width += 10 + pillWidth(b.effect)
	}
	b.h = 2*padY + titleLine
	for _, line := range b.lines() {
		width = max(width, textWidth(line, charWide))
		b.h += textLine
	}
	b.h = even(b.h)
	b.w = even(max(minWidth, width+2*padX))
}

// lines are the texts below the title, cut to what a box may hold.
func (b *box) lines() []string {
	var lines []string
	if b.sub != "" {
		lines = append(lines, cut(b.sub))
	}
	for _, note := range b.notes {
		lines = append(lines, cut(note))
	}
	return lines
}

func pillWidth(effect plan.Effect) int { return textWidth(string(effect), pillWide) + pillPad }

func even(n int) int { return n + n%2 }

// textWidth is the width of a text in pixels, rounded up.
func textWidth(text string, letter float64) int { return int(float64(letters(text))*letter + 0.999) }

// letters counts a text's columns: letters of East Asia and pictures take two.
func letters(text string) int {
	count := 0
	for _, r := range text {
		count++
		if r >= 0x1100 && (r <= 0x115F || r >= 0x2E80 && r <= 0xA4CF || r >= 0xAC00 && r <= 0xD7A3 || r >= 0xF900 && r <= 0xFAFF ||
			r >= 0xFE30 && r <= 0xFE6F || r >= 0xFF00 && r <= 0xFF60 || r >= 0x1F300) {
			count++
		}
	}
	return count
}

// cut shortens a text to what a line holds.
func cut(text string) string {
	if letters(text) <= maxLetter {
		return text
	}
	var b strings.Builder
	room := maxLetter - 1
	for _, r := range text {
		if room -= letters(string(r)); room < 0 {
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimRight(b.String(), " ") + "…"
}
