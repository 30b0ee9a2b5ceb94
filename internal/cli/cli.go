// Package cli is the command line of flowrun: each command parses its
// arguments, asks the owner of the store through its HTTP API, and prints what
// a view makes of the answer.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/sandbox"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// System is all that flowrun takes from its surroundings.
type System struct {
	Stdout, Stderr io.Writer
	Stdin          io.Reader
	Environ        []string
	ControlGroup   func() string // the folder of this process's own (workspace.OwnControlGroup); nil = there is none
	Dir            string        // the working directory
	Executable     string        // of this process: re-executed for the bundled plugins
	Host           string
	User           string // who runs this process, for where $USER is not set
	PID            int
	Version        string
	Build          Build  // where the program comes from
	SDK            string // the version of the SDK for Go that it was built with; "" = not known
	Now            func() time.Time
	Entropy        io.Reader
	Location       *time.Location // times are shown in it
	// Signals starts the delivery of interrupt and terminate to the channel; stop
	// ends it. It is not called for plugins, which have their own way to end.
	Signals func() (signals <-chan os.Signal, stop func())
	// Terminate is Signals for terminate alone, which an owner of the store ends
	// gracefully by; nil = it is not handled. Exit ends the process at once.
	Terminate func() (signals <-chan os.Signal, stop func())
	// Reload is Signals for SIGHUP, by which a server reads its files again; nil = it
	// is not handled.
	Reload func() (signals <-chan os.Signal, stop func())
	Exit   func(code int)
}

// Run runs one command and returns its exit code.
func Run(args []string, system System) int {
	if len(args) >= 3 && args[0] == "sandbox" && args[1] == "hold" && args[2] == "--" {
		return sandbox.Hold(args[3:], system.Stdin, system.Stdout, system.Stderr)
	}
	if len(args) >= 3 && args[0] == "plugins" && args[1] == "serve" && !strings.HasPrefix(args[2], "-") {
		return servePlugin(args[2:], system.Stderr) // before all else: a plugin starts within milliseconds
	}
	if len(args) >= 2 && args[0] == "plugins" && args[1] == "simulate" {
		return simulate(args[2:], system)
	}
	if isCompletion(args) {
		system = system.quietly()
	}
	a := &app{sys: system, times: view.Times{Location: system.Location}, ended: make(chan struct{})}
	args = shortcut(args)
	root := a.rootCommand(args)
	root.SetArgs(args)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := root.ExecuteContext(ctx)
	if a.ending.Load() {
		<-a.ended
		return int(a.endedBy.Load())
	}
	err = a.elsewhere(ctx, args, err)
	a.printError(err)
	return exitCode(err)
}

// app is one run of the program.
type app struct {
	sys   System
	times view.Times
	style term.Style // of stderr
	flags struct {
		config, state, color string
		server, tokenFile    string
		caFile               string
		utc, allowNetworkFS  bool
		acceptRollback       bool
		locked               bool
	}
	output  string // -o of the command; "text" where it has none
	noInput bool   // --no-input of the command
	sandbox bool   // --sandbox of the command
	stand   sandboxFlags

	attached       map[string]string // sockets of plugins that somebody started, by name (--attach)
	attachTimeouts bool              // --timeouts

	owns   atomic.Int32  // how often this process owns the store, and a SIGTERM drains it
	ending atomic.Bool   // it does so now
	ended  chan struct{} // closed when the store is given back then

	endedBy atomic.Int32 // the exit code of the signal
	log     *slog.Logger // what the engine says of itself; nil = what FLOWRUN_LOG asks for

	jsonNotes bool     // notes are lines of log
	logSink   *logSink // of a server's log

	stdinIsWorkflow bool // stdin was read as a workflow: it holds no inputs

	root     string // the project's root, once located: file names of problems may be relative to it
	settings []setting
}

