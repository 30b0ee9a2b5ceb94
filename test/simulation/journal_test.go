package simulation

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
)

// violation is a broken promise: it ends the seed.
type violation struct{ text string }

func violated(format string, args ...any) { panic(violation{fmt.Sprintf(format, args...)}) }

// memoryJournal is the journal of one run as the store has it: what is durable,
// what was handed over and is being committed, and what waits in the driver.
type memoryJournal struct {
	records [][]byte
	handed  int   // records that were handed to the store
	groups  []int // ends of the groups that are handed over and not yet durable
	durable int
}

func (j *memoryJournal) append(r *journal.Record) []byte {
	data, err := journal.Encode(r)
	if err != nil {
		violated("encode record %d: %v", r.Seq, err)
	}
	j.records = append(j.records, data)
	return data
}

// hand gives what waits to the store, in one group.
func (j *memoryJournal) hand() (upTo int) {
	if j.handed < len(j.records) {
		j.handed = len(j.records)
		j.groups = append(j.groups, j.handed)
	}
	return j.handed
}

func (j *memoryJournal) commit(upTo int) {
	for len(j.groups) > 0 && j.groups[0] <= upTo {
		j.durable = j.groups[0]
		j.groups = j.groups[1:]
	}
}

// crash loses what is not durable. A group whose commit was on its way may have
// become durable all the same.
func (j *memoryJournal) crash(r *rng) (lost int) {
	for len(j.groups) > 0 && r.one(2) {
		j.commit(j.groups[0])
	}
	lost = len(j.records) - j.durable
	j.records = j.records[:j.durable]
	j.handed, j.groups = j.durable, nil
	return lost
}

func decode(data []byte) *journal.Record {
	record, err := journal.Decode(data)
	if err != nil {
		violated("decode record: %v", err)
	}
	return record
}

// replay applies a stored record and compares the commands, as a driver does
// (P8).
func replay(m *interp.Machine, data []byte) *journal.Record {
	record := decode(data)
	commands, err := m.Apply(record.Event)
	if err != nil {
		violated("replay record %d: %v", record.Seq, err)
	}
	if stored, now := encoded(record.Commands), encoded(commands); !bytes.Equal(stored, now) {
		violated("record %d leads to other commands:\n stored %s\n now    %s", record.Seq, stored, now)
	}
	return record
}

func encoded(v any) []byte {
	if commands, ok := v.([]journal.Command); ok && len(commands) == 0 {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		violated("encode %T: %v", v, err)
	}
	return data
}

// snapshot is all that a Machine shows.
func snapshot(m *interp.Machine) []byte {
	status, paused := m.Status()
	return encoded(struct {
		Status   runs.Status
		Paused   string
		Done     bool
		Error    *runs.Error
		Outputs  map[string]json.RawMessage
		Attempt  int
		Steps    []runs.Step
		InFlight []journal.Command
		Held     bool
	}{status, paused, m.Done(), m.Error(), m.Outputs(), m.Attempt(), m.Steps(), m.InFlight(), m.Held()})
}

// replayed is a Machine to which the whole journal was given.
func (s *sim) replayed() *interp.Machine {
	m := s.c.program.NewMachine()
	for _, data := range s.journal.records {
		replay(m, data)
	}
	m.Changes()
	return m
}
