package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/cli/view"
)

// noInputFlag adds --no-input.
func (a *app) noInputFlag(c *cobra.Command) {
	c.Flags().BoolVar(&a.noInput, "no-input", false, "ask for nothing in the terminal: what is missing is an error")
}

// asksPeople reports whether somebody sits before the terminal who may be asked.
func (a *app) asksPeople() bool {
	return !a.noInput && !a.stdinIsWorkflow && term.IsTerminalInput(a.sys.Stdin) && a.hasLiveErr()
}

// askForInputs asks for the inputs that a workflow needs and nobody gave. Nobody is asked
// for those of a file that is wrong: the start tells of it.
func (a *app) askForInputs(ctx context.Context, request *engine.StartRequest) error {
	if !a.asksPeople() {
		return nil
	}
	name, form, ok := workspace.InputForm(request.File, request.Source)
	if !ok || len(missingOf(form, request.Inputs)) == 0 {
		return nil
	}
	if workflow, _, err := a.checkWorkflow(ctx, request.File, request.Source); err != nil || workflow == nil {
		return nil
	}
	return a.askForFields("inputs of "+name, "starts the run", form, request.Inputs)
}

// missingOf are the fields of a form that have to be given and are not.
func missingOf(form json.RawMessage, given map[string]workspace.Input) []workspace.FormField {
	fields, _ := workspace.FormOf(form) // who uses the form tells what is wrong with it
	return slices.DeleteFunc(fields, func(field workspace.FormField) bool {
		_, there := given[field.Name]
		return !field.Required || there || field.Name == ""
	})
}

// askForFields asks for the fields of a form that are missing, and puts them to given.
func (a *app) askForFields(title, last string, form json.RawMessage, given map[string]workspace.Input) error {
	missing := missingOf(form, given)
	if len(missing) == 0 {
		return nil
	}
	filling := view.NewFilling(form, last, missing)
	lines := []string{title}
	if defaults := defaultsOf(form, given); defaults != "" {
		lines = append(lines, defaults)
	}
	if err := a.fillIn(filling, lines); err != nil {
		return err
	}
	maps.Copy(given, filling.Given())
	return nil
}

// defaultsOf says what holds for the fields that nobody is asked for.
func defaultsOf(form json.RawMessage, given map[string]workspace.Input) string {
	fields, _ := workspace.FormOf(form)
	var parts []string
	for _, field := range fields {
		if _, there := given[field.Name]; !there && field.Default != nil {
			parts = append(parts, fmt.Sprintf("%s = %s", field.Name, field.Default))
		}
	}
	if parts == nil {
		return ""
	}
	return "by default " + strings.Join(parts, ", ")
}

// fillIn lets a person fill in a form. One who leaves ends the command, which has done
// nothing yet.
func (a *app) fillIn(filling *view.Filling, title []string) (err error) {
	signals, stop := a.signals()
	defer stop()
	keys, restore, ok := term.Typing(a.sys.Stdin)
	if !ok {
		return nil
	}
	asking := view.NewAsking(a.sys.Stderr, func() (int, int) { return term.Size(a.sys.Stderr) }, a.style, filling, title...)
	defer func() {
		asking.Close()
		err = errors.Join(err, restore())
	}()
	for {
		asking.Draw()
		select {
		case key := <-keys:
			switch done, left := filling.Press(key); {
			case done:
				return nil
			case left:
				return &codedError{code: exitInterrupted, err: errors.New("nothing was done: an input is missing")}
			}
		case signal := <-signals:
			return &codedError{code: exitOfSignal(signal), err: errSilent, silent: true}
		}
	}
}
