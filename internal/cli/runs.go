package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

// listFlags are the flags of runs list.
type listFlags struct {
	workflow, status, since, cursor, output string
	labels                                  []string
	limit                                   int
}

func (a *app) runsCommand() *cobra.Command {
	list := a.runsListCommand()
	c := &cobra.Command{
		Use: "runs", Short: "List, look at and act on runs", Example: "  flowrun runs\n  flowrun runs show RUN\n  flowrun runs resume RUN",
		PreRunE: list.PreRunE, RunE: list.RunE,
	}
	c.Flags().AddFlagSet(list.Flags())
	group(c)
	c.AddCommand(
		list, a.runsShowCommand(), a.runsWatchCommand(), a.runsLogsCommand(), a.runsEventsCommand(),
		a.runsCancelCommand(), a.runsResumeCommand(), a.runsRerunCommand(),
	)
	for _, sub := range c.Commands() {
		a.sandboxFlag(sub, "use the sandbox's store")
	}
	a.sandboxFlag(c, "use the sandbox's store")
	return c
}

func (a *app) runsListCommand() *cobra.Command {
	flags := new(listFlags)
	c := &cobra.Command{
		Use: "list", Short: "List runs, the newest first", Args: exactArgs(),
		Example: "  flowrun runs list --status failed --since 24h\n  flowrun runs list --label team=web -o json",
		RunE:    func(c *cobra.Command, _ []string) error { return a.runsList(c.Context(), flags) },
	}
	c.Flags().StringVar(&flags.workflow, "workflow", "", "only runs of this workflow")
	c.Flags().StringVar(&flags.status, "status", "", "only runs of this status")
	c.Flags().StringArrayVar(&flags.labels, "label", nil, "only runs with this label NAME=VALUE (repeatable)")
	c.Flags().StringVar(&flags.since, "since", "", "only runs that started since: 24h, 7d, or an RFC 3339 time")
	c.Flags().IntVar(&flags.limit, "limit", 50, "at most so many")
	c.Flags().StringVar(&flags.cursor, "cursor", "", "go on where next_cursor of the page before said")
	outputFlag(c, &flags.output, "text", "json")
	return c
}

var runStatuses = []string{
	string(plan.RunQueued), string(plan.RunRunning), string(plan.RunWaiting), string(plan.RunPaused), string(plan.RunSucceeded),
	string(plan.RunFailed), string(plan.RunCanceled), string(plan.RunTimedOut),
}

func (a *app) filter(flags *listFlags) (engine.RunFilter, error) {
	filter := engine.RunFilter{
		Workflow: flags.workflow, Status: plan.RunStatus(flags.status), Limit: flags.limit, Cursor: flags.cursor, Labels: map[string]string{},
	}
	if flags.status != "" && !strings.Contains(" "+strings.Join(runStatuses, " ")+" ", " "+flags.status+" ") {
		hint := diag.DidYouMean(flags.status, runStatuses)
		if hint == "" {
			hint = "one of: " + strings.Join(runStatuses, ", ")
		}
		return filter, usageError(fmt.Errorf("--status: there is no status %q", flags.status), hint)
	}
	if flags.limit < 1 || flags.limit > 1000 {
		return filter, usageError(fmt.Errorf("--limit takes 1 to 1000, not %d", flags.limit), "")
	}
	for _, label := range flags.labels {
		name, value, found := strings.Cut(label, "=")
		if !found || name == "" {
			return filter, usageError(fmt.Errorf("--label %s is not NAME=VALUE", quoteWord(label)), "")
		}
		filter.Labels[name] = value
	}
	if flags.since == "" {
		return filter, nil
	}
	if at, err := time.Parse(time.RFC3339, flags.since); err == nil {
		filter.Since = at
		return filter, nil
	}
	ago, err := plan.ParseDuration(flags.since)
	if err != nil {
		return filter, usageError(fmt.Errorf("--since %q is neither a duration nor an RFC 3339 time", flags.since), "such as 24h, 7d or 2026-03-01T09:00:00Z")
	}
	filter.Since = a.sys.Now().Add(-ago)
	return filter, nil
}

func (a *app) runsList(ctx context.Context, flags *listFlags) error {
	filter, err := a.filter(flags)
	if err != nil {
		return err
	}
	return a.look(ctx, func(c *web.Client) error {
		page, err := c.Runs(ctx, filter)
		if err != nil {
			return err
		}
		if flags.output == "json" {
			return view.JSON(a.sys.Stdout, page)
		}
		if len(page.Items) == 0 {
			a.note("no runs")
			return nil
		}
		a.page(a.sys.Stdout).Runs(a.sys.Stdout, page.Items)
		if page.NextCursor != nil {
			a.page(a.sys.Stderr).Next(a.sys.Stderr, "more:", "runs", "list", "--cursor", *page.NextCursor)
		}
		return nil
	})
}

// look asks the owner, or the store when nobody owns it, and goes.
func (a *app) look(ctx context.Context, ask func(*web.Client) error) error {
	session, err := a.connect(ctx, roleLook)
	if err != nil {
		return err
	}
	err = session.tryAnyway(ctx, ask)
	return errors.Join(err, session.close(nil))
}

// runArg checks a run id before it goes anywhere.
func runArg(id string) error {
	if !web.ValidID(id) {
		return notFoundError(fmt.Errorf("there is no run %q", id), "run ids look like 01j8zq4c0vdx3y6t7k9m2n5p8r; `flowrun runs` lists them")
	}
	return nil
}

