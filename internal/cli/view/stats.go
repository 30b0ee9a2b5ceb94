package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/runstats"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Stats prints a summary of a workflow's runs.
func (p Page) Stats(out io.Writer, s *runstats.Stats) {
	line := func(name, value string) { p.fact(out, 9, name, value) }
	line("workflow", term.Clean(s.Workflow))
	line("runs", fmt.Sprint(s.Runs))
	var counts []string
	for _, status := range runs.Statuses() {
		if n := s.Statuses[status]; n > 0 {
			counts = append(counts, paintRun(p.Style, status, fmt.Sprintf("%d %s", n, status)))
		}
	}
	line("status", strings.Join(counts, ", "))
	if s.Since != nil {
		line("since", p.Times.Full(*s.Since))
	}
	if s.P50MS != nil {
		line("took", fmt.Sprintf("p50 %s, p95 %s", brief(*s.P50MS), brief(*s.P95MS)))
	}
	line("each", p.sparkline(s.Ended))
	if len(s.Failures) == 0 {
		return
	}
	fmt.Fprintln(out)
	table := Table{Head: []string{"", "STEP", "KIND", "RUNS", "NEWEST"}}
	for _, f := range s.Failures {
		step := term.Clean(f.Step)
		if step == "" {
			step = "(the run)"
		}
		table.Add(p.Style.Red("✗"), step, string(f.Kind), fmt.Sprint(f.Count), f.Last)
	}
	p.fitted(out, &table, table.width())
}

func brief(ms int64) string { return duration.Brief(time.Duration(ms) * time.Millisecond) }

// sparkWidth is how many runs a line of blocks has at most.
const sparkWidth = 60

// sparkline is a block for each run, the newest last, as high as it took long; one that did
// not succeed is a cross.
func (p Page) sparkline(ended []runstats.Ended) string {
	room := sparkWidth
	if p.Width > 0 {
		room = max(min(room, p.Width-11), 1)
	}
	left := max(len(ended)-room, 0)
	longest := int64(1)
	for _, run := range ended[left:] {
		if run.Status == runs.RunSucceeded {
			longest = max(longest, run.DurationMS)
		}
	}
	blocks := []rune("▁▂▃▄▅▆▇█")
	var text strings.Builder
	for _, run := range ended[left:] {
		if run.Status != runs.RunSucceeded {
			text.WriteString(paintRun(p.Style, run.Status, "✗"))
			continue
		}
		text.WriteString(p.Style.Green(string(blocks[run.DurationMS*int64(len(blocks)-1)/longest])))
	}
	if left > 0 && p.Width <= 0 {
		return text.String() + " (the newest of " + diag.Count(len(ended), "run") + ")"
	}
	return text.String()
}
