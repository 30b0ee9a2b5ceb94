package testpage

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
)

// Ease is how easily prose is read.
type Ease struct{ Words, Sentences, Syllables int }

// Score is the reading ease of Rudolf Flesch, "A new readability yardstick", Journal of
// Applied Psychology 32 (1948): 60 to 70 is plain English, 100 is very easy.
func (e Ease) Score() float64 {
	if e.Words == 0 || e.Sentences == 0 {
		return 0
	}
	words := float64(e.Words)
	return 206.835 - 1.015*words/float64(e.Sentences) - 84.6*float64(e.Syllables)/words
}

// ReadingEase counts the prose of a page: paragraphs and items of lists, without headings,
// tables and code. Code inside a sentence is one word of one syllable.
func ReadingEase(source []byte) Ease {
	var e Ease
	walk(source, func(n ast.Node) {
		if n.Kind() != ast.KindParagraph && n.Kind() != ast.KindTextBlock {
			return
		}
		e.add(prose(n, source))
	})
	return e
}

// prose is the text of a paragraph with a short word for each code.
func prose(paragraph ast.Node, source []byte) string {
	var all strings.Builder
	_ = ast.Walk(paragraph, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // returns no error
		switch n := n.(type) {
		case *ast.CodeSpan:
			if entering {
				all.WriteString("it")
			}
			return ast.WalkSkipChildren, nil
		case *ast.Image, *ast.RawHTML:
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			if entering {
				all.Write(n.Segment.Value(source))
				all.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return all.String()
}

var (
	// A sentence ends with a mark and a space, or with the paragraph. A colon before a list
	// or code ends none, but the paragraph does.
	sentenceEnd = regexp.MustCompile(`[.!?]+["')\]]*(\s|$)`)
	vowels      = regexp.MustCompile(`[aeiouy]+`)
)

func (e *Ease) add(text string) {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && r != '\'' && r != '’' && !unicode.IsNumber(r) && r != '.'
	})
	counted := 0
	for _, word := range words {
		if syllables := Syllables(strings.Trim(word, ".'’")); syllables > 0 {
			counted++
			e.Syllables += syllables
		}
	}
	if counted == 0 {
		return
	}
	e.Words += counted
	sentences := len(sentenceEnd.FindAllString(strings.TrimSpace(text), -1))
	if !sentenceEnd.MatchString(lastOf(strings.TrimSpace(text))) {
		sentences++ // the paragraph ends it
	}
	e.Sentences += sentences
}

// lastOf is the end of a text, long enough for a mark and what closes behind it.
func lastOf(text string) string {
	if len(text) > 3 {
		return text[len(text)-3:]
	}
	return text
}

// Syllables counts those of an English word by its groups of vowels: a silent e at the end
// is none, and each word has one.
func Syllables(word string) int {
	if word == "" {
		return 0
	}
	n := len(vowels.FindAllString(word, -1))
	for _, silent := range []string{"e", "es", "ed"} {
		stem, ok := strings.CutSuffix(word, silent)
		if !ok || n < 2 || stem == "" {
			continue
		}
		last := stem[len(stem)-1]
		switch {
		case strings.ContainsRune("aeiouy", rune(last)): // it is part of a group: "be", "tree"
		case silent == "e" && last == 'l' && len(stem) > 1 && !strings.ContainsRune("aeiouy", rune(stem[len(stem)-2])): // "table"
		case silent == "es" && strings.ContainsRune("sxzc", rune(last)) || silent == "es" && (strings.HasSuffix(stem, "ch") || strings.HasSuffix(stem, "sh") || last == 'g'): // "pages"
		case silent == "ed" && (last == 't' || last == 'd'): // "needed"
		default:
			return n - 1
		}
		return n
	}
	return max(n, 1)
}
