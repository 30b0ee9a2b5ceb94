package spec

import (
	"gopkg.in/yaml.v3"

	"github.com/flowrun/flowrun/engine/diag"
)

// walker turns the library's nodes into ours, once and within the limits.
type walker struct {
	source   *source
	cursor   cursor
	limits   Limits
	problems *diag.List
	aside    setAside
	nodes    int
	exceeded bool
	room     []Node // for the next ones: nodes of a file are kept and dropped together
}

// nodesAtOnce is how many nodes are allocated at a time.
const nodesAtOnce = 64

func (w *walker) newNode() *Node {
	if len(w.room) == 0 {
		w.room = make([]Node, nodesAtOnce)
	}
	n := &w.room[0]
	w.room = w.room[1:]
	return n
}

// node converts one node. indent is the column, from 0, of the block map or
// list around it.
func (w *walker) node(from *yaml.Node, indent, depth int) *Node {
	offset, pos := w.cursor.locate(from.Line, from.Column)
	n := w.newNode()
	n.source, n.start, n.Pos = w.source, offset, pos
	if w.nodes++; w.nodes > w.limits.Nodes {
		w.exceed(n.Pos, CodeNodes, "the file has more than %d values", w.limits.Nodes)
	}
	if w.exceeded {
		return n
	}
	if from.Kind == yaml.AliasNode {
		// Its anchor is reported where it stands.
		n.Kind, n.Bad = Scalar, true
		return n
	}
	w.properties(n, from)
	switch from.Kind {
	case yaml.ScalarNode:
		w.aside.scalar(n)
		w.scalar(n, from, indent)
		return n
	case yaml.MappingNode:
		n.Kind = Mapping
	default:
		n.Kind = Sequence
	}
	n.Flow = from.Style&yaml.FlowStyle != 0
	if depth++; depth > w.limits.Depth {
		w.exceed(n.Pos, CodeNesting, "maps and lists are nested more than %d deep", w.limits.Depth)
		return n
	}
	if !n.Flow {
		indent = max(indent, blockColumn(from)-1)
	}
	if n.Kind == Mapping {
		w.mapping(n, from, indent, depth)
		return n
	}
	n.Items = make([]*Node, 0, len(from.Content))
	for _, item := range from.Content {
		if w.exceeded {
			break
		}
		n.Items = append(n.Items, w.node(item, indent, depth))
	}
	return n
}

// blockColumn is the column of a block map's first key or of a list's signs.
// With a tag or an anchor the library's place is theirs.
func blockColumn(from *yaml.Node) int {
	if from.Kind == yaml.MappingNode && len(from.Content) > 0 {
		return from.Content[0].Column
	}
	return from.Column
}

// exceed reports the first limit that the file breaks; the walk ends there.
func (w *walker) exceed(pos diag.Pos, code, format string, limit int) {
	if !w.exceeded {
		problem := w.problems.Errorf(pos, code, format, limit)
		if code == CodeNodes {
			problem.Hint = diag.Say(w.limits.Raise)
		}
	}
	w.exceeded = true
}

// notANumber reports whether a text is one of YAML's floats that are no numbers.
func notANumber(text string) bool {
	switch text {
	case ".nan", ".NaN", ".NAN":
		return true
	case "":
		return false
	}
	if text[0] == '-' || text[0] == '+' {
		text = text[1:]
	}
	return text == ".inf" || text == ".Inf" || text == ".INF"
}

func (w *walker) scalar(n *Node, from *yaml.Node, indent int) {
	n.Kind, n.Text, n.Style = Scalar, from.Value, styleOf(from)
	if len(n.Text) > w.limits.ScalarBytes {
		w.exceed(n.Pos, CodeScalarBytes, "the text has more than %d bytes", w.limits.ScalarBytes)
		return
	}
	if n.Style != Plain || n.Text != "" {
		n.trace(indent)
	}
	if n.end > n.start && n.Style < Literal {
		w.source.setEnd(&n.Pos, n.start, n.end)
	}
	if n.IsPlain() && notANumber(n.Text) {
		w.problems.Errorf(n.Pos, CodeNotANumber, "`%s` is not a value", n.Text).Hint = diag.Say("quote it if the text is meant")
		n.Bad = true
	}
}

