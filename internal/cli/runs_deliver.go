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
	c := &cobra.Command{
		Use: "deliver RUN [OUTPUT]", Short: "Try once more to deliver the outputs of a run", Args: runArgs(1, "RUN", "OUTPUT"),
		Long: "Deliver makes one attempt of each delivery of a run that was not made yet: of all outputs, or of one. What was\n" +
			"delivered stays as it is, and so does what may have been, unless --again says otherwise; every attempt has the\n" +
			"same idempotency key. The exit code is 5 where one is not delivered then.",
		Example: "  flowrun runs deliver 01jq…\n  flowrun runs deliver 01jq… digest --again",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				request.Output = args[1]
			}
			return a.deliverRun(c.Context(), args[0], request)
		},
	}
	c.Flags().BoolVar(&request.Again, "again", false, "also what was delivered, and what may have been")
	return withText(a.liveFlags(c))
}

func (a *app) deliverRun(ctx context.Context, id string, request deliver.Request) error {
	session, err := a.connectTo(ctx, id, roleWork)
	if err != nil {
		return err
	}
	list, err := try(ctx, session, func(c *web.Client) ([]runs.Delivery, error) { return c.Deliver(ctx, id, request) })
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
