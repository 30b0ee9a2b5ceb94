package markdown

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// allowed are the elements that may come out, each with its attributes.
var allowed = map[string][]string{
	"p": nil, "br": nil, "hr": nil, "h3": nil, "h4": nil, "h5": nil, "h6": nil, "ul": nil, "ol": {"start"}, "li": nil, "blockquote": nil, "pre": nil,
	"code": nil, "em": nil, "strong": nil, "del": nil, "table": nil, "thead": nil, "tbody": nil, "tr": nil, "th": nil, "td": nil,
	"a": {"href", "rel"}, "div": {"class", "tabindex", "role", "aria-label"},
}

// FuzzMarkdown: whatever is written, what comes out is HTML of the allowed elements
// with the allowed attributes, closed in order, with links to three schemes, headings
// without a gap, not much longer and not much deeper than the text, and soon.
func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{
		"# a\n## b\n- c\n  1. d\n", "|a|b|\n|-|-|\n|<b>|`|`|\n", "[a](javascript:x) ![b](data:x) <https://x> <a@b>", "```x\n</code></pre><script>\n```",
		"**a _b_ ~~c~~**\n***", "> > > - [x][y]\n\n[y]: <java\tscript:x> 'z'", "&#x6a;avascript: &lt;script&gt; \\<b>", "[redacted](x) \uE000 \x00 \xff", "a\n===\nb\n---\n",
		"[a](//x) [b](HTTPS://X.example) [c](mailto:a@b?subject=x)", strings.Repeat("*_", 50), strings.Repeat("[", 200) + strings.Repeat("](x)", 200), "<div onclick=x>\n*a*\n</div>",
	} {
		f.Add(seed)
	}
	for _, slow := range []string{"[", "[](", "*a_ ", "_a*", "> ", "1. ", "- ", "[a](<", "[a](b\"", "`", "``a ", "|a", "<a@b ", "~~a ", "&#1;", "|a|b|\n|-|-|\n", "[![[a](b)"} {
		f.Add(strings.Repeat(slow, MaxBytes/len(slow)))
	}
	r := New()
	f.Fuzz(func(t *testing.T, source string) {
		forever := time.AfterFunc(10*time.Second, func() { panic(fmt.Sprintf("no end with %q", source)) })
		out, rendered := r.Render(source, 3)
		forever.Stop()
		if !rendered {
			return
		}
		if len(out) > (maxGrowth+8)*(len(source)+200) {
			t.Fatalf("%d bytes of %d", len(out), len(source))
		}
		if fault := faultOf(string(out)); fault != "" {
			t.Fatalf("%s in %q\nof %q", fault, out, source)
		}
	})
}

// faultOf is what HTML has that must not come out; "" = nothing.
func faultOf(page string) string {
	var open []string
	level := 2
	for tokens := html.NewTokenizer(strings.NewReader(page)); ; {
		kind := tokens.Next()
		token := tokens.Token()
		switch kind {
		case html.ErrorToken:
			if len(open) > 0 {
				return "not closed: " + strings.Join(open, " ")
			}
			return ""
		case html.CommentToken, html.DoctypeToken:
			return "a comment"
		case html.StartTagToken, html.SelfClosingTagToken:
			if fault := faultOfTag(token); fault != "" {
				return fault
			}
			if token.Data == "br" || token.Data == "hr" {
				continue
			}
			if len(token.Data) == 2 && token.Data[0] == 'h' {
				own := int(token.Data[1] - '0')
				if own > level+1 {
					return "a heading skips a level"
				}
				level = own
			}
			if token.Data == "a" && slices.Contains(open, "a") {
				return "a link in a link"
			}
			if open = append(open, token.Data); len(open) > 2*maxNesting+8 {
				return "too deep"
			}
		case html.EndTagToken:
			if len(open) == 0 || open[len(open)-1] != token.Data {
				return "</" + token.Data + "> closes nothing"
			}
			open = open[:len(open)-1]
		}
	}
}

func faultOfTag(token html.Token) string {
	attributes, known := allowed[token.Data]
	if !known {
		return "<" + token.Data + ">"
	}
	for _, attribute := range token.Attr {
		if !slices.Contains(attributes, attribute.Key) {
			return token.Data + " " + attribute.Key
		}
		switch attribute.Key {
		case "href":
			to, err := url.Parse(attribute.Val)
			if err != nil || !slices.Contains([]string{"http", "https", "mailto"}, to.Scheme) {
				return "a link to " + attribute.Val
			}
		case "rel":
			if attribute.Val != rel {
				return "rel " + attribute.Val
			}
		}
	}
	if token.Data == "a" && len(token.Attr) != 2 {
		return "a link without its rel"
	}
	return ""
}

