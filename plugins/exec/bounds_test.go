package exec_test

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/sdk/sdktest"
)

// attempt is a value by which a workflow, or what it has read, would have a command do
// something else.
type attempt struct {
	name  string
	value string
	// careless runs the program as somebody would who does not look; it must make the file
	// `spoiled`, or say the word that the value was after, so that the try is one.
	careless func(b *bench, value string) string
}

// shell glues a command line together.
func shell(b *bench, value string) string { return b.run("sh", "-c", "./show "+value) }

// quoted puts the value into quotes, which the value closes.
func quoted(b *bench, value string) string { return b.run("sh", "-c", `./show "`+value+`"`) }

func singly(b *bench, value string) string { return b.run("sh", "-c", `./show '`+value+`'`) }

// split cuts a command line at its blanks.
func split(b *bench, value string) string {
	return b.run("./show", strings.FieldsFunc(value, func(sign rune) bool { return strings.ContainsRune(" \t\n\u00a0", sign) })...)
}

// bare hands the value over as an argument, with nothing before it.
func bare(b *bench, value string) string { return b.run("./show", value) }

func (b *bench) run(program string, args ...string) string {
	b.Helper()
	cmd := osexec.Command(program, args...)
	cmd.Dir, cmd.Env = b.dir, environ()
	raw, _ := cmd.CombinedOutput() // that it fails is its own affair
	return string(raw)
}

// spoiled reports what a try was after: a file, or the plugin's secret.
func (b *bench) spoiled(said string) bool {
	_, err := os.Stat(filepath.Join(b.dir, "spoiled"))
	return err == nil || strings.Contains(said, "got:")
}

func attempts() []attempt {
	var all []attempt
	add := func(name, value string, careless func(*bench, string) string) {
		all = append(all, attempt{name, value, careless})
	}
	add("a semicolon", "x; touch spoiled", shell)
	add("and", "x && touch spoiled", shell)
	add("or", "|| touch spoiled", func(b *bench, v string) string { return b.run("sh", "-c", "false "+v) })
	add("a pipe", "x | touch spoiled", shell)
	add("in the background", "x & touch spoiled", shell)
	add("a line feed", "x\ntouch spoiled", shell)
	add("a carriage return and a line feed", "x\r\ntouch spoiled", shell)
	add("a substitution", "$(touch spoiled)", shell)
	add("an old substitution", "`touch spoiled`", shell)
	add("a substitution in quotes", "$(touch spoiled)", quoted)
	add("an old substitution in quotes", "`touch spoiled`", quoted)
	add("a quote that closes", `"; touch spoiled; "`, quoted)
	add("a single quote that closes", `'; touch spoiled; '`, singly)
	add("a redirection", "> spoiled", shell)
	add("a redirection that appends", ">> spoiled", shell)
	add("a redirection of errors", "2> spoiled", shell)
	add("a file to read", "< show > spoiled", shell)
	add("a here document", "<<E > spoiled\nE", shell)
	add("a variable", "$(echo got:$PLUGIN_SECRET)", shell)
	add("a blank by a variable", "x;touch${IFS}spoiled", shell)
	add("a subshell", "x;(touch spoiled)", shell)
	add("a group", "x;{ touch spoiled; }", shell)
	add("a comment", "; touch spoiled #", quotedTail)
	add("an end of options in a shell", "-c 'touch spoiled'", func(b *bench, v string) string { return b.run("sh", "-c", "sh "+v) })
	add("arithmetic", "$((1));touch spoiled", shell)
	add("eval", "x; eval 'touch spoiled'", shell)
	add("blanks that split", "x -ospoiled", split)
	add("a tab that splits", "x\t-ospoiled", split)
	add("a line feed that splits", "x\n-ospoiled", split)
	add("another blank that splits", "x\u00a0-ospoiled", split)
	add("a short option", "-ospoiled", bare)
	add("a long option", "--out=spoiled", bare)
	add("an option behind blanks that are cut", "  -ospoiled", func(b *bench, v string) string { return bare(b, strings.TrimSpace(v)) })
	add("an option by another dash", "\u2212ospoiled", func(b *bench, v string) string { return bare(b, strings.Replace(v, "\u2212", "-", 1)) })
	add("an option by a long dash", "\u2014out=spoiled", func(b *bench, v string) string { return bare(b, strings.Replace(v, "\u2014", "--", 1)) })
	add("a name of another input", "{other}", func(b *bench, v string) string { return shell(b, strings.ReplaceAll(v, "{other}", "; touch spoiled")) })
	add("a name of another input in braces", "{{other}}", func(b *bench, v string) string {
		return shell(b, strings.ReplaceAll(v, "{{other}}", "; touch spoiled"))
	})
	add("an expression", "${{ secrets.X }}; touch spoiled", func(b *bench, v string) string { return shell(b, strings.Replace(v, "${{ secrets.X }}", "", 1)) })
	add("a NUL before an option", "x\x00-ospoiled", func(b *bench, v string) string { return b.run("./show", strings.Split(v, "\x00")...) })
	add("a variable of the environment", "x\nBASH_ENV=./spoil", func(b *bench, v string) string {
		b.script("spoil", "touch spoiled\n")
		cmd := osexec.Command("bash", "-c", ":")
		cmd.Dir, cmd.Env = b.dir, append(environ(), strings.Split("A="+v, "\n")...)
		_ = cmd.Run() // that it fails is its own affair
		return ""
	})
	return all
}

