package markdown

import (
	"strings"
	"testing"
)

func TestIssue12_26_MarkdownIsRendered(t *testing.T) {
	r := New()
	for _, one := range []struct{ name, source, want string }{
		{"headings begin below those of the page", "# A\ntext\n### B\n## C", "<h3>A</h3>\n<p>text</p>\n<h4>B</h4>\n<h4>C</h4>\n"},
		{"headings go no deeper than six", strings.Repeat("# a\n## b\n### c\n#### d\n##### e\n", 1), "<h3>a</h3>\n<h4>b</h4>\n<h5>c</h5>\n<h6>d</h6>\n<h6>e</h6>\n"},
		{"an empty heading is none", "# \n\n*x*", "<p><em>x</em></p>\n"},
		{"lines stay lines", "**one**\ntwo", "<p><strong>one</strong><br>\ntwo</p>\n"},
		{"a list", "- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"},
		{"a list from three on", "3. a\n4. b", "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>\n"},
		{"a table", "|a||\n|:-|-:|\n|1|2|", `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>` + "\n<thead>\n<tr>\n<th>a</th>\n<td></td>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table></div>\n"},
		{"code", "```sh onload=x\nrm <x>\n```\n`a<b`", "<pre><code>rm &lt;x&gt;\n</code></pre>\n<p><code>a&lt;b</code></p>\n"},
		{"a link", "[a](https://x.example/?q=1&r=2 \"t\")", `<p><a href="https://x.example/?q=1&amp;r=2" rel="noopener noreferrer nofollow">a</a></p>` + "\n"},
		{"a link without a text", "[](https://x.example/)", `<p><a href="https://x.example/" rel="noopener noreferrer nofollow">https://x.example/</a></p>` + "\n"},
		{"an address in brackets", "<https://x.example/a> <a@b.example>", `<p><a href="https://x.example/a" rel="noopener noreferrer nofollow">https://x.example/a</a> <a href="mailto:a@b.example" rel="noopener noreferrer nofollow">a@b.example</a></p>` + "\n"},
		{"no script", "[a](javascript:alert(1)) *x*", "<p>a <em>x</em></p>\n"},
		{"no hidden script", "[a](java&#x0a;script:alert(1)) *x*", "<p>a <em>x</em></p>\n"},
		{"no data", "[a](data:text/html,x) *x*", "<p>a <em>x</em></p>\n"},
		{"no path of the page's own", "[a](/logout) [b](//x.example/) *x*", "<p>a b <em>x</em></p>\n"},
		{"a picture is a link to it", "![cat](https://x.example/cat.png)", `<p><a href="https://x.example/cat.png" rel="noopener noreferrer nofollow">cat</a></p>` + "\n"},
		{"a picture in a link", "[![cat](https://x.example/cat.png)](https://x.example/)", `<p><a href="https://x.example/" rel="noopener noreferrer nofollow">cat</a></p>` + "\n"},
		{"HTML is text", "*x* <img src=x onerror=alert(1)><script>alert(1)</script>", "<p><em>x</em> &lt;img src=x onerror=alert(1)&gt;&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"},
		{"a mask stays a mask", "*x* [redacted](https://x.example/)\n\n[redacted]: https://x.example/", "<p><em>x</em> [redacted](https://x.example/)</p>\n<p>[redacted]: https://x.example/</p>\n"},
	} {
		got, ok := r.Render(one.source, 3)
		if !ok || strings.ReplaceAll(string(got), "<br/>", "<br>") != one.want {
			t.Errorf("%s: %t\n%s\nwant\n%s", one.name, ok, got, one.want)
		}
	}
}

func TestIssue12_26_WhatIsNoMarkdownStaysAText(t *testing.T) {
	r := New()
	for name, source := range map[string]string{
		"empty": "", "lines": "one\ntwo\n\nthree", "indented": "a\n\n    b\n", "a tag": "<b>x</b>", "a tag of its own": "<div>\n*x\n</div>",
		"too deep": strings.Repeat("> ", 40) + "x", "too deep a list": strings.Repeat("- ", 40) + "x", "too long": strings.Repeat("*x* ", MaxBytes/4+1), "nothing to see": "# \n",
		"an escape": `C:\_x`,
	} {
		if got, ok := r.Render(source, 3); ok {
			t.Errorf("%s is rendered: %s", name, got)
		}
	}
}