func styleOf(from *yaml.Node) Style {
	switch {
	case from.Style&yaml.SingleQuotedStyle != 0:
		return Single
	case from.Style&yaml.DoubleQuotedStyle != 0:
		return Double
	case from.Style&yaml.LiteralStyle != 0:
		return Literal
	case from.Style&yaml.FoldedStyle != 0:
		return Folded
	}
	return Plain
}

func (w *walker) mapping(n *Node, from *yaml.Node, indent, depth int) {
	if len(from.Content)/2 > w.limits.Keys {
		w.exceed(n.Pos, CodeKeys, "the map has more than %d keys", w.limits.Keys)
		return
	}
	n.Pairs = make([]Pair, 0, len(from.Content)/2)
	var index map[string]*Node // of the keys; few are looked through
	if len(from.Content)/2 > fewKeys {
		index = make(map[string]*Node, len(from.Content)/2)
	}
	for i := 0; i+1 < len(from.Content) && !w.exceeded; i += 2 {
		key := w.node(from.Content[i], indent, depth)
		value := w.node(from.Content[i+1], indent, depth)
		if !w.key(key, from.Content[i], from.Content[i+1]) {
			n.Partial = true
			n.Bad = n.Bad || key.Kind == Mapping && key.Flow && n.Flow // {{ … }} of another product
			continue
		}
		if earlier := n.written(key.Text, index); earlier != nil {
			problem := w.problems.Errorf(key.Pos, CodeDuplicateKey, "the key `%s` is written twice in this map", key.Text)
			problem.Hint = diag.Say("remove one of them")
			problem.Related = []diag.Related{{Pos: earlier.Pos, Message: "first written here"}}
			continue
		}
		if index != nil {
			index[key.Text] = key
		}
		n.Pairs = append(n.Pairs, Pair{Key: key, Value: value})
	}
}

// fewKeys is how many keys of a map are looked through for one that is written twice: a
// table of them costs more.
const fewKeys = 8

// written returns the key of that text that n has already, nil where it has none. index is
// the table of its keys, nil where it has few.
func (n *Node) written(text string, index map[string]*Node) *Node {
	if index != nil {
		return index[text]
	}
	pair, _ := n.Pair(text)
	return pair.Key
}

// key reports a key that is not text; false leaves the pair out.
func (w *walker) key(key *Node, from, value *yaml.Node) bool {
	switch {
	case w.exceeded || key.Bad:
		return false
	case key.Kind != Scalar:
		problem := w.problems.Errorf(key.Pos, CodeKeyType, "a %s can't be a key", key.Kind)
		problem.Hint = diag.Say("put `${{ }}` and braces into quotes")
		if key.Flow && key.start > 0 && w.source.text[key.start-1] == '{' {
			problem.Message, problem.Hint = "`{{ }}` is a map in a map to YAML", diag.Say("an expression is written \"${{ … }}\"")
		}
		return false
	case key.Style != Plain:
		return true
	case key.Text == "<<":
		if value.Kind != yaml.AliasNode {
			w.problems.Errorf(key.Pos, CodeAnchor, "merge keys are not allowed").Hint = diag.Say("write the keys out")
		}
		return false
	case key.IsNull():
		w.problems.Errorf(key.Pos, CodeKeyType, "a key is empty")
		return false
	}
	switch from.ShortTag() {
	case "!!int", "!!float", "!!bool":
		w.problems.Errorf(key.Pos, CodeKeyType, "the key `%s` is not text", key.Text).Hint =
			diag.Say("quote it: \"" + key.Text + "\"")
		return false
	}
	return true
}
