package cli

import (
	"context"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web"
)

// work does what may call services; a signal ends it. do prints what came of it
// and returns the command's exit code.
func (a *app) work(ctx context.Context, do func(ctx context.Context, s *session) (code int, err error)) error {
	session, err := a.connect(ctx, roleWork)
	if err != nil {
		return err
	}
	session.announceSandbox()
	ctx, killed, end := a.untilSignal(ctx)
	defer end()
	code, err := do(ctx, session)
	if err != nil {
		return session.abandon(killed(err))
	}
	if err := session.close(nil); err != nil {
		return err
	}
	return exitWith(code)
}

// tryRun is try or tryAnyway for a request that is answered by a run.
type tryRun func(context.Context, *session, func(*web.Client) (*runs.Run, error)) (*runs.Run, error)

// start sends a request that begins a run or goes on with one, and follows the run.
func (s *session) start(ctx context.Context, try tryRun, flags *followFlags, outs []outFile, request func(context.Context, *web.Client) (*runs.Run, error)) error {
	s.announceSandbox()
	var run *runs.Run
	err := s.begin(ctx, answerLate, func(ctx context.Context) (err error) {
		run, err = try(ctx, s, func(c *web.Client) (*runs.Run, error) { return request(ctx, c) })
		return err
	})
	if err != nil {
		return s.abandon(err)
	}
	return s.attend(ctx, run, flags, outs)
}
