package cli

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// followFlags are what run, resume, rerun and watch share.
type followFlags struct {
	detach bool
	noWait bool
}

// add adds the flags, and -o.
func (f *followFlags) add(c *cobra.Command) *cobra.Command {
	c.PreRunE = func(*cobra.Command, []string) error {
		if f.detach && f.noWait {
			return usageError(errors.New("--detach and --no-wait exclude each other"), "--detach does not wait at all")
		}
		return nil
	}
	c.Flags().BoolVar(&f.detach, "detach", false, "do not wait: the process that owns the store goes on with it")
	c.Flags().BoolVar(&f.noWait, "no-wait", false, "leave with exit code 8 when the run waits for a person")
	return withOutput(c, "text", "json", "jsonl")
}

// runFlags are the flags of run.
type runFlags struct {
	followFlags
	inputFlags
	pluginFlags
	outs        []string
	scheduledAt string
}

func (a *app) runCommand() *cobra.Command {
	flags := new(runFlags)
	c := &cobra.Command{
		Use:   "run WORKFLOW",
		Short: "Run a workflow and wait for its end",
		Long: "Run checks a workflow and runs it. WORKFLOW is a file, the name of a workflow of the project, or - for stdin;\n" +
			"a file comes first where both fit. Every step is durable: after a crash, `flowrun runs resume RUN` goes on\n" +
			"where it stopped. The first Ctrl-C cancels the run and lets its finally steps run, the second kills.\n" +
			"In a terminal it asks for the inputs that are missing, and a step that asks is answered there: y, n, or e for the\n" +
			"form in $VISUAL, else $EDITOR, else vi. With --no-input it asks for nothing.",
		Example: "  flowrun run report -i site=A -i options=@options.json\n" +
			"  flowrun run --sandbox workflows/hello.yaml -o json\n" +
			"  flowrun run workflows/report.yaml --out table=report.md\n" +
			"  sed s/staging/live/ report.yaml | flowrun run -",
		Args: exactArgs("WORKFLOW"), ValidArgsFunction: completeWorkflows,
		RunE: func(c *cobra.Command, args []string) error { return a.run(c.Context(), args[0], flags) },
	}
	flags.inputFlags.add(c, "input", "inputs")
	c.Flags().StringArrayVar(&flags.outs, "out", nil, "write output NAME=FILE: Markdown, CSV and other text as it is, all else as JSON (repeatable)")
	c.Flags().StringVar(&flags.scheduledAt, "scheduled-at", "", "the run's scheduled_at, RFC 3339 (default: now)")
	flags.pluginFlags.add(c)
	a.noInputFlag(c)
	a.sandboxFlag(c, "run against simulators of the services, in a store of its own")
	return flags.followFlags.add(a.liveFlags(c))
}

func (a *app) run(ctx context.Context, file string, flags *runFlags) error {
	request, err := a.startRequest(ctx, file, flags)
	if err != nil {
		return err
	}
	outs, err := parseOuts(flags.outs)
	if err != nil {
		return err
	}
	if flags.detach && len(outs) > 0 {
		return usageError(errors.New("--detach and --out exclude each other"), "the outputs are there when the run has ended: `flowrun runs show RUN -o json`")
	}
	if err := a.checkOuts(ctx, request, outs); err != nil {
		return err
	}
	if err := a.askForInputs(ctx, &request); err != nil {
		return err
	}
	stop, err := a.usePlugins(&flags.pluginFlags)
	if err != nil {
		return err
	}
	defer stop()
	session, err := a.connectToRun(ctx, flags.role(), &request)
	if err != nil {
		return err
	}
	// By tryAnyway: RequestID keeps a second request from starting a second run.
	return session.start(ctx, tryAnyway, &flags.followFlags, outs, func(ctx context.Context, c *web.Client) (*runs.Run, error) {
		run, warnings, err := a.startAt(ctx, c, request)
		if err != nil {
			return nil, a.startError(err, request)
		}
		a.printProblemsOf(warnings, map[string][]byte{request.File: request.Source})
		return run, nil
	})
}

// startAt starts a run: of the source that was read, or of the server's own workflow where
// it was named alone.
func (a *app) startAt(ctx context.Context, c *web.Client, r engine.StartRequest) (*runs.Run, diag.List, error) {
	if r.Source != nil {
		return c.Start(ctx, r)
	}
	answer, err := c.StartNamed(ctx, r.File, engine.NamedStart{Inputs: r.Inputs, ScheduledAt: r.ScheduledAt, RequestID: r.RequestID, By: r.By}, 0)
	return answer.Run, answer.Problems, err
}

