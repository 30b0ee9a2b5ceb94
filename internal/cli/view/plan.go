package view

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/preview"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Plan prints what a run would do.
func (p Page) Plan(out io.Writer, result *preview.Preview) {
	fmt.Fprintf(out, "%s  %s\n", p.Style.Bold(term.Clean(result.Workflow.Name)), p.Style.Dim(term.Clean(result.Workflow.File)))
	if result.Workflow.Description != "" {
		fmt.Fprintln(out, strings.Join(wrap(term.Clean(result.Workflow.Description), p.textWidth()), "\n"))
	}
	p.planInputs(out, result.Inputs)
	p.section(out, "order", planRows("", result.Steps, 0))
	for _, list := range []struct {
		name  string
		steps []preview.Step
	}{{"on_success", result.OnSuccess}, {"on_failure", result.OnFailure}, {"finally", result.Finally}} {
		p.section(out, list.name, planRows("", list.steps, 0))
	}
	p.section(out, "known values", knownRows("", result.Steps))
	p.planWrites(out, result)
	p.planUses(out, result)
	p.planEstimate(out, result.Estimate)
}

// section prints rows in columns below a title; none without rows.
func (p Page) section(out io.Writer, title string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\n", p.Style.Dim(title))
	table := Table{Indent: "  "}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = term.Clean(cell)
		}
		table.Add(cells...)
	}
	table.Write(out)
}

func (p Page) planInputs(out io.Writer, inputs []preview.Input) {
	var rows [][]string
	for _, input := range inputs {
		value, from := term.Truncate(string(input.Value), 60), "default"
		switch {
		case input.Missing:
			value, from = "?", "not given: -i "+input.Name+"=VALUE"
		case input.Given:
			from = "given"
		}
		rows = append(rows, []string{input.Name, value, from})
	}
	p.section(out, "inputs", rows)
}

// planRows lists steps with their level, loops with theirs below.
func planRows(indent string, steps []preview.Step, depth int) [][]string {
	var rows [][]string
	for _, step := range steps {
		level := ""
		if depth == 0 {
			level = strconv.Itoa(step.Level)
		}
		rows = append(rows, []string{level, indent + step.ID, stepWork(step), string(step.Effect), planNotes(step)})
		rows = append(rows, planRows(indent+"  ", step.Steps, depth+1)...)
	}
	return rows
}

func stepWork(step preview.Step) string {
	switch {
	case step.Kind == plan.StepLoop && step.Items != nil:
		return "foreach: " + diag.Count(*step.Items, "item")
	case step.Kind == plan.StepLoop:
		return "foreach"
	case step.Uses != "":
		return step.Uses
	}
	return string(step.Kind)
}

func planNotes(step preview.Step) string {
	var notes []string
	if before := append(append([]string{}, step.After...), step.Reads...); len(before) > 0 {
		notes = append(notes, "after "+strings.Join(before, ", "))
	}
	if step.RunIf != "" {
		notes = append(notes, "run_if "+string(step.RunIf))
	}
	if step.If != "" {
		text := "if " + term.Truncate(strings.Join(strings.Fields(step.If), " "), 60)
		if step.IfValue != nil {
			text += fmt.Sprintf(" (%t)", *step.IfValue)
		}
		notes = append(notes, text)
	}
	if step.Windows > 0 {
		notes = append(notes, diag.Count(step.Windows, "window"))
	}
	if step.Cache != "" {
		notes = append(notes, "cached "+step.Cache)
	}
	if step.Calls != nil && (step.Calls.Max == nil || *step.Calls.Max > 0) {
		notes = append(notes, callsText(*step.Calls))
	}
	return strings.Join(notes, "; ")
}

// callsText says "1 call", "1 to 20 calls" or "at least 1 call".
func callsText(calls preview.Calls) string {
	switch {
	case calls.Max == nil && calls.Min == 0:
		return "any number of calls"
	case calls.Max == nil:
		return "at least " + diag.Count(calls.Min, "call")
	case *calls.Max == calls.Min:
		return diag.Count(calls.Min, "call")
	}
	return fmt.Sprintf("%d to %s", calls.Min, diag.Count(*calls.Max, "call"))
}

