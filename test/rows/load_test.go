package rows

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The table is a text: README.md says how it is written. What the loader does not
// know is an error, so that a slip of the pen is no case that checks nothing.

// requestLine is METHOD and target.
var requestLine = regexp.MustCompile(`^[A-Z]+ (/|http://)([^ {]|\{\{[^}]*\}\})*$`)

var rowID = regexp.MustCompile(`^[TANID]-[0-9]{2}$`)

// loadAll reads the files of a folder, in order: all, or those whose names begin
// with a word.
func loadAll(folder, begin string) ([]*example, error) {
	files, err := filepath.Glob(filepath.Join(folder, begin+"*.rows"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no cases in %s: %w", folder, errors.Join(err, os.ErrNotExist))
	}
	var all []*example
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		cases, err := load(filepath.Base(file), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, cases...)
	}
	return all, nil
}

// loader reads one file.
type loader struct {
	file  string
	line  int
	named map[string]*example
	all   []*example
	open  []*example // the cases that the lines are for: several after `like: a, b`
}

// load reads the cases of one text.
func load(file, text string) ([]*example, error) {
	l := &loader{file: file, named: map[string]*example{}}
	for _, entry := range entries(text) {
		l.line = entry.line
		if err := l.take(entry.word, entry.value); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, entry.line, err)
		}
	}
	if err := l.close(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return slices.DeleteFunc(l.all, func(e *example) bool { return e.base }), nil
}

// entry is a line with those that go on with it, which begin with two blanks.
type entry struct {
	line        int
	word, value string
}

func entries(text string) []entry {
	var all []entry
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "  ") && len(all) > 0:
			all[len(all)-1].value += "\n" + strings.TrimPrefix(line, "  ")
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		default:
			word, value, _ := strings.Cut(line, " ")
			all = append(all, entry{i + 1, word, value})
		}
	}
	return all
}

// take reads one entry.
func (l *loader) take(word, value string) error {
	if word == "===" {
		return l.begin(value)
	}
	if len(l.open) == 0 {
		return fmt.Errorf("%q stands before the first case", word)
	}
	if word == "like:" {
		return l.like(value)
	}
	for _, e := range l.open {
		if err := l.set(e, word, value); err != nil {
			return err
		}
	}
	return nil
}

// begin opens a case: its rows and its title.
func (l *loader) begin(value string) error {
	if err := l.close(); err != nil {
		return err
	}
	ids, title, found := strings.Cut(value, ": ")
	e := &example{file: l.file, line: l.line, title: title}
	for _, id := range strings.Fields(ids) {
		if id == "base" {
			e.base = true
			continue
		}
		if !rowID.MatchString(id) {
			return fmt.Errorf("%q is no row", id)
		}
		e.ids = append(e.ids, id)
	}
	if !found || title == "" || len(e.ids) == 0 && !e.base {
		return errors.New("a case begins with === ROW...: title")
	}
	l.open = []*example{e}
	l.all = append(l.all, e)
	return nil
}

// like takes over the cases of these names, one new case for each.
func (l *loader) like(value string) error {
	first := l.open[0]
	if len(first.calls) > 0 || len(l.open) > 1 || first.name != "" || first.broken != "" || first.today != "" || len(first.config) > 0 {
		return errors.New("like stands first in a case")
	}
	l.all, l.open = l.all[:len(l.all)-1], nil
	for _, name := range strings.Split(value, ",") {
		base := l.named[strings.TrimSpace(name)]
		if base == nil {
			return fmt.Errorf("there is no case of the name %q above", strings.TrimSpace(name))
		}
		e := base.copied()
		e.file, e.line, e.ids, e.title, e.base, e.broken, e.today = first.file, first.line, first.ids, first.title, first.base, "", ""
		if strings.Contains(value, ",") {
			e.title += " (" + strings.TrimSpace(name) + ")"
		}
		for i := range e.calls {
			e.calls[i].declared = false
		}
		e.calls[len(e.calls)-1].want = want{}
		e.calls[len(e.calls)-1].answers = nil
		l.all, l.open = append(l.all, e), append(l.open, e)
	}
	return nil
}

// close checks that the open cases are whole.
func (l *loader) close() error {
	for _, e := range l.open {
		if e.base {
			continue
		}
		if len(e.calls) == 0 && len(e.command) == 0 {
			return fmt.Errorf("line %d: the case has no call", e.line)
		}
		if len(e.command) > 0 && len(e.texts)+len(e.absent) == 0 {
			return fmt.Errorf("line %d: the command has nothing to show", e.line)
		}
		for _, c := range e.calls {
			if len(c.sends) == 0 && !c.quiet && !e.alone {
				return fmt.Errorf("line %d: nothing says what must have been sent: write > METHOD /path, or > none", e.line)
			}
			if c.want.outputs == nil && !c.want.hasError {
				return fmt.Errorf("line %d: nothing says what must come out", e.line)
			}
			if c.want.outputs != nil && c.want.hasError {
				return fmt.Errorf("line %d: both outputs and a failure", e.line)
			}
			if len(c.answers) > len(c.sends) {
				return fmt.Errorf("line %d: more answers than requests", e.line)
			}
		}
	}
	return nil
}

// set reads one entry of a case.
func (l *loader) set(e *example, word, value string) error {
	switch word {
	case "name:":
		if l.named[value] != nil {
			return fmt.Errorf("there are two cases of the name %q", value)
		}
		e.name, l.named[value] = value, e
		return nil
	case "broken:":
		e.broken = value
		return nil
	case "fails_today:":
		e.today = value
		return nil
	case "only:":
		kind, why, found := strings.Cut(value, " ")
		if e.only, e.noGap = way(kind), why; !found || e.only != byCall && e.only != byStep {
			return errors.New("only: call|step and why")
		}
		return nil
	case "alone":
		e.alone = true
		return nil
	case "runs":
		e.runs = true
		return nil
	case "config:":
		return merge(&e.config, value)
	case "step:":
		e.only, e.noGap = byStep, "calls have no such word"
		return merge(&e.step, value)
	case "login:":
		if e.login = value; logins[value] != "" {
			e.login = logins[value]
		}
		return nil
	case "command:":
		e.command = strings.Fields(value)
		return nil
	case "has:":
		e.texts = append(e.texts, value)
		return nil
	case "lacks:":
		e.absent = append(e.absent, value)
		return nil
	case "call:":
		action, with, _ := strings.Cut(value, " ")
		c := call{action: action}
		e.calls = append(e.calls, c)
		return merge(&e.calls[len(e.calls)-1].with, orEmpty(with))
	}
	if len(e.calls) == 0 {
		return fmt.Errorf("%q stands before the call", word)
	}
	return l.setCall(&e.calls[len(e.calls)-1], word, value)
}

func orEmpty(text string) string {
	if strings.TrimSpace(text) == "" {
		return "{}"
	}
	return text
}

// merge decodes an object over another. A null takes a name away.
func merge(into *map[string]json.RawMessage, text string) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return fmt.Errorf("%q is no object: %w", text, err)
	}
	merged := map[string]json.RawMessage{}
	for name, value := range *into {
		merged[name] = value
	}
	for name, value := range object {
		merged[name] = value
	}
	*into = merged
	return nil
}
