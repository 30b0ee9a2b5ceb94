package spec

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/flowrun/flowrun/engine/diag"
)

// Foreign is a value of a YAML file that another product reads. Unlike a Node it may
// come of what the language refuses: anchors, merge keys, tags, several documents, keys
// that are no text. Aliases are written out, and comments are kept.
type Foreign struct {
	Kind  Kind
	Style Style  // of a Scalar
	Text  string // of a Scalar
	// Type is what YAML takes a scalar for: str, int, float, bool, null, or another tag.
	Type  string
	Line  int
	Pairs []ForeignPair // of a Mapping, in written order; of a key that is twice the last
	Items []*Foreign    // of a Sequence
	// Above and Beside are the comments that stand above the value and behind it on its
	// line, and Below those that follow it: a line each, without its `#`.
	Above, Beside, Below []string
}

// ForeignPair is a key of a mapping with its value. Comments that belong to both are those
// of the value.
type ForeignPair struct {
	Key   string
	Line  int
	Value *Foreign
}

// Get returns the value of a key, or nil.
func (f *Foreign) Get(key string) *Foreign {
	if f == nil {
		return nil
	}
	for _, pair := range f.Pairs {
		if pair.Key == key {
			return pair.Value
		}
	}
	return nil
}

// ParseForeign reads the documents of a YAML file of another product, within the limits;
// those that say nothing are left out. What is wrong is told as ParseNode tells it.
func ParseForeign(file string, src []byte, limits Limits) ([]*Foreign, diag.List) {
	s := newSource(file, bytes.TrimPrefix(src, []byte("\xEF\xBB\xBF")))
	var problems diag.List
	checkBytes(s, limits, &problems)
	if len(problems) > 0 {
		return nil, problems
	}
	r := &foreignReader{limits: limits, problems: &problems, file: file}
	decoder := yaml.NewDecoder(bytes.NewReader(s.text))
	var documents []*Foreign
	for !r.exceeded {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			problem, _ := syntaxProblem(s, err)
			problems = append(problems, problem)
			return nil, problems
		}
		if isEmpty(&document) {
			continue
		}
		if root := r.value(document.Content[0], nil, 0); root != nil {
			root.Above = append(commentLines(document.HeadComment), root.Above...)
			root.Below = append(root.Below, commentLines(document.FootComment)...)
			documents = append(documents, root)
		}
	}
	switch {
	case r.exceeded:
		return nil, problems
	case len(documents) == 0:
		problems.Errorf(diag.Pos{File: file, Line: 1, Column: 1}, CodeEmpty, "the file has no content, only comments")
	}
	return documents, problems
}

// foreignReader turns the library's nodes into ours. Values that aliases repeat count each
// time: what a few anchors would blow up ends at the limit.
type foreignReader struct {
	limits   Limits
	problems *diag.List
	file     string
	nodes    int
	bytes    int
	exceeded bool
}

func (r *foreignReader) exceed(node *yaml.Node, code, format string, args ...any) *Foreign {
	if !r.exceeded {
		r.problems.Errorf(diag.Pos{File: r.file, Line: node.Line, Column: node.Column}, code, format, args...)
	}
	r.exceeded = true
	return nil
}

// value converts a node; open are the anchors that it stands in.
func (r *foreignReader) value(from *yaml.Node, open []*yaml.Node, depth int) *Foreign {
	if r.exceeded {
		return nil
	}
	if from.Kind == yaml.AliasNode {
		for _, anchor := range open {
			if anchor == from.Alias {
				return r.exceed(from, CodeNesting, "the anchor `%s` stands for itself", from.Value)
			}
		}
		value := r.value(from.Alias, append(open[:len(open):len(open)], from.Alias), depth+1)
		if value != nil {
			value.Line, value.Above, value.Beside = from.Line, commentLines(from.HeadComment), commentLines(from.LineComment)
		}
		return value
	}
	r.nodes++
	r.bytes += len(from.Value)
	switch {
	case r.nodes > r.limits.Nodes || r.bytes > 4*r.limits.Bytes:
		return r.exceed(from, CodeNodes, "the file has more than %d values, with those that aliases repeat", r.limits.Nodes)
	case depth > r.limits.Depth:
		return r.exceed(from, CodeNesting, "maps and lists are nested more than %d deep", r.limits.Depth)
	}
	f := &Foreign{
		Line: from.Line, Above: commentLines(from.HeadComment), Beside: commentLines(from.LineComment), Below: commentLines(from.FootComment),
	}
	if from.Anchor != "" {
		open = append(open[:len(open):len(open)], from)
	}
	switch from.Kind {
	case yaml.MappingNode:
		f.Kind = Mapping
		r.pairs(f, from, open, depth)
	case yaml.SequenceNode:
		f.Kind = Sequence
		for _, item := range from.Content {
			if value := r.value(item, open, depth+1); value != nil {
				f.Items = append(f.Items, value)
			}
		}
	default:
		f.Kind, f.Text, f.Style = Scalar, from.Value, foreignStyle(from.Style)
		f.Type = strings.TrimPrefix(from.ShortTag(), "!!")
	}
	return f
}

// pairs reads a mapping. Keys that a merge brings stand behind, and where the mapping has
// the key itself, its own value counts.
func (r *foreignReader) pairs(f *Foreign, from *yaml.Node, open []*yaml.Node, depth int) {
	var merged []*Foreign
	places := map[string]int{}
	for i := 0; i+1 < len(from.Content) && !r.exceeded; i += 2 {
		key, value := from.Content[i], r.value(from.Content[i+1], open, depth+1)
		if value == nil {
			return
		}
		if key.Value == "<<" && key.Style == 0 {
			merged = append(merged, value)
			continue
		}
		value.Above = append(commentLines(key.HeadComment), value.Above...)
		value.Beside = append(value.Beside, commentLines(key.LineComment)...)
		value.Below = append(value.Below, commentLines(key.FootComment)...)
		if key.Kind != yaml.ScalarNode {
			r.exceed(key, CodeKeyType, "a key is a map or a list")
			return
		}
		if at, twice := places[key.Value]; twice {
			f.Pairs[at].Value = value
			continue
		}
		places[key.Value] = len(f.Pairs)
		f.Pairs = append(f.Pairs, ForeignPair{Key: key.Value, Line: key.Line, Value: value})
	}
	for _, value := range merged {
		for _, part := range append([]*Foreign{value}, value.Items...) {
			for _, pair := range part.Pairs {
				if _, own := places[pair.Key]; !own {
					places[pair.Key] = len(f.Pairs)
					f.Pairs = append(f.Pairs, pair)
				}
			}
		}
	}
}

func foreignStyle(style yaml.Style) Style {
	switch {
	case style&yaml.LiteralStyle != 0:
		return Literal
	case style&yaml.FoldedStyle != 0:
		return Folded
	case style&yaml.DoubleQuotedStyle != 0:
		return Double
	case style&yaml.SingleQuotedStyle != 0:
		return Single
	}
	return Plain
}

// commentLines are the lines of a comment without their signs.
func commentLines(comment string) []string {
	var lines []string
	for line := range strings.Lines(comment) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "#"); ok {
			lines = append(lines, strings.TrimRight(strings.TrimPrefix(text, " "), " \t"))
		}
	}
	return lines
}
