package store

import (
	"bytes"
	"slices"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
)

// The bounds of the history of one state value or cursor: the newest stay.
const (
	maxChanges      = 50
	maxChangesBytes = 256 << 10
)

// Write is what the success of a run changes in its memory, with the version of what the
// run read (docs/reliability.md, P5).
type Write struct {
	Value runs.StateValue // of a cursor with its Key
	Read  uint64          // 0 = there was none
}

// Keeps reports whether records end their run with something to keep.
func Keeps(records []*journal.Record) bool {
	return slices.ContainsFunc(records, func(record *journal.Record) bool {
		return slices.ContainsFunc(record.Commands, func(c journal.Command) bool { return c.Finish != nil && c.Finish.Writes() })
	})
}

// WritesOf collects what the records of a run keep, in no order.
func WritesOf(run, workflow string, records []*journal.Record) (writes []Write) {
	for _, record := range records {
		for _, command := range record.Commands {
			finish := command.Finish
			if finish == nil || !finish.Writes() {
				continue
			}
			for name, value := range finish.State {
				writes = append(writes, Write{Read: finish.StateVersions[name], Value: runs.StateValue{
					Workflow: workflow, Name: name, Value: value, At: record.Event.At, Run: run,
				}})
			}
			for cursor, watermark := range finish.Cursors {
				version, read := finish.CursorVersions[cursor]
				_, name, _, ok := runs.SplitCursorKey(cursor)
				if !read || !ok {
					continue // nobody told where it is kept
				}
				writes = append(writes, Write{Read: version, Value: runs.StateValue{
					Workflow: workflow, Name: name, Key: cursor, Value: watermark, At: record.Event.At, Run: run,
				}})
			}
		}
	}
	return writes
}

// Moved returns a *journal.MovedError unless what is stored (nil = nothing) is still what
// the run read.
func (w Write) Moved(stored *runs.StateValue) error {
	var version uint64
	if stored != nil {
		version = stored.Version
	}
	if version == w.Read {
		return nil
	}
	moved := &journal.MovedError{What: "state", Name: w.Value.Name}
	if w.Value.Key != "" {
		moved.What = "cursor"
	}
	if stored != nil {
		if moved.By = stored.By; stored.Run != "" {
			moved.By = "run " + stored.Run
		}
	}
	return moved
}

// Stays reports whether a cursor stays where it was: it keeps its version, and others
// that read it may go on.
func (w Write) Stays(stored *runs.StateValue) bool {
	return w.Value.Key != "" && stored != nil && bytes.Equal(stored.Value, w.Value.Value)
}

// AddChange puts a change behind the others of a history, of which the oldest give way.
func AddChange(history []runs.StateChange, change runs.StateChange) []runs.StateChange {
	history = append(history, change)
	history = history[max(0, len(history)-maxChanges):]
	size := 0
	for i := len(history) - 1; i >= 0; i-- {
		if size += len(history[i].Value); size > maxChangesBytes && i < len(history)-1 {
			return history[i+1:]
		}
	}
	return history
}
