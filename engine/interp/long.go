package interp

import (
	"encoding/json"
	"iter"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// longOutputs are those of a reading by pages that would take much memory decoded
// (ADR 71): the items stay as the plugin wrote them, page by page, and expressions
// decode those that they read. So are values of a `let` that were chosen of stored lists
// and are long: places in those, of which nobody keeps a text (ADR 80).
type longOutputs struct {
	fields map[string]any // of a reading, those beside the items
	pages  []pageText     // of a reading
	value  map[string]any // as expressions see them
	bytes  int64          // of the pages, or of the values as JSON, about
}

// mostWritten is how long values may be that are chosen of stored lists and kept as text
// besides.
const mostWritten = 256 << 10

// storedOutputs are the values of a `let` that hold long stored lists; nil = they do not.
func (m *Machine) storedOutputs(values map[string]any) *longOutputs {
	if !m.since(8) {
		return nil
	}
	bytes := eval.StoredBytes(values)
	if bytes <= mostWritten {
		return nil
	}
	return &longOutputs{value: values, bytes: bytes}
}

// newLongOutputs returns nil where the outputs take no more than most decoded: they are,
// as a whole.
func newLongOutputs(fields map[string]any, pages []pageText, most int64) (*longOutputs, error) {
	long, weight := &longOutputs{fields: fields, pages: pages}, int64(0)
	parts := make([]schema.EncodedPart, len(pages))
	for i, page := range pages {
		parts[i] = schema.EncodedPart{Text: page.items, Element: page.element}
		weight += schema.Weight(page.items)
		long.bytes += int64(len(page.items))
	}
	if weight <= most {
		return nil, nil
	}
	items, err := schema.NewEncoded(parts...)
	if err != nil {
		return nil, err
	}
	long.value = map[string]any{"items": items}
	for name, value := range fields {
		long.value[name] = value
	}
	return long, nil
}

// json writes the outputs: a text that nobody keeps.
func (l *longOutputs) json() json.RawMessage {
	if l.pages == nil {
		raw, failure := encodeResult(l.value)
		if failure != nil {
			return nil // stored values
		}
		return raw
	}
	raw, failure := pagesJSON(l.fields, l.pages)
	if failure != nil {
		return nil // texts and numbers
	}
	return raw
}

// long are the step's outputs where they are long; nil = they are not.
func (s *step) long() *longOutputs {
	long, _ := s.result.(*longOutputs)
	return long
}

// outputsJSON is what the step gave, as JSON.
func (s *step) outputsJSON() json.RawMessage {
	if long := s.long(); long != nil {
		return long.json()
	}
	return s.outputs
}

// elements are those of a loop's list, or lists of some of them each: they are read when
// their turn comes.
type elements struct {
	values []any
	list   *schema.Encoded
	read   *schema.EncodedReader
	batch  int // how many make one; 0 = none do
}

// elementsOf are the elements of a loop's list; false where it is none.
func elementsOf(value any) (elements, bool) {
	switch value := value.(type) {
	case []any:
		return elements{values: value}, true
	case *schema.Encoded:
		return elements{list: value, read: value.Reader()}, true
	}
	return elements{}, false
}

func (e *elements) len() int { return plan.Batches(e.count(), e.batch) }

// count is how many elements the list has.
func (e *elements) count() int {
	if e.list != nil {
		return e.list.Len()
	}
	return len(e.values)
}

// part is the i-th batch: it shares what the list keeps.
func (e *elements) part(i int) any {
	from := i * e.batch
	to := min(from+e.batch, e.count())
	if e.list != nil {
		return e.list.Slice(from, to)
	}
	return e.values[from:to:to]
}

// at is the i-th element; nil for one that can't be read, which was checked when it
// came.
func (e *elements) at(i int) any {
	if e.batch > 0 {
		return e.part(i)
	}
	if e.list == nil {
		return e.values[i]
	}
	value, err := e.read.At(i)
	if err != nil {
		return nil
	}
	return value
}

// all yields the elements in their order.
func (e *elements) all() iter.Seq[any] {
	return func(yield func(any) bool) {
		for i := range e.len() {
			if !yield(e.at(i)) {
				return
			}
		}
	}
}

// tooManyItems is the failure of a loop over more than it takes.
func (m *Machine) tooManyItems(s *step, message string, most int) *runs.Error {
	failure := m.foreachFailure(s, message, reasonLimit)
	switch {
	case m.since(8):
		failure.Hint = diag.Say(quota.Raise(quota.LoopItems, int64(most)) + "; `batch: 100` makes lists of a hundred: an action that takes a list does one in a step")
	case m.since(7):
		failure.Hint = diag.Say("chunk(list, 100) makes batches of a hundred: an action that takes a list does one in a step")
	}
	return failure
}
