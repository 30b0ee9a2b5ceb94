package exec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/sdk"
)

// maxArgument bounds one argument, in bytes: Linux takes no longer one.
const maxArgument = 128<<10 - 1

// placeholder is a name in braces. Two braces stand for one.
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}`)
})

// named returns the inputs that a text names.
func named(text string) []string {
	var names []string
	for _, match := range placeholder().FindAllStringSubmatch(text, -1) {
		if match[1] != "" && !slices.Contains(names, match[1]) {
			names = append(names, match[1])
		}
	}
	return names
}

// fill puts values in the place of the names of a text.
func fill(text string, values map[string]string) string {
	return placeholder().ReplaceAllStringFunc(text, func(found string) string {
		switch found {
		case "{{":
			return "{"
		case "}}":
			return "}"
		}
		return values[found[1:len(found)-1]]
	})
}

// checkTexts holds the texts with names of a declaration against what it takes.
func (c Command) checkTexts() []sdk.Problem {
	input, err := sdk.ParseSchema(c.inputSchema())
	if err != nil {
		return nil // checkSchemas tells
	}
	var problems []sdk.Problem
	check := func(pointer, text string) {
		if strings.ContainsRune(text, 0) {
			problems = append(problems, sdk.Problemf(pointer, "has a NUL in it"))
		}
		for _, name := range named(text) {
			if why := usable(input, name); why != "" {
				problems = append(problems, sdk.Problemf(pointer, "`{%s}` %s", name, why).WithDetail("braces of a text are written twice: {{%s}}", name))
			}
		}
	}
	for i, text := range c.Argv {
		at := sdk.Pointer("argv", i)
		check(at, text)
		switch {
		case i == 0 && (text == "" || len(named(text)) > 0):
			problems = append(problems, sdk.Problemf(at, "the program is written out"))
		case i > 0 && len(named(text)) > 0 && c.isProgramText(i):
			problems = append(problems, sdk.Problemf(at, "a text that %s runs as a program takes no input", filepath.Base(c.Argv[0])).
				WithDetail("give the input as an argument of that program: sh -c 'report \"$1\"' report {%s}", named(text)[0]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		check(sdk.Pointer("env", name), c.Env[name])
		problems = append(problems, variableProblems(sdk.Pointer("env", name), name)...)
	}
	for _, name := range slices.Sorted(maps.Keys(c.SecretEnv)) {
		problems = append(problems, variableProblems(sdk.Pointer("secret_env", name), name)...)
	}
	if c.stdin() == stdinText {
		check("/stdin", c.Stdin)
	}
	if strings.ContainsRune(c.Cwd, 0) {
		problems = append(problems, sdk.Problemf("/cwd", "has a NUL in it"))
	}
	for i, name := range c.AllowDash {
		if input.Property(name) == nil {
			problems = append(problems, sdk.Problemf(sdk.Pointer("allow_dash", i), "there is no input `%s`", sdk.Shown(name, 60)))
		}
	}
	return problems
}

// usable says why an input can't stand in a text: it has to be there, and to be one value.
func usable(input *sdk.Schema, name string) string {
	field := input.Property(name)
	switch {
	case field == nil:
		return "names an input that is not in `input`"
	case !input.Required(name) && field.Default() == nil:
		return "may be absent: make it `required`, or give it a `default`"
	case field.Takes("object") || field.Takes("array") || field.Takes("null"):
		return "must be text, a number or a boolean by its `type`: lists and objects go to stdin as JSON"
	}
	return ""
}

// variableProblems says why a name can't be one of an environment.
func variableProblems(pointer, name string) []sdk.Problem {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return []sdk.Problem{sdk.Problemf(pointer, "`%s` is no name of a variable", sdk.Shown(name, 60))}
	}
	if name == "FLOWRUN_PLUGIN" || strings.HasPrefix(name, "FLOWRUN_LAUNCH") {
		return []sdk.Problem{sdk.Problemf(pointer, "`%s` is flowrun's own", name)}
	}
	return nil
}

// interpreter is a program that runs a text as a program.
type interpreter struct {
	options []string // that stand before such a text
	first   bool     // its first argument that is no option is one too, or the name of a file of it
	all     bool     // all that stands behind it is
}

// interpreters are those that are known. It is a help and no proof: a program of one's own
// may run its arguments too.
func interpreters() map[string]interpreter {
	shell := interpreter{options: []string{"-c", "--command", "--init-command", "-C"}, first: true}
	script := interpreter{options: []string{"-e", "-E", "-c", "-p", "-r", "-R", "-B", "-M", "-m", "--eval", "--print"}, first: true}
	found := map[string]interpreter{
		"sed": {options: []string{"-e", "--expression"}, first: true}, "awk": {first: true}, "gawk": {first: true}, "mawk": {first: true}, "jq": {first: true},
		"find": {options: []string{"-exec", "-execdir", "-ok", "-okdir"}}, "psql": {options: []string{"-c", "--command"}},
		"mysql": {options: []string{"-e", "--execute"}}, "sqlite3": {options: []string{"-cmd"}}, "su": {options: []string{"-c", "--command"}},
		"ssh": {all: true}, "eval": {all: true}, "source": {all: true},
	}
	for _, name := range []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "pwsh", "powershell"} {
		found[name] = shell
	}
	for _, name := range []string{"python", "python2", "python3", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "Rscript", "osascript", "tclsh"} {
		found[name] = script
	}
	return found
}

// isProgramText reports whether an argument is a text that a shell, or another interpreter
// that stands before it, runs as a program: sh -c TEXT, env bash -lc TEXT, python3 -c TEXT,
// awk TEXT.
func (c Command) isProgramText(i int) bool {
	for at, word := range c.Argv[:i] {
		known, ok := interpreters()[interpreterName(word)]
		if ok && (known.all || known.runs(c.Argv[at+1:], i-at-1)) {
			return true
		}
	}
	return false
}

// runs reports whether the argument of that number is run.
func (p interpreter) runs(arguments []string, number int) bool {
	own := arguments[number]
	for _, option := range p.options {
		switch {
		case number > 0 && (arguments[number-1] == option || isCluster(arguments[number-1], option)):
			return true
		case strings.HasPrefix(option, "--") && strings.HasPrefix(own, option+"="):
			return true
		case len(option) == 2 && strings.HasPrefix(own, option):
			return true
		}
	}
	return p.first && !strings.HasPrefix(own, "-") && !slices.ContainsFunc(arguments[:number], func(word string) bool { return !strings.HasPrefix(word, "-") })
}

// isCluster reports letters behind one dash that end in an option of one letter: -lc.
func isCluster(word, option string) bool {
	return len(option) == 2 && len(word) > 2 && word[0] == '-' && word[1] != '-' && strings.HasSuffix(word, option[1:])
}

// interpreterName is the name of a program without its folder and its version:
// python3.12 is python3.
func interpreterName(word string) string {
	name := filepath.Base(word)
	if stem, version, ok := strings.Cut(name, "."); ok && version != "" && strings.Trim(version, "0123456789.") == "" {
		name = stem
	}
	return name
}

// The kinds of stdin.
const (
	stdinJSON = "json"
	stdinNone = "none"
	stdinText = "text"
)

func (c Command) stdin() string {
	switch c.Stdin {
	case "", stdinJSON:
		return stdinJSON
	case stdinNone:
		return stdinNone
	}
	return stdinText
}

// values are the inputs as texts, those that are one value.
func values(input sdk.Value) map[string]string {
	members, _ := sdk.ReadMembers(input)
	found := map[string]string{}
	for _, m := range members {
		value := bytes.TrimSpace(m.Value)
		switch {
		case len(value) == 0 || value[0] == '{' || value[0] == '[' || sdk.IsNull(value):
		case value[0] == '"':
			var text string
			if json.Unmarshal(value, &text) == nil {
				found[m.Name] = text
			}
		default:
			found[m.Name] = string(value)
		}
	}
	return found
}

// prepared is a command with its inputs in their places.
type prepared struct {
	argv  []string
	env   []string
	stdin []byte
}

// prepare puts an input, which was checked against the declaration, into its places. What
// can't stand there is refused with the input that it comes from.
func (c Command) prepare(input sdk.Value, environ []string) (prepared, *sdk.Problem) {
	found := values(input)
	var out prepared
	ended := false // behind an argument `--` there are no options
	for i, text := range c.Argv {
		filled := fill(text, found)
		if wrong := c.refused(text, filled, found, ended || i == 0); wrong != nil {
			return prepared{}, wrong
		}
		out.argv = append(out.argv, filled)
		ended = ended || i > 0 && text == "--"
	}
	out.env = environ
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		filled := fill(c.Env[name], found)
		if wrong := c.refused(c.Env[name], filled, found, true); wrong != nil {
			return prepared{}, wrong
		}
		out.env = append(out.env, name+"="+filled)
	}
	for _, name := range slices.Sorted(maps.Keys(c.SecretEnv)) {
		if strings.ContainsRune(c.SecretEnv[name], 0) {
			return prepared{}, &sdk.Problem{Summary: fmt.Sprintf("the secret of %s has a NUL in it", name)}
		}
		out.env = append(out.env, name+"="+c.SecretEnv[name])
	}
	switch c.stdin() {
	case stdinJSON:
		out.stdin = append(append([]byte{}, input...), '\n')
	case stdinText:
		out.stdin = []byte(fill(c.Stdin, found))
	}
	return out, nil
}

// refused says why a filled text can't be an argument or a variable. dashes says that it
// may begin with a dash.
func (c Command) refused(text, filled string, found map[string]string, dashes bool) *sdk.Problem {
	names := named(text)
	if len(names) == 0 {
		return nil
	}
	for _, name := range names {
		if strings.ContainsRune(found[name], 0) {
			return problemAt(name, "has a NUL in it, which no argument can have")
		}
	}
	if len(filled) > maxArgument {
		return problemAt(names[0], fmt.Sprintf("makes an argument of %d bytes; one has at most %d: give it by stdin", len(filled), maxArgument))
	}
	if dashes || !strings.HasPrefix(filled, "-") || !strings.HasPrefix(text, "{") || strings.HasPrefix(text, "{{") || slices.Contains(c.AllowDash, names[0]) {
		return nil
	}
	p := problemAt(names[0], "begins with a dash, and would be an option of the command")
	p.Detail = fmt.Sprintf("its declaration can say otherwise: `--` before `{%s}`, or `--%s={%s}`, or `allow_dash: [%s]`", names[0], names[0], names[0], names[0])
	return p
}

func problemAt(name, summary string) *sdk.Problem {
	return &sdk.Problem{Pointer: sdk.Pointer("input", name), Summary: summary}
}
