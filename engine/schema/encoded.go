package schema

import (
	"fmt"
	"slices"
	"sort"
)

// The bounds of what is decoded of an Encoded list at once.
const (
	blockElements = 64
	blockBytes    = 64 << 10
)

// Encoded is a list of the language that is kept once, by who stored it: as JSON text,
// whose elements are decoded when they are read, a few at a time, or as values that are
// there already (Stored). What is cut or chosen out of it shares them and keeps places.
// It stands for the list that its elements make, never for null. It is not changed
// once it is made, so that it is safe for concurrent use.
type Encoded struct {
	text     *encodedText // nil = values
	values   []any        // none of which is changed
	from, to int          // of text or values, or of places
	places   []int32      // of the elements in text or values, in their order; nil = as they stand
}

// Stored is the list of values that somebody keeps and nobody changes.
func Stored(values []any) *Encoded { return &Encoded{values: values, to: len(values)} }

// Kept are the values that the list is chosen of; false where it is kept as text.
func (e *Encoded) Kept() (values []any, ok bool) { return e.values, e.text == nil }

// encodedText is what lists of one origin share.
type encodedText struct {
	parts  []encodedPart
	starts []int // the place of each part's first element
	count  int
	bytes  int64
}

type encodedPart struct {
	list   *Type // of the part, a list
	text   []byte
	blocks []block
}

// block is a run of elements that are decoded together.
type block struct {
	first int32 // its place in the part
	at    int32 // its offset in the text
}

// EncodedPart is a piece of a list: a valid JSON list whose elements keep to a type.
type EncodedPart struct {
	Text    []byte
	Element *Type // nil = nothing is known of it
}

// NewEncoded returns the list of all elements of the parts. Their texts must have
// passed CheckAnswer and must not be changed any more. The error is of a list that is
// too long.
func NewEncoded(parts ...EncodedPart) (*Encoded, error) {
	text := &encodedText{}
	for _, part := range parts {
		one, count := encodedPart{list: &Type{Kind: List, Elem: part.Element}, text: part.Text}, 0
		began := 0
		for at := range elementOffsets(part.Text) {
			if n := len(one.blocks); n == 0 || count-int(one.blocks[n-1].first) >= blockElements || at-began >= blockBytes {
				one.blocks = append(one.blocks, block{int32(count), int32(at)}) //nolint:gosec // a message has at most 64 MiB
				began = at
			}
			count++
		}
		if count == 0 {
			continue
		}
		text.parts, text.starts = append(text.parts, one), append(text.starts, text.count)
		text.count += count
		text.bytes += int64(len(part.Text))
	}
	if text.count > 1<<31-1 {
		return nil, fmt.Errorf("a list of %d elements is too long", text.count)
	}
	return &Encoded{text: text, to: text.count}, nil
}

// elementOffsets yields where each element of a JSON list begins.
func elementOffsets(data []byte) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		if len(data) == 0 || blank(data, 0) >= len(data) || data[blank(data, 0)] != '[' {
			return
		}
		for at := blank(data, blank(data, 0)+1); data[at] != ']'; {
			if !yield(at) {
				return
			}
			if at = blank(data, valueEnd(data, at)); data[at] == ',' {
				at = blank(data, at+1)
			}
		}
	}
}

// Len is how many elements the list has.
func (e *Encoded) Len() int { return e.to - e.from }

// Bytes is about how long the list is as JSON; 0 where it is not kept as text, so that
// nobody knows it.
func (e *Encoded) Bytes() int64 {
	if e.text == nil {
		return 0
	}
	if e.text.count == 0 {
		return 2
	}
	return 2 + e.text.bytes*int64(e.Len())/int64(e.text.count)
}

// Chosen reports whether the list keeps places: its elements do not stand side by side
// where they are kept.
func (e *Encoded) Chosen() bool { return e.places != nil }

// Slice is the list's part [from, to), which must be one.
func (e *Encoded) Slice(from, to int) *Encoded {
	part := *e
	part.from, part.to = e.from+from, e.from+to
	return &part
}

// Pick is the list of the elements at these places of the list, in their order. It
// keeps places.
func (e *Encoded) Pick(places []int32) *Encoded {
	for i, place := range places {
		places[i] = int32(e.Place(int(place))) //nolint:gosec // a place of the text
	}
	if places == nil {
		places = []int32{}
	}
	return &Encoded{text: e.text, values: e.values, to: len(places), places: places}
}

