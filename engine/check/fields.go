package check

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
)

// field reads the value of one key of a small map.
type field struct {
	name string
	read func(*spec.Node)
}

// fields reads a small map such as `retry`: each key once, unknown keys
// reported.
func (c *checker) fields(node *spec.Node, what string, known ...field) {
	names := make([]string, len(known))
	for i, f := range known {
		names[i] = f.name
	}
	for _, pair := range node.Pairs {
		i := slices.Index(names, pair.Key.Text)
		if i < 0 {
			problem := c.errorAt(pair.Key.Pos, CodeUnknownKey, "%s has no key `%s`", what, pair.Key.Text)
			if problem.Hint = diag.DidYouMean(pair.Key.Text, names); problem.Hint == "" {
				problem.Hint = "its keys are " + strings.Join(names, ", ")
			}
			continue
		}
		if !pair.Value.Bad {
			known[i].read(pair.Value)
		}
	}
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

// words reads one of several words.
func (c *checker) word(node *spec.Node, what string, words ...string) (string, bool) {
	if !c.scalar(node, what) {
		return "", false
	}
	if slices.Contains(words, node.Text) {
		return node.Text, true
	}
	problem := c.errorAt(node.Pos, CodeWord, "`%s` is not %s", node.Text, what)
	if problem.Hint = diag.DidYouMean(node.Text, words); problem.Hint == "" {
		problem.Hint = "it is one of " + strings.Join(words, ", ")
	}
	return "", false
}

// duration reads a duration of the language.
func (c *checker) duration(node *spec.Node) (time.Duration, bool) {
	if !c.scalar(node, "a duration such as 30s") {
		return 0, false
	}
	d, err := plan.ParseDuration(node.Text)
	if err != nil {
		problem := c.errorAt(node.Pos, CodeDuration, "%s", strings.ReplaceAll(err.Error(), "\"", "`"))
		if _, convErr := strconv.ParseFloat(node.Text, 64); convErr == nil && node.Text != "0" {
			problem.Hint = "a bare number has no unit: write `" + node.Text + "s` for seconds"
		}
		return 0, false
	}
	return d, true
}

// integer reads an integer between two bounds.
func (c *checker) integer(node *spec.Node, least, most int) (int, bool) {
	if !c.scalar(node, "an integer") {
		return 0, false
	}
	n, err := strconv.Atoi(node.Text)
	if err != nil || !node.IsPlain() || strconv.Itoa(n) != node.Text {
		c.errorAt(node.Pos, CodeNumber, "`%s` is not an integer", node.Text).Hint = "write digits only, without quotes"
		return 0, false
	}
	if n < least || n > most {
		c.errorAt(node.Pos, CodeNumber, "%d is not between %d and %d", n, least, most)
		return 0, false
	}
	return n, true
}

// number reads a number between two bounds.
func (c *checker) number(node *spec.Node, least, most float64) (float64, bool) {
	if !c.scalar(node, "a number") {
		return 0, false
	}
	f, err := strconv.ParseFloat(node.Text, 64)
	if err != nil || !node.IsPlain() || strings.ContainsAny(node.Text, "_xXpPiInN") {
		c.errorAt(node.Pos, CodeNumber, "`%s` is not a number", node.Text)
		return 0, false
	}
	if f < least || f > most {
		c.errorAt(node.Pos, CodeNumber, "%s is not between %v and %v", node.Text, least, most)
		return 0, false
	}
	return f, true
}
