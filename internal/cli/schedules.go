package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) schedulesCommand() *cobra.Command {
	return listGroup(&cobra.Command{
		Use: "schedules", Short: "What starts by the clock: look, pause, resume, trigger, backfill",
		Long: "Schedules are the cron, every and poll triggers of the project's workflows. `flowrun serve` starts their runs.\n" +
			"A schedule is named WORKFLOW/TRIGGER.",
	}, a.inSandbox("the schedules of the sandbox",
		withText(&cobra.Command{
			Use: "list", Short: "List the schedules with their next and last fire", Args: exactArgs(),
			Example: "  flowrun schedules\n  flowrun schedules list -o json",
			RunE:    func(c *cobra.Command, _ []string) error { return a.listSchedules(c.Context()) },
		}),
		a.schedulesNextCommand(), a.schedulesFiresCommand(), a.schedulesPauseCommand(),
		withText(&cobra.Command{
			Use: "resume " + scheduleArg, Short: "Let a paused schedule fire again, from its next slot on", Args: scheduleArgs,
			Example: "  flowrun schedules resume weekly-digest/monday",
			Long: "Resume runs nothing of what the pause left out: `schedules backfill` does. It is also the way on for a schedule\n" +
				"whose slots were decided while the clock was ahead.",
			RunE: func(c *cobra.Command, args []string) error {
				return a.turnSchedule(c.Context(), (*web.Client).ResumeSchedule, args[0], trigger.PauseRequest{By: a.user()})
			},
		}),
		a.schedulesTriggerCommand(), a.schedulesBackfillCommand(),
	))
}

func (a *app) listSchedules(ctx context.Context) error {
	page, err := a.readSchedules(ctx)
	return a.tell(page, err, func() {
		if len(page.Items) == 0 {
			a.note("no schedules: they are `triggers` of a workflow, such as `daily: {cron: \"0 9 * * *\"}`")
			return
		}
		a.page(a.sys.Stdout).Schedules(a.sys.Stdout, page.Items)
		if !page.Items[0].Running {
			if a.onlySandboxServes(ctx) {
				a.note("nothing starts by itself here: the server that runs is one of the sandbox (`%s --sandbox`)", a.commandText("schedules"))
				return
			}
			a.note("nothing starts by itself now: no server runs (`%s`)", a.commandText("serve"))
		}
	})
}

// readSchedules asks the owner of the store; where there is no store, the files
// alone.
func (a *app) readSchedules(ctx context.Context) (*web.SchedulePage, error) {
	return askOr(ctx, a, func(c *web.Client) (*web.SchedulePage, error) { return c.Schedules(ctx) },
		func(project *workspace.Workspace) (*web.SchedulePage, error) { return offlineSchedules(ctx, project) })
}

func offlineSchedules(ctx context.Context, project *workspace.Workspace) (*web.SchedulePage, error) {
	items, err := engine.Offline{Workspace: project}.Schedules(ctx)
	page := &web.SchedulePage{Page: web.Page[trigger.ScheduleItem]{Items: items}}
	page.Version, page.Source = project.TZData()
	return page, err
}

// nextFlags are the flags of schedules next.
type nextFlags struct {
	n    int
	from string
}

func (a *app) schedulesNextCommand() *cobra.Command {
	flags := new(nextFlags)
	c := &cobra.Command{
		Use: "next [WORKFLOW[/TRIGGER]]", Short: "Show the coming fires, and what changes of the clock do to them", Args: rangeArgs(0, "WORKFLOW[/TRIGGER]"),
		Long: "Next shows when schedules fire next: in local time, and in the schedule's own zone where that is another one.\n" +
			"With -o json the times are UTC, and tzdata names the version of the time zone rules.",
		Example: "  flowrun schedules next weekly-digest/monday -n 5\n  flowrun schedules next --from 2026-10-24T00:00:00Z",
		RunE:    func(c *cobra.Command, args []string) error { return a.nextFires(c.Context(), argument(args, 0), flags) },
	}
	c.Flags().IntVarP(&flags.n, "limit", "n", 10, "how many of each schedule, at most 1000")
	a.oldFlag(c, "n", "", "limit")
	c.Flags().StringVar(&flags.from, "from", "", "those after a time (RFC 3339; default: now)")
	return withText(c)
}

// nextPage is what schedules next prints as JSON.
type nextPage struct {
	web.Page[trigger.NextFires]
	web.TZData
}

