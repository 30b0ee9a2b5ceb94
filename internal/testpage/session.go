package testpage

import (
	"fmt"
	"regexp"
	"strings"
)

// Prompt stands before what a person types, RootPrompt before what root types at a
// machine of theirs.
const (
	Prompt     = "$ "
	RootPrompt = "# "
)

// Command is what a page shows of one command.
type Command struct {
	Typed string // without the prompt; continued lines are in it
	Shown string // what the page says that it prints
	Line  int    // in the source
}

// Session returns the commands of a block of code, none where it does not begin with a
// prompt.
func (b Block) Session() []Command {
	if !b.Code || !strings.HasPrefix(b.Text, Prompt) {
		return nil
	}
	var commands []Command
	continued := false
	for i, line := range strings.Split(strings.TrimSuffix(b.Text, "\n"), "\n") {
		last := len(commands) - 1
		switch {
		case continued:
			commands[last].Typed += "\n" + line
		case strings.HasPrefix(line, Prompt):
			commands = append(commands, Command{Typed: line[len(Prompt):], Line: b.Line + i})
		default:
			commands[last].Shown += line + "\n"
			continue
		}
		continued = strings.HasSuffix(line, `\`)
	}
	return commands
}

// Fails says whether the page shows an error.
func (c Command) Fails() bool { return errorLine.MatchString(c.Shown) }

var errorLine = regexp.MustCompile(`(?m)^(error|flowrun: error)\b|: error(\[|:)`)

// Omitted stands for lines that a page leaves out, and inside a line for any text.
const Omitted = "…"

var (
	// ids of runs change.
	runID = regexp.MustCompile(`\b[0-9a-z]{26}\b`)
	// so do the spaces behind them at the end of a line.
	lineEnd = regexp.MustCompile(`(?m)[ \t]+$`)
)

func comparable(output string) []string {
	output = lineEnd.ReplaceAllString(runID.ReplaceAllString(output, "RUN"), "")
	return strings.Split(strings.Trim(output, "\n"), "\n")
}

// Compare says how an output differs from what a page shows, nil where it does not. A
// line "…" stands for any lines, the sign in a line for any text of it, and ids of runs
// are alike.
func Compare(shown, printed string) error {
	if strings.Trim(shown, "\n") == "" {
		return nil // the page shows the command alone
	}
	if alike(comparable(shown), comparable(printed)) {
		return nil
	}
	for _, line := range comparable(shown) {
		if line != Omitted && !anyAlike(line, comparable(printed)) {
			return fmt.Errorf("the page shows %q, and what is printed is:\n%s", line, printed)
		}
	}
	return fmt.Errorf("a line %s tells where lines are left out, and here it does not; the page shows\n%sand what is printed is:\n%s", Omitted, shown, printed)
}

func alike(shown, printed []string) bool {
	for len(shown) > 0 {
		if shown[0] == Omitted {
			for skip := range len(printed) + 1 {
				if alike(shown[1:], printed[skip:]) {
					return true
				}
			}
			return false
		}
		if len(printed) == 0 || !lineAlike(shown[0], printed[0]) {
			return false
		}
		shown, printed = shown[1:], printed[1:]
	}
	return len(printed) == 0
}

func anyAlike(shown string, printed []string) bool {
	for _, line := range printed {
		if lineAlike(shown, line) {
			return true
		}
	}
	return false
}

func lineAlike(shown, printed string) bool {
	if shown == printed {
		return true
	}
	parts := strings.Split(shown, Omitted)
	if len(parts) == 1 {
		return false
	}
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(printed)
}

// Elide returns what a page shows with a line "…" wherever the output has lines between,
// and whether that is all that it lacks.
func Elide(shown, printed string) (string, bool) {
	var all []string
	rest := strings.Split(strings.Trim(printed, "\n"), "\n")
	for _, want := range strings.Split(strings.Trim(shown, "\n"), "\n") {
		if want == Omitted {
			continue
		}
		skipped := 0
		for skipped < len(rest) && !lineAlike(comparable(want)[0], comparable(rest[skipped])[0]) {
			skipped++
		}
		if skipped == len(rest) {
			return shown, false
		}
		if skipped > 0 {
			all = append(all, Omitted)
		}
		all, rest = append(all, want), rest[skipped+1:]
	}
	if len(rest) > 0 && strings.Join(rest, "") != "" {
		all = append(all, Omitted)
	}
	return strings.Join(all, "\n") + "\n", true
}
