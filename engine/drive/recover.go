package drive

import (
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// carefulAnswers is how many answers a run that was interrupted by a crash takes
// before its reads are sent without waiting for their records again. Until then
// the journal knows each call that a second crash interrupts, so that none is
// blamed for another (docs/reliability.md, P6).
const carefulAnswers = 2 * FlushRecords

// CallsInFlight reports whether the journal ends with calls that have no answer.
func (r *Run) CallsInFlight() bool { return slices.ContainsFunc(r.Machine.InFlight(), isCall) }

// Recover goes on where the journal ends, after Rebuild. The turn holds the word that
// a process drives the run again, which counts the crash of each call that it
// interrupted; with no call in flight there is nothing to say. What was in flight is
// among its commands, to be sent again: the same attempts with the same keys, and
// only when the word is durable, so that crashes are counted. What must not be
// repeated is asked about, or becomes an unknown outcome; a call that was in flight
// at too many crashes parks its step. A sub-workflow's run of a run that is ending is
// taken up and canceled.
func (r *Run) Recover(at time.Time) (*Turn, error) {
	before, unsent, turn := r.Machine.InFlight(), r.Machine.NeverSent(), &Turn{}
	if slices.ContainsFunc(before, isCall) {
		driven := journal.Event{Kind: journal.Driven, At: at, Interrupted: r.Machine.Interrupted()}
		if len(driven.Interrupted) > 0 {
			r.careful = carefulAnswers
		}
		var err error
		if turn, err = r.Apply(driven); err != nil {
			return nil, err
		}
	}
	open := map[string]*journal.Call{}
	for _, command := range r.Machine.InFlight() {
		open[command.Path] = command.Call
	}
	var again []journal.Command
	for _, command := range before {
		if call, still := open[command.Path]; !still || call != command.Call {
			continue
		}
		again = append(again, command)
		if isCall(command) && !slices.Contains(unsent, command.Path) {
			if r.resent == nil {
				r.resent = map[string]bool{}
			}
			r.resent[command.Path] = true
		}
		if command.Kind == journal.CommandChild && r.Machine.Ending() {
			again = append(again, journal.Command{Kind: journal.CommandCancel, Path: command.Path})
		}
	}
	turn.sentAgain, turn.Commands = len(again), slices.Concat(again, turn.Commands)
	return turn, nil
}

// Releases reports whether a process that drives the run again must say so once
// more for what was decided while nobody did, before event: a driven event of its own
// lets it take effect. A resumed event does so by itself. event may be nil.
func (r *Run) Releases(event *journal.Event) bool {
	return r.Machine.Held() && (event == nil || event.Kind != journal.Resumed)
}

// Lost is a call that is not sent again, with the event that ends it.
type Lost struct {
	Call  *Operation
	Event journal.Event
}

// Abandon is Recover of a run that is canceled before it goes on: what was in flight
// is not sent again only to be canceled. The driver does the commands, which are no
// calls, applies the cancel, and then the events of those lost calls that it can
// settle.
func (r *Run) Abandon() (commands []journal.Command, lost []Lost) {
	unsent := r.Machine.NeverSent()
	for _, command := range r.Machine.InFlight() {
		if !isCall(command) {
			commands = append(commands, command)
			continue
		}
		failure := &runs.Error{
			Kind:    plan.KindCanceled,
			Applied: runs.AppliedUnknown,
			Message: "the engine stopped while the call was in flight, and the run was canceled then",
		}
		if slices.Contains(unsent, command.Path) {
			failure.Applied, failure.Message = runs.NotApplied, "the run was canceled before the call was sent"
		}
		lost = append(lost, Lost{r.begin(command), journal.Event{Kind: journal.Failed, Path: command.Path, Failed: failure}})
	}
	return commands, lost
}