func (f *followFlags) role() role {
	if f.detach {
		return roleVisitor
	}
	return roleWork
}

// startRequest reads the workflow and the inputs.
func (a *app) startRequest(ctx context.Context, name string, flags *runFlags) (engine.StartRequest, error) {
	request := engine.StartRequest{Dir: a.sys.Dir, By: a.user()}
	file, source, err := name, []byte(nil), error(nil)
	if !a.isNamedFar(name) {
		file, source, err = a.workflowSource(ctx, name)
	}
	if err != nil {
		return request, err
	}
	request.File, request.Source = filepath.ToSlash(filepath.Clean(file)), source
	if a.isRemote() { // the server has no such folder
		request.Dir = ""
		if filepath.IsAbs(file) || !filepath.IsLocal(file) {
			request.File = filepath.Base(file)
		}
	}
	if request.Inputs, err = a.readInputs(flags.inputs, flags.inputsFile); err != nil {
		return request, err
	}
	if request.ScheduledAt, err = parseTimeFlag("--scheduled-at", flags.scheduledAt); err != nil {
		return request, err
	}
	id := make([]byte, 16)
	if _, err := io.ReadFull(a.sys.Entropy, id); err != nil {
		return request, fmt.Errorf("make a request id: %w", err)
	}
	request.RequestID = hex.EncodeToString(id)
	return request, nil
}

