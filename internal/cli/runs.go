package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runquery"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) runsCommand() *cobra.Command {
	return listGroup(&cobra.Command{Use: "runs", Short: "What has run and what runs: look, follow, cancel, resume, repeat"}, a.inSandbox("the runs of the sandbox", slices.Concat([]*cobra.Command{
		a.runsListCommand(),
		withText(a.onRun(&cobra.Command{
			Use: "show [RUN] [STEP]", Short: "Show a run with its steps and outputs, or one of its steps",
			Long: "Show prints a run with its inputs, steps and outputs, or one of its steps: what it was given, its attempts with\n" +
				"their waits and times, its outputs and its log.\n" + runHelp,
			Example: "  flowrun runs show\n  flowrun runs show last\n  flowrun runs show r5f8 'domains[example.com].whois'\n  flowrun runs show @failed -w weekly",
		}, anyRun(), func(ctx context.Context, run *runRef, rest []string) error {
			if len(rest) == 1 {
				return a.showStep(ctx, run, rest[0])
			}
			return a.showRun(ctx, run)
		}, "STEP")),
		a.runsOutputCommand(),
		withOutput(a.liveFlags(a.onRun(&cobra.Command{
			Use: "watch [RUN]", Short: "Follow a run until it ends",
			Example: "  flowrun runs watch\n  flowrun runs watch -w weekly",
			Long:    "Watch shows a run until it ends and exits as `run` would. Ctrl-C leaves it running.\n" + runHelp,
		}, goingRun(), func(ctx context.Context, run *runRef, _ []string) error { return a.watchRun(ctx, run) })), "text", "json", "jsonl"),
		a.runsLogsCommand(), a.runsEventsCommand(), a.runsDiffCommand(),
		a.runsCancelCommand(), a.runsResumeCommand(), a.runsRerunCommand(), a.runsDeliverCommand(),
		a.runsExportCommand(), a.runsRemoveCommand(), a.runsSummaryCommand(), a.runsStatsCommand(), a.runsAcknowledgeCommand(),
	}, a.decideCommands())...))
}

// runHelp says in the help of a command how a run is named.
const runHelp = "RUN is an id, its first or last letters (4 or more), last, @failed or @waiting; -w WORKFLOW names the newest run\n" +
	"of a workflow. Without it you choose in a terminal; else the newest run that fits is taken, and its id is said."

// listFlags are the flags of runs list.
type listFlags struct {
	pageFlags
	workflow, status, query string
	queried                 bool // --query was given
	attention, all          bool
	labels                  []string
}

func (a *app) runsListCommand() *cobra.Command {
	flags := new(listFlags)
	c := &cobra.Command{
		Use: "list", Short: "List runs, the newest first", Args: exactArgs(),
		Long: "List prints runs, the newest first; of those that failed it says why. Runs of sub-workflows are left out,\n" +
			"unless --all, --workflow, --attention or --query asks for them.",
		Example: "  flowrun runs list --status failed --since 24h\n  flowrun runs list --label area=learning -o json\n" +
			`  flowrun runs list --query 'status == "failed" && duration_ms > 60000 && started_at > now() - duration("24h")'`,
		RunE: func(c *cobra.Command, _ []string) error {
			flags.queried = c.Flags().Changed("query")
			return a.listRuns(c.Context(), flags)
		},
	}
	c.Flags().StringVarP(&flags.workflow, "workflow", "w", "", "only runs of this workflow")
	c.Flags().StringVar(&flags.status, "status", "", "only runs with this status: "+strings.Join(diag.Words(runs.Statuses()...), ", "))
	completeFlag(c, "status", diag.Words(runs.Statuses()...)...)
	c.Flags().BoolVar(&flags.attention, "attention", false, "only runs that need somebody: failed ones that nobody has acknowledged and nothing has settled, paused ones, those that ask")
	c.Flags().BoolVar(&flags.all, "all", false, "also the runs of sub-workflows")
	c.Flags().StringArrayVar(&flags.labels, "label", nil, "only runs with the label NAME=VALUE (repeatable)")
	c.Flags().StringVar(&flags.query, "query", "", "only runs of which an expression is true; it reads a run's fields, such as status and labels.team")
	flags.add(c, "runs started")
	return withText(c)
}

func (a *app) listRuns(ctx context.Context, flags *listFlags) error {
	filter, err := a.runFilter(flags)
	if err != nil {
		return err
	}
	page, err := ask(ctx, a, func(c *web.Client) (*web.Page[runs.Run], error) { return fullPage(ctx, c, filter) })
	return printPage(a, page, a.queryFault(flags.query, allowNoStore(err)), "no runs", view.Page.Runs)
}

func (a *app) runFilter(flags *listFlags) (filter runs.Filter, err error) {
	if err := flags.checkLimit(); err != nil {
		return filter, err
	}
	filter, err = runquery.Text{
		Workflow: flags.workflow, Status: flags.status, Attention: flags.attention, Labels: flags.labels,
		Since: flags.since, Query: flags.query, Cursor: flags.cursor, Limit: flags.limit,
	}.Filter(a.sys.Now)
	if wrong, ok := errors.AsType[*runquery.FilterError](err); ok {
		return filter, flagFault(wrong)
	}
	if flags.queried {
		return filter, cmp.Or(err, a.queryFault(flags.query, runquery.Check(flags.query)))
	}
	if !flags.all && !flags.attention && flags.workflow == "" {
		filter.Query = topLevel
	}
	return filter, err
}