// TestControlFaultsOfHTMLAreSeen is the control of the fuzz target.
func TestControlFaultsOfHTMLAreSeen(t *testing.T) {
	for _, page := range []string{
		"<script>x</script>", "<p onclick=x>a</p>", "<p class=x>a</p>", "<img src=x>", `<a href="javascript:x" rel="` + rel + `">a</a>`, `<a href="/x" rel="` + rel + `">a</a>`,
		`<a href="https://x">a</a>`, "<p><em>a</p></em>", "<p>a", "<!-- x -->", "<h5>a</h5>", "<p id=x>a</p>",
	} {
		if faultOf(page) == "" {
			t.Errorf("nothing is found in %s", page)
		}
	}
}

// TestOnlyTheSubsetComesOutOfHTML: what passes does not hang on what wrote the HTML.
func TestOnlyTheSubsetComesOutOfHTML(t *testing.T) {
	for hostile, want := range map[string]string{
		"<script>alert(1)</script>":                               "alert(1)",
		"<SCRIPT SRC=//x></SCRIPT><p onclick=x STYLE='a'>a</p>":   "<p>a</p>",
		"<style>p{}</style><img src=x onerror=alert(1)>b":         "p{}b",
		`<a href="java&#10;script:x" rel="x">c</a>`:               "<a>c</a>",
		`<a href=" JavaScript:alert(1)">d</a>`:                    "<a>d</a>",
		`<a href="//x.example">e</a><a href="/x">f</a>`:           "<a>e</a><a>f</a>",
		`<a href="https://x.example" target=_top>g</a>`:           `<a href="https://x.example">g</a>`,
		`<a href="https://x.example" href="javascript:x">h</a>`:   `<a href="https://x.example">h</a>`,
		`<ol start="7"><ol start="7x"><ol start="1234567890">`:    `<ol start="7"><ol><ol>`,
		"<!-- x --><!DOCTYPE html><?xml x?><![CDATA[<b>]]>i":      "]]&gt;i",
		"<svg><a xlink:href='javascript:x'>j</a><p>k</svg>":       "<a>j</a><p>k",
		"<p title=\"</p><script>x</script>\">l</p>&lt;script&gt;": "<p>l</p>&lt;script&gt;",
		"<noscript><p title=\"</noscript><img src=x>\">":          "&lt;p title=&#34;&#34;&gt;",
		"<textarea><script>m</script></textarea>":                 "&lt;script&gt;m&lt;/script&gt;",
		"<p <script>n": "<p>n",
	} {
		if got := onlySubset(hostile); got != want {
			t.Errorf("%s\n comes out as %s\n want         %s", hostile, got, want)
		}
	}
}

// FuzzSubset: of any HTML only the subset comes out, and who reads it again reads the
// same.
func FuzzSubset(f *testing.F) {
	for _, seed := range []string{
		"<a href='https://x?a=b&amp;c' rel='" + rel + "'>a</a><ol start=3><li>b", "<svg><style><p title='</style><img src=x>'>", "<math><mi//xlink:href='data:x'>",
		"<p title=\"</p><script>x</script>\">&lt;&#60;&amp;lt;</p>", "<!--><p>--><![CDATA[<p>]]><?p?>", "<a href=java\tscript:x><a href=&#106;avascript:x>", "<textarea></p>", "</p x=y><br/><p/>\x00\xff",
		"<A href='http://00%0X#0'>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, page string) {
		out := onlySubset(page)
		if again := onlySubset(out); again != out {
			t.Fatalf("of %q comes %q, and of that %q", page, out, again)
		}
		for tokens := html.NewTokenizer(strings.NewReader(out)); ; {
			switch kind := tokens.Next(); kind {
			case html.ErrorToken:
				return
			case html.CommentToken, html.DoctypeToken:
				t.Fatalf("of %q comes %q", page, out)
			case html.StartTagToken, html.SelfClosingTagToken:
				token := tokens.Token()
				if fault := faultOfTag(token); fault != "" && token.Data != "h2" && fault != "a link without its rel" {
					t.Fatalf("%s in %q of %q", fault, out, page)
				}
			}
		}
	})
}