// env returns a variable of the environment, "" when it is not set.
func (a *app) env(name string) string {
	for i := len(a.sys.Environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(a.sys.Environ[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// rootCommand is the program's command with those below it that a command line needs.
func (a *app) rootCommand(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "flowrun",
		Short: "flowrun runs YAML workflows durably, with services as plugins",
		Example: "  flowrun init                                   make a project\n" +
			"  flowrun run --sandbox workflows/hello.yaml     run a workflow against simulators\n" +
			"  flowrun runs                                   what has run",
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if isCompletion(args) { // what it completes has settings of its own
				return nil
			}
			if err := a.checkSandboxFlags(c); err != nil {
				return err
			}
			if err := a.prepare(); err != nil {
				return err
			}
			if err := a.checkReach(c); err != nil {
				return err
			}
			return a.readOutput(c)
		},
	}
	isVersion := root.Flags().BoolP("version", "v", false, "print the version")
	root.RunE = func(c *cobra.Command, _ []string) error {
		if *isVersion {
			a.say("%s", a.versionLine())
			return nil
		}
		return c.Help()
	}
	group(root)
	root.SetOut(a.sys.Stdout)
	root.SetErr(a.sys.Stderr)
	root.SetIn(a.sys.Stdin)
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(usage)
	root.AddGroup(groups()...)
	flags := root.PersistentFlags()
	flags.StringVar(&a.flags.config, "config", "", "use this flowrun.yaml (default: found upwards from the working directory)")
	flags.StringVar(&a.flags.state, "state", "", "keep state in this folder (default: .flowrun/state beside flowrun.yaml)")
	flags.StringVar(&a.flags.color, "color", "", "colours: auto, always or never")
	flags.StringVar(&a.flags.server, "server", "", "act on the server at this https:// address, not on this machine")
	flags.StringVar(&a.flags.tokenFile, "token-file", "", "with --server: the file that holds its token")
	flags.StringVar(&a.flags.caFile, "ca-file", "", "with --server: trust these authorities (PEM) besides the system's")
	flags.BoolVar(&a.flags.utc, "utc", false, "show times in UTC, not in local time")
	flags.BoolVar(&a.flags.acceptRollback, "accept-rollback", false, "take a store that was put back to an older copy: what was open then is paused")
	flags.BoolVar(&a.flags.allowNetworkFS, "allow-network-fs", false, "accept a state folder on a network file system")
	flags.BoolVar(&a.flags.locked, "locked", false, "run no plugin that flowrun.lock does not have as it is")
	completeFlag(root, "color", colorModes...)
	a.addCommands(root, args)
	root.SetHelpCommand(helpCommand())
	if isCompletion(args) {
		root.InitDefaultHelpCmd()
		a.addCompletions(root)
	}
	return root
}

var colorModes = []string{"auto", "always", "never"}

// prepare settles what all commands share, once the flags are known.
func (a *app) prepare() error {
	if err := a.loadSettings(); err != nil {
		return err
	}
	if a.boolSetting("utc") {
		a.times.Location = time.UTC
	}
	if mode := a.stringSetting("color"); !slices.Contains(colorModes, mode) {
		return usageError(fmt.Errorf("%s: color takes auto, always or never, not %q", a.find("color").Source, mode), diag.DidYouMean(mode, colorModes).Text)
	}
	a.style = a.styleOf(a.sys.Stderr)
	return nil
}

// styleOf returns the style of an output stream.
func (a *app) styleOf(out io.Writer) term.Style {
	switch a.stringSetting("color") {
	case "always":
		return term.Style{Color: true}
	case "never":
		return term.Style{}
	}
	return term.Style{Color: term.IsTerminal(out) && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"}
}

// page returns how text is shown on an output stream.
func (a *app) page(out io.Writer) view.Page {
	page := view.Page{Style: a.styleOf(out), Times: a.times, Command: a.commandText, Now: a.sys.Now()}
	if term.IsTerminal(out) {
		page.Width, _ = term.Size(out)
	}
	return page
}

// commandText is how a command is typed so that it acts on the same project and
// state as this one.
func (a *app) commandText(args ...string) string {
	words := append([]string{"flowrun"}, args...)
	for i, word := range words {
		words[i] = diag.ShellWord(term.Clean(word))
	}
	if a.sandbox && callsInSandboxBy(args) {
		words = append(words, a.stand.words()...)
	}
	flags := a.placeFlags()
	if a.sandbox && !takesSandbox(args) {
		flags = flags[1:]
	}
	return strings.Join(append(words, flags...), " ")
}

// takesSandbox reports whether a command takes --sandbox: those that look at files alone
// do not.
func takesSandbox(args []string) bool {
	switch args[0] {
	case "completion", "demo", "explain", "fmt", "graph", "help", "import", "init", "login", "logout", "man", "new", "plugins", "sandbox", "schema", "upgrade", "validate", "version":
		return false
	}
	return len(args) < 2 || args[0] != "mcp" || args[1] != "tools"
}

// callsInSandboxBy reports whether a command takes --live and --mocks.
func callsInSandboxBy(args []string) bool {
	switch args[0] {
	case "run", "serve", "plan", "call":
		return true
	}
	if len(args) < 2 {
		return false
	}
	switch args[0] + " " + args[1] {
	case "runs resume", "runs rerun", "runs cancel", "connections test", "connections login", "connections logout", "schedules trigger", "schedules backfill":
		return true
	}
	return false
}

// placeFlags are the flags, as they are typed, that a command needs to act on the
// same project and state as this one; --sandbox is the first of them.
func (a *app) placeFlags() []string {
	words := []string{}
	if a.sandbox {
		words = append(words, "--sandbox")
	}
	if a.flags.config != "" {
		words = append(words, "--config", diag.ShellWord(term.Clean(a.flags.config)))
	}
	if a.flags.state != "" {
		words = append(words, "--state", diag.ShellWord(term.Clean(a.flags.state)))
	}
	for _, flag := range []struct{ name, value string }{{"--server", a.flags.server}, {"--token-file", a.flags.tokenFile}, {"--ca-file", a.flags.caFile}} {
		if flag.value != "" {
			words = append(words, flag.name, diag.ShellWord(term.Clean(flag.value)))
		}
	}
	return words
}

// note prints a line of the command itself on stderr, of a server whose log is
// JSON as a line of that.
func (a *app) note(format string, args ...any) {
	if a.jsonNotes {
		a.log.Info(term.Clean(fmt.Sprintf(format, args...)))
		return
	}
	fmt.Fprintf(a.sys.Stderr, "%s\n", a.style.Dim(term.Clean(fmt.Sprintf(format, args...))))
}

func (a *app) noteText(text string) { a.note("%s", text) }

// printError prints an error that no command has shown yet.
func (a *app) printError(err error) {
	var (
		coded   *codedError
		problem *web.Problem
		list    diag.List
	)
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE), errors.As(err, &coded) && coded.silent:
		return
	case errors.As(err, &list):
		a.printProblems(list)
		return
	case errors.As(err, &problem) && problem.Code == wire.CodeInvalidWorkflow:
		a.printProblems(problem.Problems)
		return
	}
	text, hint := err.Error(), ""
	if errors.Is(err, workspace.ErrUnknownPlugin) {
		hint = "`flowrun plugins` lists the plugins"
		if unknown, ok := errors.AsType[*workspace.UnknownPluginError](err); ok && unknown.Hint.Text != "" {
			text, hint = unknown.Unhinted(), unknown.Hint.Text
		}
	}
	fmt.Fprintf(a.sys.Stderr, "%s %s\n", a.style.Red("error:"), term.CleanText(text))
	var dead interface{ LastWords() []string } // of a plugin
	if errors.As(err, &dead) {
		a.page(a.sys.Stderr).LastWords(a.sys.Stderr, dead.LastWords())
	}
	hint = cmp.Or(hintOf(err).Typed(a.commandText).Text, hint)
	if hint == "" && problem != nil && problem.Code == wire.CodeNotFound {
		hint = a.whatLists(problem.Detail)
	}
	if hint != "" {
		fmt.Fprintf(a.sys.Stderr, "%s %s\n", a.style.Cyan("help:"), term.CleanText(hint))
	}
}

// whatLists names the command that lists what is not there.
func (a *app) whatLists(text string) string {
	for _, group := range []string{"workflow", "schedule", "connection", "secret", "plugin", "token"} {
		if strings.HasPrefix(text, "there is no "+group+" ") {
			return "`" + a.commandText(group+"s") + "` lists the " + group + "s"
		}
	}
	return "`" + a.commandText("runs") + "` lists the runs"
}

// hintOf is what an error says of its remedy.
func hintOf(err error) diag.Hint {
	if coded, ok := errors.AsType[*codedError](err); ok && coded.hint != "" {
		return diag.Say(coded.hint)
	}
	if problem, ok := errors.AsType[*web.Problem](err); ok {
		return problem.Hint
	}
	if store, ok := errors.AsType[*fault.StoreError](err); ok {
		return store.Hint
	}
	if lock, ok := errors.AsType[*workspace.LockError](err); ok {
		return lock.Hint
	}
	return diag.Hint{}
}
