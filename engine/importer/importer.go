// Package importer writes the flowrun workflow for what it can of a file of another
// product: GitHub Actions, Dagu, Argo Workflows with Argo Events, Kestra. It reads bytes
// and gives text and notes: it opens no file and starts nothing. What has no counterpart
// leaves a comment `# import: …` at its place, which says what stood there and what to do.
//
// A product has a file of its own, which reads it into the workflow of package importer's
// own: steps, triggers, commands. What all share is the expression of one product made
// one of flowrun's, the shell script made a command of the plugin exec, and the writing.
package importer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/format"
	"github.com/flowrun/flowrun/engine/spec"
)

// Product is whose file it is.
type Product string

// The products whose files are read.
const (
	GitHubActions Product = "github-actions"
	Dagu          Product = "dagu"
	Argo          Product = "argo"
	Kestra        Product = "kestra"
)

// Products returns the names of all, as `--from` takes them.
func Products() []Product { return []Product{GitHubActions, Dagu, Argo, Kestra} }

// Title is the product's name in a sentence.
func (p Product) Title() string {
	switch p {
	case GitHubActions:
		return "GitHub Actions"
	case Dagu:
		return "Dagu"
	case Argo:
		return "Argo Workflows"
	case Kestra:
		return "Kestra"
	}
	return string(p)
}

// Page is the document that tells what becomes of the product's words.
func (p Product) Page() string { return "docs/coming-from/" + string(p) + ".md" }

// Stdin is the name of a file that came without one: then workflows have their own names.
const Stdin = "stdin"

// Note is something that was not taken over, and what to do about it. The workflow has it
// as a comment, at its place.
type Note struct {
	Line int    `json:"line"` // of the file that was read
	Text string `json:"text"`
}

// Script is the text of a step's shell script: a file of its own, beside the workflow.
type Script struct {
	Name string // from the project's root, with slashes: scripts/nightly/build.sh
	Text string
}

// Workflow is one that was written.
type Workflow struct {
	Name    string // of the workflow
	Text    string
	Taken   int // steps, triggers and inputs that were taken over
	Notes   []Note
	Scripts []Script
}

// Result is what became of a file.
type Result struct {
	Product   Product
	Workflows []Workflow
}

// UnknownError says that a file is none of a product that is known.
type UnknownError struct {
	File string
	Ours bool // it is a workflow of flowrun already
}

func (e *UnknownError) Error() string {
	if e.Ours {
		return e.File + " is a workflow of flowrun already"
	}
	return e.File + " is no workflow of a product that is known"
}

// Hint says what to do about it.
func (e *UnknownError) Hint() string {
	if e.Ours {
		return "`flowrun validate` checks it"
	}
	return "known are GitHub Actions, Dagu, Argo Workflows and Kestra; `--from` says whose it is"
}

// Import reads a file of another product; from "" finds out whose it is. A file that is
// not YAML gives problems and no workflow, one that is nobody's an *UnknownError.
func Import(file string, src []byte, from Product) (Result, diag.List, error) {
	documents, problems := spec.ParseForeign(file, src, spec.DefaultLimits())
	if problems.HasErrors() {
		return Result{}, problems, nil
	}
	if from == "" {
		if from = Detect(documents); from == "" {
			return Result{}, problems, &UnknownError{File: file, Ours: documents[0].Get("flowrun") != nil}
		}
	}
	result := Result{Product: from}
	for _, w := range read(file, documents, from) {
		written, err := w.written()
		if err != nil {
			return Result{}, problems, fmt.Errorf("the workflow %q of %s can't be written: %w", w.name, file, err)
		}
		result.Workflows = append(result.Workflows, written)
	}
	return result, problems, nil
}

// read makes workflows of documents.
func read(file string, documents []*spec.Foreign, from Product) []*workflow {
	name := nameOfFile(file)
	if file == Stdin {
		name = "" // its own
	}
	switch from {
	case GitHubActions:
		return readGitHub(name, documents)
	case Dagu:
		return readDagu(name, documents)
	case Argo:
		return readArgo(name, documents)
	default:
		return readKestra(name, documents)
	}
}

// written writes a workflow and looks at what it wrote: nothing leaves that YAML, or the
// limits of a workflow file, would refuse.
func (w *workflow) written() (Workflow, error) {
	text := []byte(w.text())
	if _, problems := spec.ParseNode(w.name+".yaml", text, spec.DefaultLimits()); problems.HasErrors() {
		return Workflow{}, errors.New(problems[0].Message)
	}
	if formatted, problems, err := format.Source(w.name+".yaml", text); err == nil && !problems.HasErrors() {
		text = formatted
	}
	slices.SortStableFunc(w.notes, func(a, b Note) int { return a.Line - b.Line })
	return Workflow{Name: w.name, Text: string(text), Taken: w.taken, Notes: w.notes, Scripts: w.scripts}, nil
}

// Alone is the workflow's text for those who write no other file: the scripts stand in
// comments at its end.
func (w Workflow) Alone() string {
	var b strings.Builder
	b.WriteString(w.Text)
	for _, script := range w.Scripts {
		fmt.Fprintf(&b, "\n# import: the file %s\n", script.Name)
		for line := range strings.Lines(script.Text) {
			b.WriteString(strings.TrimRight("#   "+cleanComment(strings.TrimRight(line, "\r\n")), " ") + "\n")
		}
	}
	return b.String()
}
