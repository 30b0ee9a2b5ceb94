package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web"
)

// callsInSandbox marks commands that may call services: those that take --live and
// --mocks. What they were given must be what the owner of the sandbox was given.
const callsInSandbox = "calls-in-sandbox"

// sandboxFlags are what a command was given about its sandbox.
type sandboxFlags struct {
	live, mocks []string
	calls       bool   // the command may call services
	approve     string // --approve-after
}

// approveAfter is how long a sandbox waits for a person to approve a login where
// nobody sits at a terminal.
const approveAfter = 3 * time.Second

func (a *app) sandboxFlag(c *cobra.Command, what string) {
	c.Flags().BoolVar(&a.sandbox, "sandbox", false, what)
}

// liveFlags adds what says which connections of a sandbox are not simulated.
func (a *app) liveFlags(c *cobra.Command) *cobra.Command {
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[callsInSandbox] = "yes"
	c.Flags().StringArrayVar(&a.stand.live, "live", nil, "with --sandbox: use this connection as it is declared, with real requests; notify:NAME for a notify target (repeatable)")
	c.Flags().StringArrayVar(&a.stand.mocks, "mocks", nil, "with --sandbox: answer steps from FILE.test.yaml, or FILE.test.yaml#CASE (repeatable)")
	a.approveFlag(c)
	return c
}

func (a *app) approveFlag(c *cobra.Command) {
	c.Flags().StringVar(&a.stand.approve, "approve-after", "", "in a sandbox: approve a device login by itself after so long, or never (default: 3s without a terminal, else never)")
}

// approves is the wait before the sandbox approves a login; 0 = a person does it.
func (a *app) approves() (time.Duration, error) {
	switch a.stand.approve {
	case "never":
		return 0, nil
	case "":
		if a.hasLiveErr() {
			return 0, nil
		}
		return approveAfter, nil
	}
	after, err := duration.Parse(a.stand.approve)
	if err != nil || after <= 0 {
		return 0, usageError(fmt.Errorf("--approve-after %q is no length of time", a.stand.approve), "such as 10s, or never")
	}
	return after, nil
}

// checkSandboxFlags refuses what means nothing without a sandbox.
func (a *app) checkSandboxFlags(c *cobra.Command) error {
	a.stand.calls = c.Annotations[callsInSandbox] != ""
	if _, err := a.approves(); err != nil || a.sandbox {
		return err
	}
	for flag, given := range map[string][]string{"--live": a.stand.live, "--mocks": a.stand.mocks} {
		if len(given) > 0 {
			return usageError(fmt.Errorf("%s means something with --sandbox only", flag), "without --sandbox every connection is used as it is declared")
		}
	}
	return nil
}

// words are the flags as they are typed.
func (f sandboxFlags) words() []string {
	var words []string
	for _, name := range f.live {
		words = append(words, "--live", diag.ShellWord(name))
	}
	for _, file := range f.mocks {
		words = append(words, "--mocks", diag.ShellWord(file))
	}
	return words
}

// same reports whether two commands were given the same, in whatever order.
func sameFlags(a, b []string) bool {
	one, other := slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(slices.Compact(one), slices.Compact(other))
}

// absoluteMocks names the test files so that commands of other folders can compare
// them.
func (a *app) absoluteMocks() []string {
	var files []string
	for _, text := range a.stand.mocks {
		file, name, _ := strings.Cut(text, "#")
		if name != "" {
			name = "#" + name
		}
		files = append(files, a.abs(file)+name)
	}
	return files
}

// mock lets the test files of --mocks answer steps.
func (a *app) mock(ctx context.Context, project *workspace.Workspace) error {
	var files []workspace.MockFile
	sources := map[string][]byte{}
	for _, text := range a.stand.mocks {
		file, name, _ := strings.Cut(text, "#")
		source, err := a.readTest(file)
		if err != nil {
			return err
		}
		shown := slashed(file)
		sources[shown] = source
		files = append(files, workspace.MockFile{Name: shown, Source: source, Case: name})
	}
	problems := project.Mock(ctx, files...)
	a.printProblemsOf(problems, sources)
	if problems.HasErrors() {
		return exitWith(exitInvalid)
	}
	return nil
}

// engineSandbox is the sandbox of this command as the engine takes it, before its
// simulators run; nil without --sandbox.
func (a *app) engineSandbox(at place) *workspace.Sandbox {
	if !a.sandbox {
		return nil
	}
	return &workspace.Sandbox{Live: slices.Clone(a.stand.live), RealState: at.realState}
}

// joinSandbox compares this command's flags with those of the process that owns the
// sandbox: another command's word holds for nobody else.
func (s *session) joinSandbox(info *web.Owner) error {
	a := s.app
	if !a.sandbox || !a.stand.calls {
		return nil
	}
	stand := info.Sandbox
	if stand == nil {
		stand = &web.OwnerSandbox{}
	}
	if !sameFlags(stand.Live, a.stand.live) || !sameFlags(stand.Mocks, a.absoluteMocks()) {
		theirs := strings.Join(sandboxFlags{live: stand.Live, mocks: stand.Mocks}.words(), " ")
		return &codedError{
			code: exitInvalid, err: fmt.Errorf("process %d owns the sandbox, with %s, and this command was given %s", info.PID, cmp.Or(theirs, "none"), cmp.Or(strings.Join(a.stand.words(), " "), "none")),
			hint: "give this command the same; or wait until that process has ended, or name another folder with --state",
		}
	}
	if s.role == roleWork {
		a.note("sandbox: the one of process %d", info.PID)
		for _, line := range stand.Lines {
			a.note("%s", line)
		}
	}
	return nil
}

// refusedSandbox is the error of a sandbox that can't begin.
func (a *app) refusedSandbox(err error) error {
	if unknown, ok := errors.AsType[*fault.UnknownError](err); ok {
		return notFoundError(fmt.Errorf("--live: there is no %s %s", unknown.What, diag.ShellWord(unknown.Name)), unknown.Hint.Text)
	}
	return err
}
