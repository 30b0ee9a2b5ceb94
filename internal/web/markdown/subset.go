package markdown

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"sync"

	tokenizer "golang.org/x/net/html"
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

// attribute is one of a tag as goldmark and links write them. What is written in any
// other way is no attribute here.
var attribute = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s+([a-z]+)="([^"]*)"`) })

// onlySubset reads HTML as a browser does and writes the texts in it, and of the tags
// those of the subset: it does not trust what wrote it.
//
// Of the library it takes the bounds and kinds of tokens and the names of tags alone:
// its table of entities, which all else of it needs, is made at each start of the program
// (ADR 75). That of the standard library is made when it is first read.
func onlySubset(page string) string {
	var out strings.Builder
	for tokens := tokenizer.NewTokenizer(strings.NewReader(page)); ; {
		kind := tokens.Next()
		if kind == tokenizer.ErrorToken {
			return out.String()
		}
		raw := string(tokens.Raw()) // before the tag's name, which overwrites it
		switch kind {
		case tokenizer.StartTagToken, tokenizer.EndTagToken, tokenizer.SelfClosingTagToken:
			name, _ := tokens.TagName()
			writeTag(&out, kind, string(name), raw)
		case tokenizer.TextToken:
			out.WriteString(escaped(html.UnescapeString(lineBreaks.Replace(raw))))
		}
	}
}

// writeTag writes a tag of the subset, as it stands in raw, with the attributes that it
// may have.
func writeTag(out *strings.Builder, kind tokenizer.TokenType, name, raw string) {
	attributes, allowed := subset[name]
	switch {
	case !allowed:
		return
	case kind == tokenizer.EndTagToken:
		out.WriteString("</" + name + ">")
		return
	}
	out.WriteString("<" + name)
	for rest := raw[len("<")+len(name):]; ; {
		found := attribute().FindStringSubmatch(rest)
		if found == nil {
			break
		}
		rest = rest[len(found[0]):]
		if key, value := found[1], html.UnescapeString(lineBreaks.Replace(found[2])); slices.Contains(attributes, key) && mayBe(key, value) {
			out.WriteString(" " + key + `="` + escaped(value) + `"`)
		}
	}
	if kind == tokenizer.SelfClosingTagToken {
		out.WriteString("/")
	}
	out.WriteString(">")
}

// lineBreaks makes of line breaks what a reader of HTML makes of them.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func escaped(text string) string { return strings.ReplaceAll(html.EscapeString(text), "\r", "&#13;") }

// mayBe reports whether an attribute of the subset may have a value.
func mayBe(key, value string) bool {
	switch key {
	case "href":
		return value != "" && address([]byte(value), false) == value // as it is written: what would have to be escaped first may lead elsewhere
	case "rel":
		return value == rel
	}
	return listStart().MatchString(value)
}
