package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

// logMarks is what a log does not say by itself: which attempts and steps failed.
type logMarks struct {
	lines  []runs.Log      // in the order of their times; none but for text
	failed map[string]bool // with --failed: the paths of the steps that failed
}

// logMarks reads them. The journal is read of a run alone in which an attempt failed.
func (a *app) logMarks(ctx context.Context, c *web.Client, id string, flags *logFlags) (told logMarks, err error) {
	if a.output != "text" && !flags.failed {
		return told, nil
	}
	steps, err := c.StepsInShort(ctx, id)
	if err != nil {
		return told, err
	}
	again := false
	for i := range steps {
		step := &steps[i]
		again = again || step.Attempts > 1 || step.Status == runs.StepRetrying
		if flags.failed && (step.Status == runs.StepFailed || step.Status == runs.StepUnknown) {
			if told.failed == nil {
				told.failed = map[string]bool{}
			}
			told.failed[step.Path] = true
		}
		if mark, ok := a.page(a.sys.Stdout).FailMark(step); ok {
			told.lines = append(told.lines, mark)
		}
	}
	if again {
		if err := eachEvent(ctx, c, id, 1, func(record *workspace.Event) { told.retry(a.page(a.sys.Stdout), record) }); err != nil {
			return told, err
		}
	}
	slices.SortStableFunc(told.lines, func(x, y runs.Log) int { return x.At.Compare(y.At) })
	filter := flags.filter()
	told.lines = slices.DeleteFunc(told.lines, func(line runs.Log) bool {
		return a.output != "text" || !told.takes(flags, &line) || !filter.Selects(&line)
	})
	return told, nil
}

// takes reports whether a line is of a step that failed, where only those are asked for.
func (m *logMarks) takes(flags *logFlags, line *runs.Log) bool {
	return !flags.failed || m.failed[line.Step]
}

// retry adds what a record tells of an attempt that failed and is followed by another one.
func (m *logMarks) retry(p view.Page, record *workspace.Event) {
	event := record.Event
	if event.Failed == nil {
		return
	}
	for i := range record.Commands {
		command := &record.Commands[i]
		if command.Timer != nil && command.Timer.Reason == string(runs.WaitRetry) && runs.OperationOf(command.Path) == event.Path {
			failed := *event.Failed
			failed.Step = runs.StepOf(event.Path)
			m.lines = append(m.lines, p.RetryMark(event.At, &failed, command.Timer.At))
		}
	}
}

// eachLogWith hands over the lines of a run with the marks among them, in the order of
// their times.
func eachLogWith(ctx context.Context, c *web.Client, id string, flags *logFlags, told logMarks, take func([]runs.Log) error) error {
	asked, left := flags.LogsAsked, told.lines
	if flags.failed {
		asked.Tail = 0 // of the lines that are left
	}
	var kept []runs.Log
	give := func(lines []runs.Log) error {
		if flags.Tail > 0 {
			kept = append(kept, lines...)
			kept = kept[max(len(kept)-flags.Tail, 0):]
			return nil
		}
		return take(lines)
	}
	first := true
	err := c.EachLog(ctx, id, asked, func(lines []runs.Log) error {
		if asked.Tail > 0 && first && len(lines) == asked.Tail { // what is older is left out
			left = slices.DeleteFunc(slices.Clone(left), func(mark runs.Log) bool { return mark.At.Before(lines[0].At) })
		}
		first = false
		merged := make([]runs.Log, 0, len(lines))
		for i := range lines {
			for len(left) > 0 && left[0].At.Before(lines[i].At) {
				merged, left = append(merged, left[0]), left[1:]
			}
			if told.takes(flags, &lines[i]) {
				merged = append(merged, lines[i])
			}
		}
		return give(merged)
	})
	if err = cmp.Or(err, give(left)); err != nil || flags.Tail == 0 {
		return err
	}
	return take(kept)
}

// eachEvent hands over the records of a run page by page.
func eachEvent(ctx context.Context, c *web.Client, id string, from uint64, take func(*workspace.Event)) error {
	for {
		page, err := c.Events(ctx, id, from, eventsPage)
		if err != nil {
			return err
		}
		for i := range page.Items {
			take(&page.Items[i])
		}
		if page.NextCursor == nil {
			return nil
		}
		if from, err = eventsCursor(*page.NextCursor); err != nil {
			return err
		}
	}
}
