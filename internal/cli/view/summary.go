package view

import (
	"fmt"
	"io"
	"strconv"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Summary prints the counts of runs by workflow, and the runs that need somebody.
func (p Page) Summary(out io.Writer, summary *engine.RunsSummary) {
	table := Table{Head: []string{"WORKFLOW", "RUNS", "SUCCEEDED", "FAILED", "OTHERS", "NEED ATTENTION"}}
	alarm := func(n int) string {
		if n == 0 {
			return "0"
		}
		return p.Style.Red(strconv.Itoa(n))
	}
	line := func(name string, rows engine.RunCounts, attention int) {
		good, bad := rows[runs.RunSucceeded], rows[runs.RunFailed]+rows[runs.RunTimedOut]
		table.Add(term.Clean(name), strconv.Itoa(rows.Total()), strconv.Itoa(good), alarm(bad), strconv.Itoa(rows.Total()-good-bad), alarm(attention))
	}
	for _, one := range summary.Workflows {
		line(one.Workflow, one.Runs, one.Attention)
	}
	if len(summary.Workflows) > 1 {
		line("all", summary.Runs, summary.Attention)
	}
	table.Write(out)
	if len(summary.Needy) == 0 {
		return
	}
	fmt.Fprintln(out)
	p.Runs(out, summary.Needy)
	if rest := summary.Attention - len(summary.Needy); rest > 0 {
		fmt.Fprintf(out, "and %d more: flowrun runs list --attention\n", rest)
	}
}
