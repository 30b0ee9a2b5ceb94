package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plugintree"
	"github.com/flowrun/flowrun/internal/plugintemplate"
)

// pluginNew is what `plugins new` is given.
type pluginNew struct {
	lang, dir, module, sdk string
}

// madePlugin is what `plugins new` prints.
type madePlugin struct {
	Plugin   string   `json:"plugin"`
	Language string   `json:"language"`
	Folder   string   `json:"folder"`
	Module   string   `json:"module,omitempty"` // of a plugin in Go
	Files    []string `json:"files"`            // in the folder
	Next     []string `json:"next"`             // commands, in the folder
	Notes    []string `json:"notes,omitempty"`  // what is missing on this machine
}

func (a *app) pluginNewCommand() *cobra.Command {
	var given pluginNew
	c := withText(&cobra.Command{
		Use: "new NAME", Short: "Make a plugin: a folder that builds, tests and runs", Args: exactArgs("NAME"),
		Long: "New writes a folder with a plugin in Go or Python: a service with two actions, its tests, a simulated service\n" +
			"that they use and `--sandbox` starts, a project with a workflow, a Makefile that makes signed releases, and a\n" +
			"file for CI. Put your own service in the place of the one that is there (docs/plugins/first-plugin.md). No file\n" +
			"that is there is changed.",
		Example: "  flowrun plugins new notes\n  flowrun plugins new notes --lang python\n  flowrun plugins new notes --module github.com/you/flowrun-plugin-notes",
		RunE:    func(c *cobra.Command, args []string) error { return a.newPlugin(c.Context(), args[0], given) },
	})
	flags := c.Flags()
	flags.StringVar(&given.lang, "lang", plugintemplate.Go, "the language: go or python")
	flags.StringVar(&given.dir, "dir", "", "the folder (default: NAME)")
	flags.StringVar(&given.module, "module", "", "the module of a plugin in Go (default: example.com/flowrun-plugin-NAME)")
	flags.StringVar(&given.sdk, "sdk", "", "of a plugin in Go: a version of the SDK, or a folder that has it (default: the version that fits this flowrun)")
	return c
}

func (a *app) newPlugin(ctx context.Context, name string, given pluginNew) error {
	options := plugintemplate.Options{Name: name, Language: given.lang, Flowrun: releaseTag(a.sys.Version)}
	if err := checkNewPlugin(name, given); err != nil {
		return err
	}
	made := madePlugin{Plugin: name, Language: given.lang, Folder: given.dir, Next: nextOfPython()}
	if made.Folder == "" {
		made.Folder = name
	}
	if given.lang == plugintemplate.Go {
		if err := a.chooseSDK(&options, given.sdk); err != nil {
			return err
		}
		options.Module, made.Next = given.module, nextOfGo()
		if options.Module == "" {
			options.Module = plugintemplate.DefaultModule(name)
		}
		made.Module = options.Module
		if options.SDKFolder == "" && given.sdk == "" && options.Flowrun == "" {
			made.Notes = append(made.Notes, fmt.Sprintf("this flowrun is no release: where %s %s is not published yet, `--sdk FOLDER` takes the folder `sdk` of a clone", plugintemplate.SDKModule, options.SDKVersion))
		}
	} else {
		made.Notes = a.pythonLacks(ctx)
	}
	files, err := plugintemplate.Files(options)
	if err != nil {
		return err
	}
	if err := a.writePlugin(made.Folder, files); err != nil {
		return err
	}
	for _, file := range files {
		made.Files = append(made.Files, file.Path)
	}
	return a.print(made, func() { a.tellNewPlugin(made) })
}

// checkNewPlugin looks at what was typed.
func checkNewPlugin(name string, given pluginNew) error {
	switch {
	case !plugintree.ValidName(name):
		return usageError(fmt.Errorf("%q is no name for a plugin", name), plugintree.NameRule)
	case name == "core" || slices.Contains(bundledNames(), name):
		return usageError(fmt.Errorf("%s is a plugin of flowrun itself", name), "choose another name: `uses` would mean the one that flowrun brings")
	case given.lang != plugintemplate.Go && given.lang != plugintemplate.Python:
		return usageError(fmt.Errorf("--lang %q is none of %s and %s", given.lang, plugintemplate.Go, plugintemplate.Python), "for another language, proto/flowrun/plugin/v1/README.md has all that a plugin says and is told")
	case given.lang != plugintemplate.Go && given.module+given.sdk != "":
		return usageError(errors.New("--module and --sdk are for a plugin in Go"), "")
	case given.module != "":
		if err := plugintemplate.CheckModule(given.module); err != nil {
			return usageError(fmt.Errorf("%q is no module for a plugin: %w", given.module, err), "")
		}
	}
	return nil
}

