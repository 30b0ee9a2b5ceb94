package graph

import (
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/plan"
)

// Dot draws the workflow in Graphviz's language, loops and handlers as clusters.
func Dot(w *plan.Workflow) string {
	var out strings.Builder
	fmt.Fprintf(&out, "digraph %s {\n", quoteDot(w.Name))
	out.WriteString("  compound=true\n  node [shape=box style=rounded fontname=\"monospace\"]\n  graph [style=rounded fontname=\"monospace\"]\n")
	dotList(&out, w, w.Steps, "", "  ")
	for _, list := range handlers(w) {
		fmt.Fprintf(&out, "  subgraph %s {\n    label=%s\n", quoteDot("cluster_"+list.name), quoteDot(list.name))
		dotList(&out, w, list.steps, list.name+".", "    ")
		out.WriteString("  }\n")
	}
	out.WriteString("}\n")
	return out.String()
}

func dotList(out *strings.Builder, w *plan.Workflow, steps []plan.Step, path, indent string) {
	byID := map[string]*plan.Step{}
	for i := range steps {
		step := &steps[i]
		byID[step.ID] = step
		if step.Loop != nil {
			fmt.Fprintf(out, "%ssubgraph %s {\n%s  label=%s\n", indent, quoteDot("cluster_"+path+step.ID), indent, quoteDot(dotLabel(w, step)))
			dotList(out, w, step.Loop.Steps, path+step.ID+".", indent+"  ")
			fmt.Fprintf(out, "%s}\n", indent)
			continue
		}
		style := ""
		if len(conditions(step)) > 0 {
			style = " style=\"rounded,dashed\""
		}
		fmt.Fprintf(out, "%s%s [label=%s%s]\n", indent, quoteDot(path+step.ID), quoteDot(dotLabel(w, step)), style)
	}
	for i := range steps {
		for _, need := range steps[i].Needs {
			dotEdge(out, byID[need], &steps[i], path, indent, "")
		}
		for _, read := range steps[i].Reads {
			dotEdge(out, byID[read], &steps[i], path, indent, "style=dashed")
		}
	}
}

// dotEdge draws an arrow. Graphviz knows arrows between nodes only: one at a loop
// goes to a step inside and is cut off at the loop's border.
func dotEdge(out *strings.Builder, from, to *plan.Step, path, indent, attribute string) {
	if from == nil {
		return
	}
	var attributes []string
	if attribute != "" {
		attributes = append(attributes, attribute)
	}
	tail, head := path+from.ID, path+to.ID
	if from.Loop != nil {
		attributes = append(attributes, "ltail="+quoteDot("cluster_"+tail))
		tail = innerNode(from, tail, true)
	}
	if to.Loop != nil {
		attributes = append(attributes, "lhead="+quoteDot("cluster_"+head))
		head = innerNode(to, head, false)
	}
	line := fmt.Sprintf("%s%s -> %s", indent, quoteDot(tail), quoteDot(head))
	if len(attributes) > 0 {
		line += " [" + strings.Join(attributes, " ") + "]"
	}
	out.WriteString(line + "\n")
}

// innerNode is the first or last step inside of a loop that is no loop itself.
func innerNode(step *plan.Step, path string, last bool) string {
	for step.Loop != nil && len(step.Loop.Steps) > 0 {
		at := 0
		if last {
			at = len(step.Loop.Steps) - 1
		}
		step = &step.Loop.Steps[at]
		path += "." + step.ID
	}
	return path
}

func dotLabel(w *plan.Workflow, step *plan.Step) string {
	lines := []string{step.ID, describe(step)}
	if action := w.Actions[step.Uses]; action != nil && action.Plugin != "core" {
		lines[1] += " (" + string(action.Effect) + ")"
	}
	return strings.Join(append(lines, notes(step)...), "\n")
}

func quoteDot(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