// isNamedFar reports whether a workflow is named that is the server's on another machine:
// no file here is called so.
func (a *app) isNamedFar(name string) bool {
	return a.isRemote() && name != "-" && !strings.ContainsAny(name, `/\`) && !isYAML(name) && !a.isFile(name)
}

// maxWorkflow is the hard limit of a workflow file in bytes.
const maxWorkflow = 1 << 20

func (a *app) readWorkflow(file string) ([]byte, error) {
	if info, err := os.Stat(a.abs(file)); err == nil && info.IsDir() {
		return nil, usageError(fmt.Errorf("%s is a folder, not a workflow file", safePath(file)), "")
	}
	return a.readWhole(file, "workflow", maxWorkflow, func(err error) error { return fmt.Errorf("read the workflow: %w", err) })
}

// startError prints the problems of a workflow with its lines.
func (a *app) startError(err error, request engine.StartRequest) error {
	if problem, ok := errors.AsType[*web.Problem](err); ok && problem.Code == wire.CodeInvalidWorkflow {
		a.printProblemsOf(problem.Problems, map[string][]byte{request.File: request.Source})
		return exitWith(exitInvalid)
	}
	return a.hintAtAsking(inputError(err))
}

// hintAtAsking says of an input that is missing how one is asked for it.
func (a *app) hintAtAsking(err error) error {
	coded, ok := errors.AsType[*codedError](err)
	if !ok || coded.code != exitUsage || !strings.HasPrefix(coded.hint, "give it with -i ") {
		return err
	}
	asked := "in a terminal flowrun asks for it"
	if a.noInput {
		asked = "without --no-input a terminal asks for it"
	}
	coded.hint += "; " + asked
	return coded
}

// inputError names the flag of an input that the owner refused.
func inputError(err error) error {
	var problem *web.Problem
	if !errors.As(err, &problem) || problem.Code != wire.CodeInvalidInput {
		return err
	}
	hint := problem.Hint.Text
	if problem.Input != "" && problem.Hint.Near == "" && problem.Hint.Flag == "" { // a misspelt one is to be renamed, not given
		hint = strings.TrimPrefix(hint+"; give it with -i "+problem.Input+"=VALUE", "; ")
	}
	return usageError(errors.New(problem.Detail), hint)
}

// announceSandbox says what a sandbox run talks to.
func (s *session) announceSandbox() {
	if s.owner == nil || s.owner.sandbox == nil {
		return
	}
	for _, line := range s.owner.lines {
		s.app.note("%s", line)
	}
}

// abandon ends a session whose command failed.
func (s *session) abandon(err error) error {
	if s.owner != nil && s.owner.engine.Active() > 0 { // others gave us runs
		return errors.Join(err, s.close(nil))
	}
	return errors.Join(err, s.leaveNow())
}

// attend follows a run that was started or resumed, prints its end and returns
// the command's exit.
func (s *session) attend(ctx context.Context, run *runs.Run, flags *followFlags, outs []outFile) error {
	a := s.app
	if flags.detach {
		return a.detached(run)
	}
	follower, end := s.newFollower(run.ID, a.newView())
	defer end()
	follower.drive, follower.noWait, follower.records = true, flags.noWait, a.output == "jsonl"
	follower.leaves = !a.hasLiveErr()
	first := *run // the feed begins with the steps, and ends with the run's end
	if first.Status.Ended() {
		first.Status = runs.RunRunning
	}
	follower.apply(engine.Update{Kind: engine.UpdateRun, RunID: run.ID, Run: &first})
	return follower.finish(ctx, outs)
}

// detached tells of a run that another process drives.
func (a *app) detached(run *runs.Run) error {
	if a.output != "text" {
		return view.JSON(a.sys.Stdout, map[string]any{"run": run})
	}
	a.say("%s", run.ID)
	a.next("follow it:", "runs", "watch", run.ID)
	return nil
}

// finish follows the run, prints its end, stays for others, and returns the
// command's exit.
func (f *follower) finish(ctx context.Context, outs []outFile) error {
	result, err := f.follow(ctx)
	if err != nil {
		return f.session.broken(err)
	}
	f.deliver(ctx, result)
	if f.session.owner != nil { // it leaves soon
		f.session.owner.engine.RestPlugins()
	}
	written := f.app.writeOuts(ctx, f.session.client, result, outs) // before the end is printed: its last line is the next command
	if written != nil {
		outs = nil // what stands in no file is printed
	}
	err = f.app.printEnd(result, outs)
	if err == nil {
		err = written
	}
	if f.left(result.Run) && f.session.owner != nil {
		err = errors.Join(err, f.session.leaveNow())
	} else {
		err = errors.Join(err, f.linger())
	}
	if err != nil {
		return err
	}
	if f.canceled != nil && result.Run.Status == runs.RunCanceled {
		return exitWith(exitOfSignal(f.canceled))
	}
	return exitWith(exitOfRun(result.Run))
}

// broken ends a session whose follower stopped before the run did. A second
// signal ends the program at once: the journal is made for that.
func (s *session) broken(err error) error {
	if killed, ok := errors.AsType[*killedError](err); ok {
		return &codedError{code: killed.exitCode(), err: err, silent: true}
	}
	return s.abandon(err)
}

// leaveNow gives the store back, whatever runs are open.
func (s *session) leaveNow() error {
	now := make(chan struct{})
	close(now)
	return s.close(now)
}

// printEnd prints a run's end: one JSON object, or its error and outputs, and
// the next command.
func (a *app) printEnd(result *runs.Result, outs []outFile) error {
	if a.output == "jsonl" {
		return nil
	}
	return a.print(result, func() {
		if result.Error != nil {
			a.page(a.sys.Stderr).Error(a.sys.Stderr, result)
		}
		if len(result.Outputs) > 0 {
			a.page(a.sys.Stdout).Outputs(a.sys.Stdout, unwritten(result.Outputs, outs))
		}
		a.suggestFor(result)
	})
}

// unwritten are the outputs that stand in no file: what --out wrote is not printed too.
func unwritten(outputs map[string]json.RawMessage, outs []outFile) map[string]json.RawMessage {
	rest := maps.Clone(outputs)
	for _, out := range outs {
		delete(rest, out.name)
	}
	return rest
}

// suggestFor is suggest where the steps are known: it names the step that waits
// for a person.
func (a *app) suggestFor(result *runs.Result) {
	if result.Run.Status == runs.RunWaiting || result.Run.Status == runs.RunRunning {
		for _, path := range slices.Sorted(maps.Keys(result.Steps)) {
			step := result.Steps[path]
			switch kind := step.Waits().Kind; {
			case step.Run != "" && kind == runs.WaitApproval:
				a.next("its sub-workflow waits for a person:", "runs", "show", step.Run)
				return
			case kind == runs.WaitApproval:
				a.next("it waits for a person:", "runs", "approve", result.Run.ID, path)
				return
			case kind == runs.WaitSignal:
				a.next("it waits for a signal:", "runs", "signal", result.Run.ID, path)
				return
			}
		}
	}
	a.suggest(result.Run)
}

// suggest prints the one command that is likely to come next.
func (a *app) suggest(run runs.Run) {
	switch run.Status {
	case runs.RunSucceeded:
		a.next("details:", "runs", "show", run.ID)
	case runs.RunFailed, runs.RunTimedOut, runs.RunCanceled:
		a.next("go on where it stopped:", "runs", "resume", run.ID)
	case runs.RunPaused:
		why := "go on:"
		if run.Paused == runs.PausedAuthRequired {
			why = "log in, then:"
		}
		a.next(why, "runs", "resume", run.ID)
	case runs.RunWaiting:
		a.next("it waits for a person:", "runs", "show", run.ID)
	default:
		a.next("nobody drives it; go on:", "runs", "resume", run.ID)
	}
}
