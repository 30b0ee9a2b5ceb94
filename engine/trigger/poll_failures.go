package trigger

import (
	"context"
	"errors"
	"fmt"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// failed records that a poll's call failed. The first of a row of failures, one that
// differs from the one before and the last before a pause are visible rows. A stop
// of the engine is no failure.
func (p *onePoll) failed(ctx context.Context, old *pollRow, err error) error {
	var failure *runs.Error
	if ctx.Err() != nil || !errors.As(err, &failure) || failure.Kind == plan.KindCanceled {
		return err
	}
	name, log := runs.TriggerID(p.rev.Name(), p.t.Name), p.triggers.config.Log
	text := p.triggers.project.Redact(failureText(failure))
	log.Warn("poll failed", "trigger", name, "kind", failure.Kind, "error", text)
	row := pollRow{seen: map[digest]seenKey{}}
	if old != nil {
		row = *old // keys and time stay: the next poll that ends well goes on from them
	}
	if row.FailedAt.Before(p.resumed) {
		row.Failures = 0 // a resume begins to count anew
	}
	again := row.Failures > 0 && row.Error == text
	row.Failures++
	row.Error, row.FailedAt = text, p.at
	n := p.t.PauseAfterFailures
	pausing := n > 0 && row.Failures >= n
	if !again || pausing {
		if err := p.triggers.skip(p.rev, p.t, p.at, runs.SkipFailed, text); err != nil {
			return err
		}
	}
	if err := p.triggers.putPollRow(p.rev.Name(), p.t.Name, &row); err != nil {
		return err
	}
	if pausing {
		return errors.Join(err, p.pause(row.Failures, text))
	}
	return err
}

// pause stops the poll until a person resumes it.
func (p *onePoll) pause(failures int, text string) error {
	reason := fmt.Sprintf("%d polls in a row failed: %s", failures, text)
	_, err := p.triggers.store.EditTriggerState(p.rev.Name(), p.t.Name, func(state *runs.TriggerState) {
		if !state.Paused {
			state.Paused, state.PausedAt, state.PausedBy, state.Reason = true, p.at, "", reason
		}
	})
	if err != nil {
		return p.triggers.fault(err)
	}
	p.triggers.config.Log.Warn("poll paused", "trigger", runs.TriggerID(p.rev.Name(), p.t.Name), "reason", reason)
	return nil
}

func failureText(failure *runs.Error) string {
	text := string(failure.Kind) + ": " + failure.Message
	if failure.Hint.Text != "" {
		text += "; " + failure.Hint.Text
	}
	return text
}

// pollSink takes what a poll's call says: it goes to the log.
type pollSink struct {
	p *onePoll
}

func (p *onePoll) sink() runs.Sink { return pollSink{p} }

// Log writes a line of the plugin.
func (s pollSink) Log(line runs.Log) {
	s.p.triggers.config.Log.Debug("poll", "trigger", runs.TriggerID(s.p.rev.Name(), s.p.t.Name),
		"message", s.p.triggers.project.Redact(line.Message))
}

// Progress is of no use here.
func (pollSink) Progress(runs.Progress) {}
