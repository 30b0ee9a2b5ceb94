package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/conformance"
	"github.com/flowrun/flowrun/engine/plugintree"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/sandbox"
)

// pluginTest is what `plugins test` is given.
type pluginTest struct {
	config, junit string
	only          []string
	list          bool
}

func (a *app) pluginsTestCommand() *cobra.Command {
	var given pluginTest
	c := withText(&cobra.Command{
		Use: "test BIN [ARG..]", Short: "Test a plugin's executable from outside: does it keep to the protocol?",
		Long: "Test starts the executable of a plugin, in whatever language it is written, as the engine starts it, and tries\n" +
			"each promise of the protocol: how it starts and ends, what it says of itself, what it makes of inputs, calls,\n" +
			"pages, secrets and faults of its service. A failure says what was sent, what came, what the contract says and\n" +
			"what to change. A case that the plugin gives no occasion for is skipped and says why.\n\n" +
			"BIN is the path of an executable or of a folder with flowrun-plugin.yaml, or the name of a bundled plugin. What\n" +
			"stands for its service is the simulator that the plugin names, or what --config names (docs/plugins/test.md). The exit code is 0 where no case fails, else 5.",
		Example: "  flowrun plugins test ./plugin\n" +
			"  flowrun plugins test ./flowrun-plugin-kv --config kit.yaml --junit report.xml\n" +
			"  flowrun plugins test netinfo -o json",
		Args: func(c *cobra.Command, args []string) error {
			if given.list {
				return exactArgs()(c, args)
			}
			return rangeArgs(1, "BIN", "ARG")(c, args[:min(len(args), 2)])
		},
		RunE: func(c *cobra.Command, args []string) error {
			if given.list {
				return a.listPluginCases()
			}
			return a.testPlugin(c.Context(), args, given)
		},
	})
	flags := c.Flags()
	flags.StringVar(&given.config, "config", "", "what the plugin needs to be tried: connection, calls, answers of its service (YAML or JSON)")
	flags.StringVar(&given.junit, "junit", "", "write the report to this file as JUnit XML too")
	flags.StringSliceVar(&given.only, "case", nil, "try these cases alone, by id or by the beginning of it such as `pages` (repeatable)")
	flags.BoolVar(&given.list, "list", false, "list the cases, and try none")
	return c
}

// listPluginCases prints the cases.
func (a *app) listPluginCases() error {
	cases := conformance.Cases()
	return a.print(cases, func() {
		for _, c := range cases {
			a.say("%-22s %s", c.ID, c.Title)
		}
	})
}

// testPlugin tries all cases with one executable and prints the report.
func (a *app) testPlugin(ctx context.Context, args []string, given pluginTest) error {
	options := conformance.Options{
		Environ: a.sys.Environ, Entropy: a.sys.Entropy, Now: a.sys.Now, Version: a.sys.Version, Only: given.only,
	}
	var err error
	if options.Config, err = a.readPluginTest(given.config); err != nil {
		return err
	}
	if err := checkCases(given.only); err != nil {
		return err
	}
	options.ReadFile = func(path string) ([]byte, error) {
		return os.ReadFile(filepath.Join(filepath.Dir(a.inDir(given.config)), filepath.FromSlash(path)))
	}
	// Sockets lie in it, whose paths must be short: not in the project.
	if options.Dir, err = os.MkdirTemp("", "fk"); err != nil {
		return fmt.Errorf("make a folder for the test: %w", err)
	}
	defer func() { _ = os.RemoveAll(options.Dir) }() // scratch
	stands, err := a.standFor(&options, args, given.config)
	if err != nil {
		return err
	}
	defer func() { _ = stands.Close() }() // the report is made
	report, err := conformance.Run(ctx, options)
	if err != nil {
		return err
	}
	if given.junit != "" {
		if err := writeJUnit(a.inDir(given.junit), report); err != nil {
			return err
		}
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		return err
	}
	if err := a.print(report, func() { a.say("%s", strings.TrimRight(term.CleanText(text.String()), "\n")) }); err != nil {
		return err
	}
	if report.Failed > 0 {
		return exitWith(exitFailed)
	}
	return nil
}

func checkCases(only []string) error {
	for _, name := range only {
		if !slices.ContainsFunc(conformance.Cases(), func(c conformance.Case) bool { return c.ID == name || strings.HasPrefix(c.ID, name+".") }) {
			return usageError(fmt.Errorf("there is no case %q", name), "`flowrun plugins test --list` lists the cases")
		}
	}
	return nil
}

func writeJUnit(path string, report *conformance.Report) error {
	file, err := os.Create(path)
	if err != nil {
		return usageError(fmt.Errorf("write the report: %w", err), "")
	}
	return errors.Join(report.WriteJUnit(file), file.Close())
}

