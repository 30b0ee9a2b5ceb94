package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/internal/web"
)

const scheduleArg = "WORKFLOW[/TRIGGER]"

// scheduleArgs takes the name of a schedule.
func scheduleArgs(c *cobra.Command, args []string) error { return exactArgs(scheduleArg)(c, args) }

// scheduleNamed is the id of the schedule that an argument names: WORKFLOW/TRIGGER, or
// the workflow alone where it has one schedule.
func (a *app) scheduleNamed(ctx context.Context, name string) (string, error) {
	if _, _, ok := runs.SplitTriggerID(name); ok {
		return name, nil
	}
	page, err := a.readSchedules(ctx)
	if err != nil {
		return "", err
	}
	var ids, names, called []string
	for _, item := range page.Items {
		names = append(names, item.ID, item.Workflow)
		if item.Workflow == name {
			ids = append(ids, item.ID)
		}
		if item.Trigger == name {
			called = append(called, item.ID)
		}
	}
	switch {
	case len(ids) == 1:
		return ids[0], nil
	case len(ids) > 1:
		return "", usageError(fmt.Errorf("workflow %s has %d schedules", name, len(ids)), "name one: "+strings.Join(ids, ", "))
	case len(called) > 0:
		return "", notFoundError(fmt.Errorf("there is no schedule %q", name), "did you mean `"+strings.Join(called, "` or `")+"`?")
	}
	return "", notFoundError(fmt.Errorf("there is no schedule %q", name),
		cmp.Or(diag.DidYouMean(name, names).Text, "a schedule is named WORKFLOW/TRIGGER; `flowrun schedules` lists them"))
}

func (a *app) schedulesPauseCommand() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "pause " + scheduleArg, Short: "Keep a schedule or poll from firing until it is resumed", Args: scheduleArgs,
		Example: "  flowrun schedules pause weekly-digest/monday --reason 'until the service is back'",
		Long:    "Pause leaves a row in `schedules fires` for each slot that it skips. A pause lasts over restarts.",
		RunE: func(c *cobra.Command, args []string) error {
			return a.turnSchedule(c.Context(), (*web.Client).PauseSchedule, args[0], trigger.PauseRequest{Reason: reason, By: a.user()})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for those who look at it")
	return withText(c)
}

// turnSchedule pauses or resumes a schedule and says how it is then.
func (a *app) turnSchedule(ctx context.Context, turn func(*web.Client, context.Context, string, trigger.PauseRequest) (*trigger.ScheduleItem, error), id string, r trigger.PauseRequest) error {
	id, err := a.scheduleNamed(ctx, id)
	if err != nil {
		return err
	}
	item, err := act(ctx, a, func(c *web.Client) (*trigger.ScheduleItem, error) { return turn(c, ctx, id, r) })
	return a.tell(item, err, func() {
		switch {
		case item.Paused:
			a.say("%s is paused", item.ID)
		case item.Next != nil:
			a.say("%s fires next at %s", item.ID, a.times.Full(*item.Next))
		default:
			a.say("%s fires again", item.ID)
		}
	})
}

// triggerFlags are the flags of schedules trigger.
type triggerFlags struct {
	followFlags
	at string
}

func (a *app) schedulesTriggerCommand() *cobra.Command {
	flags := new(triggerFlags)
	c := &cobra.Command{
		Use: "trigger " + scheduleArg, Short: "Start a run of a schedule now, and wait for its end", Args: scheduleArgs,
		Long: "Trigger starts a run with the trigger's inputs; the slots of the schedule stay as they are. With --at it is the\n" +
			"run of that slot, which must not have one. A poll polls now.",
		Example: "  flowrun schedules trigger weekly-digest/monday\n  flowrun schedules trigger weekly-digest/monday --at 2026-03-02T01:30:00Z",
		RunE:    func(c *cobra.Command, args []string) error { return a.triggerSchedule(c.Context(), args[0], flags) },
	}
	c.Flags().StringVar(&flags.at, "at", "", "the run's slot and scheduled_at, RFC 3339 (default: now, beside the slots)")
	return flags.add(a.liveFlags(c))
}

