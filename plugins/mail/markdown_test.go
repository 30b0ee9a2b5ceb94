package mail

import (
	"net/textproto"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestMarkdownBecomesHTML(t *testing.T) {
	r := newRenderer()
	for source, want := range map[string]string{
		"# A\n\ntext":                     "<h1>A</h1>\n<p>text</p>",
		"**a** *b* ~~c~~ `d`":             "<strong>a</strong> <em>b</em> <del>c</del> <code>d</code>",
		"| a | b |\n|:--|--:|\n| 1 | 2 |": "<td align=\"right\">2</td>",
		"- [x] a\n- [ ] b":                "type=\"checkbox\"",
		"<https://example.com/?a=1&b=2>":  `<a href="https://example.com/?a=1&amp;b=2">https://example.com/?a=1&amp;b=2</a>`,
		"[a](https://example.com \"t\")":  `<a href="https://example.com">a</a>`,
		"![a](https://example.com/a.png)": `<a href="https://example.com/a.png">a</a>`,
		"<ann@example.com>":               `<a href="mailto:ann@example.com">ann@example.com</a>`,
		"[a](javascript:alert(1))":        "<p>a</p>",
		"[a](data:text/html,x)":           "<p>a</p>",
		"[a](//example.com)":              "<p>a</p>",
		"<script>alert(1)</script>":       "&lt;script&gt;alert(1)&lt;/script&gt;",
		"a <b onclick=x>b</b>":            "a &lt;b onclick=x&gt;b&lt;/b&gt;",
		"    code":                        "<pre><code>code",
		"> quoted":                        "<blockquote>",
	} {
		got, err := r.render(source, "title")
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("%q becomes\n%s\nwant %q (%v)", source, got, want, err)
		}
	}
	if got, err := r.render("a", "</title><script>"); err != nil || !strings.Contains(got, "<title>&lt;/title&gt;&lt;script&gt;</title>") {
		t.Errorf("%s, %v", got, err)
	}
	for _, mark := range []string{"> ", ">", "- ", "1. ", "> * ", "*", "_*"} {
		if got, err := r.render("a\n\n"+strings.Repeat(mark, 100)+"a"+strings.Repeat("*_", 100), ""); err == nil && depthOf(got) > 2*mostNesting {
			t.Errorf("a text nested a hundred times by %q is taken", mark)
		}
	}
	if _, err := r.render(strings.Repeat(">", 100)+" a", ""); err == nil {
		t.Error("a hundred quotes are taken")
	}
}

// safeTags are those that HTML made of Markdown may have.
var safeTags = "html head meta title style body h1 h2 h3 h4 h5 h6 p br hr ul ol li blockquote pre code strong em del a table thead tbody tr th td input"

// onlySafe fails where HTML has a tag, an attribute or an address that Markdown can't make.
func onlySafe(t *testing.T, document string) {
	t.Helper()
	tokens := html.NewTokenizer(strings.NewReader(document))
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			token := tokens.Token()
			if !strings.Contains(" "+safeTags+" ", " "+token.Data+" ") {
				t.Fatalf("the tag <%s> in\n%s", token.Data, document)
			}
			for _, attribute := range token.Attr {
				allowed := map[string]string{"a": "href", "ol": "start", "th": "align", "td": "align", "code": "class", "input": "checked disabled type", "meta": "charset name content"}[token.Data]
				if !strings.Contains(" "+allowed+" ", " "+attribute.Key+" ") {
					t.Fatalf("the attribute %s of <%s> in\n%s", attribute.Key, token.Data, document)
				}
				if attribute.Key == "href" && !strings.HasPrefix(attribute.Val, "http://") && !strings.HasPrefix(attribute.Val, "https://") && !strings.HasPrefix(strings.ToLower(attribute.Val), "mailto:") && !strings.HasPrefix(strings.ToLower(attribute.Val), "http") {
					t.Fatalf("a link to %q", attribute.Val)
				}
			}
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{
		"# a", "[a](javascript:x)", "<img src=x onerror=y>", "![a](x)", "| a |\n|--|\n| <b> |", "[a]: javascript:x\n[a]", "<javascript:alert(1)>", "[a](&#x6a;avascript:x)", "```x\" onclick=y\n```", "[a](https://x \"t\\\" onclick=y\")",
		"&lt;script&gt;", "\\<b>", "- [ ] <i>", "[![a](https://b)](https://c)", "{#id .class}", "# a {onclick=x}",
	} {
		f.Add(seed)
	}
	r := newRenderer()
	f.Fuzz(func(t *testing.T, source string) {
		if document, err := r.render(source, source); err == nil {
			onlySafe(t, document)
		}
	})
}

// depthOf is how deep the tags of a document stand within each other.
func depthOf(document string) (most int) {
	tokens, now := html.NewTokenizer(strings.NewReader(document)), 0
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return most
		case html.StartTagToken:
			now++
			most = max(most, now)
		case html.EndTagToken:
			now--
		}
	}
}

// The largest texts of marks alone are made HTML, or refused, before anybody loses
// patience: without the bounds the last two take minutes.
func TestLargeMarkdownEnds(t *testing.T) {
	r := newRenderer()
	for _, mark := range []string{"[", "]", "*a ", "_a_", "`", "+ ", "<a:", "|", "![", "~~a", "\\", "[a](", ">"} {
		if document, err := r.render(strings.Repeat(mark, mostMarkdown/len(mark)), ""); err == nil {
			onlySafe(t, document)
		}
	}
}

func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"ann@example.com", "Ann <ann@example.com>", `"A, B" <a@b.c>`, "=?utf-8?q?a?= <a@b>", "a@b@c", "a\r\n@b", "jörg@bücher.example", `"a b"@c`, "<@x:a@b>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, wrong := parseMailbox(text)
		if wrong != "" {
			return
		}
		if hasControl(m.name) || hasControl(m.address) || strings.ContainsAny(m.address, " <>,;:\"()[]\\") || strings.Count(m.address, "@") != 1 || m.domain() == "" {
			t.Fatalf("%q is taken as %q", text, m)
		}
		if again, wrong := parseMailbox(m.header().String()); wrong != "" || again.address != m.address {
			t.Fatalf("%q is written as %q, which is %q, %q", text, m.header().String(), again.address, wrong)
		}
	})
}

func FuzzReply(f *testing.F) {
	for _, seed := range []string{"5.1.1 no", "4.2.0 wait 5 minutes", "", "5.7", "9.9.9 x", "5.1.1\n5.1.1 two"} {
		f.Add(550, seed)
		f.Add(450, seed)
	}
	f.Fuzz(func(t *testing.T, code int, text string) {
		r := readReply(&textproto.Error{Code: code, Msg: text})
		if len(r.words) > 410 || strings.ContainsAny(r.words, "\n\r\x1b") || r.retryAfter() < 0 || r.retryAfter() > mostRetryAfter || r.kind() == 0 {
			t.Fatalf("%d %q is read as %+v", code, text, r)
		}
	})
}
