package diag

import (
	_ "embed"
	"strings"
)

// pagesText is the table of all pages, by code: "# group", "## CODE title", the
// text, and the examples behind "-- wrong --" and "-- right --".
//
//go:embed pages.txt
var pagesText string

// Page explains a code: what it means, one example that has the problem and one
// that has not. An example may leave out `flowrun: v1` and steps that do not
// matter.
type Page struct {
	Code, Title string
	Doc         string // "" = the title says it all
	Wrong       string
	Right       string
	Group       string // the kind of file that it is about
}

// Pages returns the pages of all codes in the order of the codes.
func Pages() []Page {
	var pages []Page
	group := ""
	var into *string
	for _, line := range strings.SplitAfter(pagesText, "\n") {
		text := strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(text, "## FR"):
			code, title, _ := strings.Cut(text[len("## "):], " ")
			pages = append(pages, Page{Code: code, Title: title, Group: group})
			into = &pages[len(pages)-1].Doc
		case strings.HasPrefix(text, "# ") && into == nil:
			group = text[len("# "):]
		case text == "":
			into = nil // an empty line ends a page
		case text == "-- wrong --":
			into = &pages[len(pages)-1].Wrong
		case text == "-- right --":
			into = &pages[len(pages)-1].Right
		default:
			*into += line
		}
	}
	for i := range pages {
		pages[i].Doc = strings.TrimSuffix(pages[i].Doc, "\n")
	}
	return pages
}

// Explain returns the page of a code as text for a terminal.
func Explain(code string) (text string, ok bool) {
	for _, page := range Pages() {
		if page.Code == code {
			return page.text(), true
		}
	}
	return "", false
}

func (p Page) text() string {
	var b strings.Builder
	b.WriteString(p.Code + ": " + p.Title + "\n")
	if p.Doc != "" {
		b.WriteString("\n" + p.Doc + "\n")
	}
	for _, example := range []struct{ name, text string }{{"Wrong", p.Wrong}, {"Right", p.Right}} {
		if example.text == "" {
			continue
		}
		b.WriteString("\n" + example.name + ":\n")
		for _, line := range strings.Split(strings.TrimSuffix(example.text, "\n"), "\n") {
			b.WriteString("  " + line + "\n")
		}
	}
	return b.String()
}

// Markdown returns the pages as one document.
func Markdown(pages []Page) string {
	var b strings.Builder
	b.WriteString("# Codes of problems\n\nWhat `flowrun validate` and its colleagues print, with one wrong and one right example each. `flowrun explain CODE`\nshows one of them. A code never changes its meaning.\n")
	group := ""
	for _, page := range pages {
		if page.Group != group {
			group = page.Group
			b.WriteString("\n## " + group + "\n")
		}
		b.WriteString("\n### " + page.Code + ": " + page.Title + "\n")
		if page.Doc != "" {
			b.WriteString("\n" + page.Doc + "\n")
		}
		for _, example := range []struct{ name, fence, text string }{{"Wrong", "```text", page.Wrong}, {"Right", "```yaml", page.Right}} {
			if example.text != "" {
				b.WriteString("\n" + example.name + ":\n\n" + example.fence + "\n" + strings.TrimSuffix(example.text, "\n") + "\n```\n")
			}
		}
	}
	return b.String()
}
