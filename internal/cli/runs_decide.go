package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web"
)

// decideFlags are the flags of approve, reject, signal and resolve.
type decideFlags struct {
	form             []string
	payload, comment string
	happened, didNot bool
	skip             bool
}

// decideCommands are those by which people answer steps.
func (a *app) decideCommands() []*cobra.Command {
	return []*cobra.Command{
		a.decideCommand(engine.ActApprove, askingRun(), runs.NeedApprove, &cobra.Command{
			Use: "approve [RUN] [STEP]", Short: "Approve what a step asks, with the fields of its form",
			Long: "Approve answers a core.approve. Fields with a default may be left out.\n" +
				"Where no process drives the run it is recorded, and `flowrun runs resume RUN` goes on with it.",
			Example: "  flowrun runs approve\n  flowrun runs approve @waiting\n  flowrun runs approve r5f8 'each[a].ask' --form label=stale --comment 'looks right'",
		}),
		a.decideCommand(engine.ActReject, askingRun(), runs.NeedApprove, &cobra.Command{
			Use: "reject [RUN] [STEP]", Short: "Refuse what a step asks: it fails with kind denied",
			Example: "  flowrun runs reject @waiting --comment 'not before Monday'",
		}),
		a.decideCommand(engine.ActSignal, signalRun(), runs.NeedSignal, &cobra.Command{
			Use: "signal [RUN] [STEP|NAME]", Short: "Send a signal to a step that waits for it, or by its name",
			Long: "Signal sends a signal to one step of a run, or by its name to the first step that waits for it.\n" +
				"One that no step waits for yet is kept for 24 hours.",
			Example: "  flowrun runs signal -w orders paid --payload '{\"id\": 7}'\n  flowrun runs signal r5f8 'each[a].wait' --form id=7",
		}),
		a.decideCommand(engine.ActResolve, unknownRun(), runs.NeedResolve, &cobra.Command{
			Use: "resolve [RUN] [STEP]", Short: "Say how a call with an unknown outcome ended",
			Long: "Resolve closes an unknown outcome: the call took effect (--happened, with its outputs where steps read\n" +
				"them), it did not and is sent again (--did-not), or the step is left out (--skip).",
			Example: "  flowrun runs resolve r5f8 cleanup --happened --outputs '{\"id\": 7}'\n  flowrun runs resolve -w nightly --did-not",
		}),
	}
}

// decideCommand gives a command the arguments and flags of an act.
func (a *app) decideCommand(act engine.Act, fit runFit, need runs.Need, c *cobra.Command) *cobra.Command {
	flags := new(decideFlags)
	c.Long = strings.TrimPrefix(c.Long+"\n", "\n") + "STEP may be left out where one step waits for it.\n" + actHelp
	a.onRun(c, fit, func(ctx context.Context, run *runRef, rest []string) error {
		request, err := a.decideRequest(act, flags)
		if err != nil {
			return err
		}
		return a.decide(ctx, run, argument(rest, 0), need, act, request)
	}, "STEP")
	if act == engine.ActResolve {
		c.Flags().BoolVar(&flags.happened, "happened", false, "the call took effect")
		c.Flags().StringVar(&flags.payload, "outputs", "", "with --happened: the step's outputs as JSON, or @FILE")
		c.Flags().BoolVar(&flags.didNot, "did-not", false, "the call took no effect: send it again")
		c.Flags().BoolVar(&flags.skip, "skip", false, "go on without the step")
		withText(c)
		format := c.Flags().Lookup("output")
		format.Value = outputsOrFormat{format.Value, &flags.payload, func() { a.renamed("--output JSON", "--outputs") }}
		return c
	}
	if act != engine.ActReject {
		c.Flags().StringArrayVar(&flags.form, "form", nil, "a field NAME=VALUE, NAME:=JSON or NAME=@FILE with JSON; @@ is a literal @ (repeatable)")
	}
	if act == engine.ActSignal {
		c.Flags().StringVar(&flags.payload, "payload", "", "the whole payload as JSON, or @FILE")
	}
	c.Flags().StringVar(&flags.comment, "comment", "", "a remark, kept with the decision")
	return withText(c)
}

