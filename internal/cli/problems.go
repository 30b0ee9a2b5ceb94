package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// printProblems prints problems with the lines that they are about on stderr,
// and their number.
func (a *app) printProblems(list diag.List) { a.printProblemsOf(list, map[string][]byte{}) }

// readSource reads a file of a problem. One that can't be read any more only
// costs its snippets.
func (a *app) readSource(sources map[string][]byte, file string) {
	if _, ok := sources[file]; ok || file == "" {
		return
	}
	data, err := os.ReadFile(a.abs(file))
	if err != nil && a.root != "" {
		data, err = os.ReadFile(filepath.Join(a.root, file))
	}
	if err == nil {
		sources[file] = data
	}
}

// printProblemsOf is printProblems for files whose bytes are known; sources
// gains those that it reads.
func (a *app) printProblemsOf(list diag.List, sources map[string][]byte) {
	if len(list) == 0 {
		return
	}
	for _, problem := range list {
		a.readSource(sources, problem.File)
		for _, related := range problem.Related {
			a.readSource(sources, related.File)
		}
	}
	source := func(file string) ([]byte, bool) {
		data, ok := sources[file]
		return data, ok
	}
	// A broken stderr leaves nobody to tell.
	_ = diag.Renderer{Source: source, Color: a.style.Color, Width: a.page(a.sys.Stderr).Width}.Write(a.sys.Stderr, list)
	errors := 0
	for _, problem := range list {
		if problem.Severity == diag.Error {
			errors++
		}
	}
	var summary []string
	if errors > 0 {
		summary = append(summary, a.style.Red(diag.Count(errors, "error")))
	}
	if warnings := len(list) - errors; warnings > 0 {
		summary = append(summary, a.style.Yellow(diag.Count(warnings, "warning")))
	}
	fmt.Fprintf(a.sys.Stderr, "\n%s\n", strings.Join(summary, ", "))
}

// safePath makes a path safe to print.
func safePath(path string) string { return term.Clean(path) }
