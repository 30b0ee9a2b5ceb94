package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/runquery"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) runsCommand() *cobra.Command {
	list := a.runsListCommand()
	c := &cobra.Command{
		Use: "runs", Short: "What has run and what runs: look, follow, cancel, resume, repeat", PreRunE: list.PreRunE, RunE: list.RunE,
	}
	group(c)
	c.AddCommand(
		list, a.runsShowCommand(), a.runsWatchCommand(), a.runsLogsCommand(), a.runsEventsCommand(),
		a.runsCancelCommand(), a.runsResumeCommand(), a.runsRerunCommand(),
		a.runsApproveCommand(), a.runsRejectCommand(), a.runsSignalCommand(), a.runsResolveCommand(),
		a.runsExportCommand(), a.runsRemoveCommand(), a.runsSummaryCommand(), a.runsAcknowledgeCommand(),
	)
	for _, sub := range c.Commands() {
		sub.ValidArgsFunction = cobra.NoFileCompletions
		a.sandboxFlag(sub, "the runs of the sandbox")
	}
	c.Flags().AddFlagSet(list.Flags())
	return c
}

// runArgs takes a run's id, and the other arguments where they are given. An id
// that no run can have goes nowhere.
func runArgs(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := rangeArgs(1, names...)(c, args); err != nil {
			return err
		}
		if !web.ValidID(args[0]) {
			return notFoundError(fmt.Errorf("there is no run %q", args[0]), "run ids look like 01k8zq4c0vdx3y6t7k9m2n5p8r; `flowrun runs` lists them")
		}
		return nil
	}
}

// visit asks the owner of the store and gives the store back. Where there is no
// store it asks nobody, makes none, and returns errNoStore.
func (a *app) visit(ctx context.Context, ask func(*web.Client) error) error {
	if err := a.needStore(ctx); err != nil {
		return err
	}
	session, err := a.connect(ctx, roleLook)
	if err != nil {
		return err
	}
	err = session.tryAnyway(ctx, ask)
	return errors.Join(err, session.close(nil))
}

// ask is visit for a question that has an answer.
func ask[T any](ctx context.Context, a *app, question func(*web.Client) (T, error)) (answer T, err error) {
	err = a.visit(ctx, func(c *web.Client) (err error) {
		answer, err = question(c)
		return err
	})
	return answer, err
}

// visitRun is visit for what is asked of one run.
func (a *app) visitRun(ctx context.Context, id string, ask func(*web.Client) error) error {
	return a.noRun(id, a.visit(ctx, ask))
}

// listFlags are the flags of runs list.
type listFlags struct {
	workflow, status, since, query, cursor, output string
	queried                                        bool // --query was given
	attention                                      bool
	labels                                         []string
	limit                                          int
}

func (a *app) runsListCommand() *cobra.Command {
	flags := new(listFlags)
	c := &cobra.Command{
		Use: "list", Short: "List runs, the newest first", Args: exactArgs(),
		Example: "  flowrun runs list --status failed --since 24h\n  flowrun runs list --label area=learning -o json\n" +
			`  flowrun runs list --query 'status == "failed" && duration_ms > 60000 && started_at > now() - duration("24h")'`,
		RunE: func(c *cobra.Command, _ []string) error {
			flags.queried = c.Flags().Changed("query")
			return a.listRuns(c.Context(), flags)
		},
	}
	c.Flags().StringVar(&flags.workflow, "workflow", "", "only runs of this workflow")
	c.Flags().StringVar(&flags.status, "status", "", "only runs with this status: "+strings.Join(runStatuses(), ", "))
	completeFlag(c, "status", runStatuses()...)
	c.Flags().BoolVar(&flags.attention, "attention", false, "only runs that need somebody: failed ones that nobody has acknowledged and nothing has settled, paused ones, those that ask")
	c.Flags().StringArrayVar(&flags.labels, "label", nil, "only runs with the label NAME=VALUE (repeatable)")
	c.Flags().StringVar(&flags.since, "since", "", "only runs started since a time (RFC 3339) or a duration ago (24h, 7d)")
	c.Flags().StringVar(&flags.query, "query", "", "only runs of which an expression is true; it reads a run's fields, such as status and labels.team")
	c.Flags().IntVar(&flags.limit, "limit", 20, "how many, at most 1000")
	c.Flags().StringVar(&flags.cursor, "cursor", "", "go on where a list ended (its next_cursor)")
	outputFlag(c, &flags.output, "text", "json")
	return c
}

