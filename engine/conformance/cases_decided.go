package conformance

import (
	"context"
	"encoding/json"
	"math"
	"strings"

	"github.com/flowrun/flowrun/engine/schema"
)

// mostQuestions bounds how often one action is asked by the case validate.decided.
const mostQuestions = 200

// decidedBySchemas asks about inputs that fit the schemas of actions which say that these
// decide everything: at the edges of each field, and with parts that are expressions.
func decidedBySchemas(ctx context.Context, k *kit) error {
	count := 0
	for _, a := range k.actions {
		if !a.GetSchemasDecide() || a.input == nil || a.input.Kind != schema.Object || count >= manyActions {
			continue
		}
		p, err := k.plugin(ctx)
		if err != nil {
			return err
		}
		count++
		if err := k.saysNoMore(ctx, p, a); err != nil {
			return err
		}
	}
	if count == 0 {
		return skip("no action says that its schemas decide everything")
	}
	return nil
}

// saysNoMore judges one action.
func (k *kit) saysNoMore(ctx context.Context, p *process, a *action) error {
	asked := 0
	for _, input := range k.fitting(a) {
		var object map[string]any
		if json.Unmarshal(input, &object) != nil || asked >= mostQuestions {
			continue
		}
		asked++
		if err := k.silent(ctx, p, a, input); err != nil {
			return err
		}
		if asked > 5 { // expressions in some inputs do
			continue
		}
		for name := range object {
			part, _ := json.Marshal(without(object, name)) // of JSON values
			asked++
			if err := k.silent(ctx, p, a, part, "/"+name); err != nil {
				return err
			}
		}
	}
	return nil
}

// silent judges one answer of an action whose schemas decide everything.
func (k *kit) silent(ctx context.Context, p *process, a *action, input []byte, unknown ...string) error {
	sent := "Validate " + a.GetName() + ", whose schemas decide everything, with " + brief(input)
	if len(unknown) > 0 {
		sent += ", unknown [" + strings.Join(unknown, " ") + "]"
	}
	response, err := k.validate(ctx, p, a.GetName(), input, unknown...)
	switch {
	case err != nil:
		return fault(sent, "the gRPC error %v", err)
	case len(response.GetDiagnostics()) > 0:
		return fault(sent, "%s", saidOf(response.GetDiagnostics()))
	case len(response.GetOutputSchema()) > 0:
		return fault(sent, "the output schema %s", brief(response.GetOutputSchema()))
	case response.GetPagingIdentity() != "":
		return fault(sent, "the paging_identity %q", response.GetPagingIdentity())
	}
	return nil
}

// fitting are inputs that the schema of an action takes: those that are known, and others
// with one field at one of its edges.
func (k *kit) fitting(a *action) [][]byte {
	var tries [][]byte
	for _, e := range a.GetExamples() {
		tries = append(tries, e.GetInput())
	}
	for _, c := range k.Config.Calls {
		if c.Action == a.GetName() {
			tries = append(tries, orEmpty(c.Input))
		}
	}
	made, _ := json.Marshal(sample(a.input)) // of JSON values
	tries = append(tries, made)
	var inputs [][]byte
	take := func(input []byte) {
		if _, err := a.input.DecodeClear(input); err == nil {
			inputs = append(inputs, input)
		}
	}
	for _, input := range tries {
		take(input)
	}
	if len(inputs) == 0 {
		return nil
	}
	var base map[string]any
	if json.Unmarshal(inputs[0], &base) != nil {
		return inputs
	}
	for _, input := range edgesOf(a.input, base, 0) {
		if text, err := json.Marshal(input); err == nil {
			take(text)
		}
	}
	return inputs
}

// edgesOf are objects that differ from base in one field. Some may not fit.
func edgesOf(t *schema.Type, base map[string]any, depth int) []any {
	var made []any
	for _, f := range t.Fields {
		if !f.Required {
			made = append(made, without(base, f.Name))
		}
		for _, v := range edges(f.Type, depth+1) {
			made = append(made, with(base, f.Name, v))
		}
	}
	return made
}

// edges are values at the bounds of a type. Some may not fit: patterns are not read.
func edges(t *schema.Type, depth int) []any {
	var made []any
	if t.AcceptsNull() {
		made = append(made, nil)
	}
	if len(t.Enum) > 0 {
		return append(made, t.Enum...)
	}
	if t.Blob || t.Secret || depth > 4 {
		return append(made, sample(t))
	}
	switch t.Kind {
	case schema.Bool:
		return append(made, true, false)
	case schema.Int:
		return append(made, json.Number(numberOr(t.Min, "-9223372036854775808")), json.Number(numberOr(t.Max, "9223372036854775807")))
	case schema.Number:
		return append(made, json.Number(numberOr(t.Min, "-1e300")), json.Number(numberOr(t.Max, "1e300")), 0, 0.5)
	case schema.String:
		return append(append(made, texts(t)...), sample(t))
	case schema.Time:
		return append(made, sample(t), "2024-02-29T23:59:59.123456789+14:00", "0001-01-01T00:00:00-12:00")
	case schema.List:
		return append(append(made, sample(t)), lists(t, depth)...)
	case schema.Object:
		if base, ok := sample(t).(map[string]any); ok {
			return append(append(made, base), edgesOf(t, base, depth)...)
		}
	case schema.Any:
		return append(made, "kit", 1.5, true, []any{"kit"}, map[string]any{"flowrun": "kit"})
	}
	return append(made, sample(t))
}

// numberOr is a bound as JSON, or another number where there is none.
func numberOr(bound *float64, other string) string {
	if bound == nil || math.IsInf(*bound, 0) {
		return other
	}
	text, _ := json.Marshal(*bound) // it is finite
	return string(text)
}

// texts are the shortest and the longest text, and one of odd letters.
func texts(t *schema.Type) []any {
	least, most := 0, 300
	if t.MinLength != nil {
		least = *t.MinLength
	}
	if t.MaxLength != nil {
		most = min(*t.MaxLength, 64<<10)
	}
	return []any{strings.Repeat("k", least), strings.Repeat("ü", most), "é \"\\\n\u2028<kit> ${kit} 日本", "0", "null"}
}

// lists are the longest list, and lists of one element at each of its edges.
func lists(t *schema.Type, depth int) []any {
	var made []any
	if t.MaxLength != nil && *t.MaxLength <= 1000 {
		full := make([]any, *t.MaxLength)
		for i := range full {
			full[i] = sample(t.Element())
		}
		made = append(made, full)
	}
	for _, v := range edges(t.Element(), depth+1) {
		list, _ := sample(t).([]any)
		if len(list) == 0 {
			list = []any{nil}
		}
		list[0] = v
		made = append(made, list)
	}
	return made
}
