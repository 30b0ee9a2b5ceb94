package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/evaluate"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/web"
)

type evalFlags struct {
	run    string
	inputs []string
}

func (a *app) evalCommand() *cobra.Command {
	flags := new(evalFlags)
	c := withText(&cobra.Command{
		Use: "eval [EXPRESSION]", Short: "Evaluate an expression on the values of a run, or on given ones", Args: rangeArgs(0, "EXPRESSION"),
		Long: "Eval prints the type of an expression's value, the value, and what it read. With --run it reads the inputs, steps\n" +
			"and outputs of a run; -i gives inputs, over those of the run. Without an expression, in a terminal, it asks for\n" +
			"one after the other: Tab completes, the arrows go through what was typed, Ctrl-D ends. A wrong expression exits\n" +
			"with 2, one that gives no value with 5.",
		Example: "  flowrun eval 'inputs.days * 2' -i days:=3\n  flowrun eval --run last 'len(steps.tasks.outputs.items)'\n  flowrun eval --run 01jq…",
		RunE:    func(c *cobra.Command, args []string) error { return a.evalExpression(c.Context(), args, flags) },
	})
	c.Flags().StringVar(&flags.run, "run", "", "read the inputs, steps and outputs of this run: letters of its id, last, @failed or @waiting")
	c.Flags().StringArrayVarP(&flags.inputs, "input", "i", nil, "an input, NAME=VALUE, NAME:=JSON or NAME=@FILE with JSON (repeatable)")
	return a.inSandbox("the runs of the sandbox", c)[0]
}

func (a *app) evalExpression(ctx context.Context, args []string, flags *evalFlags) error {
	values := evaluate.New(a.sys.Now())
	if flags.run != "" {
		if err := a.valuesOfRun(ctx, values, flags.run); err != nil {
			return err
		}
	}
	given, err := a.parseAssignments("-i", flags.inputs, inputExample)
	if err != nil {
		return err
	}
	for name, input := range given {
		if err := values.SetInput(name, input.Text, input.JSON); err != nil {
			return usageError(fmt.Errorf("-i %s: %w", name, err), inputExample)
		}
	}
	if len(args) == 1 {
		return a.evaluateOnce(values, args[0])
	}
	return a.evaluateTyped(values)
}

// valuesOfRun asks the owner for what a run has.
func (a *app) valuesOfRun(ctx context.Context, values *evaluate.Values, named string) error {
	run, err := runNamed(named, "eval", "--run")
	if err != nil {
		return err
	}
	var inputs json.RawMessage
	result, err := askRun(ctx, a, run, func(c *web.Client) (*runs.Result, error) {
		page, err := c.Events(ctx, run.id, 0, 1)
		if err != nil {
			return nil, err
		}
		if inputs, err = startInputs(page.Items); err != nil {
			return nil, err
		}
		return c.Result(ctx, run.id)
	})
	if err != nil {
		return err
	}
	return values.SetRun(result, inputs)
}

// startInputs are the inputs of a run, out of the first record of its journal.
func startInputs(events []workspace.Event) (json.RawMessage, error) {
	if len(events) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(events[0])
	if err != nil {
		return nil, err
	}
	var record struct {
		Event struct {
			Start struct {
				Inputs json.RawMessage `json:"inputs"`
			} `json:"start"`
		} `json:"event"`
	}
	if err := json.Unmarshal(raw, &record); err != nil {
		return nil, fmt.Errorf("read the inputs of the run: %w", err)
	}
	return record.Event.Start.Inputs, nil
}

// evaluateOnce prints what one expression gives.
func (a *app) evaluateOnce(values *evaluate.Values, expression string) error {
	answer, err := values.Evaluate(expression)
	if err != nil {
		return a.evaluationFault(expression, err)
	}
	return a.print(answer, func() { a.showAnswer(a.sys.Stdout, answer) })
}

// evaluationFault prints the problems of an expression, under the expression.
func (a *app) evaluationFault(expression string, err error) error {
	var (
		wrong  *evaluate.WrongError
		failed *evaluate.FailedError
		list   diag.List
		code   int
	)
	switch {
	case errors.As(err, &wrong):
		list, code = wrong.Problems, exitUsage
	case errors.As(err, &failed):
		list, code = failed.Problems, exitFailed
	default:
		return err
	}
	a.printProblemsOf(list, map[string][]byte{evaluate.File: []byte(expression)})
	return exitWith(code)
}

func (a *app) showAnswer(out io.Writer, answer *evaluate.Answer) {
	a.page(out).Answer(out, answer)
}

// readOrEnd is the next line that is typed; a signal ends the command, which gives the
// terminal back.
func readOrEnd(lines *term.Editor, signals <-chan os.Signal) (string, error) {
	var (
		line string
		err  error
		read = make(chan struct{})
	)
	go func() { // after a signal it stays in its read until the process ends, which is at once
		line, err = lines.Read()
		close(read)
	}()
	select {
	case <-read:
		if err != nil {
			err = fmt.Errorf("read an expression: %w", err)
		}
		return line, err
	case signal := <-signals:
		return "", &codedError{code: exitOfSignal(signal), err: errSilent, silent: true}
	}
}

// evaluateTyped asks for one expression after the other. What each gives is shown at once.
func (a *app) evaluateTyped(values *evaluate.Values) (err error) {
	functions := texts(workspace.Functions(), func(f workspace.FunctionDoc) string { return f.Name })
	lines, err := term.OpenEditor(a.sys.Stdin, a.sys.Stdout, "> ", func(line string) (string, []string) { return values.Complete(line, functions) })
	if errors.Is(err, term.ErrNoTerminal) {
		return usageError(errors.New("eval takes an expression"), "such as flowrun eval 'inputs.days * 2' -i days:=3; in a terminal it asks for one")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lines.Close()) }()
	signals, stop := a.signals()
	defer stop()
	for {
		line, err := readOrEnd(lines, signals)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case strings.TrimSpace(line) == "":
			continue
		}
		answer, err := values.Evaluate(line)
		switch {
		case err != nil:
			if err := a.evaluationFault(line, err); exitCode(err) == exitInternal {
				return err
			}
		case a.output == "json":
			if err := view.JSON(a.sys.Stdout, answer); err != nil {
				return err
			}
		default:
			a.showAnswer(a.sys.Stdout, answer)
		}
	}
}
