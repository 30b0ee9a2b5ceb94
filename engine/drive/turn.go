package drive

import (
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
)

// Results of reads are handed to the journal together: nothing waits for them
// but watchers, and after a crash the reads just run again. They wait for company
// at most FlushDelay, as long as fewer than FlushRecords have come together, and
// only while other calls are in flight.
const (
	FlushDelay   = 10 * time.Millisecond
	FlushRecords = 64
)

// Turn is one event that was applied, with what follows from it.
type Turn struct {
	Record   *journal.Record   // nil where Recover had nothing to say
	Bytes    int               // of the record's event and commands, as they are stored
	Changes  []runs.Step       // the steps that views must show again
	Commands []journal.Command // all that a driver does, in order

	sentAgain int // so many of Commands, the first ones, are not the record's
	careful   bool
}

// Split tells apart what is done at once and what waits until the record is durable,
// as the intent of a call with an effect and the id of a sub-workflow's run must be.
// Logs and the finish are part of the record itself, and need nothing more.
func (t *Turn) Split() (now, intents []journal.Command) {
	if len(t.Commands) == 1 && t.sentAgain == 0 { // as nearly all turns are
		switch command := t.Commands[0]; {
		case command.Kind == journal.CommandLog, command.Kind == journal.CommandFinish:
			return nil, nil
		case t.waits(command):
			return nil, t.Commands
		}
		return t.Commands, nil
	}
	for i, command := range t.Commands {
		switch {
		case command.Kind == journal.CommandLog, command.Kind == journal.CommandFinish:
		case i < t.sentAgain && isCall(command), i >= t.sentAgain && t.waits(command):
			intents = append(intents, command)
		default:
			now = append(now, command)
		}
	}
	return now, intents
}

func (t *Turn) waits(command journal.Command) bool {
	return command.Kind == journal.CommandChild || isCall(command) && (command.Call.Effect.Writes() || t.careful)
}

// Logs are the lines of the run's log in the record.
func (t *Turn) Logs() []runs.Log {
	var logs []runs.Log
	for _, command := range t.recorded() {
		if command.Kind == journal.CommandLog {
			logs = append(logs, *command.Log)
		}
	}
	return logs
}

// Finish is how the record ends or pauses the run; nil where it does not.
func (t *Turn) Finish() *journal.Finish {
	var finish *journal.Finish
	for _, command := range t.recorded() {
		if command.Kind == journal.CommandFinish {
			finish = command.Finish
		}
	}
	return finish
}

func (t *Turn) recorded() []journal.Command {
	if t.Record == nil {
		return nil
	}
	return t.Record.Commands
}

func isCall(command journal.Command) bool { return command.Kind == journal.CommandCall }
