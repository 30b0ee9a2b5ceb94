package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/plugins/content"
	"github.com/flowrun/flowrun/plugins/internal/process"
	"github.com/flowrun/flowrun/sdk"
)

// act returns what the action of an effect does.
func (p *plugin) act(effect string) func(c *call, in RunInput) (sdk.Value, error) {
	return func(c *call, in RunInput) (sdk.Value, error) { return p.run(c, effect, in) }
}

// run runs a command. That the input fits was checked when the call came in.
func (p *plugin) run(c *call, effect string, in RunInput) (sdk.Value, error) {
	command, ok := c.Config.command(in.Command)
	if !ok || command.effect() != effect {
		return nil, sdk.Invalid("/command", "the connection declares no such command of this effect")
	}
	schema, err := sdk.ParseSchema(command.inputSchema())
	if err != nil {
		return nil, sdk.Invalid("/command", "its input can't be read: %v", err)
	}
	input, err := schema.Complete(orEmpty(in.Input))
	if err != nil {
		return nil, sdk.Invalid("/input", "%v", err)
	}
	ready, wrong := command.prepare(input, p.surroundings().Handed())
	if wrong != nil {
		return nil, sdk.Invalid(wrong.Pointer, "%s", wrong.Summary).WithHint("%s", wrong.Detail)
	}
	if c.Config.Simulated != "" {
		return p.simulate(c, in.Command, command, ready)
	}
	began := p.options.Now()
	ended, err := p.do(c, in.Command, command, ready)
	if err != nil {
		return nil, err
	}
	return command.answered(in.Command, ended, p.options.Now().Sub(began))
}

// answered makes the output of a command that ended well.
func (c Command) answered(name string, e end, took time.Duration) (sdk.Value, error) {
	output := sdk.Members{
		{Name: "command", Value: sdk.Text(name)}, {Name: "exit_code", Value: sdk.JSON(e.code)}, {Name: "duration_ms", Value: sdk.JSON(took.Milliseconds())},
	}
	if c.format() == formatNone {
		return output.JSON(), nil
	}
	options := content.Options{Format: content.Format(c.format())}
	if answer := c.answer(); answer != nil {
		var err error
		if options.Answer, err = sdk.ParseSchema(answer); err != nil {
			return nil, sdk.Invalid("/command", "its answer can't be read: %v", err)
		}
	}
	held, err := content.Read(e.stdout, options)
	if err != nil {
		failure := sdk.Errorf(sdk.CodeUnexpectedResponse, "what `%s` wrote: %v", name, err)
		failure.Applied = sdk.AppliedFully // it has ended well
		if problem := new(content.Problem); errors.As(err, &problem) {
			failure.Hint = problem.Hint
			if problem.Pointer != "" {
				failure.Details = map[string]any{"content_pointer": problem.Pointer}
			}
		}
		return nil, failure
	}
	return append(output, sdk.Member{Name: options.Format.Field(), Value: held}).JSON(), nil
}

// end is how a command ended.
type end struct {
	code   int
	stdout []byte
}

// do starts a command, waits for its end, and says what it means.
func (p *plugin) do(c *call, name string, command Command, ready prepared) (end, error) {
	path, err := p.surroundings().Program(commandNamed(name), command.Argv[0])
	if err != nil {
		return end{}, err
	}
	s, err := newStreams(c, name, command, ready.stdin)
	if err != nil {
		return end{}, sdk.Refused(sdk.CodeUnavailable, "make the streams of command `%s`: %v", name, err)
	}
	running, err := process.Start(path, ready.argv, ready.env, p.surroundings().InProject(command.Cwd), s.child)
	s.closeChild()
	if err != nil {
		s.abandon()
		return end{}, p.surroundings().NotStarted(commandNamed(name), command.Argv[0], path, err)
	}
	s.begin()
	stopped := command.await(c, running, s.tooMuch)
	running.Signal(syscall.SIGKILL) // what it has left behind
	s.finish()
	running.Leave()
	return command.judge(name, running, s, stopped)
}

