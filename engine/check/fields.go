package check

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/spec"
)

// reader takes the value of a key. The table says what that may be, the reader what it is for.
type reader func(*spec.Key, *spec.Node)

// fields reads a map of the language, such as `retry`, by the table: unknown and missing keys are reported, and values of the wrong shape. A key
// without a reader of its own is held against the table alone.
func (c *checker) fields(node *spec.Node, name string, own map[string]reader) {
	m := c.tree.Language.Map(name)
	for _, pair := range node.Pairs {
		key, read := m.Key(pair.Key.Text), own[pair.Key.Text]
		switch {
		case key == nil:
			c.unknownKey(pair.Key, m.What, m.KeyNames(""))
		case pair.Value.Bad:
		case key.Type == spec.None && key.Items == nil && key.Map != schemaMap && !c.isMap(pair, key):
		case read != nil:
			read(key, pair.Value)
		default:
			c.plain(key, pair.Value)
		}
	}
	for i := range m.Keys {
		key := &m.Keys[i]
		if _, written := node.Pair(key.Name); key.Needed && !written && !misspelt(node, key.Name) {
			c.errorAt(node.FirstKey(), CodeMissing, "%s needs `%s`", m.What, key.Name).Hint = diag.Say(key.Missing)
		}
	}
}

// schemaMap is the map of the language that inputReader reads: its problems have a code of their own.
const schemaMap = "schema"

// key returns a key of the table.
func (c *checker) key(mapName, name string) *spec.Key { return c.tree.Language.Map(mapName).Key(name) }

// unknownKey reports a key that a map has not.
func (c *checker) unknownKey(key *spec.Node, what string, names []string) *diag.Problem {
	problem := c.errorAt(key.Pos, CodeUnknownKey, "%s has no key `%s`", what, key.Text)
	problem.Hint = diag.MeantOr(key.Text, names, "its keys are ")
	return problem
}

// plain holds a value against the table alone.
func (c *checker) plain(key *spec.Key, node *spec.Node) {
	m := c.tree.Language.Map(key.Map)
	switch {
	case node.Bad || key.Type == spec.Anything:
	case !key.Shape().Allows(node.Kind):
		c.errorAt(node.Pos, CodeShape, "`%s` must be %s, not a %s", key.Name, key.Shape(), node.Kind)
	case node.Kind == spec.Sequence:
		for _, item := range node.Items {
			c.plain(key.Items, item)
		}
	case node.Kind == spec.Mapping && m != nil && m.Each == nil:
		c.fields(node, key.Map, nil)
	case node.Kind == spec.Mapping:
		for _, pair := range node.Pairs {
			c.plain(m.Each, pair.Value)
		}
	case key.Type == spec.Word:
		c.word(key, node)
	case key.Type == spec.Integer:
		c.integer(key, node)
	case key.Type == spec.Number:
		c.number(key, node)
	case key.Type == spec.Duration:
		c.duration(key, node)
	case key.Type == spec.Text:
		c.scalar(node, "a text")
	}
}

// others holds the keys that no rule is made for against the table.
func (c *checker) others(list []spec.Other) {
	for _, other := range list {
		c.plain(other.Key, other.Pair.Value)
	}
}

// isMap reports a value that is no map.
func (c *checker) isMap(pair spec.Pair, key *spec.Key) bool {
	what := key.What
	if what == "" {
		what = "`" + key.Name + "`"
	}
	switch node := pair.Value; {
	case node.Bad:
		return false
	case node.Kind == spec.Mapping:
		return true
	case node.IsNull():
		c.noValue(pair)
	default:
		c.errorAt(node.Pos, CodeShape, "%s must be a map, not a %s", what, node.Kind).Hint = diag.Say("write `" + key.Example + "`")
	}
	return false
}

// noValue reports a key with nothing behind it.
func (c *checker) noValue(pair spec.Pair) {
	pos := pair.Value.Pos
	if pair.Value.Text == "" {
		pos = pair.Key.Pos
	}
	c.errorAt(pos, CodeShape, "`%s` has no value", pair.Key.Text).Hint = diag.Say("leave the key out if it is not wanted")
}

// scalar reports a value that is not a single one without expressions.
func (c *checker) scalar(node *spec.Node, want string) bool {
	switch {
	case node.Bad:
		return false
	case node.Kind != spec.Scalar:
		c.errorAt(node.Pos, CodeShape, "%s is expected, not a %s", want, node.Kind)
		return false
	}
	return c.static(node)
}

// word reads one of the words of a key.
func (c *checker) word(key *spec.Key, node *spec.Node) (string, bool) {
	if !c.scalar(node, key.What) {
		return "", false
	}
	if slices.Contains(key.Values, node.Text) {
		return node.Text, true
	}
	problem := c.errorAt(node.Pos, CodeWord, "`%s` is not %s", node.Text, key.What)
	problem.Hint = diag.MeantOr(node.Text, key.Values, "it is one of ")
	return "", false
}

// duration reads a duration of the language.
func (c *checker) duration(key *spec.Key, node *spec.Node) (time.Duration, bool) {
	if !c.scalar(node, "a duration such as 30s") {
		return 0, false
	}
	d, err := duration.Parse(node.Text)
	if err != nil {
		c.errorAt(node.Pos, CodeDuration, "%s", strings.ReplaceAll(err.Error(), "\"", "`")).Hint = diag.Say(duration.Hint(node.Text))
		return 0, false
	}
	if least := time.Duration(key.Least * float64(time.Second)); d < least {
		c.errorAt(node.Pos, CodeDuration, "%s is too short: the least is %s", node.Text, duration.Text(least))
		return 0, false
	}
	return d, true
}

// integer reads an integer between the bounds of a key.
func (c *checker) integer(key *spec.Key, node *spec.Node) (int, bool) {
	if !c.scalar(node, "an integer") {
		return 0, false
	}
	n, err := strconv.Atoi(node.Text)
	if err != nil || !node.IsPlain() || strconv.Itoa(n) != node.Text {
		c.errorAt(node.Pos, CodeNumber, "`%s` is not an integer", node.Text).Hint = diag.Say("write digits only, without quotes")
		return 0, false
	}
	if least, most := int(key.Least), int(key.Most); n < least || n > most {
		c.errorAt(node.Pos, CodeNumber, "%d is not between %d and %d", n, least, most)
		return 0, false
	}
	return n, true
}

// number reads a number between the bounds of a key.
func (c *checker) number(key *spec.Key, node *spec.Node) (float64, bool) {
	if !c.scalar(node, "a number") {
		return 0, false
	}
	f, err := strconv.ParseFloat(node.Text, 64)
	if err != nil || !node.IsPlain() || strings.ContainsAny(node.Text, "_xXpPiInN") {
		c.errorAt(node.Pos, CodeNumber, "`%s` is not a number", node.Text)
		return 0, false
	}
	if f < key.Least || f > key.Most {
		c.errorAt(node.Pos, CodeNumber, "%s is not between %v and %v", node.Text, key.Least, key.Most)
		return 0, false
	}
	return f, true
}

// into is a reader that keeps what another read, where that is good.
func into[T any](place *T, read func(*spec.Key, *spec.Node) (T, bool)) reader {
	return func(key *spec.Key, node *spec.Node) {
		if value, ok := read(key, node); ok {
			*place = value
		}
	}
}

// wordInto is into for a word with a type of its own.
func wordInto[T ~string](c *checker, place *T) reader {
	return func(key *spec.Key, node *spec.Node) {
		if word, ok := c.word(key, node); ok {
			*place = T(word)
		}
	}
}
