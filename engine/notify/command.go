package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// killGrace is how long a command's children may hold its output after it ended.
const killGrace = time.Second

// run runs the command with the message as JSON on its standard input. It is the
// head of a process group, which ends with it.
func (s *Sender) run(ctx context.Context, target Target, message Message, key string) *runs.Error {
	body, err := json.Marshal(message)
	if err != nil {
		return refused("the message can't be encoded: " + err.Error())
	}
	program := target.Command[0]
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		program = filepath.Join(s.Dir, program)
	}
	command := exec.CommandContext(ctx, program, target.Command[1:]...)
	command.Dir, command.Stdin, command.WaitDelay = s.Dir, bytes.NewReader(append(body, '\n')), killGrace
	command.Env = append(s.environ(), "FLOWRUN_IDEMPOTENCY_KEY="+key, "FLOWRUN_RUN="+message.Run, "FLOWRUN_WORKFLOW="+message.Workflow)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	if err := command.Start(); err != nil {
		failure := refused(fmt.Sprintf("the command of %s does not start: %v", target.Name, startFault(err)))
		failure.Hint = diag.Say("a path is relative to the project; there is no shell")
		return failure
	}
	if s.Started != nil {
		defer s.Started(command.Process.Pid)()
	}
	err = command.Wait()
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // what it left behind
	return ended(ctx, target, err)
}

func startFault(err error) error {
	if path, ok := errors.AsType[*exec.Error](err); ok {
		return path.Err
	}
	return err
}

func ended(ctx context.Context, target Target, err error) *runs.Error {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &runs.Error{Kind: plan.KindTimeout, Applied: runs.AppliedUnknown, Message: "the command of " + target.Name + " did not end in time"}
	case ctx.Err() != nil:
		return runs.Failure(plan.KindCanceled, runs.AppliedUnknown, "canceled")
	case errors.As(err, &exit):
		return runs.Failure(plan.KindUnavailable, runs.AppliedUnknown, "the command of %s ended with %s", target.Name, exit.ProcessState)
	}
	return &runs.Error{Kind: plan.KindUnavailable, Applied: runs.AppliedUnknown, Message: "the command of " + target.Name + ": " + err.Error()}
}

// environ passes on what programs need to be found and to speak, and no secret.
func (s *Sender) environ() []string {
	var kept []string
	for _, pair := range s.Environ {
		name, _, _ := strings.Cut(pair, "=")
		switch name {
		case "PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR":
			kept = append(kept, pair)
		}
	}
	return kept
}