func quotedTail(b *bench, value string) string { return b.run("sh", "-c", "./show "+value+" --safe") }

// TestNoValueIsMoreThanOneArgument: whatever a value holds, the program gets it as one
// argument, or the call is refused.
func TestNoValueIsMoreThanOneArgument(t *testing.T) {
	all := attempts()
	if len(all) < 40 {
		t.Fatalf("%d tries", len(all))
	}
	for _, a := range all {
		t.Run(strings.ReplaceAll(a.name, " ", "_"), func(t *testing.T) {
			for _, shape := range []struct {
				argv []string
				want string // the arguments that come, X for the value
			}{
				{[]string{"./show", "{v}"}, "X"},
				{[]string{"./show", "--", "{v}", "{other}"}, "--|X|second"},
				{[]string{"./show", "--in={v}", "end"}, "--in=X|end"},
			} {
				b := newBench(t)
				p := b.with(map[string]any{
					"argv": shape.argv, "effect": "read", "input": texts("v", "other"), "format": "bytes", "env": map[string]any{"VALUE": "{v}"},
				})
				result := p.Call("read", map[string]any{"command": "c", "input": map[string]any{"v": a.value, "other": "second"}})
				said := string(result.Output)
				if b.spoiled(said) {
					t.Fatalf("%v: it does what the value is after: %s", shape.argv, said)
				}
				if result.Err != nil {
					if result.Err.Pointer != "/input/v" {
						t.Errorf("%v: %v", shape.argv, result.Err)
					}
					continue
				}
				got, want := decoded(t, result), strings.ReplaceAll(shape.want, "X", a.value)
				if args := strings.Join(between(got), "|"); args != "arg:"+strings.ReplaceAll(want, "|", "|arg:") && !strings.Contains(a.value, "|") && !strings.Contains(a.value, "\n") {
					t.Errorf("%v: %q, want %q", shape.argv, args, want)
				}
				if !strings.Contains(got, a.value) || strings.Contains(got, "PLUGIN_SECRET=") || strings.Contains(got, "FLOWRUN_") {
					t.Errorf("%v: the program got\n%s", shape.argv, got)
				}
			}
		})
	}
}

// TestEachTryIsOne is the control: a program that does not look does what the value wants.
func TestEachTryIsOne(t *testing.T) {
	for _, a := range attempts() {
		t.Run(strings.ReplaceAll(a.name, " ", "_"), func(t *testing.T) {
			b := newBench(t)
			if said := a.careless(b, a.value); !b.spoiled(said) {
				t.Errorf("a careless program does nothing of %q: %s", a.value, said)
			}
		})
	}
}

// decoded is what a command wrote, byte by byte.
func decoded(t *testing.T, result sdktest.Result) string {
	t.Helper()
	var out struct{ Base64 []byte }
	result.Decode(t, &out)
	return string(out.Base64)
}

// between are the lines of the arguments.
func between(said string) []string {
	var args []string
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "arg:") {
			args = append(args, strings.TrimSuffix(line, "\n"))
		}
	}
	return args
}

