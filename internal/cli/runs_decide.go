package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

// decideFlags are the flags of approve, reject, signal and resolve.
type decideFlags struct {
	form             []string
	payload, comment string
	happened, didNot bool
	skip             bool
	output           string
}

func (a *app) runsApproveCommand() *cobra.Command {
	flags := new(decideFlags)
	c := a.decideCommand(engine.ActApprove, flags, "approve RUN STEP", "Approve what a step asks, with the fields of its form")
	c.Long = "Approve answers a core.approve. Fields with a default may be left out.\n" +
		"Where no process drives the run it is recorded, and `flowrun runs resume RUN` goes on with it."
	c.Example = "  flowrun runs approve 01jq… approve\n  flowrun runs approve 01jq… 'each[a].ask' --form label=stale --comment 'looks right'"
	addForm(c, flags)
	addComment(c, flags)
	outputFlag(c, &flags.output, "text", "json")
	return c
}

func (a *app) runsRejectCommand() *cobra.Command {
	flags := new(decideFlags)
	c := a.decideCommand(engine.ActReject, flags, "reject RUN STEP", "Refuse what a step asks: it fails with kind denied")
	c.Example = "  flowrun runs reject 01jq… approve --comment 'not before Monday'"
	addComment(c, flags)
	outputFlag(c, &flags.output, "text", "json")
	return c
}

func (a *app) runsSignalCommand() *cobra.Command {
	flags := new(decideFlags)
	c := a.decideCommand(engine.ActSignal, flags, "signal RUN STEP|NAME", "Send a signal to a step that waits for it, or by its name")
	c.Long = "Signal sends a signal to one step of a run, or by its name to the first step that waits for it.\n" +
		"One that no step waits for yet is kept for 24 hours."
	c.Example = "  flowrun runs signal 01jq… paid --payload '{\"id\": 7}'\n  flowrun runs signal 01jq… 'each[a].wait' --form id=7"
	addForm(c, flags)
	c.Flags().StringVar(&flags.payload, "payload", "", "the whole payload as JSON, or @FILE")
	addComment(c, flags)
	outputFlag(c, &flags.output, "text", "json")
	return c
}

func (a *app) runsResolveCommand() *cobra.Command {
	flags := new(decideFlags)
	c := a.decideCommand(engine.ActResolve, flags, "resolve RUN STEP", "Say how a call with an unknown outcome ended")
	c.Long = "Resolve closes an unknown outcome: the call took effect (--happened, with its outputs where steps read\n" +
		"them), it did not and is sent again (--did-not), or the step is left out (--skip)."
	c.Example = "  flowrun runs resolve 01jq… cleanup --happened --output '{\"id\": 7}'\n  flowrun runs resolve 01jq… cleanup --did-not"
	c.Flags().BoolVar(&flags.happened, "happened", false, "the call took effect")
	c.Flags().StringVar(&flags.payload, "output", "", "with --happened: the step's outputs as JSON, or @FILE")
	c.Flags().BoolVar(&flags.didNot, "did-not", false, "the call took no effect: send it again")
	c.Flags().BoolVar(&flags.skip, "skip", false, "go on without the step")
	flags.output = "text"
	return c
}

func (a *app) decideCommand(act engine.Act, flags *decideFlags, use, short string) *cobra.Command {
	second := strings.Fields(use)[2]
	return &cobra.Command{
		Use: use, Short: short,
		Args: func(c *cobra.Command, args []string) error {
			if err := exactArgs("RUN", second)(c, args); err != nil {
				return err
			}
			return runArgs("RUN", second)(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			request, err := a.decideRequest(act, flags)
			if err != nil {
				return err
			}
			return a.decide(c.Context(), args[0], args[1], act, request, flags.output)
		},
	}
}

func addForm(c *cobra.Command, flags *decideFlags) {
	c.Flags().StringArrayVar(&flags.form, "form", nil, "a field NAME=VALUE, NAME:=JSON or NAME=@FILE with JSON; @@ is a literal @ (repeatable)")
}

func addComment(c *cobra.Command, flags *decideFlags) {
	c.Flags().StringVar(&flags.comment, "comment", "", "a remark, kept with the decision")
}

func (a *app) decideRequest(act engine.Act, flags *decideFlags) (engine.DecideRequest, error) {
	request := engine.DecideRequest{Comment: flags.comment, By: a.user(), Form: map[string]workspace.Input{}}
	for _, text := range flags.form {
		name, input, err := a.parseField(text)
		if err != nil {
			return request, err
		}
		if _, twice := request.Form[name]; twice {
			return request, usageError(fmt.Errorf("--form %s is given twice", name), "")
		}
		request.Form[name] = input
	}
	flag := "--payload"
	if act == engine.ActResolve {
		flag = "--output"
		outcome, err := flags.outcome()
		if err != nil {
			return request, err
		}
		request.Outcome = outcome
	}
	payload, err := a.jsonFlag(flag, flags.payload)
	request.Payload = payload
	return request, err
}

// parseField reads a field of --form.
func (a *app) parseField(text string) (string, workspace.Input, error) {
	return a.parseAssignment("--form", text, "such as --form label=stale")
}

// jsonFlag reads a flag that holds JSON, or @FILE with it.
func (a *app) jsonFlag(flag, text string) (json.RawMessage, error) {
	if text == "" {
		return nil, nil
	}
	data := []byte(text)
	if file, isFile := strings.CutPrefix(text, "@"); isFile {
		read, err := a.readInputFile(flag, file)
		if err != nil {
			return nil, err
		}
		data = read
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
		return "", usageError(errors.New("--output belongs to --happened"), "")
	}
	return words[0], nil
}

// decide gives the decision to whoever owns the store. This process itself, where
// nobody does, only records it: a resume drives the run.
func (a *app) decide(ctx context.Context, id, step string, act engine.Act, request engine.DecideRequest, output string) error {
	session, err := a.connectTo(ctx, id, roleLook)
	if err != nil {
		return err
	}
	var result *engine.DecideResult
	err = session.try(ctx, func(c *web.Client) (err error) {
		request.Hold = session.owner != nil
		result, err = c.Decide(ctx, id, step, act, request)
		return err
	})
	var problem *web.Problem
	if errors.As(err, &problem) && problem.Code == web.CodeInvalidInput {
		err = usageError(errors.New(problem.Detail), problem.Hint.Text)
	}
	if err := errors.Join(err, session.close(nil)); err != nil {
		return err
	}
	if output == "json" {
		return view.JSON(a.sys.Stdout, result)
	}
	a.tellDecision(id, step, act, result)
	return nil
}

func (a *app) tellDecision(id, step string, act engine.Act, result *engine.DecideResult) {
	done := map[engine.Act]string{
		engine.ActApprove: "approved", engine.ActReject: "rejected", engine.ActSignal: "signaled", engine.ActResolve: "resolved",
	}[act]
	switch {
	case result.Early:
		fmt.Fprintf(a.sys.Stdout, "no step waits for %s yet: the signal is kept for 24 hours\n", step)
	default:
		fmt.Fprintf(a.sys.Stdout, "%s %s of run %s\n", done, result.Step, id)
	}
	page := a.page(a.sys.Stderr)
	if result.Held {
		page.Next(a.sys.Stderr, "nobody drives the run; go on:", "runs", "resume", id)
		return
	}
	page.Next(a.sys.Stderr, "follow it:", "runs", "watch", id)
}
