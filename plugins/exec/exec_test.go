package exec_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/plugins/exec"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

func TestGivesInputsAndTakesAnswers(t *testing.T) {
	b := newBench(t)
	b.script("echo", "#!/bin/sh\ncat\n")
	b.script("table", "#!/bin/sh\nprintf 'name,n\\na,1\\n'\n")
	b.script("noise", "#!/bin/sh\necho one; echo two >&2\n")
	number := map[string]any{"type": "object", "required": []string{"n"}, "properties": map[string]any{"n": map[string]any{"type": "integer"}, "word": map[string]any{"type": "string", "default": "x"}}}
	for _, c := range []struct {
		name    string
		command map[string]any
		input   map[string]any
		want    string
	}{
		{"the input as JSON, with its defaults", map[string]any{"argv": []string{"./echo"}, "input": number, "answer": number}, map[string]any{"n": 12345678901234567}, `{"n":12345678901234567,"word":"x"}`},
		{"a text with an input", map[string]any{"argv": []string{"./echo"}, "input": number, "stdin": "n is {n}\n"}, map[string]any{"n": 3}, "n is 3\n"},
		{"nothing", map[string]any{"argv": []string{"./echo"}, "stdin": "none"}, nil, ""},
		{"rows", map[string]any{"argv": []string{"./table"}, "format": "csv", "answer": number}, nil, `[{"name":"a","n":1}]`},
		{"stderr is for the log", map[string]any{"argv": []string{"./noise"}}, nil, "one\n"},
	} {
		input := map[string]any{"command": "c"}
		if c.input != nil {
			input["input"] = c.input
		}
		result := b.with(c.command).Call("run", input)
		out := output(t, result)
		got := out.Text + string(out.JSON)
		if out.Rows != nil {
			got = fmt.Sprintf("%s", out.Rows)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if strings.Contains(c.name, "log") && (len(result.Logs) != 1 || result.Logs[0].Message != "two") {
			t.Errorf("%s: %v", c.name, result.Logs)
		}
	}
	none := b.with(map[string]any{"argv": []string{"./noise"}, "format": "none"}).Call("run", map[string]any{"command": "c"})
	if len(none.Logs) != 2 || strings.Contains(string(none.Output), "text") {
		t.Errorf("stdout for the log: %v, %s", none.Logs, none.Output)
	}
}

func TestExitCodesMeanWhatIsDeclared(t *testing.T) {
	b := newBench(t)
	b.script("end", "#!/bin/sh\necho because >&2\nread -r code\nexit $code\n")
	command := map[string]any{
		"argv": []string{"./end"}, "stdin": "{n}\n", "exits": map[string]any{"1": "ok", "2": "not_found", "75": "unavailable"},
		"input": map[string]any{"type": "object", "required": []string{"n"}, "properties": map[string]any{"n": map[string]any{"type": "integer"}}},
	}
	p := b.with(command)
	for code, want := range map[int]struct {
		code    sdk.Code
		applied sdk.Applied
	}{2: {sdk.CodeNotFound, sdk.NotApplied}, 75: {sdk.CodeUnavailable, sdk.NotApplied}, 3: {sdk.CodeInternal, sdk.AppliedPartly}} {
		failed := p.Call("run", map[string]any{"command": "c", "input": map[string]any{"n": code}}).Err
		if failed == nil || failed.Code != want.code || failed.Applied != want.applied || failed.Reason != "exit_"+strconv.Itoa(code) || !strings.Contains(failed.Message, "because") {
			t.Errorf("%d: %+v", code, failed)
		}
	}
	for _, code := range []int{0, 1} {
		if out := output(t, p.Call("run", map[string]any{"command": "c", "input": map[string]any{"n": code}})); out.ExitCode != code {
			t.Errorf("%d: %+v", code, out)
		}
	}
	for code, hint := range map[int]string{3: "exits: {3:", 126: "needs a grant of its own", 127: "was not found"} {
		if failed := p.Call("run", map[string]any{"command": "c", "input": map[string]any{"n": code}}).Err; failed == nil || !strings.Contains(failed.Hint, hint) {
			t.Errorf("%d: the hint is %+v", code, failed)
		}
	}
	b.script("end", "#!/bin/sh\nkill -SEGV $$\n")
	if failed := p.Call("run", map[string]any{"command": "c", "input": map[string]any{"n": 0}}).Err; failed == nil || failed.Reason != "killed" || failed.Applied != sdk.AppliedUnknown {
		t.Errorf("killed: %+v", failed)
	}
}

func TestSaysWhyAProgramIsNotStarted(t *testing.T) {
	b := newBench(t)
	b.script("none", "#!/no/such/interpreter\n")
	if err := os.WriteFile(filepath.Join(b.dir, "closed"), []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]sdk.Code{"./missing": sdk.CodeNotFound, "no-such-program": sdk.CodeNotFound, "./closed": sdk.CodeForbidden, "./none": sdk.CodeNotFound} {
		failed := b.with(map[string]any{"argv": []string{program}}).Call("run", map[string]any{"command": "c"}).Err
		if failed == nil || failed.Code != want || failed.Applied != sdk.NotApplied || failed.Hint == "" {
			t.Errorf("%s: %+v", program, failed)
		}
	}
}

// stubborn starts another process that starts another one, all of which ignore SIGTERM, and
// tells their numbers.
const stubborn = `#!/bin/sh
trap '' TERM
(trap '' TERM; (trap '' TERM; echo $(exec sh -c 'echo $PPID') > third; exec sleep 1000) & exec sleep 1000) &
echo $! > second
echo $$ > first
exec sleep 1000
`

// ended waits until the processes that have told their numbers are gone.
func (b *bench) ended(names ...string) {
	b.Helper()
	for _, name := range names {
		raw, err := os.ReadFile(filepath.Join(b.dir, name))
		pid, parseErr := strconv.Atoi(strings.TrimSpace(string(raw)))
		if err != nil || parseErr != nil {
			b.Fatalf("%s: %v, %v", name, err, parseErr)
		}
		for !gone(pid) {
			if b.Context().Err() != nil {
				b.Fatalf("%s is still there", name)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// gone reports that a process has ended, or is only waited for.
func gone(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return syscall.Kill(pid, 0) != nil
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}

func (b *bench) await(name string) {
	b.Helper()
	for {
		raw, err := os.ReadFile(filepath.Join(b.dir, name))
		if err == nil && strings.HasSuffix(string(raw), "\n") {
			return
		}
		if b.Context().Err() != nil {
			b.Fatalf("%s is not there", name)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestEndsACommandWithAllThatItHasStarted(t *testing.T) {
	for _, how := range []string{"its time is over", "the call is canceled", "it writes too much"} {
		t.Run(strings.ReplaceAll(how, " ", "_"), func(t *testing.T) {
			b := newBench(t)
			text, command := stubborn, map[string]any{"argv": []string{"./stubborn"}, "grace": "50ms", "stdin": "none"}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			switch how {
			case "its time is over":
				command["timeout"] = "2s"
			case "the call is canceled":
				go func() { b.await("first"); b.await("third"); cancel() }()
			case "it writes too much":
				command["max_bytes"] = 10
				text = strings.TrimSuffix(stubborn, "exec sleep 1000\n") + "while [ ! -s third ]; do :; done\necho 12345678901\nexec sleep 1000\n"
			}
			b.script("stubborn", text)
			result := b.with(command).CallContext(ctx, "run", map[string]any{"command": "c"})
			want := map[string]sdk.Code{"its time is over": sdk.CodeTimeout, "the call is canceled": sdk.CodeCanceled, "it writes too much": sdk.CodeUnexpectedResponse}[how]
			if result.Err == nil || result.Err.Code != want || result.Err.Applied != sdk.AppliedUnknown {
				t.Errorf("%+v", result.Err)
			}
			b.await("third")
			b.ended("first", "second", "third")
		})
	}
}

// What a command leaves behind is ended with it, also when it ends well; others are left alone.
func TestNothingIsLeftOfACommandThatEndsWell(t *testing.T) {
	b := newBench(t)
	b.script("leave", "#!/bin/sh\n(sleep 1000 & echo $! > left) &\nwhile [ ! -s left ]; do :; done\necho done\n")
	b.script("other", "#!/bin/sh\necho $$ > other.pid\nwhile [ ! -e stop ]; do sleep 0.01; done\necho alive\n")
	p := sdktest.Open(t, exec.NewWith(exec.Options{Now: time.Now, Dir: b.dir, Environ: environ()}), map[string]any{"commands": map[string]any{
		"leave": map[string]any{"argv": []string{"./leave"}, "stdin": "none"}, "other": map[string]any{"argv": []string{"./other"}, "stdin": "none"},
	}})
	beside := make(chan sdktest.Result, 1)
	go func() { beside <- p.Call("run", map[string]any{"command": "other"}) }()
	b.await("other.pid")
	if out := output(t, p.Call("run", map[string]any{"command": "leave"})); out.Text != "done\n" {
		t.Errorf("%+v", out)
	}
	b.ended("left")
	if err := os.WriteFile(filepath.Join(b.dir, "stop"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := output(t, <-beside); out.Text != "alive\n" {
		t.Errorf("a command beside it: %+v", out)
	}
}

func TestTypesStepsByTheDeclaration(t *testing.T) {
	b := newBench(t)
	config := map[string]any{"commands": map[string]any{
		"report": map[string]any{"argv": []string{"./show", "{since}"}, "effect": "read", "input": texts("since"),
			"answer": map[string]any{"type": "object", "required": []string{"n"}, "properties": map[string]any{"n": map[string]any{"type": "integer"}}}},
		"send": map[string]any{"argv": []string{"./show"}},
	}}
	p := b.with(map[string]any{"argv": []string{"./show"}})
	for _, c := range []struct {
		action  string
		input   map[string]any
		unknown []string
		want    string
	}{
		{"read", map[string]any{"command": "report", "input": map[string]any{"since": "x"}}, nil, ""},
		{"read", map[string]any{"command": "report", "input": map[string]any{}}, []string{"/input/since"}, ""},
		{"read", map[string]any{"command": "report"}, []string{"/input"}, ""},
		{"read", map[string]any{"command": "report", "input": map[string]any{}}, nil, "/input/since `since` is required"},
		{"read", map[string]any{"command": "report", "input": map[string]any{"since": "x", "til": 1}}, nil, "/input/til there is no field `til`"},
		{"read", map[string]any{"command": "report", "input": map[string]any{"since": 5}}, nil, "/input/since must be text, is 5"},
		{"read", map[string]any{"command": "report", "input": map[string]any{"since": "-x"}}, nil, "/input/since begins with a dash"},
		{"read", map[string]any{"command": "raport"}, nil, "/command the connection declares no command `raport`"},
		{"run", map[string]any{"command": "report"}, nil, "/command `report` is declared with the effect read"},
		{"read", map[string]any{"command": "send"}, nil, "/command `send` is declared with the effect once"},
		{"run", map[string]any{"command": "send"}, nil, ""},
	} {
		problems, narrowed := p.ValidateOn(c.action, config, nil, c.input, c.unknown...)
		got := ""
		for _, problem := range problems {
			got += problem.Pointer + " " + problem.Summary
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) || (narrowed != nil) != (c.want == "") {
			t.Errorf("%s %v: %q, narrowed to %s", c.action, c.input, got, narrowed)
		}
	}
	_, narrowed := p.ValidateOn("read", config, nil, map[string]any{"command": "report", "input": map[string]any{"since": "x"}})
	if !strings.Contains(string(narrowed), `"json":{`) || !strings.Contains(string(narrowed), `"required":["command","exit_code","duration_ms","json"]`) {
		t.Errorf("narrowed to %s", narrowed)
	}
}

func TestASimulatedCommandIsNotStarted(t *testing.T) {
	b := newBench(t)
	open := func(config map[string]any) *sdktest.Plugin {
		config["simulated"] = "x"
		return sdktest.Open(t, exec.NewWith(exec.Options{Now: time.Now, Dir: b.dir}), config)
	}
	p := open(map[string]any{"commands": map[string]any{
		"touch": map[string]any{"argv": []string{"touch", "spoiled", "--{v}"}, "input": texts("v"),
			"answer": map[string]any{"type": "object", "required": []string{"n", "list", "in"}, "properties": map[string]any{
				"n": map[string]any{"type": "integer", "minimum": 3}, "list": map[string]any{"type": "array"}, "in": map[string]any{"type": "object", "required": []string{"s"}, "properties": map[string]any{"s": map[string]any{"enum": []string{"a", "b"}}}},
			}}},
		"hard": map[string]any{"argv": []string{"x"}, "answer": map[string]any{"type": "object", "required": []string{"s"}, "properties": map[string]any{"s": map[string]any{"type": "string", "pattern": "^z+$"}}}},
	}})
	result := p.Call("run", map[string]any{"command": "touch", "input": map[string]any{"v": "x"}})
	if out := output(t, result); string(out.JSON) != `{"n":3,"list":[],"in":{"s":"a"}}` || len(result.Logs) != 1 || result.Logs[0].Message != "simulated: touch spoiled --x" {
		t.Errorf("%s %v", out.JSON, result.Logs)
	}
	if b.spoiled("") {
		t.Error("it was started")
	}
	if failed := p.Call("run", map[string]any{"command": "hard"}).Err; failed == nil || !strings.Contains(failed.Hint, "`sample`") {
		t.Errorf("no sample can be made: %+v", failed)
	}
	free := open(map[string]any{})
	for _, action := range free.Describe().Actions {
		for _, example := range action.Examples {
			if failed := free.Call(action.Name, example.Input).Err; failed != nil {
				t.Errorf("the example %q of %s: %v", example.Name, action.Name, failed)
			}
		}
	}
}

// A secret of the declaration reaches the command, and neither the log nor a failure.
func TestASecretIsForTheCommandAlone(t *testing.T) {
	b := newBench(t)
	b.script("tell", "#!/bin/sh\necho \"it is $KEY\" >&2\n[ \"$KEY\" = hidden-key-4711 ] && exit 9\n")
	result := b.with(map[string]any{"argv": []string{"./tell"}, "stdin": "none", "secret_env": map[string]any{"KEY": "hidden-key-4711"}}).Call("run", map[string]any{"command": "c"})
	if result.Err == nil || result.Err.Reason != "exit_9" {
		t.Fatalf("the command did not get it: %+v", result.Err)
	}
	if told := fmt.Sprint(result.Err.Message, result.Logs); strings.Contains(told, "4711") || !strings.Contains(told, "[redacted]") {
		t.Errorf("told: %s", told)
	}
}
