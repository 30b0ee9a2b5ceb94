package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

type callFlags struct {
	connection, with, output string
	retries                  int
}

func (a *app) callCommand() *cobra.Command {
	flags := new(callFlags)
	c := &cobra.Command{
		Use:   "call PLUGIN.ACTION",
		Short: "Call one action, with the checks, limits and redaction of a step",
		Example: "  flowrun call netinfo.whois --with '{\"domain\": \"example.com\"}' --sandbox\n" +
			"  flowrun call netinfo.dns --connection office --with @query.json -o json",
		Args: exactArgs("PLUGIN.ACTION"),
		RunE: func(c *cobra.Command, args []string) error { return a.call(c.Context(), args[0], flags) },
	}
	c.Flags().StringVar(&flags.connection, "connection", "", "connection to use (default: the one named like the plugin, else its only one)")
	c.Flags().StringVar(&flags.with, "with", "{}", "input as JSON, or @FILE with JSON")
	c.Flags().IntVar(&flags.retries, "retry", 0, "try again up to N times")
	a.sandboxFlag(c, "call a simulator of the service")
	outputFlag(c, &flags.output, "text", "json")
	return c
}

func (a *app) call(ctx context.Context, action string, flags *callFlags) error {
	request, err := a.callRequest(action, flags)
	if err != nil {
		return err
	}
	session, err := a.connect(ctx, roleWork)
	if err != nil {
		return err
	}
	session.announceSandbox()
	result, err := session.call(ctx, request)
	if err != nil {
		var killed *killedError
		if errors.As(err, &killed) {
			return &codedError{code: killed.exitCode(), err: err, silent: true}
		}
		return session.abandon(err)
	}
	err = a.printCall(result, flags.output)
	if err := errors.Join(err, session.close(nil)); err != nil {
		return err
	}
	return exitWith(exitOfCall(result.Error))
}

func (a *app) callRequest(action string, flags *callFlags) (engine.CallRequest, error) {
	request := engine.CallRequest{Action: action, Connection: flags.connection, Input: json.RawMessage(flags.with), Attempts: 1 + flags.retries}
	if flags.retries < 0 || flags.retries > 100 {
		return request, usageError(fmt.Errorf("--retry takes 0 to 100, not %d", flags.retries), "")
	}
	if plugin, name, found := strings.Cut(action, "."); !found || plugin == "" || name == "" {
		return request, usageError(fmt.Errorf("%q is not PLUGIN.ACTION", action), "`flowrun plugins actions` lists the actions")
	}
	if file, isFile := strings.CutPrefix(flags.with, "@"); isFile {
		data, err := a.readInputFile("--with", file)
		if err != nil {
			return request, err
		}
		request.Input, request.LiteralSecrets = data, true
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(request.Input, &object); err != nil {
		return request, usageError(errors.New("--with does not hold one JSON object"), "such as --with '{\"domain\": \"example.com\"}', or --with @input.json")
	}
	return request, nil
}

// call runs the call; a signal ends it.
func (s *session) call(ctx context.Context, request engine.CallRequest) (engine.CallResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals, stop := s.app.sys.Signals()
	defer stop()
	type answer struct {
		result engine.CallResult
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		var got answer
		got.err = s.try(ctx, func(c *web.Client) error {
			var err error
			got.result, err = c.Call(ctx, request, callSink{s.app})
			return err
		})
		answers <- got
	}()
	select {
	case got := <-answers:
		return got.result, got.err
	case signal := <-signals:
		return engine.CallResult{}, &killedError{signal}
	}
}

// callSink shows on stderr what a call says while it runs.
type callSink struct{ app *app }

func (s callSink) Log(log plan.Log) {
	if log.Level != "debug" {
		s.app.page(s.app.sys.Stderr).Logs(s.app.sys.Stderr, []plan.Log{log})
	}
}

func (s callSink) Progress(progress plan.Progress) {
	if progress.Message != "" {
		s.app.note("%s", progress.Message)
	}
}

func (s callSink) Prompt(prompt plan.Prompt) {
	width, _ := term.Size(s.app.sys.Stderr)
	if !term.IsTerminal(s.app.sys.Stderr) {
		width = 0
	}
	s.app.page(s.app.sys.Stderr).Prompt(s.app.sys.Stderr, prompt, width)
}

func (a *app) printCall(result engine.CallResult, output string) error {
	if output == "json" {
		return view.JSON(a.sys.Stdout, callAnswer(result))
	}
	if result.Error != nil {
		a.page(a.sys.Stderr).Failure(a.sys.Stderr, result.Error)
		return nil
	}
	a.page(a.sys.Stdout).Data(a.sys.Stdout, result.Outputs)
	return nil
}

// callAnswer is {"outputs", "meta"} or {"error"}, never a mix of them.
func callAnswer(result engine.CallResult) any {
	if result.Error != nil {
		return map[string]any{"error": result.Error}
	}
	answer := map[string]any{"outputs": json.RawMessage("null"), "meta": json.RawMessage("{}")}
	if len(result.Outputs) > 0 {
		answer["outputs"] = result.Outputs
	}
	if len(result.Meta) > 0 {
		answer["meta"] = result.Meta
	}
	return answer
}