// Place is where the i-th element stands in the text, or among the values, that the list
// is chosen of.
func (e *Encoded) Place(i int) int {
	if e.places != nil {
		return int(e.places[e.from+i])
	}
	return e.from + i
}

// Values are the whole list: decoded, where it is kept as text. They must not be changed.
func (e *Encoded) Values() ([]any, error) {
	if e.text == nil && e.places == nil {
		return e.values[e.from:e.to:e.to], nil
	}
	values, read := make([]any, e.Len()), e.Reader()
	for i := range values {
		var err error
		if values[i], err = read.At(i); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// Weight is about what the list takes in memory when it is decoded: nothing more where
// its values are there.
func (e *Encoded) Weight() int64 {
	if e.text == nil {
		return 0
	}
	if e.text.count == 0 {
		return 64
	}
	weight := int64(0)
	for _, part := range e.text.parts {
		weight += Weight(part.text)
	}
	return weight * int64(e.Len()) / int64(e.text.count)
}

// Reader returns what reads the list's elements. It keeps those decoded that stand
// beside the one that was read last, and is for one goroutine.
func (e *Encoded) Reader() *EncodedReader { return &EncodedReader{list: e, part: -1} }

// PartReader is Reader for who reads of elements that are objects the members of these
// names alone: no others are decoded, mostly. Its values are for nobody else.
func (e *Encoded) PartReader(names []string) *EncodedReader {
	return &EncodedReader{list: e, part: -1, names: append([]string{}, names...)}
}

// EncodedReader reads the elements of an Encoded list.
type EncodedReader struct {
	list    *Encoded
	names   []string // of the members that are read; nil = all
	part    int      // of the block at hand
	first   int      // the place in the text of its first element
	values  []any    // of the block
	scratch []byte
}

// At decodes the i-th element, from 0, which must be there. The caller may keep the
// value, and must not change it. The error is a *Mismatch: the text is not what it was
// checked to be.
func (r *EncodedReader) At(i int) (any, error) {
	place := r.list.Place(i)
	if r.list.text == nil {
		return r.list.values[place], nil
	}
	if at := place - r.first; r.part >= 0 && at >= 0 && at < len(r.values) {
		return r.values[at], nil
	}
	if err := r.load(place); err != nil {
		return nil, err
	}
	return r.values[place-r.first], nil
}

// load decodes the block of a place.
func (r *EncodedReader) load(place int) (err error) {
	text := r.list.text
	n, found := slices.BinarySearch(text.starts, place)
	if !found {
		n--
	}
	part := &text.parts[n]
	within := int32(place - text.starts[n]) //nolint:gosec // a place of the part
	b := sort.Search(len(part.blocks), func(i int) bool { return part.blocks[i].first > within }) - 1
	end := len(part.text)
	if b+1 < len(part.blocks) {
		end = int(part.blocks[b+1].at)
	}
	body := part.text[part.blocks[b].at:end]
	if b+1 < len(part.blocks) { // it ends before the comma, else with the list's bracket
		body = body[:lastComma(body)]
		r.scratch = append(append(append(r.scratch[:0], '['), body...), ']')
	} else {
		r.scratch = append(append(r.scratch[:0], '['), body...)
	}
	if r.values, err = r.decode(part.list); err != nil {
		return err
	}
	r.part, r.first = n, text.starts[n]+int(part.blocks[b].first)
	return nil
}

// decode reads what is at hand of a list.
func (r *EncodedReader) decode(list *Type) ([]any, error) {
	if r.names != nil {
		answer := coercion{own: true, json: true, trim: true}
		if value, ok := answer.typedParts(list, r.scratch, r.names); ok {
			values, _ := value.([]any)
			return values, nil
		}
	}
	value, err := list.DecodeAnswer(r.scratch)
	values, _ := value.([]any)
	return values, err
}

// lastComma is where the comma stands behind the last element of a run.
func lastComma(run []byte) int {
	at := len(run) - 1
	for run[at] != ',' { // white space alone stands behind it
		at--
	}
	return at
}

// each visits the elements, of which no more than a block is decoded at a time.
func (e *Encoded) each(visit func(i int, v any) error) error {
	read := e.Reader()
	for i := range e.Len() {
		v, err := read.At(i)
		if err != nil {
			return err
		}
		if err := visit(i, v); err != nil {
			return err
		}
	}
	return nil
}

// MarshalJSON writes the list as the language does.
func (e *Encoded) MarshalJSON() ([]byte, error) { return Encode(e) }
