package eval

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

// maxPattern bounds the instructions of a pattern: `{1000}` repeats multiply.
const maxPattern = 5_000

// regexpSize estimates the instructions of a pattern before it is compiled;
// what can't be parsed has size 0.
func regexpSize(pattern string) int {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	return treeSize(tree)
}

func treeSize(tree *syntax.Regexp) int {
	size := 1 + len(tree.Rune)/2
	for _, sub := range tree.Sub {
		size = min(size+treeSize(sub), 2*maxPattern)
	}
	if tree.Op == syntax.OpRepeat {
		size *= max(tree.Min, tree.Max, 1)
	}
	return min(size, 2*maxPattern)
}

// compilePattern compiles a pattern within its bounds and returns its size.
func compilePattern(pattern string) (*regexp.Regexp, int, error) {
	size := regexpSize(pattern)
	if size > maxPattern {
		return nil, 0, limitf("the pattern is too large")
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, 0, failf("the pattern can't be read: %s", regexpMessage(err))
	}
	return compiled, size, nil
}

// match takes the steps that a match of a text of n bytes can need.
func (m *machine) match(pattern *regexp.Regexp, size int, text string) (bool, error) {
	if err := m.step(1 + len(text)*size/128); err != nil {
		return false, err
	}
	return pattern.MatchString(text), nil
}

func regexpMessage(err error) string {
	if broken, ok := errors.AsType[*syntax.Error](err); ok {
		return strings.TrimSpace(string(broken.Code) + " " + shorten(broken.Expr))
	}
	return err.Error()
}