func (a *app) triggerSchedule(ctx context.Context, id string, flags *triggerFlags) error {
	at, err := parseTimeFlag("--at", flags.at)
	if err != nil {
		return err
	}
	if id, err = a.scheduleNamed(ctx, id); err != nil {
		return err
	}
	session, err := a.connect(ctx, flags.role())
	if err != nil {
		return err
	}
	return session.start(ctx, try, &flags.followFlags, nil, func(ctx context.Context, c *web.Client) (*runs.Run, error) {
		return c.TriggerSchedule(ctx, id, trigger.Request{At: at, By: a.user()})
	})
}

// backfillFlags are the flags of schedules backfill.
type backfillFlags struct {
	trigger.BackfillRequest
	from, until string
}

func (a *app) schedulesBackfillCommand() *cobra.Command {
	flags := new(backfillFlags)
	c := &cobra.Command{
		Use: "backfill " + scheduleArg, Short: "Start the runs of past slots that have none", Args: scheduleArgs,
		Long: "Backfill takes the slots from --from on, up to --until, which is not among them. Those that have a run are left\n" +
			"out, unless --all is given. Without a server the command stays until all runs have ended.",
		Example: "  flowrun schedules backfill weekly-digest/monday --from 2026-01-01T00:00:00Z --dry-run",
		RunE:    func(c *cobra.Command, args []string) error { return a.backfill(c.Context(), args[0], flags) },
	}
	c.Flags().StringVar(&flags.from, "from", "", "the first slot: a time (RFC 3339), or a duration ago (24h, 7d)")
	c.Flags().StringVar(&flags.until, "until", "", "slots before this time, RFC 3339 (default: now)")
	c.Flags().BoolVar(&flags.All, "all", false, "slots that have a run too")
	c.Flags().BoolVar(&flags.DryRun, "dry-run", false, "only say which slots get a run")
	c.Flags().IntVar(&flags.MaxParallel, "max-parallel", 1, "how many of its runs go on at a time, at most 100")
	return withText(a.liveFlags(c))
}

func (a *app) backfill(ctx context.Context, id string, flags *backfillFlags) error {
	request, err := a.backfillRequest(flags)
	if err != nil {
		return err
	}
	if id, err = a.scheduleNamed(ctx, id); err != nil {
		return err
	}
	role := roleWork
	if flags.DryRun {
		role = roleLook
	}
	session, err := a.connect(ctx, role)
	if err != nil {
		return err
	}
	session.announceSandbox()
	result, err := try(ctx, session, func(c *web.Client) (*trigger.BackfillResult, error) { return c.Backfill(ctx, id, request) })
	if err != nil {
		return session.abandon(inputAsUsage(err))
	}
	err = a.print(result, func() { a.page(a.sys.Stdout).Backfill(a.sys.Stdout, result) })
	if len(result.Slots) > 0 && !flags.DryRun && session.owner != nil {
		session.owner.announced = true
		a.note("staying until its runs have ended (Ctrl-C leaves the rest; the same backfill goes on then)")
	}
	ctx, _, end := a.untilSignal(ctx) // what is left then is to be taken up again
	defer end()
	return errors.Join(err, session.close(ctx.Done()))
}

func (a *app) backfillRequest(flags *backfillFlags) (r trigger.BackfillRequest, err error) {
	r = flags.BackfillRequest
	if flags.from == "" {
		return r, usageError(errors.New("--from is missing"), "the first slot, such as --from 2026-03-01T00:00:00Z or --from 7d")
	}
	if r.From, err = a.parseSince("--from", flags.from, "7d"); err != nil {
		return r, err
	}
	if r.Until, err = parseTimeFlag("--until", flags.until); err != nil {
		return r, err
	}
	if r.MaxParallel < 1 || r.MaxParallel > 100 {
		return r, usageError(fmt.Errorf("--max-parallel takes 1 to 100, not %d", r.MaxParallel), "")
	}
	if r.Until.IsZero() {
		r.Until = a.sys.Now()
	}
	r.By = a.user()
	return r, nil
}
