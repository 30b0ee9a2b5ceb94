// Package markdown renders a safe subset of Markdown as HTML: what workflows and
// services write for people, who trust none of it. There is no HTML from the text,
// no picture, no id, class or style, and no link but to http, https and mailto.
// goldmark reads and writes it, onlySubset lets no more out (ADR 26).
package markdown

import (
	"bytes"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// What is rendered at all. A text beyond it stays a text.
const (
	MaxBytes   = 5 << 10 // of a text: reading takes time by its square at worst
	maxNesting = 16      // of lists, quotes and emphasis
	maxGrowth  = 16      // how many times longer the HTML may be
)

// Renderer renders texts. Safe for concurrent use.
type Renderer struct {
	parser parser.Parser
	writer renderer.Renderer
}

// New returns a Renderer.
func New() *Renderer {
	blocks := []util.PrioritizedValue{
		util.Prioritized(parser.NewSetextHeadingParser(), 100), util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(parser.NewListParser(), 300), util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewATXHeadingParser(), 600), util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(parser.NewBlockquoteParser(), 800), util.Prioritized(parser.NewParagraphParser(), 1000),
	}
	inlines := []util.PrioritizedValue{
		util.Prioritized(parser.NewCodeSpanParser(), 100), util.Prioritized(parser.NewLinkParser(), 200),
		util.Prioritized(parser.NewAutoLinkParser(), 300), util.Prioritized(parser.NewEmphasisParser(), 500),
	}
	md := goldmark.New(
		goldmark.WithParser(parser.NewParser(parser.WithBlockParsers(blocks...), parser.WithInlineParsers(inlines...), parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...))),
		goldmark.WithExtensions(extension.Table, extension.Strikethrough),
		goldmark.WithRendererOptions(html.WithHardWraps(), renderer.WithNodeRenderers(util.Prioritized(links{}, 10))),
	)
	return &Renderer{parser: md.Parser(), writer: md.Renderer()}
}

// Render returns a text as HTML, or false where it has nothing to render: no mark of
// Markdown, or more than is rendered. first is the level of its first heading; the
// others follow without a gap.
func (r *Renderer) Render(source string, first int) (template.HTML, bool) {
	if len(source) > MaxBytes {
		return "", false
	}
	source = strings.ReplaceAll(strings.ReplaceAll(source, maskPlace, ""), maskText, maskPlace)
	raw := []byte(source)
	doc := r.parser.Parse(text.NewReader(raw))
	if !marked(doc) || tooDeep(doc) {
		return "", false
	}
	shiftHeadings(doc, raw, first)
	var out bytes.Buffer
	if r.writer.Render(&out, raw, doc) != nil || out.Len() > maxGrowth*(len(raw)+100) {
		return "", false
	}
	clean := onlySubset(out.String())
	if strings.TrimSpace(plain(clean)) == "" {
		return "", false // nothing would be seen
	}
	clean = emptyHead().ReplaceAllString(clean, "<td></td>")
	clean = tableScroll.Replace(clean)
	return template.HTML(strings.ReplaceAll(clean, maskPlace, maskText)), true //nolint:gosec // the subset alone
}

// What stands in the place of a secret stays as it is: none of its letters is a mark
// of Markdown.
const (
	maskText  = "[redacted]"
	maskPlace = "\uE000"
)

// emptyHead is a head of a column that says nothing, which is none.
var emptyHead = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`<th>(?:\s|<br>|<(?:em|strong|del|code)></(?:em|strong|del|code)>)*</th>`)
})

// tableScroll lets wide tables scroll by themselves, with the keyboard too.
var tableScroll = strings.NewReplacer("<table>", `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>`, "</table>", "</table></div>")