// TestWhatADeclarationMayNotSay: a text that a shell or another interpreter runs takes no
// input, and neither does the program itself.
func TestWhatADeclarationMayNotSay(t *testing.T) {
	for _, argv := range [][]string{
		{"sh", "-c", "report {v}"}, {"/bin/bash", "-lc", "report {v}"}, {"env", "A=1", "sh", "-ec", "{v}"}, {"sh", "{v}"}, {"python3", "-c", "print({v})"},
		{"python3.12", "-B", "{v}"}, {"perl", "-e", "{v}"}, {"node", "--eval={v}"}, {"ruby", "-e{v}"}, {"awk", "{v}"}, {"sed", "-e", "s/{v}//"}, {"find", ".", "-exec", "{v}"},
		{"ssh", "host", "report", "{v}"}, {"{v}"}, {"./{v}/show"}, {""}, {"show", "a\x00b"}, {"show", "{w}"}, {"nice", "-n", "5", "bash", "-x", "-c", "{v}"},
	} {
		if _, said := newBench(t).try(map[string]any{"argv": argv, "input": texts("v")}); len(said) == 0 || !strings.Contains(said[0], "/commands/c/argv/") {
			t.Errorf("%q is taken: %v", argv, said)
		}
	}
	for _, argv := range [][]string{
		{"sh", "-c", "report \"$1\"", "report", "{v}"}, {"python3", "report.py", "{v}"}, {"psql", "{v}", "-c", "select 1"}, {"find", "{v}", "-name", "x"}, {"show", "{{v}}", "{\"a\": 1}"},
		{"git", "-C", "{v}", "status"},
	} {
		if _, said := newBench(t).try(map[string]any{"argv": argv, "input": texts("v")}); len(said) > 0 {
			t.Errorf("%q is refused: %v", argv, said)
		}
	}
	for name, command := range map[string]map[string]any{
		"/commands/c/argv/1":       {"argv": []string{"x", "{v}"}, "input": map[string]any{"type": "object", "properties": map[string]any{"v": map[string]any{"type": "string"}}}},
		"/commands/c/env/B":        {"argv": []string{"x"}, "env": map[string]any{"B": "{v}"}},
		"/commands/c/env/A=B":      {"argv": []string{"x"}, "env": map[string]any{"A=B": "x"}},
		"/commands/c/stdin":        {"argv": []string{"x"}, "stdin": "{v}"},
		"/commands/c/exits/x":      {"argv": []string{"x"}, "exits": map[string]any{"x": "ok"}},
		"/commands/c/exits/3":      {"argv": []string{"x"}, "exits": map[string]any{"3": "crashed"}},
		"/commands/c/timeout":      {"argv": []string{"x"}, "timeout": "soon"},
		"/commands/c/grace":        {"argv": []string{"x"}, "grace": "1h"},
		"/commands/c/answer":       {"argv": []string{"x"}, "format": "lines", "answer": map[string]any{"type": "object"}},
		"/commands/c/input":        {"argv": []string{"x"}, "input": map[string]any{"type": "string"}},
		"/commands/c/allow_dash/0": {"argv": []string{"x"}, "allow_dash": []string{"v"}},
		"/commands/c/cwd":          {"argv": []string{"x"}, "cwd": "a\x00b"},
	} {
		if _, said := newBench(t).try(command); !slices.ContainsFunc(said, func(text string) bool { return strings.HasPrefix(text, name+" ") }) {
			t.Errorf("%s: %v", name, said)
		}
	}
}

// TestOneInputMayBeAnOptionWhereItIsDeclared: the three ways to take a value that begins
// with a dash.
func TestOneInputMayBeAnOptionWhereItIsDeclared(t *testing.T) {
	for want, command := range map[string]map[string]any{
		"refused":       {"argv": []string{"./show", "{v}"}},
		"arg:-5":        {"argv": []string{"./show", "{v}"}, "allow_dash": []string{"v"}},
		"arg:--|arg:-5": {"argv": []string{"./show", "--", "{v}"}},
		"arg:--v=-5":    {"argv": []string{"./show", "--v={v}"}},
	} {
		command["effect"], command["input"] = "read", map[string]any{"type": "object", "required": []string{"v"}, "properties": map[string]any{"v": map[string]any{"type": "integer"}}}
		input := map[string]any{"command": "c", "input": map[string]any{"v": -5}}
		result := newBench(t).with(command).Call("read", input)
		if want == "refused" {
			if result.Err == nil || result.Err.Pointer != "/input/v" || !strings.Contains(result.Err.Hint, "--v={v}") {
				t.Errorf("%v: %+v", command, result.Err)
			}
			continue
		}
		if got := strings.Join(between(output(t, result).Text), "|"); got != want {
			t.Errorf("%v: %q, want %q", command, got, want)
		}
	}
}
