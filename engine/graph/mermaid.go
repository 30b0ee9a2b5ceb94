package graph

import (
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/plan"
)

// Mermaid draws the workflow as a Mermaid flowchart, loops and handlers as
// subgraphs.
func Mermaid(w *plan.Workflow) string {
	var out strings.Builder
	out.WriteString("flowchart TD\n")
	mermaidList(&out, w.Steps, "s", "  ")
	for _, list := range handlers(w) {
		fmt.Fprintf(&out, "  subgraph %s\n", list.name)
		mermaidList(&out, list.steps, list.name, "    ")
		out.WriteString("  end\n")
	}
	return out.String()
}

// mermaidList writes one list of steps; prefix keeps node names of different
// lists apart.
func mermaidList(out *strings.Builder, steps []plan.Step, prefix, indent string) {
	node := func(id string) string { return prefix + "_" + id }
	for i := range steps {
		step := &steps[i]
		if step.Loop != nil {
			fmt.Fprintf(out, "%ssubgraph %s[\"%s\"]\n", indent, node(step.ID), escape(label(step)))
			mermaidList(out, step.Loop.Steps, node(step.ID), indent+"  ")
			fmt.Fprintf(out, "%send\n", indent)
		} else {
			shapeOpen, shapeClose := "[", "]"
			if step.If != nil {
				shapeOpen, shapeClose = "{{", "}}"
			}
			fmt.Fprintf(out, "%s%s%s\"%s\"%s\n", indent, node(step.ID), shapeOpen, escape(label(step)), shapeClose)
		}
	}
	for i := range steps {
		step := &steps[i]
		for _, need := range step.Needs {
			fmt.Fprintf(out, "%s%s --> %s\n", indent, node(need), node(step.ID))
		}
		for _, read := range step.Reads {
			fmt.Fprintf(out, "%s%s -.-> %s\n", indent, node(read), node(step.ID))
		}
	}
}

func label(step *plan.Step) string {
	return strings.Join(append([]string{step.ID, describe(step)}, conditions(step)...), "<br/>")
}

// escape keeps a label inside its quotes; Mermaid knows HTML entities.
func escape(text string) string {
	return strings.NewReplacer(`"`, "#quot;", "&", "#amp;", "<br/>", "<br/>", "<", "#lt;", ">", "#gt;").Replace(text)
}
