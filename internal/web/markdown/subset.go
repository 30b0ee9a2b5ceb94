package markdown

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/html"
)

// subset are the elements that may come out, whatever was written, each with its
// attributes.
var subset = map[string][]string{
	"p": nil, "br": nil, "hr": nil, "h2": nil, "h3": nil, "h4": nil, "h5": nil, "h6": nil, "ul": nil, "ol": {"start"}, "li": nil, "blockquote": nil,
	"pre": nil, "code": nil, "em": nil, "strong": nil, "del": nil, "table": nil, "thead": nil, "tbody": nil, "tr": nil, "th": nil, "td": nil,
	"a": {"href", "rel"},
}

// schemes are where links may lead.
var schemes = []string{"http", "https", "mailto"}

// rel keeps what a link leads to from knowing where it was, and from the page.
const rel = "noopener noreferrer nofollow"

var listStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d{1,9}$`) })

// onlySubset reads HTML as a browser does and writes the texts in it, and of the tags
// those of the subset: it does not trust what wrote it.
func onlySubset(page string) string {
	var out strings.Builder
	for tokens := html.NewTokenizer(strings.NewReader(page)); ; {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			return out.String()
		}
		token := tokens.Token()
		switch kind {
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			attributes, allowed := subset[token.Data]
			if !allowed {
				continue
			}
			token.Attr = slices.DeleteFunc(token.Attr, func(a html.Attribute) bool {
				return a.Namespace != "" || !slices.Contains(attributes, a.Key) || !mayBe(a)
			})
		case html.TextToken:
		default:
			continue // comments and the like
		}
		out.WriteString(token.String()) // escaped
	}
}

// mayBe reports whether an attribute of the subset may have its value.
func mayBe(a html.Attribute) bool {
	switch a.Key {
	case "href":
		return a.Val != "" && address([]byte(a.Val), false) == a.Val // as it is written: what would have to be escaped first may lead elsewhere
	case "rel":
		return a.Val == rel
	}
	return listStart().MatchString(a.Val)
}