var (
	sdkVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`) })
	releases   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-(alpha|beta|rc)[0-9.]*)?$`)
	})
)

// releaseTag is the tag of the release that this program is; "" = it is none.
func releaseTag(version string) string {
	if !releases().MatchString(version) {
		return ""
	}
	return version
}

// chooseSDK settles where a plugin in Go takes the SDK from.
func (a *app) chooseSDK(options *plugintemplate.Options, given string) error {
	switch options.SDKVersion = a.sys.SDK; {
	case given == "" && options.SDKVersion == "":
		return usageError(errors.New("this flowrun does not know which version of the SDK fits it"), "name it with --sdk, or a folder that has the SDK")
	case given == "":
		return nil
	case sdkVersion().MatchString(given):
		options.SDKVersion = given
		return nil
	}
	folder := a.inDir(given)
	text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	first, _, _ := strings.Cut(string(text), "\n")
	if err != nil || strings.TrimSpace(first) != "module "+plugintemplate.SDKModule {
		return usageError(fmt.Errorf("--sdk %s is neither a version such as v1.2.0 nor a folder with the module %s", safePath(given), plugintemplate.SDKModule), "in a clone of flowrun it is the folder `sdk`")
	}
	options.SDKFolder = folder
	if options.SDKVersion == "" {
		options.SDKVersion = "v0.0.0"
	}
	return nil
}

// pythonLacks says what plugins in Python need that this machine does not have.
func (a *app) pythonLacks(ctx context.Context) []string {
	const get = "apt-get install python3-grpcio python3-protobuf, or python3 -m pip install grpcio protobuf"
	python := a.lookPath("python3")
	if python == "" {
		return []string{"there is no python3 in PATH, which starts the plugin: it needs 3.9 or later, with grpcio and protobuf"}
	}
	has := func(program string) bool {
		_, err := a.outputOf(ctx, program, "-c", "import grpc, google.protobuf")
		return err == nil
	}
	if has(python) {
		return nil
	}
	notes := []string{python + " has no grpcio and protobuf, which the plugin needs: " + get}
	if system := "/usr/bin/python3"; python != system && has(system) {
		notes = append(notes, system+" has them: put /usr/bin first in PATH, where flowrun runs too")
	}
	return notes
}

func nextOfGo() []string {
	return []string{
		"go mod tidy", "go build -o plugin/ ./...", "go test ./...",
		"flowrun run --sandbox workflows/hello.yaml", "flowrun plugins test ./plugin --config kit.yaml",
	}
}

func nextOfPython() []string {
	return []string{"python3 -m unittest", "flowrun run --sandbox workflows/hello.yaml", "flowrun plugins test ./plugin --config kit.yaml"}
}

// writePlugin writes all files of a plugin, or none.
func (a *app) writePlugin(dir string, files []plugintemplate.File) (err error) {
	folder := a.abs(dir)
	for _, file := range files {
		if _, err := os.Lstat(filepath.Join(folder, filepath.FromSlash(file.Path))); !errors.Is(err, fs.ErrNotExist) {
			return &codedError{code: exitConflict, err: fmt.Errorf("%s is there already", safePath(filepath.Join(dir, filepath.FromSlash(file.Path)))), hint: "nothing was written; choose another folder with --dir"}
		}
	}
	var written []string
	defer func() {
		if err != nil {
			for _, path := range written {
				err = errors.Join(err, os.Remove(path))
			}
		}
	}()
	for _, file := range files {
		path := filepath.Join(folder, filepath.FromSlash(file.Path))
		if err := createFile(path, file.Content); err != nil {
			return err
		}
		written = append(written, path)
		if file.Executable {
			if err := os.Chmod(path, 0o755); err != nil { //nolint:gosec // a program that others may run
				return fmt.Errorf("let %s be run: %w", safePath(path), err)
			}
		}
	}
	return nil
}

func (a *app) tellNewPlugin(made madePlugin) {
	for _, file := range made.Files {
		a.say("created  %s", safePath(filepath.Join(made.Folder, filepath.FromSlash(file))))
	}
	for _, note := range made.Notes {
		a.note("%s", note)
	}
	next := append([]string{"cd " + diag.ShellWord(made.Folder)}, made.Next...)
	for i, command := range next {
		label := "      "
		if i == 0 {
			label = "next: "
		}
		fmt.Fprintf(a.sys.Stderr, "%s%s\n", a.style.Dim(label), a.style.Cyan(command))
	}
}