// The reasons to end a command before it ends by itself.
var (
	errTimeout = errors.New("timeout")
	errTooMuch = errors.New("too much")
)

// await waits for the end of a command, and ends it where it must not go on: first it is
// asked, then it is killed with all that it has started.
func (c Command) await(ctx context.Context, running *process.Process, tooMuch <-chan struct{}) (stopped error) {
	var limit <-chan time.Time
	if d := duration(c.Timeout); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		limit = timer.C
	}
	select {
	case <-running.Ended:
		return nil
	case <-ctx.Done():
		stopped = ctx.Err()
	case <-limit:
		stopped = errTimeout
	case <-tooMuch:
		stopped = errTooMuch
	}
	running.Signal(syscall.SIGTERM)
	grace := time.NewTimer(c.grace())
	defer grace.Stop()
	select {
	case <-running.Ended:
	case <-grace.C:
		running.Signal(syscall.SIGKILL)
		<-running.Ended
	}
	return stopped
}

// judge says what the end of a command means.
func (c Command) judge(name string, running *process.Process, s *streams, stopped error) (end, error) {
	last := s.lastWords()
	switch {
	case errors.Is(stopped, errTimeout):
		return end{}, withWords(sdk.Errorf(sdk.CodeTimeout, "command `%s` was still at work after %s, and was ended", name, c.Timeout), last)
	case errors.Is(stopped, errTooMuch):
		e := sdk.Errorf(sdk.CodeUnexpectedResponse, "command `%s` wrote more than %d bytes, and was ended", name, c.maxBytes())
		return end{}, e.WithReason("too_large").WithHint("set `max_bytes` of its declaration higher, up to 64 MiB; an answer has at most 8 MiB")
	case stopped != nil:
		return end{}, fmt.Errorf("command `%s` was ended: %w", name, stopped)
	case running.Failed != nil:
		return end{}, sdk.Errorf(sdk.CodeInternal, "wait for command `%s`: %v", name, running.Failed)
	}
	status, ok := running.State.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		e := sdk.Errorf(sdk.CodeInternal, "command `%s` was killed by a signal (%s)", name, status.Signal())
		return end{}, withWords(e.WithReason("killed"), last)
	}
	code := running.State.ExitCode()
	meant := c.Exits[strconv.Itoa(code)]
	if code == 0 || meant == exitOK {
		return end{code: code, stdout: s.stdout.Bytes()}, nil
	}
	if kind, ok := kinds()[meant]; ok {
		e := sdk.Refused(kind, "command `%s` ended with %d", name, code) // its declaration says that it has done nothing
		return end{}, withWords(e.WithReason("exit_"+strconv.Itoa(code)), last)
	}
	e := sdk.Errorf(sdk.CodeInternal, "command `%s` ended with %d", name, code)
	e.Applied = sdk.AppliedPartly // it has ended by itself: nothing is lost, and how far it came it alone knows
	return end{}, hinted(withWords(e.WithReason("exit_"+strconv.Itoa(code)), last), code)
}

// The codes by which shells, and what looks for an interpreter, say that they could not
// start a program (POSIX, Shell Command Language, 2.8.2).
const (
	exitNotStarted = 126
	exitNotFound   = 127
)

// hinted says what to do about an exit code that is not declared.
func hinted(e *sdk.Error, code int) *sdk.Error {
	switch code {
	case exitNotStarted:
		return e.WithHint("a program that it starts may not be started: each needs a grant of its own beside the script's, `grants: {commands: [...]}`")
	case exitNotFound:
		return e.WithHint("a program that it starts was not found: look at the declaration's PATH, and at `grants: {commands: [...]}`")
	}
	return e.WithHint("what the code means can be declared: `exits: {%d: unavailable}`", code)
}

// withWords adds what a command said last.
func withWords(e *sdk.Error, last string) *sdk.Error {
	if last != "" {
		e.Message += ": " + sdk.Shown(last, 500)
	}
	return e
}

// closeAll closes files; what is closed already does not matter.
func closeAll(files ...*os.File) {
	for _, file := range files {
		if file != nil {
			_ = file.Close()
		}
	}
}
