package plugintemplate_test

import (
	"go/format"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/plugintree"
	"github.com/flowrun/flowrun/internal/plugintemplate"
)

func filesOf(t *testing.T, o plugintemplate.Options) map[string]plugintemplate.File {
	t.Helper()
	files, err := plugintemplate.Files(o)
	if err != nil {
		t.Fatal(err)
	}
	byPath := map[string]plugintemplate.File{}
	for _, f := range files {
		byPath[f.Path] = f
	}
	if len(byPath) != len(files) || !slices.IsSortedFunc(files, func(a, b plugintemplate.File) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("%d files in %d places, or in no order", len(files), len(byPath))
	}
	return byPath
}

// TestIssue15_NothingOfTheTemplatesIsLeft: a name of every kind of letter stands wherever
// the template has its own, and nothing points into flowrun's tree.
func TestIssue15_NothingOfTheTemplatesIsLeft(t *testing.T) {
	t.Parallel()
	left := regexp.MustCompile(`(?i:pluginname|plugintemplate)|\bMODULE\b|SDKVERSION|FLOWRUNVERSION`)
	for _, language := range []string{plugintemplate.Go, plugintemplate.Python} {
		for _, name := range []string{"notes", "my-notes_2"} {
			files := filesOf(t, plugintemplate.Options{Name: name, Language: language, SDKVersion: "v1.2.3", Flowrun: "v1.0.0"})
			for path, f := range files {
				if found := left.FindString(f.Content); found != "" && path != "plugin/flowrun.py" {
					t.Errorf("%s, %s: %s has %q", language, name, path, found)
				}
				if f.Executable != strings.HasPrefix(f.Content, "#!") {
					t.Errorf("%s, %s: %s may be run: %v", language, name, path, f.Executable)
				}
			}
			manifest, err := plugintree.ParseManifest([]byte(files["plugin/flowrun-plugin.yaml"].Content))
			if err != nil || manifest.Name != name || manifest.Version != "0.1.0" {
				t.Errorf("%s, %s: the manifest is %+v, %v", language, name, manifest, err)
			}
			if want := "secrets." + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_KEY"; !strings.Contains(files["flowrun.yaml"].Content, want) {
				t.Errorf("%s, %s: flowrun.yaml lacks %s", language, name, want)
			}
			if !strings.Contains(files[".github/workflows/ci.yml"].Content, "gh release download v1.0.0 --repo") {
				t.Errorf("%s, %s: CI takes another flowrun", language, name)
			}
		}
	}
	if ci := filesOf(t, plugintemplate.Options{Name: "notes", Language: plugintemplate.Python})[".github/workflows/ci.yml"].Content; !strings.Contains(ci, "gh release download --repo") {
		t.Errorf("CI of a flowrun that is no release:\n%s", ci)
	}
}

// TestIssue15_TheTemplatesAreFormatted, whatever the module is called: its imports have a
// group of their own, so that flowrun needs no formatter of Go.
func TestIssue15_TheTemplatesAreFormatted(t *testing.T) {
	t.Parallel()
	for _, module := range []string{"", "a.example/notes", "zzz.example/some/where/notes"} {
		for path, f := range filesOf(t, plugintemplate.Options{Name: "my-notes_2", Language: plugintemplate.Go, Module: module, SDKVersion: "v1.2.3"}) {
			if !strings.HasSuffix(path, ".go") {
				continue
			}
			formatted, err := format.Source([]byte(f.Content))
			if err != nil || string(formatted) != f.Content {
				t.Errorf("%s of module %q is not formatted, %v", path, module, err)
			}
		}
	}
}

// TestIssue15_GoModFits: the module, the SDK's version or folder, and the SDK's own Go.
func TestIssue15_GoModFits(t *testing.T) {
	t.Parallel()
	own, err := os.ReadFile("../../sdk/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	goLine := regexp.MustCompile(`(?m)^go .*$`).FindString(string(own))
	const head = "module example.com/flowrun-plugin-notes\n\n"
	require := "\n\nrequire " + plugintemplate.SDKModule + " v1.2.3\n"
	for folder, want := range map[string]string{
		"":        head + goLine + require,
		"/a/sdk":  head + goLine + require + "\nreplace " + plugintemplate.SDKModule + " => /a/sdk\n",
		"/a b/sd": head + goLine + require + "\nreplace " + plugintemplate.SDKModule + " => \"/a b/sd\"\n",
	} {
		files := filesOf(t, plugintemplate.Options{Name: "notes", Language: plugintemplate.Go, SDKVersion: "v1.2.3", SDKFolder: folder})
		if got := files["go.mod"].Content; got != want {
			t.Errorf("go.mod is\n%s\nand not\n%s", got, want)
		}
	}
	files := filesOf(t, plugintemplate.Options{Name: "notes", Language: plugintemplate.Go, SDKVersion: "v1.2.3", Module: "zoo.example/me/words"})
	for path, want := range map[string]string{
		"main_test.go": `"zoo.example/me/words/sim"`, "plugin/flowrun-plugin.yaml": "command: [./words]", "Makefile": "/words", "main.go": "// Command words ",
	} {
		if !strings.Contains(files[path].Content, want) {
			t.Errorf("%s of another module lacks %s:\n%s", path, want, files[path].Content)
		}
	}
	if strings.Index(files["main_test.go"].Content, "zoo.example") < strings.Index(files["main_test.go"].Content, "github.com/flowrun") {
		t.Errorf("the imports are in no order:\n%s", files["main_test.go"].Content)
	}
}

// TestIssue15_ModulesThatAreNone: a path of which go would make another program, or none.
func TestIssue15_ModulesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"example.com/flowrun-plugin-notes", "github.com/you/notes", "zoo.example/~me/a_b.c"} {
		if err := plugintemplate.CheckModule(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "notes", "example.com/", "/notes", "example.com/no tes", "example.com/notes/v2", "example.com/simulator", "example.com/../notes", plugintemplate.SDKModule, plugintemplate.SDKModule + "/notes", "example.com/n\nreplace"} {
		if plugintemplate.CheckModule(bad) == nil {
			t.Errorf("%q passes", bad)
		}
	}
	if _, err := plugintemplate.Files(plugintemplate.Options{Name: "notes", Language: "ruby"}); err == nil {
		t.Error("there is a template for ruby")
	}
}

// TestIssue15_TheTemplatesAreShort: what an author is given to change has under 40 lines.
func TestIssue15_TheTemplatesAreShort(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"golang/main.go", "python/plugin/main.py"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
		if len(lines) >= 40 {
			t.Errorf("%s has %d lines", path, len(lines))
		}
	}
}
