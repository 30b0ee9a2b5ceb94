package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/internal/cli/term"
)

// asked draws the question at hand, for which there are room lines. One that does not fit is
// printed above the block, once; its words and keys stay.
func (l *Live) asked(width, room int) []string {
	q, place, of := l.question()
	if of == 0 || l.answers.command == nil {
		l.answers.drawn = ""
		return nil
	}
	l.answers.drawn = q.key()
	head := l.questionHead(q, place, of, width)
	switch a := &l.answers; {
	case a.sent:
		return append(head, l.style.Dim("  sent"))
	case a.filling != nil:
		return append(head, a.filling.lines(width, l.style)...)
	case a.comment != nil:
		lines := append(head, indented("why not? It may stay empty.", width)...)
		typed := term.Wrap(term.Clean(*a.comment)+"▏", max(width-4, 1))
		for i, part := range typed[max(len(typed)-4, 0):] {
			lines = append(lines, map[bool]string{true: "  › ", false: "    "}[i == 0]+part)
		}
		return append(lines, painted(l.style.Dim, indented("Enter rejects · Esc goes back", width))...)
	}
	about := l.questionForm(q, width)
	var below []string
	if l.answers.wrong != "" {
		below = painted(l.style.Red, indented(l.answers.wrong, width))
	}
	if keys := l.questionKeys(q); keys != "" {
		below = append(below, painted(l.style.Dim, indented(keys, width))...)
	}
	if len(head)+len(about)+len(below) > room {
		if !slices.Contains(l.answered, q.key()) {
			l.answered = append(l.answered, q.key())
			l.above = append(append(l.above, head...), about...)
		}
		return append(head[:min(2, len(head))], below...)
	}
	return slices.Concat(head, about, below)
}

// questionHead is the step with what it asks.
func (l *Live) questionHead(q Question, place, of, width int) []string {
	path, text := term.Clean(q.Step.Path), term.Clean(q.Step.Message)
	if of > 1 {
		text += fmt.Sprintf(" (%d of %d, ↑ ↓)", place+1, of)
	}
	lines := wrapBelow(path+": "+text, width)
	lines[0] = l.style.Yellow("? ") + strings.Replace(strings.TrimPrefix(lines[0], "  "), path, l.style.Bold(path), 1)
	return lines
}

// questionForm is the form of a question, and the command that answers it.
func (l *Live) questionForm(q Question, width int) (lines []string) {
	var missing []string
	for _, field := range fieldsOf(q.Step) {
		text := fieldLine(field)
		if l.answers.filled != nil {
			text = nameOfField(field) + " = " + shownInput(field, l.answers.filled)
		}
		lines = append(lines, wrapBelow(text, width)...)
		if field.Doc != "" && l.answers.filled == nil {
			lines = append(lines, painted(l.style.Dim, indented(field.Doc, width))...)
		}
		if field.Required {
			missing = append(missing, field.Name+"=VALUE")
		}
	}
	return append(lines, painted(l.style.Cyan, approveLines(l.answers.command, q, missing, width))...)
}

// leastOfID is how much of an id stands in a command, where there is no room for all of it:
// its last letters tell a run as well.
const leastOfID = 8

// approveLines is the command that approves. It can be copied as it stands: where it has no
// room on a line, a shell reads it from several.
func approveLines(command func(args ...string) string, q Question, fields []string, width int) []string {
	room := max(width-2, 1)
	var flags []string
	for _, field := range fields {
		flags = append(flags, "--form", field)
	}
	if line := command(slices.Concat([]string{"runs", "approve", q.Run, q.Step.Path}, flags)...); term.Width(line) <= room {
		return []string{"  " + line}
	}
	first := command("runs", "approve", q.Run, q.Step.Path)
	if term.Width(first)+2 > room && len(q.Run) > leastOfID {
		first = command("runs", "approve", q.Run[len(q.Run)-leastOfID:], q.Step.Path)
	}
	var lines []string
	for i, line := range slices.Concat([]string{first}, formFlags(fields)) {
		if i < len(fields) {
			line += ` \`
		}
		for _, part := range term.Wrap(line, room) {
			lines = append(lines, "  "+part)
		}
	}
	return lines
}

func formFlags(fields []string) []string {
	var flags []string
	for _, field := range fields {
		flags = append(flags, "  --form "+field)
	}
	return flags
}

// questionKeys says which keys answer.
func (l *Live) questionKeys(q Question) string {
	fields := fieldsOf(q.Step)
	switch {
	case !l.answers.here:
		return ""
	case len(fields) == 0:
		return "y approves · n rejects"
	case l.answers.filled != nil:
		return "y approves with these · n rejects · e edits them again"
	}
	return "y fills in the form · n rejects · e opens it in an editor"
}
