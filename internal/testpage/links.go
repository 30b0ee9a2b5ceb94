package testpage

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Links returns where the links and pictures of a page lead, as they are written.
func Links(source []byte) []string {
	var all []string
	walk(source, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Link:
			all = append(all, string(n.Destination))
		case *ast.Image:
			all = append(all, string(n.Destination))
		}
	})
	return all
}

// Anchors returns the names of a page's headings by which links find them, as GitHub makes
// them: lower case, spaces as dashes, without punctuation; a second one of a name has a
// number.
func Anchors(source []byte) map[string]bool {
	all := map[string]bool{}
	walk(source, func(n ast.Node) {
		if n.Kind() != ast.KindHeading {
			return
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
				return unicode.ToLower(r)
			}
			return -1
		}, seen(n, source))
		unique := name
		for i := 1; all[unique]; i++ {
			unique = name + "-" + strconv.Itoa(i)
		}
		all[unique] = true
	})
	return all
}

func walk(source []byte, visit func(ast.Node)) {
	root := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(source))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // returns no error
		if entering {
			visit(n)
		}
		return ast.WalkContinue, nil
	})
}