func (a *app) nextFires(ctx context.Context, which string, flags *nextFlags) error {
	if flags.n < 1 || flags.n > 1000 {
		return usageError(fmt.Errorf("--limit takes 1 to 1000, not %d", flags.n), "")
	}
	from, err := parseTimeFlag("--from", flags.from)
	if err != nil {
		return err
	}
	page, err := a.readNext(ctx, which, from, flags.n)
	return a.tell(page, err, func() {
		if len(page.Items) == 0 {
			a.note("no schedules")
			return
		}
		a.page(a.sys.Stdout).NextFires(a.sys.Stdout, page.Items, a.sys.Now())
		a.note("time zone rules: %s", strings.TrimPrefix(page.Version+", "+page.Source, ", "))
	})
}

func (a *app) readNext(ctx context.Context, which string, from time.Time, n int) (*nextPage, error) {
	return askOr(ctx, a, func(c *web.Client) (*nextPage, error) {
		schedules, err := c.Schedules(ctx)
		if err != nil {
			return nil, err
		}
		return gatherNext(which, schedules, func(id string) (*trigger.NextFires, error) {
			answer, err := c.NextFires(ctx, id, from, n)
			if err != nil {
				return nil, err
			}
			return &answer.NextFires, nil
		})
	}, func(project *workspace.Workspace) (*nextPage, error) {
		schedules, err := offlineSchedules(ctx, project)
		if err != nil {
			return nil, err
		}
		return gatherNext(which, schedules, func(id string) (*trigger.NextFires, error) {
			return engine.Offline{Workspace: project}.NextFires(ctx, id, from, n)
		})
	})
}

// gatherNext asks for one schedule, those of a workflow, or all ("").
func gatherNext(which string, schedules *web.SchedulePage, ask func(id string) (*trigger.NextFires, error)) (*nextPage, error) {
	page := &nextPage{Page: web.Page[trigger.NextFires]{Items: []trigger.NextFires{}}, TZData: schedules.TZData}
	var workflows, ids []string
	for _, item := range schedules.Items {
		workflows, ids = append(workflows, item.Workflow), append(ids, item.ID)
		if which != "" && which != item.ID && which != item.Workflow {
			continue
		}
		next, err := ask(item.ID)
		if err != nil {
			return nil, err
		}
		page.Items = append(page.Items, *next)
	}
	if which == "" || len(page.Items) > 0 {
		return page, nil
	}
	if strings.Contains(which, "/") { // why it is none is known by whoever has the files
		next, err := ask(which)
		if err != nil {
			return nil, unknownAsNotFound(err)
		}
		page.Items = append(page.Items, *next)
		return page, nil
	}
	hint := diag.DidYouMean(which, append(workflows, ids...)).Text
	return nil, notFoundError(fmt.Errorf("there is no workflow %q with a schedule", which), cmp.Or(hint, "`flowrun schedules` lists the schedules"))
}

func (a *app) schedulesFiresCommand() *cobra.Command {
	flags := new(pageFlags)
	c := &cobra.Command{
		Use: "fires [WORKFLOW[/TRIGGER]]", Short: "Show what triggers did: runs, and slots that were skipped with the reason", Args: rangeArgs(0, "WORKFLOW[/TRIGGER]"),
		Example: "  flowrun schedules fires --since 24h\n  flowrun schedules fires weekly-digest/monday -n 50",
		Long:    "Fires lists the fires of triggers, the newest slot first. Webhooks, polls and `after` are among them.",
		RunE:    func(c *cobra.Command, args []string) error { return a.listFires(c.Context(), argument(args, 0), flags) },
	}
	flags.add(c, "slots")
	return withText(c)
}

func (a *app) listFires(ctx context.Context, which string, flags *pageFlags) error {
	if err := flags.checkLimit(); err != nil {
		return err
	}
	since, err := a.parseSince("--since", flags.since, "24h")
	if err != nil {
		return err
	}
	filter := runs.FireFilter{Workflow: which, Since: since, Limit: flags.limit, Cursor: flags.cursor}
	if workflow, trigger, ok := runs.SplitTriggerID(which); ok {
		filter.Workflow, filter.Trigger = workflow, trigger
	}
	page, err := ask(ctx, a, func(c *web.Client) (*web.Page[runs.Fire], error) { return c.Fires(ctx, filter) })
	return printPage(a, page, allowNoStore(err), "no fires", view.Page.Fires)
}
