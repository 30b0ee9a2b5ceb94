package cli

import (
	"context"
	"errors"
	"os"
	"time"
)

// answerLate is how long a signal waits for the answer to a request that begins a
// run: after that the command ends without knowing whether it began.
const answerLate = 5 * time.Second

// begin sends the request that starts a run or goes on with one. A signal that
// comes before its answer is kept for who follows the run, since the run may have
// begun by then; a second one, or no answer within late, ends the command.
func (s *session) begin(ctx context.Context, late time.Duration, request func(context.Context) error) error {
	signals, stop := s.app.signals()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answered, watched := make(chan struct{}), make(chan struct{})
	var first os.Signal
	go func() {
		defer close(watched)
		var limit <-chan time.Time
		for {
			select {
			case signal := <-signals:
				if first != nil {
					cancel(&killedError{signal})
					return
				}
				first, limit = signal, time.After(late)
			case <-limit:
				cancel(&killedError{first})
				return
			case <-answered:
				return
			}
		}
	}()
	err := request(ctx)
	close(answered)
	<-watched
	if err == nil {
		s.signals, s.stopSignals, s.pending = signals, stop, first
		return nil
	}
	stop()
	if killed, ok := errors.AsType[*killedError](context.Cause(ctx)); ok {
		s.app.note("ended by %s before it was answered; the run may have begun: %s", signalName(killed.signal), s.app.commandText("runs", "list"))
		return killed
	}
	return err
}
