package pluginhost

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
)

func TestDescriptionIsKeptByDigest(t *testing.T) {
	w := newWorld(t, "good", nil)
	first, err := w.host.Describe(context.Background(), "evil")
	if err != nil {
		t.Fatal(err)
	}
	echo, found := first.Action("echo")
	if !found || echo.Effect != plan.EffectRead || echo.DefaultTimeout != 7*time.Second || echo.PluginVersion != "1.0.0" ||
		len(echo.Limiters) != 1 || echo.Limiters[0].Requests != 60 || echo.Limiters[0].Window != time.Minute || echo.PluginDigest != first.Digest {
		t.Errorf("action = %+v", echo)
	}
	// A second host on the same folder starts nothing.
	second := newWorld(t, "exit", func(o *Options) { o.StateDir = w.host.options.StateDir })
	d, err := second.host.Describe(context.Background(), "evil")
	if err != nil || d.Version != "1.0.0" || second.host.Status("evil").State != Stopped {
		t.Errorf("describe = %+v, %v", d, err)
	}
	// A record that can't be read is asked for again.
	for _, file := range stateFiles(t, filepath.Join(w.host.dir, "*.describe.json")) {
		if err := os.WriteFile(file, []byte(`{"format":1,"name":"ev`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	third := newWorld(t, "good", func(o *Options) { o.StateDir = w.host.options.StateDir })
	if _, err := third.host.Describe(context.Background(), "evil"); err != nil {
		t.Error(err)
	}
}

func TestIssue15_2_IgnoredWordsAreToldOnce(t *testing.T) {
	var told []string
	hear := func(o *Options) {
		o.Ignored = func(plugin string, words []string) { told = append(told, plugin+": "+strings.Join(words, " ")) }
	}
	first := newWorld(t, "ignored", hear)
	again := newWorld(t, "ignored", func(o *Options) {
		hear(o)
		o.StateDir = first.host.options.StateDir
	})
	for _, w := range []*world{first, first, again} {
		if _, err := w.host.Describe(context.Background(), "evil"); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Join(told, ", ") != "evil: multipleOf not" {
		t.Errorf("told: %q", told)
	}
}

func TestWrongDescriptionsAreRefused(t *testing.T) {
	for mode, want := range map[string]string{
		"other-name":   `its name is "good", not "evil"`,
		"twin":         "action echo stands there twice",
		"no-effect":    "does not say its effect",
		"bad-schema":   "`actions.echo.output_schema`: it is no JSON",
		"lost-limiter": `limiter "none" is not declared`,
		"lost-login":   `its login: `,
		"long-name":    "the name has 64 characters, at most 63 are taken",
		"long-limiter": "the name has 70 characters, at most 63 are taken",
		"capitals":     "a name has lower-case letters, digits and _, a letter first",
		"lost-field":   "",
	} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, mode, nil)
			_, err := w.host.Describe(context.Background(), "evil")
			if want == "" { // additionalProperties: the field may be there
				if err != nil {
					t.Error(err)
				}
				return
			}
			var failure *PluginError
			if !errors.As(err, &failure) || failure.Reason != ReasonDescribe || !strings.Contains(failure.Message, want) {
				t.Errorf("error = %v", err)
			}
		})
	}
}

// Issue 15, finding 8. The control is a plugin that says the same each time.
func TestIssue15_8_ADescriptionThatDiffersFromStartToStartIsRefused(t *testing.T) {
	for mode, want := range map[string]string{
		"good":             "",
		"unsteady-version": `it differs from one start to the next in the version: "1.0.`,
		"unsteady-input":   "it differs from one start to the next in the input schema of the action echo",
		"unsteady-doc":     "it differs from one start to the next in the text, paging, range, limiters or examples of the action echo",
		"unsteady-action":  "is missing the second time",
		"unsteady-order":   "in the order of its actions",
		"unsteady-limiter": "limiters or examples of the action echo",
	} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, mode, func(o *Options) {
				o.Sources[0].Bundled, o.Sources[0].Path = false, o.Sources[0].Command[0]
			})
			_, err := w.host.Describe(context.Background(), "evil")
			var failure *PluginError
			switch {
			case want == "":
				if err != nil {
					t.Error(err)
				}
			case !errors.As(err, &failure), failure.Reason != ReasonDescribe, !strings.Contains(failure.Message, want):
				t.Errorf("error = %v", err)
			}
			kept, globErr := filepath.Glob(filepath.Join(w.host.dir, "*.describe.json"))
			if globErr != nil || (len(kept) > 0) != (want == "") {
				t.Errorf("kept: %v %v", kept, globErr)
			}
		})
	}
}

func TestUnknownPluginHasAHint(t *testing.T) {
	w := newWorld(t, "good", nil)
	_, err := w.host.Describe(context.Background(), "evli")
	var failure *PluginError
	if !errors.As(err, &failure) || failure.Reason != ReasonUnknownPlugin || failure.Hint.Text != "did you mean `evil`?" {
		t.Errorf("error = %+v", err)
	}
}