// knownRows lists the values that are known before the run.
func knownRows(prefix string, steps []preview.Step) [][]string {
	var rows [][]string
	for _, step := range steps {
		values := step.With
		if values == nil {
			values = step.Values
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(values, &fields) == nil {
			for _, name := range objectKeys(values) {
				if value := string(fields[name]); !strings.Contains(value, "${{") {
					rows = append(rows, []string{prefix + step.ID + "." + name, term.Truncate(value, 70)})
				}
			}
		}
		rows = append(rows, knownRows(prefix+step.ID+".", step.Steps)...)
	}
	return rows
}

func (p Page) planWrites(out io.Writer, result *preview.Preview) {
	rows := [][]string{{"nothing: no step changes anything at a service"}}
	if len(result.Writes) > 0 {
		rows = nil
	}
	for _, write := range result.Writes {
		rows = append(rows, []string{write.Step, write.Action, string(write.Effect), write.Connection})
	}
	p.section(out, "writes", rows)
	rows = nil
	for _, delivery := range result.Deliveries {
		rows = append(rows, []string{delivery.Output, delivery.To, delivery.Action, string(delivery.Effect), delivery.Connection})
	}
	p.section(out, "delivered when it has succeeded", rows)
}

func (p Page) planUses(out io.Writer, result *preview.Preview) {
	var rows [][]string
	for _, connection := range result.Connections {
		about := connection.Rate
		if len(connection.Secrets) > 0 {
			about = strings.TrimPrefix(about+"; secrets "+strings.Join(connection.Secrets, ", "), "; ")
		}
		if connection.TokenFrom != "" {
			about = strings.TrimPrefix(about+"; token from "+connection.TokenFrom, "; ")
		}
		if connection.Error != "" {
			about = "error: " + firstLine(connection.Error)
		}
		rows = append(rows, []string{connection.Name, connection.Plugin, connection.URL, about})
	}
	p.section(out, "connections", rows)
	rows = nil
	for _, plugin := range result.Plugins {
		rows = append(rows, []string{plugin.Name, plugin.Version})
	}
	p.section(out, "plugins", rows)
	for _, list := range []struct {
		title string
		names []string
	}{{"secrets", result.Secrets}, {"hosts", result.Hosts}} {
		if len(list.names) > 0 {
			p.section(out, list.title, [][]string{{strings.Join(list.names, ", ")}})
		}
	}
	rows = nil
	for _, cursor := range result.Cursors {
		position := "nothing was read yet: all of it"
		switch {
		case cursor.Positions == nil:
			position = "not known: the store was not asked"
		case len(cursor.Positions) > 0:
			position = "after " + term.Truncate(strings.Join(cursor.Positions, ", "), 70)
		}
		rows = append(rows, []string{cursor.Name, cursor.Step, position})
	}
	p.section(out, "cursors", rows)
}

func (p Page) planEstimate(out io.Writer, estimate preview.Estimate) {
	rows := [][]string{{"all", callsText(estimate.Calls), minutesText(estimate.Minutes)}}
	for _, limit := range estimate.Limits {
		rows = append(rows, []string{strings.Join(limit.Connections, ", "), callsText(limit.Calls), minutesText(limit.Minutes) + " at " + limit.Rate})
	}
	p.section(out, "estimate, without repeated attempts", rows)
}

// minutesText is how long the rate limits alone hold the calls up.
func minutesText(m preview.Minutes) string {
	number := func(minutes float64) string { return strconv.FormatFloat(minutes, 'f', -1, 64) }
	switch {
	case m.Max == nil && m.Min == 0:
		return "waiting not bounded"
	case m.Max == nil:
		return "at least " + number(m.Min) + " min of waiting"
	case *m.Max == 0:
		return "no waiting"
	case *m.Max == m.Min:
		return number(m.Min) + " min of waiting"
	}
	return number(m.Min) + " to " + number(*m.Max) + " min of waiting"
}

// IndentedJSON prints a value with one member a line, so that two of them can be
// compared line by line.
func IndentedJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
