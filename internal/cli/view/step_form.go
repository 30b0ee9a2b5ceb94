package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// form prints what a step that waits wants to know: the fields with what each takes, and the
// command that gives them.
func (p Page) form(out io.Writer, run string, step runs.Step) {
	need := step.Needs()
	if step.Run != "" || need != runs.NeedApprove && need != runs.NeedSignal {
		return
	}
	width := p.outputRoom()
	fields := fieldsOf(step)
	if len(fields) > 0 {
		fmt.Fprintf(out, "\n%s\n", p.Style.Bold("form"))
	}
	for _, field := range fields {
		for _, line := range wrapBelow(fieldLine(field), width) {
			fmt.Fprintln(out, line)
		}
		if field.Doc == "" {
			continue
		}
		for _, line := range indented(field.Doc, width) {
			fmt.Fprintln(out, p.Style.Dim(line))
		}
	}
	fmt.Fprintf(out, "\n%s\n", p.Style.Bold("answer it"))
	for _, command := range p.answers(run, step, fields) {
		fmt.Fprintln(out, "  "+p.Style.Cyan(command))
	}
}

// answers are the commands that answer a step.
func (p Page) answers(run string, step runs.Step, fields []workspace.FormField) []string {
	act := string(step.Needs())
	args := []string{"runs", act, run, step.Path}
	for _, field := range fields {
		if field.Required {
			args = append(args, "--form", field.Name+"=VALUE")
		}
	}
	if step.Needs() == runs.NeedSignal && len(fields) == 0 {
		args = append(args, "--payload", "JSON")
	}
	commands := []string{p.Command(args...)}
	if step.Needs() == runs.NeedApprove {
		commands = append(commands, p.Command("runs", "reject", run, step.Path))
	}
	for i := range commands {
		commands[i] = term.Clean(strings.TrimSpace(commands[i]))
	}
	return commands
}
