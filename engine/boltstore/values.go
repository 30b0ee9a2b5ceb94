package boltstore

import (
	"encoding/json"
	"fmt"
	"unsafe"

	"github.com/flowrun/flowrun/engine/journal"
)

// place names a value of a record. Its text is part of the file's format: a name
// never changes.
type place struct {
	command int // index; -1 = the event
	field   string
	name    string // of a map's entry
}

func (p place) String() string {
	text := "event." + p.field
	if p.command >= 0 {
		text = fmt.Sprintf("command.%d.%s", p.command, p.field)
	}
	if p.name != "" {
		text += "." + p.name
	}
	return text
}

// eachValue visits every value of a record that may be large. Where visit
// returns another slice, it takes the place of the value; else nothing is
// written, so that a visit that only looks needs no copy of the record.
func eachValue(record *journal.Record, visit func(at place, value []byte, isJSON bool) []byte) {
	v := valueVisitor{command: -1, visit: visit}
	e := &record.Event
	if e.Start != nil {
		v.json("start.inputs", &e.Start.Inputs)
	}
	if e.Completed != nil {
		v.json("completed.output", &e.Completed.Output)
		v.json("completed.meta", &e.Completed.Meta)
		v.bytes("completed.watermark", &e.Completed.Watermark)
		v.bytes("completed.page_note", &e.Completed.PageNote)
	}
	if e.Pending != nil {
		v.bytes("pending.checkpoint", &e.Pending.Checkpoint)
	}
	if e.Failed != nil {
		v.json("failed.details", &e.Failed.Details)
	}
	if e.Signal != nil {
		v.json("signal.payload", &e.Signal.Payload)
	}
	if e.Resolution != nil {
		v.json("resolution.output", &e.Resolution.Output)
	}
	if e.Child != nil {
		v.json("child.outputs", &e.Child.Outputs)
		if e.Child.Failed != nil {
			v.json("child.failed.details", &e.Child.Failed.Details)
		}
	}
	for i := range record.Commands {
		v.command = i
		v.eachOfCommand(&record.Commands[i])
	}
}

type valueVisitor struct {
	command int
	visit   func(at place, value []byte, isJSON bool) []byte
}

func (v valueVisitor) eachOfCommand(command *journal.Command) {
	if call := command.Call; call != nil {
		v.json("call.input", &call.Input)
		v.bytes("call.checkpoint", &call.Checkpoint)
		v.bytes("call.page_note", &call.PageNote)
	}
	if command.Child != nil {
		v.json("child.inputs", &command.Child.Inputs)
	}
	if command.Log != nil {
		v.json("log.fields", &command.Log.Fields)
	}
	if command.Finish != nil {
		v.eachOfFinish(command.Finish)
	}
}

func (v valueVisitor) eachOfFinish(finish *journal.Finish) {
	if finish.Error != nil {
		v.json("finish.error.details", &finish.Error.Details)
	}
	eachEntry(v, "finish.outputs", finish.Outputs, true)
	eachEntry(v, "finish.state", finish.State, true)
	eachEntry(v, "finish.cursors", finish.Cursors, false)
}

func eachEntry[V ~[]byte](v valueVisitor, field string, entries map[string]V, isJSON bool) {
	for name, value := range entries {
		at := place{command: v.command, field: field, name: name}
		if got := v.visit(at, value, isJSON); !sameSlice(got, value) {
			entries[name] = got
		}
	}
}

func (v valueVisitor) json(field string, value *json.RawMessage) {
	if got := v.visit(place{command: v.command, field: field}, *value, true); !sameSlice(got, *value) {
		*value = got
	}
}

func (v valueVisitor) bytes(field string, value *[]byte) {
	if got := v.visit(place{command: v.command, field: field}, *value, false); !sameSlice(got, *value) {
		*value = got
	}
}

func sameSlice(a, b []byte) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}
