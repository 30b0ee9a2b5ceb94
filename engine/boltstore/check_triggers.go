package boltstore

import (
	"bytes"
	"encoding/binary"
	"encoding/json"

	"github.com/flowrun/flowrun/engine/runs"
)

// fire checks that a fire lies under its own key and in the index, and that the
// run that it names, as long as that is there, is its own (P10).
func (c *contentCheck) fire(key, payload []byte) {
	fire := new(runs.Fire)
	if err := json.Unmarshal(payload, fire); err != nil {
		c.damaged(bucketFires, key, "%v", err)
		return
	}
	row, err := newFireRow(*fire)
	if err != nil || !bytes.Equal(row.key, key) {
		c.damaged(bucketFires, key, "the fire is that of %s at %s", runs.TriggerID(fire.Workflow, fire.Trigger), fire.Slot)
		return
	}
	c.expect(bucketFiresBySlot, row.index, "a fire wants it")
	if fire.Run == "" {
		return
	}
	run, err := runKey(fire.Run)
	if err != nil {
		c.damaged(bucketFires, key, "%v", err)
		return
	}
	stored, err := getRow(c.tx, run)
	if err != nil || stored == nil {
		return // told already, or removed by retention
	}
	if of := stored.Fire; of != nil && (of.Workflow != fire.Workflow || of.Trigger != fire.Trigger || !of.Slot.Equal(fire.Slot)) {
		c.damaged(bucketFires, key, "run %s is not the run of this fire", fire.Run)
	}
}

func (c *contentCheck) trigger(key, payload []byte) {
	state := new(runs.TriggerState)
	if err := json.Unmarshal(payload, state); err != nil {
		c.damaged(bucketTriggers, key, "%v", err)
		return
	}
	if want, err := triggerPrefix(state.Workflow, state.Trigger); err != nil || !bytes.Equal(want, key) {
		c.damaged(bucketTriggers, key, "the state is that of %s", runs.TriggerID(state.Workflow, state.Trigger))
	}
}

func (c *contentCheck) entry(key, payload []byte) {
	entry := new(runs.OutboxEntry)
	if len(payload) < runKeySize {
		c.damaged(bucketOutbox, key, "%d bytes are no entry", len(payload))
		return
	}
	if err := json.Unmarshal(payload[runKeySize:], entry); err != nil {
		c.damaged(bucketOutbox, key, "%v", err)
		return
	}
	of := runID(payload)
	if bytes.HasPrefix(payload, noRun()) {
		of = "" // it is about a trigger
	}
	if len(key) != 8 || entry.Seq != binary.BigEndian.Uint64(key) || entry.Run.ID != of {
		c.damaged(bucketOutbox, key, "the entry is that of %d, run %s", entry.Seq, entry.Run.ID)
	}
}