func runStatuses() []string {
	return []string{
		string(runs.RunQueued), string(runs.RunRunning), string(runs.RunWaiting), string(runs.RunPaused),
		string(runs.RunSucceeded), string(runs.RunFailed), string(runs.RunCanceled), string(runs.RunTimedOut),
	}
}

func (a *app) listRuns(ctx context.Context, flags *listFlags) error {
	filter, err := a.runFilter(flags)
	if err != nil {
		return err
	}
	var page *web.Page[runs.Run]
	err = a.visit(ctx, func(c *web.Client) error {
		page, err = fullPage(ctx, c, filter)
		return err
	})
	if errors.Is(err, errNoStore) {
		page, err = &web.Page[runs.Run]{Items: []runs.Run{}}, nil
	}
	if err != nil {
		return a.queryFault(flags.query, err)
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
		a.note("there are more: --limit N, or --cursor %s", *page.NextCursor)
	}
	return nil
}

func (a *app) runFilter(flags *listFlags) (runs.Filter, error) {
	filter := runs.Filter{
		Workflow: flags.workflow, Status: runs.Status(flags.status), Attention: flags.attention, Limit: flags.limit, Cursor: flags.cursor, Labels: map[string]string{},
	}
	if flags.status != "" && !slices.Contains(runStatuses(), flags.status) {
		hint := diag.DidYouMean(flags.status, runStatuses()).Text
		if hint == "" {
			hint = "one of " + strings.Join(runStatuses(), ", ")
		}
		return filter, usageError(fmt.Errorf("--status: there is no status %q", flags.status), hint)
	}
	if flags.cursor != "" && !web.ValidCursor(flags.cursor) {
		return filter, usageError(fmt.Errorf("--cursor: %q is no cursor of a list", flags.cursor), "take the next_cursor of the list before")
	}
	if flags.limit < 1 || flags.limit > 1000 {
		return filter, usageError(fmt.Errorf("--limit takes 1 to 1000, not %d", flags.limit), "")
	}
	for _, label := range flags.labels {
		name, value, ok := strings.Cut(label, "=")
		if !ok || name == "" {
			return filter, usageError(fmt.Errorf("--label %s is not NAME=VALUE", diag.ShellWord(label)), "")
		}
		filter.Labels[name] = value
	}
	if flags.since != "" {
		since, err := a.parseSince(flags.since)
		if err != nil {
			return filter, err
		}
		filter.Since = since
	}
	if flags.queried {
		filter.Query = flags.query
		return filter, a.queryFault(flags.query, runquery.Check(flags.query))
	}
	return filter, nil
}

// parseSince reads a time, or a duration that is taken off now.
func (a *app) parseSince(text string) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	ago, err := duration.Parse(text)
	if err != nil || ago < 0 {
		return time.Time{}, usageError(fmt.Errorf("--since %q is neither an RFC 3339 time nor a duration", text), "such as 2026-03-01T09:00:00Z, or 24h")
	}
	return a.sys.Now().Add(-ago), nil
}

func (a *app) runsShowCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "show RUN [STEP]", Short: "Show a run with its steps and outputs, or one of its steps", Args: runArgs("RUN", "STEP"),
		Example: "  flowrun runs show 01jq…\n  flowrun runs show 01jq… 'domains[example.com].whois'",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 2 {
				return a.showStep(c.Context(), args[0], args[1], output)
			}
			return a.showRun(c.Context(), args[0], output)
		},
	}
	outputFlag(c, &output, "text", "json")
	return c
}

// look reads a run and its steps.
func (a *app) look(ctx context.Context, id string) (result *runs.Result, steps []runs.Step, err error) {
	err = a.visitRun(ctx, id, func(c *web.Client) error {
		if result, err = c.Result(ctx, id); err != nil {
			return err
		}
		steps, err = c.Steps(ctx, id)
		return err
	})
	return result, steps, err
}