func TestLocalPluginRunsFromItsPrivateCopy(t *testing.T) {
	self, err := os.ReadFile(must(os.Executable()))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "my-plugin")
	if err := os.WriteFile(path, self, 0o755); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, "good", func(o *Options) {
		o.Sources = []Source{{Name: "evil", Path: path, Command: []string{path, "plugin", "good"}}}
	})
	first := w.ok("pid", `{}`)
	d, err := w.host.Describe(context.Background(), "evil")
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(w.host.dir, d.Digest, "evil")
	running, err := os.Readlink("/proc/" + json.Number(jsonInt(first["pid"])).String() + "/exe")
	if err != nil || running != copied {
		t.Errorf("runs %s, want %s (%v)", running, copied, err)
	}
	info, err := os.Stat(copied)
	if err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("copy: %v %v", info, err)
	}
	if folder, err := os.Stat(filepath.Dir(copied)); err != nil || folder.Mode().Perm() != 0o700 {
		t.Errorf("folder: %v %v", folder, err)
	}

	// The copy removed by hand: it is made again for the next process.
	if err := os.RemoveAll(filepath.Dir(copied)); err != nil {
		t.Fatal(err)
	}
	w.host.plugins["evil"].inForce.rest()
	if second := w.ok("pid", `{}`); second["pid"] == first["pid"] {
		t.Error("the process did not end")
	}
}

func TestMissingExecutableSaysSo(t *testing.T) {
	w := newWorld(t, "good", func(o *Options) { o.Sources = []Source{{Name: "evil", Path: "/nowhere/plugin"}} })
	f := w.fails("echo", `{}`, plan.KindUnavailable)
	if f.Reason != ReasonExecutable || !strings.Contains(f.Message, "/nowhere/plugin") || w.host.Status("evil").Crashes != 0 {
		t.Errorf("failure = %+v", f)
	}
}

func TestValidateIsAskedOnceAndSeesNoSecret(t *testing.T) {
	w := newWorld(t, "good", nil)
	ask := func(input string) ([]Diagnostic, string) {
		diagnostics, output, err := w.host.Validate(context.Background(), "evil.echo", "", json.RawMessage(input), []string{"/size"})
		if err != nil || len(diagnostics) != 1 || diagnostics[0].Error || diagnostics[0].Pointer != "/text" {
			t.Fatalf("validate %s = %+v, %v", input, diagnostics, err)
		}
		return diagnostics, string(output)
	}
	const input = `{"text":"x","password":{"$secret":"KEY"}}`
	first, output := ask(input)
	if output != `{"type":"object","properties":{"text":{"const":"x"}}}` {
		t.Errorf("output schema = %s", output)
	}
	if first[0].Detail != `{"text":"x"}` || first[0].Summary != "question 1, unknown [/size /password]" {
		t.Errorf("the plugin saw %+v", first[0])
	}
	if second, _ := ask(input); second[0].Summary != first[0].Summary {
		t.Errorf("asked again: %+v", second[0])
	}
	if third, _ := ask(`{"text":"y"}`); third[0].Summary != "question 2, unknown [/size]" {
		t.Errorf("another question = %+v", third[0])
	}
}

// TestWhatAPluginHadNothingAgainstIsNotAskedAgain by the next host on the folder; what
// it said something to is, and so is all when the file can't be read.
func TestWhatAPluginHadNothingAgainstIsNotAskedAgain(t *testing.T) {
	ask := func(w *world, input string) (output string, err error) {
		_, narrowed, err := w.host.Validate(context.Background(), "evil.echo", "", json.RawMessage(input), nil)
		return string(narrowed), err
	}
	first := newWorld(t, "good", nil)
	if _, err := ask(first, `{"text":"x"}`); err != nil {
		t.Fatal(err)
	}
	output, err := ask(first, `{"text":"fine"}`)
	if err != nil || output != `{"type":"object","description":"question 2"}` {
		t.Fatalf("%s, %v", output, err)
	}
	if err := first.host.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	dir := first.host.options.StateDir
	second := newWorld(t, "good", func(o *Options) { o.StateDir = dir })
	if again, err := ask(second, `{"text":"fine"}`); err != nil || again != output || second.host.Status("evil").State != Stopped {
		t.Errorf("%s, %v, %v: want the answer of before, and no process", again, err, second.host.Status("evil"))
	}
	if _, err := ask(second, `{"text":"x"}`); err != nil || second.host.Status("evil").State == Stopped {
		t.Errorf("%v, %v: want a process", err, second.host.Status("evil"))
	}
	for _, file := range stateFiles(t, filepath.Join(first.host.dir, "*.answers.json")) {
		if err := os.WriteFile(file, []byte(`{"`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	third := newWorld(t, "good", func(o *Options) { o.StateDir = dir })
	if again, err := ask(third, `{"text":"fine"}`); err != nil || again != `{"type":"object","description":"question 1"}` {
		t.Errorf("%s, %v: want the plugin's own answer", again, err)
	}
}

func must(path string, err error) string {
	if err != nil {
		panic(err)
	}
	return path
}

func jsonInt(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}
