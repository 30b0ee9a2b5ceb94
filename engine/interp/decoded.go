package interp

import (
	chain "container/list"
	"encoding/json"
	"fmt"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/schema"
)

// The bounds of what is kept decoded of the answers of a run. Decoded values take
// up to forty times their text, so that a journal of small parts would take that
// much memory: what goes beyond is decoded again when an expression reads it.
const (
	decodedFloor = 32 << 20 // in any case
	decodedShare = 1        // times the texts of the answers
)

// mostRead is what the outputs of a step may take decoded, for an expression that
// reads them: more than a list of 300,000 small objects.
const mostRead = 128 << 20

// outputText is what a step's call gave: as text, and decoded while there is room.
type outputText struct {
	m       *Machine
	raw     json.RawMessage
	t       *schema.Type // that it is read by; nil = by decode
	decode  func(json.RawMessage) (any, error)
	value   any
	weight  int64          // of the decoded value; 0 = not known yet
	element *chain.Element // in the Machine's decoded; nil = it is not decoded
	lazy    *eval.Lazy     // what stands for it among the names of expressions
}

// decoded are the answers whose values are kept, the one read last at the end.
type decoded struct {
	answers chain.List
	weight  int64 // of their values
	texts   int64 // of all answers
	floor   int64 // decodedFloor, unless the driver says another
}

// newOutput keeps a text that decode is known to take. Its value may be given.
func (m *Machine) newOutput(raw json.RawMessage, value any, decode func(json.RawMessage) (any, error)) *outputText {
	return m.keepOutput(&outputText{m: m, raw: raw, decode: decode}, value)
}

// keepOutput is newOutput of a text that is ready.
func (m *Machine) keepOutput(a *outputText, value any) *outputText {
	a.lazy = eval.NewLazy(a.read)
	m.decoded.texts += int64(len(a.raw))
	if value != nil {
		a.keep(value)
		m.decoded.shrink(nil)
	}
	return a
}

// read returns the value: it is kept while there is room for it.
func (a *outputText) read() (any, error) {
	kept := &a.m.decoded
	if a.element != nil {
		kept.answers.MoveToBack(a.element)
		return a.value, nil
	}
	if a.weigh(); a.weight > mostRead && a.m.since(4) {
		return nil, &eval.RunError{
			Reason: reasonLimit, Message: fmt.Sprintf("outputs of %d MiB are too large to be read: decoded they take more than %d MiB", (len(a.raw)+1<<20-1)>>20, mostRead>>20),
			Hint: diag.Say("read less of the service at a time: a filter, fewer fields, or smaller max_items"),
		}
	}
	kept.shrink(a)
	value, err := a.decoded()
	if err == nil {
		a.keep(value)
	}
	return value, err
}

// decoded reads the text.
func (a *outputText) decoded() (any, error) {
	switch {
	case a.t == nil:
		return a.decode(a.raw)
	case a.m.since(3):
		return a.t.DecodeAnswer(a.raw)
	}
	return a.t.Decode(a.raw)
}

func (a *outputText) weigh() {
	if a.weight == 0 {
		a.weight = schema.Weight(a.raw)
	}
}

func (a *outputText) keep(value any) {
	a.weigh()
	a.value = value
	a.element = a.m.decoded.answers.PushBack(a)
	a.m.decoded.weight += a.weight
}

// drop forgets the value.
func (a *outputText) drop() {
	if a.element == nil {
		return
	}
	a.m.decoded.answers.Remove(a.element)
	a.m.decoded.weight -= a.weight
	a.value, a.element = nil, nil
}

// forget drops an answer that nobody reads any more.
func (a *outputText) forget() {
	a.drop()
	a.m.decoded.texts -= int64(len(a.raw))
}

// shrink drops the values that were read longest ago, until there is room: for
// next too, which is to be read.
func (d *decoded) shrink(next *outputText) {
	room := d.floor
	if room == 0 {
		room = decodedFloor
	}
	if room = max(room, decodedShare*d.texts); next != nil {
		room -= next.weight
	}
	for d.weight > room && d.answers.Len() > 0 {
		first, _ := d.answers.Front().Value.(*outputText)
		first.drop()
	}
}

// KeepDecoded sets how many bytes of decoded answers are kept in any case. No
// decision depends on it.
func (m *Machine) KeepDecoded(bytes int64) { m.decoded.floor = bytes }

// Rest drops the decoded answers: those that are read again are decoded anew.
func (m *Machine) Rest() {
	for m.decoded.answers.Len() > 0 {
		first, _ := m.decoded.answers.Front().Value.(*outputText)
		first.drop()
	}
}

// made is the result as a value.
func made(result any) (any, error) {
	switch result := result.(type) {
	case *outputText:
		return result.read()
	case *longOutputs:
		return result.value, nil
	}
	return result, nil
}

// setResult gives the step a result, and drops the one before.
func (s *step) setResult(result any) {
	if old, ok := s.result.(*outputText); ok && old != result {
		old.forget()
	}
	s.result = result
}

// outputsValue is what stands for the step's outputs among the names.
func (s *step) outputsValue() any {
	if long := s.long(); long != nil {
		return long.value
	}
	a, ok := s.result.(*outputText)
	if !ok {
		return s.result
	}
	if s.list.m.program.eager {
		if value, err := a.read(); err == nil { // it was read before
			return value
		}
	}
	return a.lazy
}

// stepReads are the steps that an expression reads as wholes, so that their
// outputs are decoded before it runs: the others are when they are read by name.
type stepReads struct {
	names []string
	all   bool // a computed name may read any of them
	root  bool // the root itself: a result may hold it, and with it what ends later
}

func readsOfSteps(parsed *eval.Expression) (reads stepReads) {
	for _, read := range parsed.Reads() {
		switch {
		case len(read.Path) == 0 || read.Path[0] != rootSteps:
		case len(read.Path) == 1:
			reads.all, reads.root = true, reads.root || !read.Dynamic
		case len(read.Path) == 2:
			reads.names = append(reads.names, read.Path[1])
		}
	}
	return reads
}

// decodeWhole puts values in the place of answers that an expression reads in
// other ways than by name.
func (r stepReads) decodeWhole(env map[string]any) error {
	known, _ := env[rootSteps].(map[string]any)
	if r.all {
		for _, value := range known {
			if err := decodeOutputs(value); err != nil {
				return err
			}
		}
		return nil
	}
	for _, name := range r.names {
		if err := decodeOutputs(known[name]); err != nil {
			return err
		}
	}
	return nil
}

func decodeOutputs(value any) error {
	object, _ := value.(map[string]any)
	lazy, ok := object["outputs"].(*eval.Lazy)
	if !ok {
		return nil
	}
	outputs, err := lazy.Value()
	if err == nil {
		object["outputs"] = outputs
	}
	return err
}