func (a *app) decideRequest(act engine.Act, flags *decideFlags) (engine.DecideRequest, error) {
	request := engine.DecideRequest{Comment: flags.comment, By: a.user()}
	var err error
	if request.Form, err = a.parseAssignments("--form", flags.form, "such as --form label=stale"); err != nil {
		return request, err
	}
	flag := "--payload"
	if act == engine.ActResolve {
		flag = "--outputs"
		if request.Outcome, err = flags.outcome(); err != nil {
			return request, err
		}
	}
	request.Payload, err = a.jsonFlag(flag, flags.payload)
	return request, err
}

// jsonFlag reads a flag that holds JSON, or @FILE with it.
func (a *app) jsonFlag(flag, text string) (json.RawMessage, error) {
	if text == "" {
		return nil, nil
	}
	data := []byte(text)
	if file, isFile := strings.CutPrefix(text, "@"); isFile {
		var err error
		if data, err = a.readInputFile(flag, file); err != nil {
			return nil, err
		}
	}
	if !json.Valid(data) {
		return nil, usageError(fmt.Errorf("%s does not hold one JSON value", flag), `such as `+flag+` '{"id": 7}'`)
	}
	return data, nil
}

// outcome is the word of a resolve.
func (f *decideFlags) outcome() (string, error) {
	var words []string
	for _, choice := range []struct {
		set  bool
		word string
	}{{f.happened, "happened"}, {f.didNot, "did_not"}, {f.skip, "skip"}} {
		if choice.set {
			words = append(words, choice.word)
		}
	}
	if len(words) != 1 {
		return "", usageError(errors.New("resolve takes exactly one of --happened, --did-not and --skip"), "look into the service first: did the call take effect?")
	}
	if f.payload != "" && words[0] != "happened" {
		return "", usageError(errors.New("--outputs belongs to --happened"), "")
	}
	return words[0], nil
}

// decide gives the decision to whoever owns the store. This process itself, where
// nobody does, only records it: a resume drives the run.
func (a *app) decide(ctx context.Context, run *runRef, step string, need runs.Need, act engine.Act, request engine.DecideRequest) error {
	session, err := a.connectTo(ctx, run, roleLook)
	if err != nil {
		return err
	}
	result, err := try(ctx, session, func(c *web.Client) (*engine.DecideResult, error) {
		if step == "" {
			var err error
			if step, err = a.onlyStep(ctx, c, run, need); err != nil {
				return nil, err
			}
		}
		request.Hold = session.owner != nil
		return c.Decide(ctx, run.id, step, act, request)
	})
	return a.tell(result, errors.Join(inputAsUsage(err), session.close(nil)), func() { a.tellDecision(run.id, step, act, result) })
}

func (a *app) tellDecision(id, step string, act engine.Act, result *engine.DecideResult) {
	done := map[engine.Act]string{
		engine.ActApprove: "approved", engine.ActReject: "rejected", engine.ActSignal: "signaled", engine.ActResolve: "resolved",
	}[act]
	if result.Early {
		a.say("no step waits for %s yet: the signal is kept for 24 hours", step)
	} else {
		a.say("%s %s of run %s", done, result.Step, id)
	}
	if result.Held {
		a.next("nobody drives the run; go on:", "runs", "resume", id)
	} else {
		a.next("follow it:", "runs", "watch", id)
	}
}

// onlyStep is the step of a run that waits for what a command does. Where that is a step
// of a sub-workflow's run, the reference names that run from then on.
func (a *app) onlyStep(ctx context.Context, c *web.Client, run *runRef, need runs.Need) (string, error) {
	for {
		steps, err := c.StepsInShort(ctx, run.id)
		if err != nil {
			return "", err
		}
		waits := slices.DeleteFunc(steps, func(step runs.Step) bool { return step.Needs() != need || step.Decision != nil })
		switch {
		case len(waits) == 0:
			return "", notFoundError(fmt.Errorf("no step of run %s waits for this", run.id), "`"+a.commandText("runs", "show", run.id)+"` shows its steps")
		case len(waits) > 1:
			return "", usageError(fmt.Errorf("several steps of run %s wait for this: %s", run.id, stepChoices(waits)),
				"name one: `"+a.commandText(run.again(run.id, waits[0].Path)...)+"`")
		case waits[0].Run == "":
			return waits[0].Path, nil
		}
		run.id = waits[0].Run
	}
}
