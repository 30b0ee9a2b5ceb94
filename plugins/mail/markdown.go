package mail

import (
	"bytes"
	"fmt"
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

	"github.com/flowrun/flowrun/sdk"
)

// htmlRenderer makes HTML of a safe subset of Markdown. HTML in it stays text, since nothing
// parses it; a picture becomes a link, so that no reader loads what a text names; links
// lead to http, https and mailto alone. Safe for concurrent use.
type htmlRenderer struct {
	parser parser.Parser
	writer renderer.Renderer
}

// Bounds of a text: beyond them a parser takes time by the square of its length.
const (
	mostNesting = 32   // of lists, quotes and emphasis within each other
	mostLinks   = 2000 // and what may be one
)

// containers are the marks of quotes and lists at the beginning of a line.
var containers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:[ \t]*(?:>|[-+*][ \t]|\d{1,9}[.)][ \t])){33}`)
})

// tooMuch says why a text is not parsed, "" where it is.
func tooMuch(source string) string {
	switch {
	case containers().MatchString(source):
		return fmt.Sprintf("is nested more than %d deep", mostNesting)
	case strings.Count(source, "](") > mostLinks:
		return fmt.Sprintf("has more than %d links", mostLinks)
	}
	return ""
}

func newRenderer() *htmlRenderer {
	blocks := []util.PrioritizedValue{
		util.Prioritized(parser.NewSetextHeadingParser(), 100), util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(parser.NewListParser(), 300), util.Prioritized(parser.NewListItemParser(), 400), util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600), util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(parser.NewBlockquoteParser(), 800), util.Prioritized(parser.NewParagraphParser(), 1000),
	}
	inlines := []util.PrioritizedValue{
		util.Prioritized(parser.NewCodeSpanParser(), 100), util.Prioritized(parser.NewLinkParser(), 200),
		util.Prioritized(parser.NewAutoLinkParser(), 300), util.Prioritized(parser.NewEmphasisParser(), 500),
	}
	md := goldmark.New(
		goldmark.WithParser(parser.NewParser(parser.WithBlockParsers(blocks...), parser.WithInlineParsers(inlines...), parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...))),
		goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(links{}, 10)), html.WithXHTML()),
	)
	return &htmlRenderer{parser: md.Parser(), writer: md.Renderer()}
}

// render makes a whole document of Markdown, with a title.
func (r *htmlRenderer) render(source, title string) (string, error) {
	if why := tooMuch(source); why != "" {
		return "", sdk.Invalid("/markdown", "%s", why)
	}
	raw := []byte(source)
	doc := r.parser.Parse(text.NewReader(raw))
	if depth(doc) > mostNesting {
		return "", sdk.Invalid("/markdown", "is nested more than %d deep", mostNesting)
	}
	var body bytes.Buffer
	if err := r.writer.Render(&body, raw, doc); err != nil {
		return "", sdk.Invalid("/markdown", "can't be made HTML: %v", err)
	}
	return documentHead + template.HTMLEscapeString(title) + documentStyle + body.String() + documentEnd, nil
}

// What stands around the HTML: a style that mail readers know, and no script, picture or
// address.
const (
	documentHead  = "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\" />\n<meta name=\"viewport\" content=\"width=device-width\" />\n<title>"
	documentStyle = "</title>\n<style>\n" +
		"body { font-family: sans-serif; line-height: 1.4; }\n" +
		"table { border-collapse: collapse; }\n" +
		"th, td { border: 1px solid #bbb; padding: 4px 8px; text-align: left; }\n" +
		"pre, code { font-family: monospace; }\n" +
		"blockquote { border-left: 3px solid #bbb; margin-left: 0; padding-left: 12px; }\n" +
		"</style>\n</head>\n<body>\n"
	documentEnd = "</body>\n</html>\n"
)

// depth is how deep a document is nested.
func depth(doc ast.Node) int {
	now, most := 0, 0
	_ = ast.Walk(doc, func(_ ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			now--
			return ast.WalkContinue, nil
		}
		now++
		most = max(most, now)
		return ast.WalkContinue, nil
	})
	return most
}

// links writes links, and pictures as links to them.
type links struct{}

// RegisterFuncs is called by the renderer once.
func (links) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindLink, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		writeLink(w, target(n.(*ast.Link).Destination), entering)
		return ast.WalkContinue, nil
	})
	reg.Register(ast.KindImage, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		to := target(n.(*ast.Image).Destination)
		if insideLink(n) {
			to = ""
		}
		writeLink(w, to, entering)
		return ast.WalkContinue, nil
	})
	reg.Register(ast.KindAutoLink, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		link := n.(*ast.AutoLink)
		label := string(link.Label(source))
		to := string(link.URL(source))
		if link.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(to), "mailto:") {
			to = "mailto:" + to
		}
		if insideLink(n) {
			to = ""
		}
		to = target([]byte(to))
		writeLink(w, to, true)
		_, _ = w.WriteString(template.HTMLEscapeString(label)) // into a buffer
		writeLink(w, to, false)
		return ast.WalkContinue, nil
	})
}

// target is where a link leads to; "" = nowhere that a link may lead to.
func target(written []byte) string {
	to := strings.TrimSpace(string(util.URLEscape(written, true)))
	parsed, err := url.Parse(to)
	if err != nil || !slices.Contains([]string{"http", "https", "mailto"}, parsed.Scheme) || parsed.Scheme != "mailto" && parsed.Host == "" {
		return ""
	}
	return to
}

// writeLink writes the beginning or the end of a link. One that leads nowhere is its text.
func writeLink(w util.BufWriter, to string, entering bool) {
	switch {
	case to == "":
	case entering:
		_, _ = w.WriteString(`<a href="` + template.HTMLEscapeString(to) + `">`) // into a buffer
	default:
		_, _ = w.WriteString("</a>") // into a buffer
	}
}

func insideLink(n ast.Node) bool {
	for p := n.Parent(); p != nil; p = p.Parent() {
		if p.Kind() == ast.KindLink || p.Kind() == ast.KindImage {
			return true
		}
	}
	return false
}
