package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// boxFrame is how much wider a box is than what stands in it.
const boxFrame = 4

// promptBox draws what a person must do: at most width cells wide. A code of 15
// wide characters and an address of 40 stay on one line wherever the terminal
// has the room; longer ones are wrapped, and nothing is left out. cancel
// names the key that ends the prompt, "" for none.
func promptBox(p *runs.Prompt, now time.Time, cancel string, width int, style term.Style, times Times) []string {
	inner := max(width-boxFrame, 1)
	lines := term.WrapWords(term.Clean(p.Title), inner)
	if p.Message != "" {
		lines = append(lines, term.WrapWords(term.Clean(p.Message), inner)...)
	}
	if p.URL != "" {
		lines = append(lines, promptField("open", term.Clean(p.URL), inner)...)
	}
	if p.UserCode != "" {
		lines = append(lines, promptField("code", term.Clean(p.UserCode), inner)...)
	}
	if last := promptEnd(p, now, cancel, times); last != "" {
		lines = append(lines, term.WrapWords(last, inner)...)
	}
	return term.Box(lines, width, style)
}

// promptField puts a name before a value, or above it where the line would be
// too long: the value is to be read and typed, or copied, in one piece.
func promptField(name, value string, inner int) []string {
	if line := term.Pad(name, 7) + value; term.Width(line) <= inner {
		return []string{line}
	}
	return append([]string{name}, term.Wrap(value, inner)...)
}

// promptEnd says how long the prompt holds, and what ends it sooner. A zero now
// stands for a box that is printed once: its countdown would stand still.
func promptEnd(p *runs.Prompt, now time.Time, cancel string, times Times) string {
	var parts []string
	if left := p.ExpiresAt.Sub(now); !p.ExpiresAt.IsZero() {
		switch {
		case now.IsZero():
			parts = append(parts, "until "+times.Clock(p.ExpiresAt))
		case left > 0:
			parts = append(parts, fmt.Sprintf("%s left (until %s)", countdown(left), times.Clock(p.ExpiresAt)))
		default:
			parts = append(parts, "the time is over")
		}
	}
	if cancel != "" {
		parts = append(parts, cancel+" cancels")
	}
	return strings.Join(parts, " · ")
}

// countdown is a time left as a clock shows it, up to the next second: 14:52,
// 1:02:03.
func countdown(left time.Duration) string {
	seconds := int((left + time.Second - 1) / time.Second)
	if seconds >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	}
	return fmt.Sprintf("%02d:%02d", seconds/60, seconds%60)
}

// promptLine is the prompt on one line, for what is no terminal.
func promptLine(p *runs.Prompt, times Times) string {
	line := term.Clean(p.Title)
	switch {
	case p.URL != "" && p.UserCode != "":
		line += fmt.Sprintf(": open %s and enter the code %s", term.Clean(p.URL), term.Clean(p.UserCode))
	case p.URL != "":
		line += ": open " + term.Clean(p.URL)
	case p.UserCode != "":
		line += ": the code is " + term.Clean(p.UserCode)
	}
	if !p.ExpiresAt.IsZero() {
		line += ", until " + times.Full(p.ExpiresAt)
	}
	if p.Message != "" {
		line += " (" + term.Clean(p.Message) + ")"
	}
	return line
}

// samePrompt reports whether two prompts ask for the same: their words and times
// may differ.
func samePrompt(a, b *runs.Prompt) bool {
	if a.URL == "" && a.UserCode == "" {
		return a.Title == b.Title && a.Message == b.Message && b.URL == "" && b.UserCode == ""
	}
	return a.URL == b.URL && a.UserCode == b.UserCode
}

func seen(shown []*runs.Prompt, prompt *runs.Prompt) bool {
	return slices.ContainsFunc(shown, func(p *runs.Prompt) bool { return samePrompt(p, prompt) })
}
