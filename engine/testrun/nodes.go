package testrun

import (
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// reader reads nodes and collects what is wrong with them.
type reader struct{ problems diag.List }

// field reads the value of one key.
type field struct {
	name string
	read func(*spec.Node)
}

// fields reads a map: unknown keys are reported.
func (r *reader) fields(node *spec.Node, what string, keys ...field) bool {
	if !r.mapping(node, what) {
		return false
	}
	names := make([]string, len(keys))
	for i, f := range keys {
		names[i] = f.name
	}
	for _, pair := range node.Pairs {
		i := slices.Index(names, pair.Key.Text)
		if i < 0 {
			r.unknown(pair.Key, what+" has no key", pair.Key.Text, names)
			continue
		}
		if !pair.Value.Bad {
			keys[i].read(pair.Value)
		}
	}
	return true
}

// textField reads the text of a key.
func (r *reader) textField(name string, into *string) field {
	return field{name, func(n *spec.Node) {
		if r.scalar(n, "text") {
			*into = n.Text
		}
	}}
}

// scalarField keeps the single value of a key; what it stands for is said where it is
// none.
func (r *reader) scalarField(name, what string, into **spec.Node) field {
	return field{name, func(n *spec.Node) {
		if r.scalar(n, what) {
			*into = n
		}
	}}
}

// mapField keeps the map of a key.
func (r *reader) mapField(name string, into **spec.Node) field {
	return field{name, func(n *spec.Node) {
		if r.mapping(n, "`"+name+"`") {
			*into = n
		}
	}}
}

// unknown reports a name that is not one of those known.
func (r *reader) unknown(node *spec.Node, what, name string, names []string) {
	problem := r.problems.Errorf(node.Pos, CodeUnknownKey, "%s `%s`", what, name)
	problem.Hint = diag.MeantOr(name, names, "its keys are ")
}

func (r *reader) mapping(node *spec.Node, what string) bool {
	if node.Bad {
		return false
	}
	if node.Kind != spec.Mapping {
		r.problems.Errorf(node.Pos, CodeShape, "%s is a map, not a %s", what, node.Kind)
		return false
	}
	return true
}

func (r *reader) scalar(node *spec.Node, what string) bool {
	if node.Bad {
		return false
	}
	if node.Kind != spec.Scalar || node.IsNull() {
		shape := node.Kind.String()
		if node.Kind == spec.Scalar {
			shape = "null"
		}
		r.problems.Errorf(node.Pos, CodeShape, "%s is expected, not a %s", what, shape)
		return false
	}
	return true
}

// items returns the elements of a list; a single value is a list of one where
// one allows it.
func (r *reader) items(node *spec.Node, what string) []*spec.Node {
	if node.Bad {
		return nil
	}
	if node.Kind != spec.Sequence {
		r.problems.Errorf(node.Pos, CodeShape, "%s is a list, not a %s", what, node.Kind)
		return nil
	}
	return node.Items
}

func (r *reader) word(node *spec.Node, what string, words ...string) (string, bool) {
	if !r.scalar(node, what) {
		return "", false
	}
	if slices.Contains(words, node.Text) {
		return node.Text, true
	}
	problem := r.problems.Errorf(node.Pos, CodeWord, "`%s` is not %s", node.Text, what)
	problem.Hint = diag.MeantOr(node.Text, words, "it is one of ")
	return "", false
}

func (r *reader) duration(node *spec.Node) time.Duration {
	if !r.scalar(node, "a duration such as 30s") {
		return 0
	}
	d, err := duration.Parse(node.Text)
	if err != nil {
		r.problems.Errorf(node.Pos, CodeValue, "%s", strings.ReplaceAll(err.Error(), `"`, "`"))
		return 0
	}
	return d
}

func (r *reader) time(node *spec.Node) time.Time {
	if !r.scalar(node, "a time such as 2026-11-16T07:00:00+01:00") {
		return time.Time{}
	}
	at, err := schema.ParseTime(node.Text)
	if err != nil {
		r.problems.Errorf(node.Pos, CodeValue, "`%s` is no RFC 3339 time", node.Text).Hint = diag.Say("write 2026-11-16T07:00:00+01:00")
		return time.Time{}
	}
	return at
}

func (r *reader) yes(node *spec.Node) bool {
	word, _ := r.word(node, "`true`", "true")
	return word == "true"
}
