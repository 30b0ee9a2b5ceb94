package rows

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
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

// setCall reads an entry of a call.
func (l *loader) setCall(c *call, word, value string) error {
	switch word {
	case "with:":
		c.with = nil
		return merge(&c.with, value)
	case "file":
		c.file = true
		return nil
	case "wait:":
		d, err := time.ParseDuration(value)
		c.wait = d
		return err
	case ">":
		return l.setRequest(c, value)
	case ">>":
		if len(c.sends) == 0 {
			return errors.New("a body without a request")
		}
		c.sends[len(c.sends)-1].body = &value
		return nil
	case "<":
		c.mine()
		a, err := parseAnswer(value)
		c.answers = append(c.answers, a)
		return err
	case "<h", "<<":
		if len(c.answers) == 0 {
			return fmt.Errorf("%s without an answer", word)
		}
		return c.answers[len(c.answers)-1].add(word, value)
	}
	c.mine()
	return c.want.set(word, value)
}

// mine clears what was taken over of an ending: the case tells its own.
func (c *call) mine() {
	if !c.declared {
		c.declared, c.want, c.answers = true, want{}, nil
	}
}

func (l *loader) setRequest(c *call, value string) error {
	last := func() (*request, error) {
		if len(c.sends) == 0 {
			return nil, errors.New("a header without a request")
		}
		return &c.sends[len(c.sends)-1], nil
	}
	switch {
	case value == "none":
		c.quiet, c.sends, c.answers = true, nil, nil
		return nil
	case value == "new": // requests of its own instead of those taken over
		c.sends, c.quiet = nil, false
		return nil
	case value == "same": // the last request once more
		r, err := last()
		if err != nil {
			return err
		}
		c.sends = append(slices.Clone(c.sends), *r)
		return nil
	case strings.HasPrefix(value, "-"):
		r, err := last()
		if err == nil {
			r.absent = append(r.absent, strings.TrimPrefix(value, "-"))
		}
		return err
	case value == "tls":
		r, err := last()
		if err == nil {
			r.secure = true
		}
		return err
	case strings.HasPrefix(value, "only "):
		r, err := last()
		if err == nil {
			r.exactly = strings.Split(strings.TrimPrefix(value, "only "), ", ")
		}
		return err
	}
	if name, text, found := strings.Cut(value, ": "); found && !strings.Contains(name, " ") {
		r, err := last()
		if err == nil {
			r.headers = append(slices.Clone(r.headers), [2]string{name, text})
		}
		return err
	}
	if !requestLine.MatchString(value) {
		return fmt.Errorf("%q is neither METHOD /target nor a header", value)
	}
	c.quiet = false
	c.sends = append(slices.Clone(c.sends), request{line: value})
	return nil
}

// set reads an entry about what must come out.
func (w *want) set(word, value string) error {
	switch word {
	case "=", "=bytes":
		if !json.Valid(macro.ReplaceAll([]byte(value), []byte("0"))) {
			return fmt.Errorf("the outputs are no JSON: %s", value)
		}
		w.outputs, w.bytes = json.RawMessage(value), word == "=bytes"
	case "meta:":
		return merge(&w.meta, value)
	case "!":
		return w.setError(value)
	case "~":
		w.message = append(w.message, value)
	case "~not":
		w.not = append(w.not, value)
	case "~hint":
		w.hint = append(w.hint, value)
	case "log:":
		w.logs = append(w.logs, value)
	default:
		return fmt.Errorf("there is no word %q in a case", word)
	}
	return nil
}

// setError reads the kind of a failure and what else is said of it.
func (w *want) setError(value string) error {
	words := strings.Fields(value)
	if len(words) == 0 || slices.ContainsFunc(strings.Split(words[0], "|"), func(kind string) bool { return !slices.Contains(kinds, kind) }) {
		return fmt.Errorf("%q does not begin with the kind of an error", value)
	}
	w.hasError, w.kind = true, words[0]
	for _, word := range words[1:] {
		name, text, found := strings.Cut(word, "=")
		switch {
		case !found:
			status, err := strconv.Atoi(word)
			if err != nil {
				return fmt.Errorf("%q is no status", word)
			}
			w.status = &status
		case name == "applied" && slices.Contains([]string{"not_applied", "applied", "unknown"}, text):
			w.applied = text
		case name == "pointer":
			w.pointer = &text
		case name == "reason":
			w.reason = &text
		case name == "retry":
			w.retry = text
		default:
			return fmt.Errorf("%q is nothing to say of a failure", word)
		}
	}
	return nil
}

// logins are token responses that have a name: good for an hour, and one that has
// run out when the case begins.
var logins = map[string]string{
	"hour":  `{"access_token":"A1{{leak}}","token_type":"Bearer","expires_in":3600,"refresh_token":"R1{{leak}}","scope":"openid email","refresh_token_expires_in":86400}`,
	"ended": `{"access_token":"A1{{leak}}","token_type":"Bearer","expires_in":1,"refresh_token":"R1{{leak}}","scope":"openid email"}`,
}

// kinds are the kinds of errors (docs/language.md, rule 9).
var kinds = strings.Fields(`invalid unauthorized auth_required forbidden not_found conflict rate_limited quota_exhausted unavailable timeout denied
	expired cursor_expired unexpected_response unsupported crashed internal unknown_outcome canceled`)
