package diag

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Renderer writes problems as text, each with its line and carets. The zero
// value shows no lines and no colour.
type Renderer struct {
	// Source returns the bytes of a file that problems name; nil or false
	// leaves the line out.
	Source func(file string) ([]byte, bool)
	Color  bool // ANSI colours
	Width  int  // of the terminal, in cells: longer lines of a file are cut around the place; 0 = 240
}

const (
	defaultWidth = 240
	leastWidth   = 40
)

// Write writes the problems in their order, with an empty line between two.
func (r Renderer) Write(w io.Writer, problems List) error {
	var b strings.Builder
	lines := sourceLines{source: r.Source, files: map[string][]string{}}
	for i, problem := range problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		r.problem(&b, problem, &lines)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Renderer) problem(b *strings.Builder, p Problem, lines *sourceLines) {
	color := "31"
	if p.Severity == Warning {
		color = "33"
	}
	fmt.Fprintf(b, "%s%s\n", r.paint(color, fmt.Sprintf("%s[%s]", p.Severity, p.Code)), r.paint("1", ": "+clean(p.Message)))
	margin := strings.Repeat(" ", len(strconv.Itoa(p.Line)))
	r.snippet(b, p.Pos, margin, color, lines)
	for _, line := range p.Stderr {
		fmt.Fprintf(b, "%s %s\n", margin, r.paint("36", "= stderr: ")+clean(line))
	}
	if p.Hint.Text != "" {
		fmt.Fprintf(b, "%s %s\n", margin, r.paint("36", "= help: ")+clean(p.Hint.Text))
	}
	for _, related := range p.Related {
		fmt.Fprintf(b, "%s %s\n", margin, r.paint("36", "= note: ")+clean(related.Message+" ("+related.Pos.String()+")"))
	}
}

// Snippet returns the place, and its line with carets where that is known.
func (r Renderer) Snippet(pos Pos) string {
	var b strings.Builder
	r.snippet(&b, pos, strings.Repeat(" ", len(strconv.Itoa(pos.Line))), "31", &sourceLines{source: r.Source, files: map[string][]string{}})
	return strings.TrimSuffix(b.String(), "\n")
}

// snippet writes the place, and the line with carets when it is known.
func (r Renderer) snippet(b *strings.Builder, pos Pos, margin, color string, lines *sourceLines) {
	fmt.Fprintf(b, "%s%s %s\n", margin, r.paint("36", "-->"), clean(pos.String()))
	text, ok := lines.line(pos)
	if !ok {
		return
	}
	bar := r.paint("36", "|")
	room := cmp.Or(r.Width, defaultWidth) - len(margin) - len(" | ")
	before, marked, text := window(text, pos, max(room, leastWidth))
	fmt.Fprintf(b, "%s %s\n", margin, bar)
	fmt.Fprintf(b, "%s %s %s\n", r.paint("36", strconv.Itoa(pos.Line)), bar, clean(text))
	fmt.Fprintf(b, "%s %s %s%s\n", margin, bar, blank(before), r.paint(color, strings.Repeat("^", max(width(marked), 1))))
}

func (r Renderer) paint(color, text string) string {
	if !r.Color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// sourceLines cuts each file into lines once.
type sourceLines struct {
	source func(file string) ([]byte, bool)
	files  map[string][]string
}

func (s *sourceLines) line(pos Pos) (string, bool) {
	lines, exists := s.files[pos.File]
	if !exists && s.source != nil {
		if data, ok := s.source(pos.File); ok {
			lines = strings.Split(strings.TrimPrefix(string(data), "\uFEFF"), "\n")
		}
		s.files[pos.File] = lines
	}
	if pos.Line < 1 || pos.Line > len(lines) {
		return "", false
	}
	return strings.TrimSuffix(lines[pos.Line-1], "\r"), true
}

// window returns the part of a line that is shown in so many cells, what stands
// in it before the place, and the place's text. What is left out at a side is
// shown as one `…`.
func window(line string, pos Pos, cells int) (before, marked, shown string) {
	runes := []rune(line)
	start := min(max(pos.Column-1, 0), len(runes))
	end := min(start+1, len(runes))
	if pos.EndLine == pos.Line && pos.EndColumn > pos.Column {
		end = max(min(pos.EndColumn-1, len(runes)), start)
	}
	from, to := 0, len(runes)
	if len(runes) > cells/2 && width(line) > cells {
		cells -= 2 // the signs of what is left out
		from = backward(runes, start, cells/2)
		to = forward(runes, from, cells)
		from = backward(runes, to, cells)
	}
	marked = string(runes[start:max(start, min(end, to))])
	before, shown = string(runes[from:start]), string(runes[from:to])
	if from > 0 {
		before, shown = "…"+before, "…"+shown
	}
	if to < len(runes) {
		shown += "…"
	}
	return before, marked, shown
}

// backward returns how far before a place the text of so many cells begins.
func backward(runes []rune, at, cells int) int {
	for at > 0 {
		if cells -= width(string(runes[at-1])); cells < 0 {
			break
		}
		at--
	}
	return at
}

// forward returns how far behind a place the text of so many cells ends.
func forward(runes []rune, at, cells int) int {
	for at < len(runes) {
		if cells -= width(string(runes[at])); cells < 0 {
			break
		}
		at++
	}
	return at
}

// blank makes text invisible, but keeps tabs, so that carets stand under it.
func blank(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\t' {
			b.WriteByte('\t')
			continue
		}
		b.WriteString(strings.Repeat(" ", width(string(r))))
	}
	return b.String()
}

// width is the number of terminal cells that text takes, near enough for
// carets: wide East Asian characters and most emoji take two, marks none.
func width(text string) int {
	cells := 0
	for _, r := range text {
		switch {
		case r >= 0x300 && r <= 0x36F, r == 0x200D, r >= 0xFE00 && r <= 0xFE0F:
		case r >= 0x1100 && r <= 0x115F, r >= 0x2E80 && r <= 0xA4CF, r >= 0xAC00 && r <= 0xD7A3,
			r >= 0xF900 && r <= 0xFAFF, r >= 0xFE30 && r <= 0xFE6F, r >= 0xFF00 && r <= 0xFF60,
			r >= 0xFFE0 && r <= 0xFFE6, r >= 0x1F300 && r <= 0x1FAFF, r >= 0x20000 && r <= 0x3FFFD:
			cells += 2
		default:
			cells++
		}
	}
	return cells
}

// clean shows control characters and those that turn the direction of text as
// escapes: a file or a plugin must not steer the terminal.
func clean(text string) string {
	if strings.IndexFunc(text, unsafe) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unsafe(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func unsafe(r rune) bool {
	return r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

// report is the JSON form of `validate -o json`.
type report struct {
	Problems List  `json:"problems"`
	Files    int   `json:"files"`
	Fixed    []Fix `json:"fixed,omitempty"`
}

// WriteJSON writes `{"problems":[...],"files":N}` and a line break; files is
// the number of files that were read. What was fixed stands behind it, where something was.
func WriteJSON(w io.Writer, problems List, files int, fixed ...Fix) error {
	if problems == nil {
		problems = List{}
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(report{Problems: problems, Files: files, Fixed: fixed})
}
