package diag

import (
	"fmt"
	"slices"
	"strings"
)

// Hint says what to do about a problem. The zero value says nothing. In JSON it
// stands beside the problem's own fields: `hint` is the whole text, the others
// name what of it a program acts on.
type Hint struct {
	Text     string    `json:"hint,omitempty"`
	Commands []Command `json:"hint_commands,omitempty" doc:"The commands that the hint names, each the words after flowrun, none of them quoted."`
	Flag     string    `json:"hint_flag,omitempty" doc:"The flag of the command line that the hint asks for."`
	Near     string    `json:"hint_near,omitempty" doc:"The word that was probably meant."`
	Takes    string    `json:"hint_takes,omitempty" doc:"What is taken there."`
	Unsure   bool      `json:"-"` // another word is near too, or only a digit differs
}

// Command is a command of flowrun in a hint: the words behind the program's name,
// none of them quoted.
type Command []string

// String returns the command as it stands in a hint's text, for a shell.
func (c Command) String() string {
	words := make([]string, len(c))
	for i, word := range c {
		words[i] = ShellWord(word)
	}
	return "`flowrun " + strings.Join(words, " ") + "`"
}

// Say is a hint that is text alone.
func Say(text string) Hint { return Hint{Text: text} }

// Sayf is Say with a format. The arguments that are a Command are its Commands.
func Sayf(format string, args ...any) Hint {
	hint := Hint{Text: fmt.Sprintf(format, args...)}
	for _, arg := range args {
		if command, ok := arg.(Command); ok {
			hint.Commands = append(hint.Commands, command)
		}
	}
	return hint
}

// Takes is the hint that names what is taken at a place.
func Takes(what string) Hint { return Hint{Text: "it takes " + what, Takes: what} }

// Then returns the hint with more behind it: a format whose verbs are commands.
func (h Hint) Then(format string, commands ...Command) Hint {
	args := make([]any, len(commands))
	for i, command := range commands {
		args[i] = command
	}
	more := Sayf(format, args...)
	h.Text, h.Commands = h.Text+more.Text, slices.Concat(h.Commands, more.Commands)
	return h
}

// Plain returns the hint as text alone. What the Machine decides is that: it is
// compared with journals that hold nothing else.
func (h Hint) Plain() Hint { return Say(h.Text) }

// Or returns the hint, or other where it says nothing.
func (h Hint) Or(other Hint) Hint {
	if h.Text == "" {
		return other
	}
	return h
}

// Typed returns the hint with each of its commands as command writes it.
func (h Hint) Typed(command func(words ...string) string) Hint {
	for _, words := range h.Commands {
		h.Text = strings.ReplaceAll(h.Text, words.String(), "`"+command(words...)+"`")
	}
	return h
}