// flagFault says of a flag what can't be read of a filter.
func flagFault(wrong *runquery.FilterError) error {
	text, hint := "--"+wrong.Error(), wrong.Hint.Text
	switch wrong.Part {
	case "status":
		text = fmt.Sprintf("--status: there is no status %q", wrong.Text)
	case "cursor":
		text, hint = fmt.Sprintf("--cursor: %q is no cursor of a list", wrong.Text), "take the next_cursor of the list before"
	case "label":
		text = fmt.Sprintf("--label %s is not NAME=VALUE", diag.ShellWord(wrong.Text))
	}
	return usageError(errors.New(text), hint)
}

func (a *app) showRun(ctx context.Context, run *runRef) error {
	var steps []runs.Step // in the order of the file, which the result does not have
	var inputs json.RawMessage
	result, err := askRun(ctx, a, run, func(c *web.Client) (result *runs.Result, err error) {
		if result, err = a.result(ctx, c, run.id); err == nil && a.output == "text" {
			steps, err = c.StepsInShort(ctx, run.id)
		}
		if err == nil && a.output == "text" {
			inputs, err = inputsGiven(ctx, c, run.id)
		}
		return result, err
	})
	return a.tell(result, err, func() {
		a.page(a.sys.Stdout).Result(a.sys.Stdout, result, steps, inputs)
		a.afterShown(result)
	})
}

// inputsGiven are the inputs that a run began with; secrets stand as references.
func inputsGiven(ctx context.Context, c *web.Client, id string) (json.RawMessage, error) {
	page, err := c.Events(ctx, id, 1, 1)
	if err != nil || len(page.Items) == 0 || page.Items[0].Event.Start == nil {
		return nil, err
	}
	return page.Items[0].Event.Start.Inputs, nil
}

// afterShown suggests what to do about a run that was shown.
func (a *app) afterShown(result *runs.Result) {
	switch run := result.Run; {
	case run.Closed && run.Status == runs.RunSucceeded:
	case run.Status == runs.RunWaiting:
		a.suggestFor(result)
	case run.Undriven && (run.Status == runs.RunRunning || run.Status == runs.RunQueued):
		a.next("nobody drives it; go on:", "runs", "resume", run.ID)
	case run.Status == runs.RunRunning, run.Status == runs.RunQueued:
		a.next("follow it:", "runs", "watch", run.ID)
	default:
		a.suggest(run)
	}
}

func (a *app) showStep(ctx context.Context, run *runRef, path string) error {
	step, err := a.readStep(ctx, run, path)
	if err != nil {
		return err
	}
	var logs []runs.Log
	calls := view.StepCalls{Step: path}
	if a.output == "text" {
		if err := a.visitRun(ctx, run, func(c *web.Client) error {
			calls = view.StepCalls{Step: path}
			return eachEvent(ctx, c, run.id, 1, func(record *workspace.Event) { calls.Add(a.page(a.sys.Stdout), record) })
		}); err != nil {
			return err
		}
		if logs, err = askRun(ctx, a, run, func(c *web.Client) ([]runs.Log, error) { return c.Logs(ctx, run.id, path) }); err != nil {
			return err
		}
	}
	return a.print(step, func() { a.page(a.sys.Stdout).Step(a.sys.Stdout, run.id, step, calls, logs) })
}

// readStep returns a step of a run, or an error that names a near one.
func (a *app) readStep(ctx context.Context, run *runRef, path string) (step runs.Step, err error) {
	steps, err := askRun(ctx, a, run, func(c *web.Client) ([]runs.Step, error) { return c.Steps(ctx, run.id) })
	if err != nil {
		return step, err
	}
	paths := make([]string, len(steps))
	for i, step := range steps {
		if step.Path == path {
			return step, nil
		}
		paths[i] = step.Path
	}
	hint := cmp.Or(diag.DidYouMean(path, paths).Text, "`"+a.commandText("runs", "show", run.id)+"` lists the steps")
	return step, notFoundError(fmt.Errorf("run %s has no step %s", run.id, diag.ShellWord(path)), hint)
}

func (a *app) runsEventsCommand() *cobra.Command {
	var from uint64
	c := a.onRun(&cobra.Command{Use: "events [RUN]", Short: "Print what was stored of a run, in order",
		Example: "  flowrun runs events last\n  flowrun runs events r5f8 --from 40 -o jsonl",
		Long:    "Events prints the journal of a run as it is stored.\n" + runHelp}, anyRun(),
		func(ctx context.Context, run *runRef, _ []string) error { return a.showEvents(ctx, run, from) })
	c.Flags().Uint64Var(&from, "from", 1, "the first sequence number")
	return withOutput(c, "text", "json", "jsonl")
}

// eventsPage is how many records are asked for at once.
const eventsPage = 500

func (a *app) showEvents(ctx context.Context, run *runRef, from uint64) error {
	records, err := askRun(ctx, a, run, func(c *web.Client) ([]workspace.Event, error) { return allEvents(ctx, c, run.id, from) })
	if err != nil {
		return err
	}
	if a.output == "jsonl" {
		for _, record := range records {
			line, err := record.MarshalJSON()
			if err != nil {
				return err
			}
			a.say("%s", line)
		}
		return nil
	}
	return a.print(web.Page[workspace.Event]{Items: records}, func() { a.page(a.sys.Stdout).Events(a.sys.Stdout, records) })
}

func allEvents(ctx context.Context, c *web.Client, id string, from uint64) ([]workspace.Event, error) {
	records := []workspace.Event{}
	err := eachEvent(ctx, c, id, from, func(record *workspace.Event) { records = append(records, *record) })
	return records, err
}

// eventsCursor is where the records go on.
func eventsCursor(text string) (from uint64, err error) {
	if from, err = strconv.ParseUint(text, 10, 64); err != nil {
		return 0, fmt.Errorf("read the cursor of the events: %w", err)
	}
	return from, nil
}
