package spec

import (
	"strconv"

	"github.com/flowrun/flowrun/engine/diag"
)

// Kind is the shape of a node.
type Kind uint8

// The kinds of nodes.
const (
	Scalar Kind = iota + 1
	Mapping
	Sequence
)

// String names the kind as messages do.
func (k Kind) String() string {
	switch k {
	case Mapping:
		return "map"
	case Sequence:
		return "list"
	}
	return "single value"
}

// Style is the way a scalar is written.
type Style uint8

// The styles of scalars.
const (
	Plain Style = iota
	Single
	Double
	Literal
	Folded
)

// Node is a value of a YAML file. It keeps the text of scalars as written:
// what a text means is decided by the type that is wanted, never by YAML's
// guess. Nodes are immutable once parsed and safe for concurrent use.
type Node struct {
	Kind  Kind
	Style Style    // of a Scalar
	Flow  bool     // a Mapping or Sequence in { } or [ ]
	Pos   diag.Pos // with its end for scalars on one line
	Text  string   // of a Scalar
	Pairs []Pair   // of a Mapping, in written order, without duplicates
	Items []*Node  // of a Sequence
	// Bad says that a problem of this very node was reported: who finds more
	// wrong with it says nothing.
	Bad bool
	// Partial says that keys of this mapping were left out, which was reported.
	Partial bool

	source *source
	strTag bool    // written with !!str: text, whatever it looks like
	start  int     // byte offset of the first character in the file
	end    int     // byte offset after the last one; 0 = not known
	places []int32 // byte offset in the file of every byte of Text, and of its end; nil = contiguous from start
}

// Pair is a key of a mapping with its value.
type Pair struct {
	Key   *Node
	Value *Node
}

// Pair returns the pair with the key, when n is a mapping that has it.
func (n *Node) Pair(key string) (Pair, bool) {
	if n == nil {
		return Pair{}, false
	}
	for _, pair := range n.Pairs {
		if pair.Key.Text == key {
			return pair, true
		}
	}
	return Pair{}, false
}

// Get returns the value of a key, or nil.
func (n *Node) Get(key string) *Node {
	pair, _ := n.Pair(key)
	return pair.Value
}

// Find returns the node that a JSON Pointer names, or the nearest around it that is
// written.
func (n *Node) Find(pointer string) *Node {
	for _, part := range diag.PointerParts(pointer) {
		next := n.Get(part)
		if i, err := strconv.Atoi(part); err == nil && n != nil && i >= 0 && i < len(n.Items) {
			next = n.Items[i]
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// EachScalar visits the scalars of a node and below it, in written order; none of nil.
func (n *Node) EachScalar(visit func(*Node)) {
	if n == nil {
		return
	}
	if n.Kind == Scalar {
		visit(n)
	}
	for _, pair := range n.Pairs {
		pair.Value.EachScalar(visit)
	}
	for _, item := range n.Items {
		item.EachScalar(visit)
	}
}

// IsPlain reports whether n is a scalar without quotes and not a block.
func (n *Node) IsPlain() bool { return n.Kind == Scalar && n.Style == Plain && !n.strTag }

// IsNull reports whether n is an empty plain scalar, `~` or `null`.
func (n *Node) IsNull() bool {
	return n.IsPlain() && (n.Text == "" || n.Text == "~" || n.Text == "null")
}

// At returns the place in the file of the character at a byte offset of Text,
// through quotes, escapes, folding and block indentation. An offset that is out
// of range gives the nearest place of the scalar.
func (n *Node) At(offset int) diag.Pos { return n.Span(offset, offset) }

// Span returns the place of the part [start, end) of Text, byte offsets as in
// At. The end is set when both stand on one line.
func (n *Node) Span(start, end int) diag.Pos {
	if n.source == nil || n.Kind != Scalar || n.end == 0 {
		return n.Pos
	}
	from := n.place(start)
	pos := n.source.pos(from)
	if end > start {
		// The last character's own place, not the next one's: between the two
		// may stand a line break that folding took away.
		n.source.setEnd(&pos, from, n.place(end-1)+n.width(end-1))
	}
	return pos
}

// FirstKey returns where a missing key of a mapping is reported: at its first
// key, or at the mapping itself when it has none.
func (n *Node) FirstKey() diag.Pos {
	if n.Kind == Mapping && len(n.Pairs) > 0 {
		return n.Pairs[0].Key.Pos
	}
	return n.Pos
}

// Range returns where the scalar, or the opening of a map or list, stands in the
// file (without a UTF-8 mark): the byte offset of its first character and, for a
// scalar, the one after its last. ok is false where that is not known, as for a
// value that is not written. A block scalar ends with its last character.
func (n *Node) Range() (start, end int, ok bool) {
	if n.Kind != Scalar {
		return n.start, n.start, true
	}
	return n.start, n.end, n.end > n.start
}

// Offset returns the byte offset in the file of the character at a byte offset
// of a scalar's Text, for scalars whose Range is known.
func (n *Node) Offset(at int) int { return n.place(at) }

// CutByComment reports whether a plain scalar ends because a ` #` follows it:
// a known trap in expressions.
func (n *Node) CutByComment() bool {
	if !n.IsPlain() || n.end == 0 {
		return false
	}
	rest := n.source.text[n.end:]
	blanks := 0
	for blanks < len(rest) && isBlank(rest[blanks]) {
		blanks++
	}
	return blanks > 0 && blanks < len(rest) && rest[blanks] == '#'
}

func (n *Node) place(offset int) int {
	offset = min(max(offset, 0), len(n.Text))
	if n.places == nil {
		return n.start + offset
	}
	return int(n.places[offset])
}

// width is the length in the file of what makes the byte at offset of Text: an
// escape is longer than its character.
func (n *Node) width(offset int) int {
	here := n.place(offset)
	for next := offset + 1; next <= len(n.Text); next++ {
		if there := n.place(next); there > here {
			return there - here
		}
	}
	return 1
}
