package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/deliver"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web"
)

func (a *app) runsDeliverCommand() *cobra.Command {
	request := deliver.Request{By: a.user()}
	c := a.onRun(&cobra.Command{
		Use: "deliver [RUN] [OUTPUT]", Short: "Try once more to deliver the outputs of a run",
		Long: "Deliver makes one attempt of each delivery of a run that was not made yet: of all outputs, or of one. What was\n" +
			"delivered stays as it is, and so does what may have been, unless --again says otherwise; every attempt has the\n" +
			"same idempotency key. The exit code is 5 where one is not delivered then.\n" + actHelp,
		Example: "  flowrun runs deliver last\n  flowrun runs deliver -w weekly digest --again",
	}, deliverRun(), func(ctx context.Context, run *runRef, rest []string) error {
		request.Output = argument(rest, 0)
		return a.deliverRun(ctx, run, request)
	}, "OUTPUT")
	c.Flags().BoolVar(&request.Again, "again", false, "also what was delivered, and what may have been")
	return withText(a.liveFlags(c))
}

func (a *app) deliverRun(ctx context.Context, run *runRef, request deliver.Request) error {
	session, err := a.connectTo(ctx, run, roleWork)
	if err != nil {
		return err
	}
	list, err := try(ctx, session, func(c *web.Client) ([]runs.Delivery, error) { return c.Deliver(ctx, run.id, request) })
	if err != nil {
		return session.abandon(err)
	}
	if err := session.close(nil); err != nil {
		return err
	}
	if err := a.print(map[string]any{"deliveries": list}, func() { a.page(a.sys.Stdout).Deliveries(a.sys.Stdout, list) }); err != nil {
		return err
	}
	for _, one := range list {
		if (request.Output == "" || one.Output == request.Output) && one.State != runs.DeliveryDelivered {
			return exitWith(exitFailed)
		}
	}
	return nil
}

// deliver waits for the first attempts of the deliveries of a run that has ended, and tells
// what became of them. That one failed changes nothing of the run: it is tried again by a
// server, or by hand.
func (f *follower) deliver(ctx context.Context, result *runs.Result) {
	if f.watching || result.Run.Status != runs.RunSucceeded || len(result.Deliveries) == 0 {
		return
	}
	a, id := f.session.app, result.Run.ID
	list, err := try(ctx, f.session, func(c *web.Client) ([]runs.Delivery, error) {
		return c.Deliver(ctx, id, deliver.Request{Due: true, By: a.user()})
	})
	if err != nil {
		a.note("warning: outputs not delivered: %v", err)
		return
	}
	result.Deliveries = list
	for _, one := range list {
		what := fmt.Sprintf("output %s to %s", one.Output, one.To)
		switch {
		case one.State == runs.DeliveryDelivered:
			a.note("delivered %s", what)
		case one.State == runs.DeliveryWaiting && one.Error != nil:
			a.note("warning: %s: %s; a server tries it again, or: %s", what, one.Error.Message, a.page(a.sys.Stderr).Command("runs", "deliver", id, one.Output))
		case one.Error != nil:
			a.note("warning: %s: %s, %s; by hand: %s", what, one.State, one.Error.Message, a.page(a.sys.Stderr).Command("runs", "deliver", id, one.Output))
		default:
			a.note("%s: %s", what, one.State)
		}
	}
}
