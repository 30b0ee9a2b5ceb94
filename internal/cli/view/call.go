package view

import (
	"fmt"
	"io"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// progressEvery is how often the progress of a call makes a line of its own.
const progressEvery = time.Second

// Call shows what a call or a login says while it goes on: on a terminal with a
// live block for progress and prompts, else one line each. Not safe for
// concurrent use.
type Call struct {
	out          io.Writer
	page         Page
	cancel       string  // the key that ends a prompt, "" = none
	live         *screen // nil = lines are printed as they come
	prompt       *runs.Prompt
	progress     string
	now          time.Time
	lastProgress time.Time      // the last line of progress
	printed      []*runs.Prompt // on lines of their own
}

// NewCall returns a view that prints lines.
func NewCall(out io.Writer, page Page) *Call { return &Call{out: out, page: page} }

// NewLiveCall returns a view for a terminal; size tells its width and height.
// cancel names the key that a prompt's reader may press, "" for none.
func NewLiveCall(out io.Writer, page Page, cancel string, size func() (width, height int)) *Call {
	return &Call{out: out, page: page, cancel: cancel, live: newScreen(out, size, page.Style, page.Times)}
}

// Log shows a line of the call.
func (c *Call) Log(log runs.Log) {
	if log.Level == "debug" {
		return
	}
	if log.At.IsZero() {
		log.At = c.now
	}
	c.line(logLine(&log, c.page.Times, c.page.Style))
}

// Progress shows how far the call is.
func (c *Call) Progress(progress runs.Progress) {
	text := progressText(&progress)
	if c.live != nil {
		c.progress = text
		return
	}
	if c.now.Sub(c.lastProgress) >= progressEvery && text != "" {
		c.lastProgress = c.now
		c.line(c.page.Style.Dim(text))
	}
}

// Prompt shows what a person must do, until the next prompt or the end.
func (c *Call) Prompt(prompt runs.Prompt) {
	if c.live != nil {
		c.prompt = &prompt
		return
	}
	if !seen(c.printed, &prompt) {
		c.printed = append(c.printed, &prompt)
		c.line(promptLine(&prompt, c.page.Times))
	}
}

func (c *Call) line(text string) {
	if c.live != nil {
		c.live.above = append(c.live.above, text)
		return
	}
	fmt.Fprintln(c.out, text)
}

// Tick tells the time and draws.
func (c *Call) Tick(now time.Time) {
	c.now = now
	if c.live != nil {
		c.live.draw(c.lines())
	}
}

// lines returns the block.
func (c *Call) lines() []string {
	width, height := c.live.room()
	var lines []string
	if c.progress != "" {
		lines = append(lines, c.page.Style.Dim(term.Truncate(c.progress, width)))
	}
	if c.prompt != nil {
		lines = append(lines, c.live.box(c.prompt, c.now, c.cancel, height-1-len(lines))...)
	}
	return lines
}

// Close takes the block away: what follows tells how it ended.
func (c *Call) Close() {
	if c.live != nil {
		c.live.draw(nil)
		c.live.block.Leave()
	}
}
