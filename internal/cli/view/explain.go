package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Function prints what a function of expressions does.
func (p Page) Function(out io.Writer, function workspace.FunctionDoc) {
	fmt.Fprintf(out, "%s\n\n%s\n", p.Style.Bold(function.Signature), strings.Join(wrap(function.Doc, p.textWidth()), "\n"))
	if function.Example != "" {
		fmt.Fprintf(out, "\n%s\n  ${{ %s }}\n", p.Style.Dim("example"), function.Example)
	}
}

// Action prints all that is known of an action, with a step to paste.
func (p Page) Action(out io.Writer, action *plan.Action, doc workspace.ActionDoc) {
	what := p.effect(action.Effect)
	if action.Plugin == "core" {
		what = p.Style.Dim("the engine's own")
	}
	fmt.Fprintf(out, "%s  %s\n", p.Style.Bold(action.FullName()), what)
	if action.Deprecated != "" {
		fmt.Fprintf(out, "%s %s\n", p.Style.Yellow("deprecated:"), term.Clean(action.Deprecated))
	}
	if action.Doc != "" {
		fmt.Fprintf(out, "\n%s\n", strings.Join(wrap(term.CleanText(action.Doc), p.textWidth()), "\n"))
	}
	p.fields(out, "inputs", doc.Inputs, true)
	p.fields(out, "outputs", doc.Outputs, false)
	p.rules(out, action)
	p.faults(out, action.Faults)
	fmt.Fprintf(out, "\n%s\n%s\n", p.Style.Dim("example"), strings.TrimRight(term.CleanText(doc.Example), "\n"))
}

func (p Page) effect(effect plan.Effect) string {
	switch effect {
	case plan.EffectRead:
		return p.Style.Dim("reads: may be repeated and cached")
	case plan.EffectIdempotent:
		return p.Style.Yellow("writes, idempotent: may be repeated")
	case plan.EffectKeyed:
		return p.Style.Yellow("writes, keyed: may be repeated with the same key")
	}
	return p.Style.Red("writes, once: is not repeated when its outcome is unknown")
}

func (p Page) fields(out io.Writer, title string, fields []workspace.FieldDoc, inputs bool) {
	fmt.Fprintf(out, "\n%s\n", p.Style.Dim(title))
	if len(fields) == 0 {
		fmt.Fprintln(out, "  none")
		return
	}
	names, types := 0, 0
	for _, field := range fields {
		names, types = max(names, term.Width(fieldName(field, inputs))), max(types, term.Width(field.Type))
	}
	for _, field := range fields {
		var about []string
		if inputs && field.Default != "" {
			about = append(about, "default "+field.Default)
		}
		if field.Values != "" {
			about = append(about, field.Values)
		}
		if field.Doc != "" {
			about = append(about, strings.Join(strings.Fields(field.Doc), " "))
		}
		line := "  " + term.Pad(term.Clean(fieldName(field, inputs)), names+2) + term.Pad(term.Clean(field.Type), types+2)
		p.hanging(out, line, term.Clean(strings.Join(about, "; ")))
	}
}

// hanging prints a text behind a line, wrapped below its own start.
func (p Page) hanging(out io.Writer, line, text string) {
	indent := term.Width(line)
	for i, part := range wrap(text, max(p.textWidth()-indent, 30)) {
		if i > 0 {
			line = strings.Repeat(" ", indent)
		}
		fmt.Fprintln(out, strings.TrimRight(line+part, " "))
	}
}

// fieldName marks what must be given with `!`, as `plugins actions` does.
func fieldName(field workspace.FieldDoc, inputs bool) string {
	if inputs && field.Required {
		return field.Name + "!"
	}
	return field.Name
}

// rules are the limits that the engine keeps for the action.
func (p Page) rules(out io.Writer, action *plan.Action) {
	var lines [][2]string
	for _, limit := range action.Limiters {
		text := fmt.Sprintf("%d calls in %s", limit.Requests, shortDuration(limit.Window))
		if limit.Requests == 0 {
			text = "no rate"
		}
		if limit.MaxConcurrent > 0 {
			text += fmt.Sprintf(", %d at a time", limit.MaxConcurrent)
		}
		lines = append(lines, [2]string{"limit", text + " (" + limit.Name + ")"})
	}
	if action.Paging != nil {
		lines = append(lines, [2]string{"paging", "one call is one page; `paginate` reads on"})
	}
	if action.Range != nil {
		lines = append(lines, [2]string{"range", fmt.Sprintf("%s to %s at most %s; with `paginate` a longer one is cut",
			action.Range.FromField, action.Range.ToField, shortDuration(action.Range.Max))})
	}
	if action.Incremental {
		lines = append(lines, [2]string{"cursor", "`incremental` reads only what is new"})
	}
	if action.DefaultTimeout > 0 {
		lines = append(lines, [2]string{"timeout", shortDuration(action.DefaultTimeout)})
	}
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\n", p.Style.Dim("rules"))
	for _, line := range lines {
		fmt.Fprintf(out, "  %s%s\n", term.Pad(line[0], 9), term.Clean(line[1]))
	}
}

func (p Page) faults(out io.Writer, faults []plan.Fault) {
	if len(faults) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\n", p.Style.Dim("faults"))
	width := 0
	name := func(fault plan.Fault) string {
		if fault.Reason != "" {
			return string(fault.Kind) + "/" + fault.Reason
		}
		return string(fault.Kind)
	}
	for _, fault := range faults {
		width = max(width, term.Width(name(fault)))
	}
	for _, fault := range faults {
		p.hanging(out, "  "+term.Pad(term.Clean(name(fault)), width+2), term.Clean(fault.Doc))
	}
}

// shortDuration says a duration in whole days where it has them.
func shortDuration(d time.Duration) string {
	if day := 24 * time.Hour; d >= day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return duration.Text(d)
}

func (p Page) textWidth() int {
	if p.Width > 0 {
		return min(p.Width, 110)
	}
	return 100
}

// wrap breaks a text into lines at blanks. Line breaks of the text stay.
func wrap(text string, width int) []string {
	var lines []string
	for _, paragraph := range strings.Split(text, "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			if line != "" && term.Width(line)+1+term.Width(word) > width {
				lines = append(lines, line)
				line = ""
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
		lines = append(lines, line)
	}
	return lines
}