func (a *app) showRun(ctx context.Context, id, output string) error {
	result, steps, err := a.look(ctx, id)
	if err != nil {
		return err
	}
	if output == "json" {
		return view.JSON(a.sys.Stdout, result)
	}
	a.page(a.sys.Stdout).Result(a.sys.Stdout, result, steps)
	switch {
	case result.Run.Closed && result.Run.Status == runs.RunSucceeded:
	case result.Run.Status == runs.RunRunning, result.Run.Status == runs.RunWaiting, result.Run.Status == runs.RunQueued:
		if result.Run.Status == runs.RunWaiting {
			a.suggestFor(a.page(a.sys.Stderr), result)
			break
		}
		if result.Run.Undriven {
			a.page(a.sys.Stderr).Next(a.sys.Stderr, "nobody drives it; go on:", "runs", "resume", id)
			break
		}
		a.page(a.sys.Stderr).Next(a.sys.Stderr, "follow it:", "runs", "watch", id)
	default:
		a.suggest(a.page(a.sys.Stderr), result.Run)
	}
	return nil
}

func (a *app) showStep(ctx context.Context, id, path, output string) error {
	result, steps, err := a.look(ctx, id)
	if err != nil {
		return err
	}
	at, err := a.findStep(id, path, steps)
	if err != nil {
		return err
	}
	if output == "json" {
		return view.JSON(a.sys.Stdout, steps[at])
	}
	var logs []runs.Log
	err = a.visitRun(ctx, id, func(c *web.Client) error {
		logs, err = c.Logs(ctx, id, path)
		return err
	})
	if err != nil {
		return err
	}
	a.page(a.sys.Stdout).Step(a.sys.Stdout, result, steps[at], logs)
	return nil
}

// findStep returns the place of a step, or an error that names a near one.
func (a *app) findStep(id, path string, steps []runs.Step) (int, error) {
	at := slices.IndexFunc(steps, func(s runs.Step) bool { return s.Path == path })
	if at >= 0 {
		return at, nil
	}
	paths := make([]string, len(steps))
	for i, step := range steps {
		paths[i] = step.Path
	}
	hint := diag.DidYouMean(path, paths).Text
	if hint == "" {
		hint = "`" + a.commandText("runs", "show", id) + "` lists the steps"
	}
	return 0, notFoundError(fmt.Errorf("run %s has no step %s", id, diag.ShellWord(path)), hint)
}

// checkStep tells a step that wrote nothing from one that the run does not have.
func (a *app) checkStep(ctx context.Context, id, path string) error {
	_, steps, err := a.look(ctx, id)
	if err != nil {
		return err
	}
	_, err = a.findStep(id, path, steps)
	return err
}

func (a *app) runsEventsCommand() *cobra.Command {
	var output string
	var from uint64
	c := &cobra.Command{
		Use: "events RUN", Short: "Print what was stored of a run, in order", Args: runArgs("RUN"),
		RunE: func(c *cobra.Command, args []string) error { return a.showEvents(c.Context(), args[0], from, output) },
	}
	c.Flags().Uint64Var(&from, "from", 1, "the first sequence number")
	outputFlag(c, &output, "text", "json", "jsonl")
	return c
}

// eventsPage is how many records are asked for at once.
const eventsPage = 500

func (a *app) showEvents(ctx context.Context, id string, from uint64, output string) error {
	var records []workspace.Event
	err := a.visitRun(ctx, id, func(c *web.Client) (err error) {
		records, err = allEvents(ctx, c, id, from)
		return err
	})
	switch {
	case err != nil:
		return err
	case output == "json":
		return view.JSON(a.sys.Stdout, web.Page[workspace.Event]{Items: records})
	case output == "jsonl":
		for _, record := range records {
			line, err := record.MarshalJSON()
			if err != nil {
				return err
			}
			fmt.Fprintf(a.sys.Stdout, "%s\n", line)
		}
	default:
		a.page(a.sys.Stdout).Events(a.sys.Stdout, records)
	}
	return nil
}

func allEvents(ctx context.Context, c *web.Client, id string, from uint64) ([]workspace.Event, error) {
	records := []workspace.Event{}
	for {
		page, err := c.Events(ctx, id, from, eventsPage)
		if err != nil {
			return nil, err
		}
		records = append(records, page.Items...)
		if page.NextCursor == nil {
			return records, nil
		}
		if _, err := fmt.Sscan(*page.NextCursor, &from); err != nil {
			return nil, fmt.Errorf("read the cursor of the events: %w", err)
		}
	}
}
