package testpage

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// generated are the comments that a page may have: they say where a part begins or ends
// that a test or a command writes.
var generated = regexp.MustCompile("^([a-z]+: .* writes( what stands from here)?$|routes$|reach$|bodies$|to here: |end of |End of the tables|The tables of keys are written by|`UPDATE=1 go test )")

var comment = regexp.MustCompile(`(?s)<!--\s*(.*?)\s*-->`)

// Hidden returns the comments of a page that tell what people should see: commands, names
// of files, or anything else but where a generated part begins and ends.
func Hidden(source []byte) []string {
	root := goldmark.DefaultParser().Parse(text.NewReader(source))
	var all strings.Builder
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // returns no error
		if entering {
			writeHTML(&all, n, source)
		}
		return ast.WalkContinue, nil
	})
	var found []string
	for _, match := range comment.FindAllStringSubmatch(all.String(), -1) {
		if !generated.MatchString(match[1]) {
			found = append(found, match[1])
		}
	}
	return found
}

func writeHTML(all *strings.Builder, n ast.Node, source []byte) {
	var lines *text.Segments
	switch n := n.(type) {
	case *ast.HTMLBlock:
		lines = n.Lines()
		if n.HasClosure() {
			defer func() { all.Write(n.ClosureLine.Value(source)) }()
		}
	case *ast.RawHTML:
		lines = n.Segments
	default:
		return
	}
	for i := range lines.Len() {
		line := lines.At(i)
		all.Write(line.Value(source))
	}
}
