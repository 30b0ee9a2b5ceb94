// Package graph draws a checked workflow: as text for terminals and as Mermaid
// for documents. Edges that an author wrote (or that follow from the order in
// the file) are solid, those that follow from what a step reads are dashed.
package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/plan"
)

// Text draws the workflow with one line per step, loops and handlers indented.
// An arrow names what a step waits for: `<-` for order, `<~` for data.
func Text(w *plan.Workflow) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", w.Name)
	width := labelWidth(w.Steps, 0)
	writeList(&out, w.Steps, "", width)
	for _, list := range handlers(w) {
		fmt.Fprintf(&out, "%s\n", list.name)
		writeList(&out, list.steps, "", max(width, labelWidth(list.steps, 0)))
	}
	return out.String()
}

type handlerList struct {
	name  string
	steps []plan.Step
}

// handlers are the lists of steps that follow a run's end, where they have steps.
func handlers(w *plan.Workflow) []handlerList {
	lists := []handlerList{{"on_success", w.OnSuccess}, {"on_failure", w.OnFailure}, {"finally", w.Finally}}
	return slices.DeleteFunc(lists, func(list handlerList) bool { return len(list.steps) == 0 })
}

func writeList(out *strings.Builder, steps []plan.Step, indent string, width int) {
	for i := range steps {
		step := &steps[i]
		branch, below := "├─ ", "│  "
		if i == len(steps)-1 {
			branch, below = "└─ ", "   "
		}
		label := indent + branch + step.ID
		padding := max(width-len([]rune(label)), 0)
		line := label + strings.Repeat(" ", padding) + "  " + describe(step)
		if len(step.Needs) > 0 {
			line += "  <- " + strings.Join(step.Needs, ", ")
		}
		if len(step.Reads) > 0 {
			line += "  <~ " + strings.Join(step.Reads, ", ")
		}
		for _, condition := range conditions(step) {
			line += "  " + condition
		}
		out.WriteString(strings.TrimRight(line, " ") + "\n")
		if step.Loop != nil {
			writeList(out, step.Loop.Steps, indent+below, width)
		}
	}
}

func labelWidth(steps []plan.Step, depth int) int {
	width := 0
	for i := range steps {
		width = max(width, 3*(depth+1)+len([]rune(steps[i].ID)))
		if steps[i].Loop != nil {
			width = max(width, labelWidth(steps[i].Loop.Steps, depth+1))
		}
	}
	return width
}

func describe(step *plan.Step) string {
	switch step.Kind {
	case plan.StepAction:
		return step.Uses
	case plan.StepLoop:
		if step.Loop.Batch > 0 {
			return fmt.Sprintf("foreach %s of up to %d (at most %d at a time)", step.Loop.As, step.Loop.Batch, step.Loop.MaxParallel)
		}
		return fmt.Sprintf("foreach %s (at most %d at a time)", step.Loop.As, step.Loop.MaxParallel)
	default:
		return string(step.Kind)
	}
}

// conditions are those on which a step runs.
func conditions(step *plan.Step) []string {
	var lines []string
	if step.RunIf != "" && step.RunIf != plan.RunIfOK {
		lines = append(lines, "run_if "+string(step.RunIf))
	}
	if step.If != nil {
		lines = append(lines, "if "+oneLine(step.If.Source))
	}
	return lines
}

func oneLine(source string) string { return strings.Join(strings.Fields(source), " ") }
