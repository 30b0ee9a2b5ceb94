package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/internal/cli/term"
)

// newFolder is where a project is made by default that can't be made here.
const newFolder = "flows"

// askInit settles the template and the folder of a new project. It asks for what is not
// given where a person sits at a terminal.
func (a *app) askInit(flags *initFlags, dir string) (template initTemplate, folder string, err error) {
	asks := !flags.noInput && a.output != "json" && a.hasLiveErr() && term.IsTerminalInput(a.sys.Stdin)
	name := flags.template
	if asks && (name == "" || dir == "") {
		if name, dir, err = a.askInTerminal(name, dir); err != nil {
			return template, "", err
		}
	}
	if name == "" {
		name = templateNames()[0]
	}
	if dir == "" {
		dir = "."
	}
	template, err = templateNamed(name)
	return template, dir, err
}

// askInTerminal puts the questions. Tab completes the name of a template.
func (a *app) askInTerminal(name, dir string) (template, folder string, err error) {
	var words []string
	editor, err := term.OpenEditor(a.sys.Stdin, a.sys.Stderr, "", func(line string) (word string, found []string) {
		return line, slices.DeleteFunc(slices.Clone(words), func(name string) bool { return !strings.HasPrefix(name, line) })
	})
	if err != nil {
		return "", "", fmt.Errorf("ask for the template: %w", err)
	}
	defer func() { err = errors.Join(err, editor.Close()) }()
	ask := func(question string) (string, error) {
		editor.Prompt(question)
		line, err := editor.Read()
		if errors.Is(err, io.EOF) {
			return "", &codedError{code: exitInterrupted, err: errors.New("nothing was made")}
		}
		return strings.TrimSpace(line), err
	}
	if name == "" {
		words = templateNames()
		if name, err = a.askTemplate(ask); err != nil {
			return "", "", err
		}
	}
	if dir == "" {
		words = nil
		proposed := a.proposedFolder()
		if dir, err = ask("Where? A folder, . is this one [" + proposed + "]: "); dir == "" {
			dir = proposed
		}
	}
	return name, dir, err
}

// askTemplate asks until the name or the number of a template is typed.
func (a *app) askTemplate(ask func(string) (string, error)) (string, error) {
	names := templateNames()
	fmt.Fprintln(a.sys.Stderr, "What is the first workflow like?")
	for i, t := range projectTemplates() {
		fmt.Fprintf(a.sys.Stderr, "  %d  %s  %s\n", i+1, a.style.Cyan(term.Pad(t.name, 8)), t.about)
	}
	for {
		answer, err := ask("Which? [" + names[0] + "]: ")
		if err != nil {
			return "", err
		}
		if answer == "" {
			return names[0], nil
		}
		if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(names) {
			return names[n-1], nil
		}
		if _, err := templateNamed(answer); err != nil {
			a.note("%v; a number, or %s", err, hintOf(err).Text)
			continue
		}
		return answer, nil
	}
}

// proposedFolder is the working directory where it is empty or a project already, else a
// new folder: nobody wants the files of a project among others.
func (a *app) proposedFolder() string {
	entries, err := os.ReadDir(a.sys.Dir)
	if err != nil {
		return "."
	}
	for _, entry := range entries {
		if entry.Name() == projectFileName {
			return "."
		}
	}
	if slices.ContainsFunc(entries, func(entry os.DirEntry) bool { return !strings.HasPrefix(entry.Name(), ".") }) {
		return newFolder
	}
	return "."
}