func (a *app) runsShowCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "show RUN [STEP]", Short: "Show a run, or one of its steps, its error first", Args: rangeArgs(1, "RUN", "STEP"),
		Example: "  flowrun runs show RUN\n  flowrun runs show RUN 'domains[example.com].whois'",
		RunE: func(c *cobra.Command, args []string) error {
			return a.runsShow(c.Context(), args[0], strings.Join(args[1:], ""), output)
		},
	}
	outputFlag(c, &output, "text", "json")
	return c
}

func (a *app) runsShow(ctx context.Context, id, step, output string) error {
	if err := runArg(id); err != nil {
		return err
	}
	return a.look(ctx, func(c *web.Client) error {
		result, err := c.Result(ctx, id)
		switch {
		case err != nil:
			return err
		case step != "":
			return a.showStep(ctx, c, result, step, output)
		case output == "json":
			return view.JSON(a.sys.Stdout, result)
		}
		steps, err := c.Steps(ctx, id)
		if err != nil {
			return err
		}
		a.page(a.sys.Stdout).Result(a.sys.Stdout, result, steps)
		a.suggestAfterShow(result.Run)
		return nil
	})
}

// suggestAfterShow prints the next command after a look at a run.
func (a *app) suggestAfterShow(run plan.Run) {
	page := a.page(a.sys.Stderr)
	switch run.Status {
	case plan.RunSucceeded:
		page.Next(a.sys.Stderr, "what it said:", "runs", "logs", run.ID)
	case plan.RunQueued, plan.RunRunning, plan.RunWaiting:
		page.Next(a.sys.Stderr, "follow it:", "runs", "watch", run.ID)
	default:
		a.suggest(page, run)
	}
}

func (a *app) showStep(ctx context.Context, c *web.Client, result *plan.Result, path, output string) error {
	step, found := result.Steps[path]
	if !found {
		var paths []string
		for known := range result.Steps {
			paths = append(paths, known)
		}
		return notFoundError(fmt.Errorf("run %s has no step %q", result.Run.ID, path), diag.DidYouMean(path, paths))
	}
	if output == "json" {
		return view.JSON(a.sys.Stdout, step)
	}
	if step.Path == "" {
		step.Path = path
	}
	logs, err := c.Logs(ctx, result.Run.ID, path)
	if err != nil {
		return err
	}
	a.page(a.sys.Stdout).Step(a.sys.Stdout, result, step, logs)
	return nil
}

func (a *app) runsLogsCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "logs RUN [STEP]", Short: "Print what a run, or one of its steps, logged", Args: rangeArgs(1, "RUN", "STEP"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.runsLogs(c.Context(), args[0], strings.Join(args[1:], ""), output)
		},
	}
	outputFlag(c, &output, "text", "json", "jsonl")
	return c
}

func (a *app) runsLogs(ctx context.Context, id, step, output string) error {
	if err := runArg(id); err != nil {
		return err
	}
	return a.look(ctx, func(c *web.Client) error {
		logs, err := c.Logs(ctx, id, step)
		switch {
		case err != nil:
			return err
		case output == "json":
			return view.JSON(a.sys.Stdout, web.Page[plan.Log]{Items: append([]plan.Log{}, logs...)})
		case output == "jsonl":
			for i := range logs {
				if err := view.JSON(a.sys.Stdout, logs[i]); err != nil {
					return err
				}
			}
			return nil
		}
		a.page(a.sys.Stdout).Logs(a.sys.Stdout, logs)
		return nil
	})
}

func (a *app) runsEventsCommand() *cobra.Command {
	var output string
	var from uint64
	c := &cobra.Command{
		Use: "events RUN", Short: "Print the stored events of a run", Args: exactArgs("RUN"),
		RunE: func(c *cobra.Command, args []string) error { return a.runsEvents(c.Context(), args[0], from, output) },
	}
	c.Flags().Uint64Var(&from, "from", 1, "begin with this sequence number")
	outputFlag(c, &output, "text", "json", "jsonl")
	return c
}

// eventsPage is how many events are asked for at once.
const eventsPage = 500

func (a *app) runsEvents(ctx context.Context, id string, from uint64, output string) error {
	if err := runArg(id); err != nil {
		return err
	}
	return a.look(ctx, func(c *web.Client) error {
		events, err := allEvents(ctx, c, id, from)
		switch {
		case err != nil:
			return err
		case output == "json":
			return view.JSON(a.sys.Stdout, web.Page[json.RawMessage]{Items: events})
		case output == "jsonl":
			for _, event := range events {
				fmt.Fprintf(a.sys.Stdout, "%s\n", event)
			}
			return nil
		}
		a.page(a.sys.Stdout).Events(a.sys.Stdout, events)
		return nil
	})
}

func allEvents(ctx context.Context, c *web.Client, id string, from uint64) ([]json.RawMessage, error) {
	events := []json.RawMessage{}
	for {
		page, err := c.Events(ctx, id, from, eventsPage)
		if err != nil {
			return nil, err
		}
		events = append(events, page.Items...)
		if page.NextCursor == nil {
			return events, nil
		}
		if _, err := fmt.Sscan(*page.NextCursor, &from); err != nil {
			return nil, fmt.Errorf("read the cursor %q: %w", *page.NextCursor, err)
		}
	}
}
