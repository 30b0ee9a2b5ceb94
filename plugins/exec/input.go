package exec

import (
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// problems holds the input of a step against the declaration of its command. unknown are
// the parts that are not known yet.
func (c Config) problems(action string, in RunInput, unknown []string) []sdk.Problem {
	if sdk.IsUnknown(unknown, "/command") {
		return []sdk.Problem{sdk.Warningf("/command", "is computed: what it takes and gives is not checked before the run").
			WithDetail("write the name of the command")}
	}
	command, ok := c.command(in.Command)
	if !ok {
		p := sdk.Problemf("/command", "the connection declares no command `%s`", sdk.Shown(in.Command, 100))
		if names := c.names(); len(names) > 0 {
			p.Detail = "its commands are " + strings.Join(names, ", ")
		}
		return []sdk.Problem{p}
	}
	if own := command.effect(); own != action {
		return []sdk.Problem{sdk.Problemf("/command", "`%s` is declared with the effect %s", in.Command, own).
			WithDetail("write `uses: %s`, or declare another `effect`", actionFor(own))}
	}
	return command.inputProblems(in.Input, unknown)
}

// inputProblems holds an input against the schema of the command.
func (c Command) inputProblems(input sdk.Object, unknown []string) []sdk.Problem {
	schema, err := sdk.ParseSchema(c.inputSchema())
	if err != nil {
		return []sdk.Problem{sdk.Problemf("/command", "its declaration has no input that can be read: %v", err)}
	}
	var inside []string
	for _, pointer := range unknown {
		if pointer == "/input" {
			return nil
		}
		if below, ok := strings.CutPrefix(pointer, "/input/"); ok {
			inside = append(inside, "/"+below)
		}
	}
	document := orEmpty(input)
	problems := schema.Check(document, inside...)
	refused := false
	for i := range problems {
		problems[i].Pointer = "/input" + problems[i].Pointer
		refused = refused || !problems[i].Warning
	}
	if refused || len(inside) > 0 {
		return problems
	}
	completed, err := schema.Complete(document)
	if err != nil {
		return append(problems, sdk.Problemf("/input", "%v", err))
	}
	if _, wrong := c.prepare(completed, nil); wrong != nil {
		problems = append(problems, *wrong)
	}
	return problems
}

func orEmpty(input sdk.Object) sdk.Value {
	if len(input) == 0 || sdk.IsNull(sdk.Value(input)) {
		return sdk.Value("{}")
	}
	return sdk.Value(input)
}
