package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Age is how long ago something was, in its largest unit.
func Age(now, at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	switch ago := now.Sub(at); {
	case ago < time.Minute:
		return fmt.Sprintf("%ds ago", max(int(ago.Seconds()), 0))
	case ago < time.Hour:
		return fmt.Sprintf("%dm ago", int(ago.Minutes()))
	case ago < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(ago.Hours()))
	default:
		return fmt.Sprintf("%dd ago", int(ago.Hours()/24))
	}
}

// RunStatus is a run's status with the reason of a pause.
func RunStatus(run runs.Run) string { return runStatusText(run) }

// RunCells are a run, its workflow, its status and its age, as the cells of a table.
func RunCells(run runs.Run, now time.Time) []string {
	return []string{run.ID, term.Clean(run.Workflow), runStatusText(run), Age(now, run.StartedAt)}
}

// Chooser lets a person choose a run in a terminal: the newest first, fewer while the
// person types.
type Chooser struct {
	screen *screen
	title  string
	items  []runs.Run
	now    time.Time

	typed string
	fit   []runs.Run // of items
	at    int        // the place of the mark in fit
	top   int        // the place of the first line that is shown
}

// chooserRows is how many runs are shown at a time, where there is room.
const chooserRows = 10

// NewChooser returns a chooser of runs, of which title says what is done with one.
func NewChooser(out io.Writer, size func() (width, height int), style term.Style, title string, items []runs.Run, now time.Time) *Chooser {
	return &Chooser{screen: newScreen(out, size, style, Times{}), title: title, items: items, fit: items, now: now}
}

// Press takes a key. Over says that the person has chosen, or that there is no run and
// the person has left.
func (c *Chooser) Press(key term.Key) (chosen *runs.Run, over bool) {
	switch key {
	case term.KeyEscape:
		return nil, true
	case term.KeyEnter:
		if len(c.fit) == 0 {
			return nil, false
		}
		return &c.fit[c.at], true
	case term.KeyUp:
		c.move(-1)
	case term.KeyDown:
		c.move(1)
	case term.KeyPageUp:
		c.move(-c.rows())
	case term.KeyPageDown:
		c.move(c.rows())
	case term.KeyClear:
		c.filter("")
	case term.KeyBackspace:
		if letters := []rune(c.typed); len(letters) > 0 {
			c.filter(string(letters[:len(letters)-1]))
		}
	default:
		if letter, ok := key.Letter(); ok {
			c.filter(c.typed + letter)
		}
	}
	return nil, false
}

// move moves the mark, and what is shown with it.
func (c *Chooser) move(by int) {
	c.at = max(min(c.at+by, len(c.fit)-1), 0)
}

// filter shows the runs that have each word of what is typed, in letters of either case.
func (c *Chooser) filter(typed string) {
	c.typed, c.at, c.top = typed, 0, 0
	words := strings.Fields(strings.ToLower(typed))
	c.fit = nil
	for _, run := range c.items {
		text := strings.ToLower(strings.Join([]string{run.ID, run.Workflow, runStatusText(run), run.Trigger}, " "))
		if holdsAll(text, words) {
			c.fit = append(c.fit, run)
		}
	}
}

func holdsAll(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// Draw draws it.
func (c *Chooser) Draw() { c.screen.draw(c.lines()) }

// Close takes it from the screen.
func (c *Chooser) Close() { c.screen.draw(nil) }

func (c *Chooser) rows() int {
	_, height := c.screen.room()
	return max(min(chooserRows, height-3), 1)
}

func (c *Chooser) lines() []string {
	width, _ := c.screen.room()
	rows, style := c.rows(), c.screen.style
	c.top = max(min(c.top, c.at), c.at-rows+1)
	lines := []string{style.Bold(term.Truncate(c.title+": "+term.Clean(c.typed)+"▏", width))}
	shown := c.fit[c.top:min(c.top+rows, len(c.fit))]
	widths := c.widths(width, shown)
	for i, run := range shown {
		lines = append(lines, c.line(run, widths, width, c.top+i == c.at))
	}
	help := fmt.Sprintf("%d of %d · type to filter, ↑ ↓, Enter, Esc", len(c.fit), len(c.items))
	return append(lines, style.Dim(term.Truncate(help, width)))
}

// widths are those of the id, the workflow, the status and the age. In a narrow terminal
// an id is shown by its ending: nobody needs to copy it here.
func (c *Chooser) widths(width int, shown []runs.Run) [4]int {
	widths := [4]int{26}
	if width < 72 {
		widths[0] = 9
	}
	for _, run := range shown {
		for i, cell := range RunCells(run, c.now)[1:] {
			widths[i+1] = max(widths[i+1], term.Width(cell))
		}
	}
	left := width - 2 - widths[0] - widths[2] - widths[3] - 6
	widths[1] = max(min(widths[1], left), 4)
	return widths
}

func (c *Chooser) line(run runs.Run, widths [4]int, width int, marked bool) string {
	cells := RunCells(run, c.now)
	if len(cells[0]) > widths[0] {
		cells[0] = "…" + cells[0][len(cells[0])-widths[0]+1:]
	}
	text := "  "
	if marked {
		text = "› "
	}
	for _, i := range []int{1, 2, 3, 0} {
		text += term.Pad(term.Truncate(cells[i], widths[i]), widths[i]) + "  "
	}
	text = term.Truncate(strings.TrimRight(text, " "), width)
	if marked {
		return c.screen.style.Bold(text)
	}
	return paintRun(c.screen.style, run.Status, text)
}
