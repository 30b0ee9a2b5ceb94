package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/workspace"
)

// callFlags are the flags of call.
type callFlags struct {
	connection, with string
	retries          int
	inputs           []string
	pluginFlags
}

func (a *app) callCommand() *cobra.Command {
	flags := new(callFlags)
	c := &cobra.Command{
		Use:   "call PLUGIN.ACTION",
		Short: "Call one action, outside a workflow",
		Long: "Call makes one call of an action with the checks, the rate limit and the redaction of a step.\n" +
			"`plugins actions` lists the actions. A secret input is ${{ secrets.NAME }}, or its value in a file or on stdin,\n" +
			"never an argument. In a terminal inputs that are missing are asked for, unless --no-input says not to.",
		Example: "  flowrun call netinfo.whois --with '{\"domain\":\"example.com\"}' --sandbox\n" +
			"  flowrun call netinfo.whois -i domain=example.com --sandbox\n" +
			"  flowrun call netinfo.dns --with @query.json -o json",
		Args: exactArgs("PLUGIN.ACTION"),
		RunE: func(c *cobra.Command, args []string) error { return a.call(c.Context(), args[0], flags) },
	}
	c.Flags().StringVar(&flags.connection, "connection", "", "the connection to use (default: the plugin's)")
	c.Flags().StringVar(&flags.with, "with", "", "the inputs as JSON, @FILE, or - for stdin")
	c.Flags().StringArrayVarP(&flags.inputs, "input", "i", nil, "an input NAME=VALUE, NAME:=JSON or NAME=@FILE with JSON; it goes over --with (repeatable)")
	c.Flags().IntVar(&flags.retries, "retry", 0, "how often to repeat a call that failed for a passing reason")
	flags.pluginFlags.add(c)
	a.noInputFlag(c)
	a.sandboxFlag(c, "call a simulator of the service")
	return withText(a.liveFlags(c))
}

func (a *app) call(ctx context.Context, action string, flags *callFlags) error {
	request, err := a.callRequest(action, flags)
	if err != nil {
		return err
	}
	stop, err := a.usePlugins(&flags.pluginFlags)
	if err != nil {
		return err
	}
	defer stop()
	if err := a.addInputs(ctx, &request, flags.inputs); err != nil {
		return err
	}
	if err := a.askForCall(ctx, &request); err != nil {
		return err
	}
	return a.work(ctx, func(ctx context.Context, session *session) (int, error) {
		sink := a.newCallSink("")
		result, err := session.client.Call(ctx, request, sink)
		sink.close()
		if err != nil {
			return 0, err
		}
		return exitOfCall(result.Error), a.print(callJSON(result), func() {
			if result.Error != nil {
				a.page(a.sys.Stderr).FailureOf(a.sys.Stderr, "the call", result.Error)
			} else {
				a.page(a.sys.Stdout).Data(a.sys.Stdout, result.Outputs)
			}
		})
	})
}

// callRequest reads --with.
func (a *app) callRequest(action string, flags *callFlags) (calls.Request, error) {
	request := calls.Request{Action: action, Connection: flags.connection, Attempts: 1 + max(flags.retries, 0)}
	if plugin, name, ok := strings.Cut(action, "."); !ok || plugin == "" || name == "" {
		return request, usageError(fmt.Errorf("%s is not PLUGIN.ACTION", diag.ShellWord(action)), "`flowrun plugins actions` lists the actions")
	}
	if flags.retries < 0 {
		return request, usageError(fmt.Errorf("--retry takes a number from 0, not %d", flags.retries), "")
	}
	if flags.with == "" {
		return request, nil
	}
	data := []byte(flags.with)
	if file, isFile := strings.CutPrefix(flags.with, "@"); isFile || file == "-" {
		var err error
		if data, err = a.readInputFile("--with", file); err != nil {
			return request, err
		}
		request.LiteralSecrets = true
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return request, usageError(fmt.Errorf("--with does not hold a JSON object: %s", noObject(data, err)), `such as --with '{"domain":"example.com"}'`)
	}
	request.Input = data
	return request, nil
}

// addInputs puts the inputs of -i over those of --with, typed as the action says.
func (a *app) addInputs(ctx context.Context, request *calls.Request, texts []string) error {
	given, err := a.parseAssignments("-i", texts, "such as -i domain=example.com")
	if err != nil || len(given) == 0 {
		return err
	}
	values, err := inProject(ctx, a, func(project *workspace.Workspace) (map[string]json.RawMessage, error) {
		action, err := project.Action(request.Action)
		if err != nil {
			return nil, refusedPlugin(err)
		}
		return workspace.ConvertSome(request.Action, action.Input, given)
	})
	if wrong, ok := errors.AsType[*fault.InputError](err); ok {
		return usageError(err, wrong.Hint.Text)
	}
	if err != nil {
		return err
	}
	all := map[string]json.RawMessage{}
	if len(request.Input) > 0 {
		if err := json.Unmarshal(request.Input, &all); err != nil {
			return err
		}
	}
	maps.Copy(all, values)
	request.Input, err = json.Marshal(all)
	return err
}

// noObject says why a text is no JSON object, in words for people.
func noObject(text []byte, err error) string {
	if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return "it is one JSON " + wrongType.Value
	}
	return cmp.Or(engine.WhyNoJSON(text), engine.JSONFault(err))
}

// callJSON is what call -o json prints: outputs and meta, or the error.
func callJSON(result calls.Result) any {
	if result.Error != nil {
		return map[string]any{"error": result.Error}
	}
	orEmpty := func(raw json.RawMessage) json.RawMessage {
		if len(raw) == 0 {
			return json.RawMessage("{}")
		}
		return raw
	}
	return struct {
		Outputs json.RawMessage `json:"outputs"`
		Meta    json.RawMessage `json:"meta"`
	}{orEmpty(result.Outputs), orEmpty(result.Meta)}
}
