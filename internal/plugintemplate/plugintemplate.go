// Package plugintemplate holds what `flowrun plugins new` writes: a plugin with its tests,
// a simulated service, a project that uses it, and what tests and releases it. What lies
// in golang and python are programs that build and pass as they stand; the name and the
// import path are put in where they are written out.
package plugintemplate

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/sdk/python"
)

//go:embed golang python project
var templates embed.FS

// Languages that a plugin can be written in.
const (
	Go     = "go"
	Python = "python"
)

// SDKModule is the module that a plugin in Go requires.
const SDKModule = "github.com/flowrun/flowrun/sdk"

// Options say which plugin is wanted.
type Options struct {
	Name     string // of the plugin, as `uses` writes it
	Language string // Go or Python
	Flowrun  string // the tag of the release that its CI takes; "" = the newest

	Module     string // of a plugin in Go; "" = DefaultModule
	SDKVersion string // of SDKModule
	SDKFolder  string // absolute; the SDK is taken from there; "" = as it is published
}

// File is one file to be written.
type File struct {
	Path       string // with slashes, from the plugin's folder
	Content    string
	Executable bool
}

// templateFile is where a file of the folder comes from.
type templateFile struct{ path, from string }

func filesOf(language string) []templateFile {
	files := []templateFile{
		{"flowrun.yaml", "project/flowrun.yaml"},
		{"workflows/hello.yaml", "project/hello.yaml"},
		{"kit.yaml", "project/kit.yaml"},
	}
	if language == Python {
		return append(files, []templateFile{
			{"plugin/main.py", "python/plugin/main.py"},
			{"plugin/simulator.py", "python/plugin/simulator.py"},
			{"plugin/flowrun-plugin.yaml", "python/plugin/flowrun-plugin.yaml"},
			{"test_plugin.py", "python/test_plugin.py"},
			{"Makefile", "python/Makefile"},
			{"README.md", "python/README.md"},
			{".gitignore", "python/gitignore.txt"},
			{".github/workflows/ci.yml", "python/ci.yml"},
		}...)
	}
	return append(files, []templateFile{
		{"go.mod", "golang/go.mod.txt"},
		{"main.go", "golang/main.go"},
		{"main_test.go", "golang/main_test.go"},
		{"sim/sim.go", "golang/sim/sim.go"},
		{"cmd/simulator/main.go", "golang/cmd/simulator/main.go"},
		{"plugin/flowrun-plugin.yaml", "golang/flowrun-plugin.yaml"},
		{"Makefile", "golang/Makefile"},
		{"README.md", "golang/README.md"},
		{".gitignore", "golang/gitignore.txt"},
		{".github/workflows/ci.yml", "golang/ci.yml"},
	}...)
}

// DefaultModule is the module of a plugin in Go for which none is named.
func DefaultModule(name string) string { return "example.com/flowrun-plugin-" + name }

// Files returns the files of a new plugin, sorted by their paths.
func Files(o Options) ([]File, error) {
	if o.Language != Go && o.Language != Python {
		return nil, fmt.Errorf("there is no template for %q, but for %s and %s", o.Language, Go, Python)
	}
	if o.Module == "" {
		o.Module = DefaultModule(o.Name)
	}
	put := o.words()
	var files []File
	for _, f := range filesOf(o.Language) {
		text, err := templates.ReadFile(f.from)
		if err != nil {
			return nil, fmt.Errorf("read a template: %w", err)
		}
		content := put.Replace(string(text))
		files = append(files, File{Path: f.path, Content: content, Executable: strings.HasPrefix(content, "#!")})
	}
	if o.Language == Python {
		files = append(files, File{Path: "plugin/" + python.FileName, Content: python.Source()})
	}
	order.Sort(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// words puts what a plugin is called into the templates.
func (o Options) words() *strings.Replacer {
	replaced := ""
	if o.SDKFolder != "" {
		replaced = "\nreplace " + SDKModule + " => " + quoted(o.SDKFolder) + "\n"
	}
	return strings.NewReplacer(
		"flowrun-plugin-pluginname", Program(o.Module),
		"github.com/flowrun/flowrun/internal/plugintemplate/golang", o.Module,
		"pluginname", o.Name,
		"PLUGINNAME", strings.ToUpper(strings.ReplaceAll(o.Name, "-", "_")),
		"MODULE", o.Module, "SDKVERSION\n", o.SDKVersion+"\n"+replaced,
		" FLOWRUNVERSION", strings.TrimRight(" "+o.Flowrun, " "),
	)
}

// quoted writes a path as go.mod takes it.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t\"'`") {
		return fmt.Sprintf("%q", path)
	}
	return path
}

// Program is what `go build` calls the program of a module.
func Program(module string) string { return path.Base(module) }

var (
	moduleElement = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_~-][A-Za-z0-9._~-]*$`) })
	majorElement  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^v[0-9]+$`) })
)

// CheckModule says what is wrong with the path of a module.
func CheckModule(module string) error {
	for element := range strings.SplitSeq(module, "/") {
		if !moduleElement().MatchString(element) {
			return errors.New("it has parts of letters, digits, and . _ ~ -, with / between them")
		}
	}
	switch program := Program(module); {
	case program == module:
		return errors.New("it has a host and a path, such as github.com/you/flowrun-plugin-words")
	case program == "simulator":
		return errors.New("the program would be called as the simulated service is")
	case majorElement().MatchString(program):
		return errors.New("its last part is the plugin's program, and no version")
	case strings.HasPrefix(module+"/", SDKModule+"/"):
		return errors.New("that is the SDK's")
	}
	return nil
}
