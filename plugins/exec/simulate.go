package exec

import (
	"encoding/json"
	"strings"

	"github.com/flowrun/flowrun/plugins/content"
	"github.com/flowrun/flowrun/sdk"
)

// samples are the commands of a simulated connection that declares none: what the
// examples run.
func samples() map[string]Command {
	text := func(name string) sdk.Value {
		return sdk.Value(`{"type":"object","required":["` + name + `"],"properties":{"` + name + `":{"type":"string","minLength":1}}}`)
	}
	return map[string]Command{
		"count": {
			Argv: []string{"count", "--word={word}"}, Effect: effectRead, Input: text("word"),
			Answer: sdk.Value(`{"type":"object","required":["lines"],"properties":{"lines":{"type":"integer"}}}`), Sample: sdk.Value(`{"lines":7}`),
		},
		"publish": {Argv: []string{"publish", "--", "{version}"}, Effect: effectIdempotent, Input: text("version"), Format: formatNone},
		"send":    {Argv: []string{"send", "--to={to}"}, Input: text("to"), Format: string(content.Text), Sample: sdk.Value(`"sent"`)},
	}
}

// simulate answers with the sample of a command, and starts nothing.
func (p *plugin) simulate(c *call, name string, command Command, ready prepared) (sdk.Value, error) {
	c.Log().Info("simulated: "+sdk.Shown(strings.Join(ready.argv, " "), 1000), "command", name)
	format := command.format()
	output := sdk.Members{
		{Name: "command", Value: sdk.Text(name)}, {Name: "exit_code", Value: sdk.Value("0")}, {Name: "duration_ms", Value: sdk.Value("0")},
	}
	if format == formatNone {
		return output.JSON(), nil
	}
	sample := command.Sample
	if sdk.IsNull(sample) {
		sample = sampleOf(command)
	}
	field := content.Format(format).Field()
	if wrong := command.sampleProblem(sample); wrong != "" {
		return nil, sdk.Invalid("/command", "the sample of `%s` %s", name, wrong).WithHint("give its declaration a `sample`: what it answers in a sandbox")
	}
	return append(output, sdk.Member{Name: field, Value: sample}).JSON(), nil
}

// sampleProblem says why a sample is not what the command answers.
func (c Command) sampleProblem(sample sdk.Value) string {
	checked := []sdk.Value{sample}
	switch content.Format(c.format()) {
	case content.Text, content.Bytes:
		var text string
		if json.Unmarshal(sample, &text) != nil {
			return "must be text"
		}
		return ""
	case content.Lines, content.CSV:
		if json.Unmarshal(sample, &checked) != nil {
			return "must be a list"
		}
	}
	answer := c.answer()
	if answer == nil {
		return ""
	}
	schema, err := sdk.ParseSchema(answer)
	if err != nil {
		return err.Error()
	}
	for _, value := range checked {
		for _, p := range schema.Check(value) {
			if !p.Warning {
				return "does not fit its `answer`: " + strings.TrimSpace(p.Pointer+" "+p.Summary)
			}
		}
	}
	return ""
}

// sampleOf makes something of the shape of an answer.
func sampleOf(c Command) sdk.Value {
	switch content.Format(c.format()) {
	case content.Lines:
		return sdk.Value(`[]`)
	case content.CSV:
		if answer := c.answer(); answer != nil {
			return sdk.Value("[" + string(content.Sample(answer)) + "]")
		}
		return sdk.Value(`[]`)
	case content.JSON:
		if answer := c.answer(); answer != nil {
			return content.Sample(answer)
		}
		return sdk.Value(`{}`)
	}
	return sdk.Value(`""`)
}
