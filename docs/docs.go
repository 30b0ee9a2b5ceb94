// Package docs holds the documents of this folder that the program serves.
package docs

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// openAPI is openapi.json, of which a program would otherwise carry 300 KB of text.
//
//go:embed openapi.json.gz
var openAPI []byte

// OpenAPI returns the OpenAPI 3.1 document of the API, indented: what every server of
// this version has. `UPDATE=1 go test ./internal/web` writes it, of the operations
// that are served.
func OpenAPI() ([]byte, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(openAPI))
	if err != nil {
		return nil, fmt.Errorf("unpack openapi.json.gz: %w", err)
	}
	document, err := io.ReadAll(unpacked)
	if err != nil {
		return nil, fmt.Errorf("unpack openapi.json.gz: %w", err)
	}
	return document, nil
}

// pages are what assistants read (ADR 64).
//
//go:embed assistants.md connections.md guide.md language.md people.md resume.md schedules.md state.md testing.md triggers.md
//go:embed jobs/*/*.yaml
var pages embed.FS

// Page is a document in Markdown.
type Page struct {
	Name  string // its file's name without the ending
	Title string
	Text  string
}

// Pages returns the documents about writing and running workflows, by name.
func Pages() []Page {
	names, _ := fs.Glob(pages, "*.md") // the pattern is good
	list := make([]Page, 0, len(names))
	for _, name := range names {
		text, _ := pages.ReadFile(name) // it is there: it was listed
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		list = append(list, Page{strings.TrimSuffix(name, ".md"), title, string(text)})
	}
	return list
}

// Jobs returns the names of the jobs that can be copied, sorted.
func Jobs() []string {
	files, _ := fs.Glob(pages, "jobs/*/*.yaml") // the pattern is good
	var names []string
	for _, file := range files {
		names = append(names, path.Base(path.Dir(file)))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Job returns the files of a job one behind the other, each below a comment with its
// name; "" where there is none.
func Job(name string) string {
	files, _ := fs.Glob(pages, "jobs/*/*.yaml") // the pattern is good
	var b strings.Builder
	for _, file := range files {
		if path.Base(path.Dir(file)) != name {
			continue
		}
		text, _ := pages.ReadFile(file) // it is there: it was listed
		if b.Len() > 0 {
			b.WriteString("---\n")
		}
		b.WriteString("# file: " + path.Base(file) + "\n" + string(text))
	}
	return b.String()
}