var tags = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<[^>]*>`) })

func plain(html string) string { return tags().ReplaceAllString(html, "") }

// marked reports whether a document is more than lines of text.
func marked(doc ast.Node) bool {
	ok := false
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n.Kind() {
		case ast.KindDocument, ast.KindParagraph, ast.KindTextBlock, ast.KindText, ast.KindString:
			return ast.WalkContinue, nil
		}
		ok = true
		return ast.WalkStop, nil
	})
	return ok
}

// tooDeep reports whether a document is nested further than people read.
func tooDeep(doc ast.Node) bool {
	depth, deep := 0, false
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			depth--
			return ast.WalkContinue, nil
		}
		depth++
		if depth > maxNesting {
			deep = true
			return ast.WalkStop, nil
		}
		return ast.WalkContinue, nil
	})
	return deep
}

// shiftHeadings gives headings levels below those of the page, and none that skips
// one. A heading without a text is none.
func shiftHeadings(doc ast.Node, source []byte, first int) {
	var headings []*ast.Heading
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if h, is := n.(*ast.Heading); is && entering {
			headings = append(headings, h)
		}
		return ast.WalkContinue, nil
	})
	least := 6
	for _, h := range headings {
		least = min(least, h.Level)
	}
	last := first - 1
	for _, h := range headings {
		if strings.TrimSpace(textOf(h, source)) == "" {
			h.Parent().RemoveChild(h.Parent(), h)
			continue
		}
		h.Level = min(first+h.Level-least, last+1, 6)
		last = h.Level
	}
}

// textOf is what is read of a node.
func textOf(n ast.Node, source []byte) string {
	var out strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			out.Write(n.Segment.Value(source))
		case *ast.String:
			out.Write(n.Value)
		case *ast.AutoLink:
			out.Write(n.Label(source))
		}
		return ast.WalkContinue, nil
	})
	return out.String()
}

// links writes links and pictures. A picture is a link to it: nothing is loaded.
type links struct{}

// RegisterFuncs is called by the renderer once.
func (links) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindLink, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		link := n.(*ast.Link)
		return writeLink(w, address(link.Destination, true), strings.TrimSpace(textOf(n, source)) == "", entering), nil
	})
	reg.Register(ast.KindImage, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if insideLink(n) {
			return ast.WalkContinue, nil
		}
		image := n.(*ast.Image)
		return writeLink(w, address(image.Destination, true), strings.TrimSpace(textOf(n, source)) == "", entering), nil
	})
	reg.Register(ast.KindAutoLink, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		link := n.(*ast.AutoLink)
		label := string(link.Label(source))
		if !entering {
			return ast.WalkContinue, nil
		}
		to := link.URL(source)
		if link.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(string(to)), "mailto:") {
			to = append([]byte("mailto:"), to...)
		}
		if insideLink(n) {
			_, _ = w.WriteString(template.HTMLEscapeString(label)) // into a buffer
			return ast.WalkContinue, nil
		}
		writeLink(w, address(to, false), false, true)
		_, _ = w.WriteString(template.HTMLEscapeString(label)) // into a buffer
		writeLink(w, address(to, false), false, false)
		return ast.WalkContinue, nil
	})
}

// address is where a link leads to; "" = nowhere that a link may lead to. Entities
// are read where they stand for letters.
func address(written []byte, entities bool) string {
	to := strings.TrimSpace(string(util.URLEscape(written, entities)))
	parsed, err := url.Parse(to)
	if err != nil || !slices.Contains(schemes, parsed.Scheme) || parsed.Scheme != "mailto" && parsed.Host == "" {
		return ""
	}
	return to
}

// writeLink writes the beginning or the end of a link; one without a text shows
// where it leads to. One that leads nowhere is its text.
func writeLink(w util.BufWriter, to string, nameless, entering bool) ast.WalkStatus {
	switch {
	case to == "":
	case !entering:
		_, _ = w.WriteString("</a>") // into a buffer
	default:
		_, _ = w.WriteString(`<a href="` + template.HTMLEscapeString(to) + `" rel="` + rel + `">`)
		if nameless {
			_, _ = w.WriteString(template.HTMLEscapeString(to))
		}
	}
	return ast.WalkContinue
}

func insideLink(n ast.Node) bool {
	for p := n.Parent(); p != nil; p = p.Parent() {
		if p.Kind() == ast.KindLink || p.Kind() == ast.KindImage {
			return true
		}
	}
	return false
}
