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
			return sdk.Value("[" + string(valueOf(answer, 0)) + "]")
		}
		return sdk.Value(`[]`)
	case content.JSON:
		if answer := c.answer(); answer != nil {
			return valueOf(answer, 0)
		}
		return sdk.Value(`{}`)
	}
	return sdk.Value(`""`)
}

// valueOf makes a value of a schema: what it gives as an example, else the least of its
// type. What that does not fit is told by sampleProblem.
func valueOf(schema sdk.Value, depth int) sdk.Value {
	members, ok := sdk.ReadMembers(schema)
	if !ok || depth > 20 {
		return sdk.Value("null")
	}
	for _, word := range []string{"const", "default"} {
		if value := members.Get(word); value != nil {
			return value
		}
	}
	for _, word := range []string{"examples", "enum"} {
		var list []json.RawMessage
		if json.Unmarshal(members.Get(word), &list) == nil && len(list) > 0 {
			return list[0]
		}
	}
	switch typeOf(members.Get("type")) {
	case "string":
		return sdk.Text(map[string]string{"date-time": "2026-01-31T09:00:00Z", "date": "2026-01-31", "duration": "1h"}[textOf(members.Get("format"))])
	case "integer", "number":
		if least := members.Get("minimum"); least != nil {
			return least
		}
		return sdk.Value("0")
	case "boolean":
		return sdk.Value("false")
	case "array":
		return sdk.Value("[]")
	case "object":
		return objectOf(members, depth)
	}
	return sdk.Value("null")
}

// objectOf makes an object with what it must have.
func objectOf(schema sdk.Members, depth int) sdk.Value {
	var required []string
	_ = json.Unmarshal(schema.Get("required"), &required) // absent: nothing is
	properties, _ := sdk.ReadMembers(schema.Get("properties"))
	object := sdk.Members{}
	for _, name := range required {
		object = object.With(name, valueOf(properties.Get(name), depth+1))
	}
	return object.JSON()
}

// typeOf is the first type that a schema names.
func typeOf(raw sdk.Value) string {
	var several []string
	if json.Unmarshal(raw, &several) == nil && len(several) > 0 {
		return several[0]
	}
	return textOf(raw)
}

func textOf(raw sdk.Value) string {
	var text string
	_ = json.Unmarshal(raw, &text)
	return text
}
