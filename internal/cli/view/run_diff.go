package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/rundiff"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// RunDiff prints how two runs differ: inputs, plan, steps with their times, outputs.
func (p Page) RunDiff(out io.Writer, d *rundiff.Diff) {
	p.diffHead(out, "a", d.A)
	p.diffHead(out, "b", d.B)
	p.diffValues(out, "inputs", d.Inputs)
	p.diffPlan(out, d)
	p.diffSteps(out, d)
	p.diffValues(out, "outputs", d.Outputs)
}

func (p Page) diffHead(out io.Writer, side string, run runs.Run) {
	fmt.Fprintf(out, "%s  %s\n", p.Style.Bold(side), run.ID)
	facts := []string{term.Clean(run.Workflow), paintRun(p.Style, run.Status, runStatusText(run))}
	if run.FinishedAt != nil {
		facts = append(facts, "took "+duration.Brief(time.Duration(run.DurationMS)*time.Millisecond))
	}
	fmt.Fprintf(out, "   %s\n   started %s\n", strings.Join(facts, ", "), p.Times.Full(run.StartedAt))
	if run.Error != nil {
		fmt.Fprintf(out, "   %s\n", p.Style.Red(term.Truncate(term.Clean(errorLine(run.Error)), p.outputRoom()-1)))
	}
}

func (p Page) diffTitle(out io.Writer, name, says string) {
	fmt.Fprintf(out, "\n%s %s\n", p.Style.Bold(name+":"), says)
}

func (p Page) diffValues(out io.Writer, name string, values []rundiff.Value) {
	if len(values) == 0 {
		p.diffTitle(out, name, "the same")
		return
	}
	verb := "differ"
	if len(values) == 1 {
		verb = "differs"
	}
	p.diffTitle(out, name, fmt.Sprintf("%d %s", len(values), verb))
	for _, value := range values {
		before, after := valueLines(value.A), valueLines(value.B)
		if len(before) > 1 || len(after) > 1 {
			fmt.Fprintf(out, "%s\n", p.Style.Bold(term.Clean(value.Name)))
			p.hunks(out, diff(before, after))
			continue
		}
		for _, line := range before {
			fmt.Fprintln(out, p.Style.Red("- "+term.Clean(value.Name)+": "+line))
		}
		for _, line := range after {
			fmt.Fprintln(out, p.Style.Green("+ "+term.Clean(value.Name)+": "+line))
		}
	}
}

// valueLines are the lines of a value as people read it, none for one that is not there.
func valueLines(raw json.RawMessage) []string {
	if len(raw) == 0 {
		return nil
	}
	text := rawText(raw)
	if raw[0] == '{' || raw[0] == '[' {
		var pretty bytes.Buffer
		if json.Indent(&pretty, raw, "", "  ") == nil {
			text = pretty.String()
		}
	}
	return strings.Split(term.CleanText(strings.TrimRight(text, "\n")), "\n")
}

func (p Page) diffPlan(out io.Writer, d *rundiff.Diff) {
	switch {
	case d.Plan.Same && d.Plan.Sources == nil:
		p.diffTitle(out, "plan", "the same")
		return
	case d.Plan.Same:
		p.diffTitle(out, "plan", "the same, of another text")
	default:
		p.diffTitle(out, "plan", "differs")
	}
	for _, step := range d.Plan.Steps {
		fmt.Fprintf(out, "step %s: %s\n", term.Clean(step.Path), step.Change)
	}
	for _, plugin := range d.Plan.Plugins {
		fmt.Fprintf(out, "plugin %s: %s → %s\n", term.Clean(plugin.Plugin), pinText(plugin.A), pinText(plugin.B))
	}
	if sources := d.Plan.Sources; sources != nil {
		p.hunks(out, diff(lines([]byte(term.CleanText(sources.A))), lines([]byte(term.CleanText(sources.B)))))
	}
}

// digestLetters are enough of a digest to tell two revisions apart.
const digestLetters = 12

