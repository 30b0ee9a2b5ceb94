// Package format writes the YAML of workflows in one form: two spaces of
// indentation, quotes only where they are needed, conditions without `${{ }}`.
// Comments, order and words stay the author's.
package format

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/spec"
)

// ErrUnsupported says that a file is written in a way that the formatter leaves
// alone. It was not changed.
var ErrUnsupported = errors.New("can't be formatted")

// Source returns the formatted bytes of a YAML file: the same for what it
// returned itself. A file that is not YAML by the language's rules gives its
// problems. What the file says never changes: the result is read again and
// compared, and a difference is an ErrUnsupported.
func Source(file string, src []byte) ([]byte, diag.List, error) {
	text := bytes.TrimPrefix(src, []byte("\xEF\xBB\xBF"))
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	root, problems := spec.ParseNode(file, text, spec.LargestLimits())
	if root == nil || problems.HasErrors() {
		return nil, problems, nil
	}
	p := newPrinter(text, root, bareFields(file, text, root))
	if err := p.print(); err != nil {
		return nil, nil, fmt.Errorf("%s %w: %w", file, ErrUnsupported, err)
	}
	result := p.out.Bytes()
	if p.keeps(file, result) {
		return result, nil, nil
	}
	// A block text that the file's end cuts off has no line break: a final one
	// would be one more character.
	if result = bytes.TrimSuffix(result, []byte("\n")); !bytes.HasSuffix(text, []byte("\n")) && p.keeps(file, result) {
		return result, nil, nil
	}
	return nil, nil, fmt.Errorf("%s %w: the result would say something else", file, ErrUnsupported)
}

// keeps reports whether a result says what the file says.
func (p *printer) keeps(file string, result []byte) bool {
	again, problems := spec.ParseNode(file, result, spec.LargestLimits())
	return again != nil && !problems.HasErrors() && p.same(p.root, again)
}

// bareFields returns the start offsets of the scalars of a workflow that are
// expressions without `${{ }}`.
func bareFields(file string, text []byte, root *spec.Node) map[int]bool {
	if root.Get("flowrun") == nil || root.Get("steps") == nil {
		return nil
	}
	workflow, _ := spec.V1().ParseWithin(file, text, spec.LargestLimits()) // what is wrong with its words is not for here
	if workflow == nil {
		return nil
	}
	set := map[int]bool{}
	add := func(node *spec.Node) {
		if node != nil && node.Kind == spec.Scalar {
			if start, _, ok := node.Range(); ok {
				set[start] = true
			}
		}
	}
	var visit func(steps []*spec.Step)
	visit = func(steps []*spec.Step) {
		for _, step := range steps {
			add(step.If)
			if step.Repeat != nil {
				add(step.Repeat.Get("until"))
			}
			visit(step.Steps)
		}
	}
	for _, list := range [][]*spec.Step{workflow.Steps, workflow.OnSuccess, workflow.OnFailure, workflow.Finally} {
		visit(list)
	}
	return set
}

// same reports whether two trees say the same. a is the one before formatting.
func (p *printer) same(a, b *spec.Node) bool {
	if a.Kind != b.Kind || len(a.Pairs) != len(b.Pairs) || len(a.Items) != len(b.Items) {
		return false
	}
	for i := range a.Pairs {
		if a.Pairs[i].Key.Text != b.Pairs[i].Key.Text || !p.same(a.Pairs[i].Value, b.Pairs[i].Value) {
			return false
		}
	}
	for i := range a.Items {
		if !p.same(a.Items[i], b.Items[i]) {
			return false
		}
	}
	if a.Kind != spec.Scalar {
		return true
	}
	if start, _, ok := a.Range(); ok && p.bare[start] {
		return bareText(a.Text) == bareText(b.Text)
	}
	return a.IsNull() == b.IsNull() && bytes.Equal(a.JSON(), b.JSON())
}

// bareText is the expression of a field that is one.
func bareText(text string) string {
	inner, _, issue := eval.Bare(text)
	if issue != nil {
		return text
	}
	return inner
}
