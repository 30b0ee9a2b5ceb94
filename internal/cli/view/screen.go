package view

import (
	"io"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// screen is the bottom of a terminal: a block that is drawn again and again in place,
// below lines that scroll away. A terminal that is gone is no reason to end what is
// shown, so that its errors are not looked at.
type screen struct {
	block   *term.Block
	size    func() (width, height int)
	style   term.Style
	times   Times
	above   []string       // lines that wait for the next drawing
	printed []*runs.Prompt // above the block, for want of room in it
}

func newScreen(out io.Writer, size func() (width, height int), style term.Style, times Times) *screen {
	return &screen{block: term.NewBlock(out), size: size, style: style, times: times}
}

// room is how wide a line of the block may be, and how high the terminal is.
func (s *screen) room() (width, height int) {
	width, height = s.size()
	return max(width-1, 20), height // some terminals wrap at the last cell
}

// box returns a prompt's box, which room lines are there for. One that does not fit
// can't be drawn in place: it is printed above the block, once.
func (s *screen) box(prompt *runs.Prompt, now time.Time, cancel string, room int) []string {
	width, _ := s.room()
	box := promptBox(prompt, now, cancel, width, s.style, s.times)
	if len(box) <= room {
		return box
	}
	if !seen(s.printed, prompt) {
		s.printed = append(s.printed, prompt)
		s.above = append(s.above, promptBox(prompt, time.Time{}, cancel, width, s.style, s.times)...)
	}
	return nil
}

// draw prints the lines that wait, and draws the block below them.
func (s *screen) draw(block []string) {
	width, _ := s.size()
	s.block.Fit(width)
	_ = s.block.Print(s.above...)
	s.above = nil
	_ = s.block.Draw(block)
}
