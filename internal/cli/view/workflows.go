package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// WorkflowItem is a workflow with the next fire of its schedules.
type WorkflowItem struct {
	engine.WorkflowInfo
	Next  *time.Time    `json:"next"`
	Shown []TriggerItem `json:"starts,omitempty"` // its triggers with what is known of each
}

// TriggerItem is a trigger with its next fire, or the address of its webhook.
type TriggerItem struct {
	trigger.Info
	Next   *time.Time `json:"next,omitempty"`
	Paused bool       `json:"paused,omitempty"`
	URL    string     `json:"url,omitempty"`
}

// Workflows prints workflows, one a line.
func (p Page) Workflows(out io.Writer, items []WorkflowItem) {
	list(out, []string{"WORKFLOW", "FILE", "STARTED BY", "NEXT", "LAST RUN"}, items, func(item WorkflowItem) []string {
		var kinds []string
		for _, t := range item.Triggers {
			kinds = append(kinds, t.Name+" ("+string(t.Kind)+")")
		}
		last := "-"
		if run := item.LastRun; run != nil {
			last = runStatusText(*run) + " " + p.Times.Short(run.StartedAt)
		}
		next := p.shortTime(item.Next, "-")
		switch {
		case item.Problems.HasErrors():
			next = p.Style.Red("broken: " + diag.Count(errorsIn(item.Problems), "error"))
		case item.Disabled != nil:
			next = p.Style.Yellow("disabled")
		}
		name := item.Name
		if name == "" {
			name = "-"
		}
		started := strings.Join(kinds, ", ")
		if started == "" {
			started = "hand"
		}
		return []string{term.Clean(name), term.Clean(item.File), term.Clean(started), next, term.Clean(last)}
	})
}

func errorsIn(list diag.List) int {
	n := 0
	for _, problem := range list {
		if problem.Severity == diag.Error {
			n++
		}
	}
	return n
}

// Workflow prints one workflow.
func (p Page) Workflow(out io.Writer, item WorkflowItem) {
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(out, "%s %s\n", p.Style.Dim(term.Pad(label, 10)), text)
		}
	}
	line("workflow", p.Style.Bold(term.Clean(item.Name)))
	line("file", term.Clean(item.File))
	line("about", term.Clean(item.Description))
	line("steps", fmt.Sprint(item.Steps))
	switch {
	case item.Disabled != nil:
		text := "disabled " + p.Times.Full(item.Disabled.At)
		if item.Disabled.By != "" {
			text += " by " + item.Disabled.By
		}
		if item.Disabled.Reason != "" {
			text += ": " + item.Disabled.Reason
		}
		line("state", p.Style.Yellow(term.Clean(text)))
	case item.Stale:
		line("state", p.Style.Red("its file is broken: the last good revision is in force"))
	case item.Problems.HasErrors():
		line("state", p.Style.Red("its file is broken"))
	default:
		line("state", "enabled")
	}
	line("next", p.shortTime(item.Next, ""))
	if run := item.LastRun; run != nil {
		line("last run", term.Clean(fmt.Sprintf("%s %s %s", run.ID, runStatusText(*run), p.Times.Full(run.StartedAt))))
	} else {
		line("last run", "none is stored")
	}
	for i, t := range item.Shown {
		label := ""
		if i == 0 {
			label = "started by"
		}
		line(label, term.Clean(p.triggerText(t)))
	}
	if len(item.Shown) == 0 {
		line("started by", "hand alone")
	}
}

// triggerText says in a line when a trigger fires.
func (p Page) triggerText(t TriggerItem) string {
	text := t.Name + ": " + t.Text
	if t.Kind == plan.TriggerWebhook {
		text = t.Name + ": POST " + t.URL
		if t.Secret != "" {
			text += ", secret " + t.Secret
		}
	}
	switch {
	case t.Paused:
		text += ", paused"
	case t.Next != nil:
		text += ", next " + p.Times.Full(*t.Next)
	}
	return text
}