// readPluginTest reads the kit's config.
func (a *app) readPluginTest(file string) (conformance.Config, error) {
	if file == "" {
		return conformance.Config{}, nil
	}
	data, err := a.readInputFile("--config", file)
	if err != nil {
		return conformance.Config{}, err
	}
	members, problems := workspace.ReadInputs(file, data)
	if problems.HasErrors() {
		a.printProblemsOf(problems, map[string][]byte{file: data})
		return conformance.Config{}, exitWith(exitUsage)
	}
	object := map[string]json.RawMessage{}
	for name, member := range members {
		object[name] = member.JSON
		if member.JSON == nil {
			text, err := json.Marshal(member.Text)
			if err != nil {
				return conformance.Config{}, fmt.Errorf("read %s: %w", file, err)
			}
			object[name] = text
		}
	}
	doc, err := json.Marshal(object)
	if err != nil {
		return conformance.Config{}, fmt.Errorf("read %s: %w", file, err)
	}
	config, err := conformance.ParseConfig(doc)
	if err != nil {
		return config, usageError(fmt.Errorf("%s: %w", file, err), "docs/plugins/test.md tells what may stand there")
	}
	return config, nil
}

// standFor settles what is tested and what stands for its service.
func (a *app) standFor(options *conformance.Options, args []string, configFile string) (*sandbox.Sandbox, error) {
	stands, err := sandbox.Start(sandbox.Options{Now: a.sys.Now, Random: a.sys.Entropy, ApproveAfter: approveAtOnce, Window: openWindow})
	if err != nil {
		return nil, fmt.Errorf("start the simulators: %w", err)
	}
	name, config, dir := args[0], options.Config, ""
	if !strings.ContainsRune(name, filepath.Separator) && slices.Contains(bundledNames(), name) && len(args) == 1 {
		options.Command, options.Bundled = []string{a.sys.Executable, "plugins", "serve", name}, true
	} else {
		if dir, err = a.tested(options, args); err != nil {
			return nil, errors.Join(err, stands.Close())
		}
	}
	own := config.Service != "" || len(config.Answers) > 0 || len(config.Simulator) > 0
	for _, service := range stands.Services() {
		named := len(config.Simulator) == 1 && config.Simulator[0] == service.Plugin
		if named || options.Bundled && service.Plugin == name && !own {
			options.Service = service.Config
		}
	}
	if len(config.Simulator) > 0 && configFile != "" {
		dir = filepath.Dir(a.inDir(configFile))
	}
	options.Simulate = func(ctx context.Context, command []string) (json.RawMessage, error) {
		command = slices.Clone(command)
		if !filepath.IsAbs(command[0]) {
			command[0] = filepath.Join(dir, command[0])
		}
		return stands.Run(ctx, sandbox.External{
			Name: filepath.Base(options.Command[0]), Command: command, Dir: dir, Env: sandbox.Environ(a.sys.Environ),
			Hold: []string{a.sys.Executable, "sandbox", "hold", "--"},
		})
	}
	return stands, nil
}

// tested settles which program is tried, and returns where those lie that it names.
func (a *app) tested(options *conformance.Options, args []string) (programs string, err error) {
	path := a.inDir(args[0])
	info, err := os.Stat(path)
	if err != nil {
		return "", usageError(fmt.Errorf("test a plugin: %w", err), "BIN is the path of an executable, a folder with "+plugintree.ManifestName+", or one of the bundled plugins: "+strings.Join(bundledNames(), ", "))
	}
	if !info.IsDir() {
		options.Command = append([]string{path}, args[1:]...)
		return filepath.Dir(path), nil
	}
	manifest, err := plugintree.ReadManifest(os.DirFS(path))
	var command []string
	if err == nil {
		command, err = manifest.Command(workspace.Platform())
	}
	switch {
	case err != nil:
		return "", usageError(fmt.Errorf("test the plugin in %s: %w", safePath(args[0]), err), "")
	case len(args) > 1:
		return "", usageError(fmt.Errorf("%s is a folder, and its %s has the arguments", safePath(args[0]), plugintree.ManifestName), "")
	}
	program := filepath.Join(path, filepath.FromSlash(command[0]))
	if !plugintree.OfTree(command[0]) {
		if program = a.lookPath(command[0]); program == "" {
			return "", usageError(fmt.Errorf("%s, which starts the plugin in %s, is not in PATH", command[0], safePath(args[0])), "install it, or let PATH name its folder")
		}
	}
	if _, err := os.Stat(program); err != nil {
		return "", usageError(fmt.Errorf("%s, which starts the plugin in %s, is not there", command[0], safePath(args[0])), "build it into the folder: it is the `command` of "+plugintree.ManifestName)
	}
	options.Command, options.Folder = append([]string{program}, command[1:]...), path
	return filepath.Join(path, filepath.FromSlash(manifest.ProgramFolder(workspace.Platform()))), nil
}

// approveAtOnce is how long the simulated login waits for a person: nobody is there.
const approveAtOnce = time.Millisecond

// openWindow is that of the simulators' rate limits: the kit is in a hurry.
const openWindow = 20 * time.Millisecond

// inDir is a path as it is meant from the working directory.
func (a *app) inDir(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(a.sys.Dir, path)
}
