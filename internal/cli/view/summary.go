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
	line := func(name string, rows engine.RunCounts, attention int) {
		good, bad := rows[runs.RunSucceeded], rows[runs.RunFailed]+rows[runs.RunTimedOut]
		table.Add(term.Clean(name), strconv.Itoa(rows.Total()), strconv.Itoa(good), strconv.Itoa(bad), strconv.Itoa(rows.Total()-good-bad), strconv.Itoa(attention))
	}
	for _, one := range summary.Workflows {
		line(one.Workflow, one.Runs, one.Attention)
	}
	if len(summary.Workflows) > 1 {
		line("all", summary.Runs, summary.Attention)
	}
	table.Paint = func(_, column int, cell string) string {
		if (column == 3 || column == 5) && cell != "0" && cell != table.Head[column] {
			return p.Style.Red(cell)
		}
		return cell
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