func pinText(pin *plan.PluginPin) string {
	if pin == nil {
		return "not used"
	}
	return strings.TrimSpace(term.Clean(pin.Version) + " (" + pin.Digest[:min(digestLetters, len(pin.Digest))] + ")")
}

func (p Page) diffSteps(out io.Writer, d *rundiff.Diff) {
	says := "end alike"
	if d.StepsDiffer > 0 {
		says = diag.Count(d.StepsDiffer, "step") + " of " + fmt.Sprint(len(d.Steps)+d.StepsLeft) + " ended otherwise"
	}
	p.diffTitle(out, "steps", says)
	table := Table{Head: []string{"", "STEP", "STATUS", "TOOK", "OUTPUTS"}}
	left := d.StepsLeft
	for i := range d.Steps {
		pair := &d.Steps[i]
		if !pair.Differs && !isTop(pair.Path) {
			left++
			continue
		}
		table.Add(p.pairRow(pair)...)
	}
	wide := table
	wide.Rows = append(slices.Clone(table.Rows), []string{"", "", "", widestTook, ""})
	p.fitted(out, &table, wide.width())
	if left > 0 {
		fmt.Fprintf(out, "… %s more\n", diag.Count(left, "step"))
	}
}

// widestTook is what room a pair of usual times takes: a millisecond more or less does not
// change how steps are laid out.
const widestTook = "999ms → 999ms"

func (p Page) pairRow(pair *rundiff.StepPair) []string {
	sign := " "
	if pair.Differs {
		sign = p.Style.Yellow("≠")
	}
	return []string{sign, term.Clean(pair.Path), arrow(sideStatus(pair.A), sideStatus(pair.B)), arrow(sideTook(pair.A), sideTook(pair.B)), pair.Outputs}
}

// arrow is a text that became another one, or stayed.
func arrow(a, b string) string {
	if a == b {
		return a
	}
	return a + " → " + b
}

func sideStatus(side *rundiff.StepSide) string {
	if side == nil {
		return "none"
	}
	return string(side.Status)
}

func sideTook(side *rundiff.StepSide) string {
	switch {
	case side != nil && side.TakenFrom != "":
		return "taken over"
	case side == nil || side.DurationMS == nil:
		return "-"
	}
	return duration.Brief(time.Duration(*side.DurationMS) * time.Millisecond)
}

// fitted prints a table, or where the terminal is too narrow for one so wide each row over
// several lines, so that nothing is cut: what the first cells say, and below it the others.
func (p Page) fitted(out io.Writer, table *Table, width int) {
	if p.Width <= 0 || width <= p.Width {
		table.Write(out)
		return
	}
	for _, row := range table.Rows {
		fmt.Fprintln(out, strings.TrimRight(row[0]+" "+row[1], " "))
		for i, cell := range row[2:] {
			if cell != "" {
				p.below(out, p.fittedCell(strings.ToLower(table.Head[i+2]), cell))
			}
		}
	}
}

// fittedCell is a cell behind its name, over several lines where it is too long.
func (p Page) fittedCell(name, cell string) []string {
	room := p.Width - 1 - runIndent
	if term.Width(name+" "+cell) <= room || strings.Contains(cell, "\x1b") {
		return []string{p.Style.Dim(name) + " " + cell}
	}
	lines := term.WrapWords(name+" "+cell, max(room, 1))
	if behind, ok := strings.CutPrefix(lines[0], name); ok {
		lines[0] = p.Style.Dim(name) + behind
	}
	return lines
}

// leastCell is how much of a last cell is shown at least, where it is cut.
const leastCell = 30

// fitDetails cuts the last column of a table to what room the others leave in the terminal,
// where that is enough.
func (p Page) fitDetails(table *Table) {
	widths := widthsOf(append([][]string{table.Head}, table.Rows...))
	last := len(widths) - 1
	room := p.Width - 1 - (table.width() - widths[last])
	if p.Width <= 0 || room < leastCell {
		return
	}
	for _, row := range table.Rows {
		row[last] = term.Truncate(row[last], room)
	}
}
