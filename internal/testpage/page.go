// Package testpage reads pages of documentation as people see them, and types what
// stands there. What Markdown hides counts for nothing: comments, and the words behind
// a fence.
package testpage

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Block is a part of a page: a paragraph, a heading, an item, or code.
type Block struct {
	Code bool
	Text string // as it is seen: without marks of Markdown
	Line int    // in the source, of its first line
	// File is the name that stands before code, as in "`hello.yaml`:"; "" where none
	// does. Linked says that it is a link: the code is a part of a file that is there.
	File   string
	Linked bool
	// Language is the word behind the fence, which people do not see.
	Language string
}

// fileName is what a name of a file looks like.
var fileName = regexp.MustCompile(`^[\w.][\w./-]*[./][\w./-]*$|^Makefile$|^Dockerfile$|^Caddyfile$`)

// Read returns the blocks of a page in their order.
func Read(source []byte) []Block {
	root := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(source))
	r := reader{source: source}
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // r.visit returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		return r.visit(n), nil
	})
	return r.blocks
}

// reader collects the blocks of a page.
type reader struct {
	source []byte
	blocks []Block
}

func (r *reader) visit(n ast.Node) ast.WalkStatus {
	switch n.Kind() {
	case ast.KindHTMLBlock:
		return ast.WalkSkipChildren // not seen, or not as it stands here
	case ast.KindFencedCodeBlock, ast.KindCodeBlock:
		r.blocks = append(r.blocks, r.code(n))
		return ast.WalkSkipChildren
	case ast.KindParagraph, ast.KindTextBlock, ast.KindHeading:
		r.blocks = append(r.blocks, Block{Text: seen(n, r.source), Line: r.line(n)})
		return ast.WalkSkipChildren
	}
	return ast.WalkContinue
}

// code is a block of code with the name before it.
func (r *reader) code(n ast.Node) Block {
	var all strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		all.Write(line.Value(r.source))
	}
	b := Block{Code: true, Text: all.String(), Line: r.line(n)}
	if fenced, ok := n.(*ast.FencedCodeBlock); ok {
		b.Language = string(fenced.Language(r.source))
	}
	before := n.PreviousSibling()
	for before != nil && before.Kind() == ast.KindHTMLBlock {
		before = before.PreviousSibling()
	}
	if before == nil || before.Kind() != ast.KindParagraph && before.Kind() != ast.KindTextBlock {
		return b
	}
	b.File, b.Linked = r.named(before)
	return b
}

// named is the file that a paragraph ends with the name of.
func (r *reader) named(paragraph ast.Node) (name string, linked bool) {
	colon := paragraph.LastChild()
	if colon == nil || colon.Kind() != ast.KindText || seen(colon, r.source) != ":" {
		return "", false
	}
	last := colon.PreviousSibling()
	if last != nil && last.Kind() == ast.KindLink {
		last, linked = last.LastChild(), true
	}
	if last == nil || last.Kind() != ast.KindCodeSpan {
		return "", false
	}
	if name = seen(last, r.source); !fileName.MatchString(name) {
		return "", false
	}
	return name, linked
}

// line is the line of a node's first text.
func (r *reader) line(n ast.Node) int {
	if n.Type() != ast.TypeBlock || n.Lines().Len() == 0 {
		return 1
	}
	return 1 + strings.Count(string(r.source[:n.Lines().At(0).Start]), "\n")
}

// seen is what people see of a node.
func seen(n ast.Node, source []byte) string {
	var all strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // returns no error
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				all.Write(n.Segment.Value(source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					all.WriteByte('\n')
				}
			}
		case *ast.String:
			if entering {
				all.Write(n.Value)
			}
		case *ast.AutoLink:
			if entering {
				all.Write(n.Label(source))
			}
		case *ast.RawHTML:
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	return all.String()
}
