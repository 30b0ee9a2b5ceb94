// Package evaluate evaluates an expression that somebody asks about, on values that are
// there: given ones, or those of a run. Types are those that the values have.
package evaluate

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// File is the name that problems of an expression carry.
const File = "expression"

// Values are what expressions read, by the roots of the language.
type Values struct {
	roots map[string]any
	scope *eval.Scope
	at    time.Time
}

// New returns values without a name in them; now() is at.
func New(at time.Time) *Values {
	v := &Values{roots: map[string]any{}, at: at}
	v.Set("inputs", map[string]any{})
	return v
}

// Set gives a root its value, which is one that package schema makes.
func (v *Values) Set(root string, value any) {
	v.roots[root] = value
	v.scope = eval.NewScope()
	for _, name := range v.names() {
		v.scope = v.scope.With(name, typeOf(v.roots[name]))
	}
}

func (v *Values) names() []string {
	names := make([]string, 0, len(v.roots))
	for name := range v.roots {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// SetInput gives an input, as text or as JSON. A text for an input that is there already,
// and is no text, is read as its kind; what can't be is a text.
func (v *Values) SetInput(name, text string, raw json.RawMessage) error {
	inputs, _ := v.roots["inputs"].(map[string]any)
	if inputs == nil {
		inputs = map[string]any{}
	}
	var value any = text
	if _, isText := inputs[name].(string); inputs[name] != nil && !isText && raw == nil {
		if read, err := schema.Of(schema.Any).Decode([]byte(text)); err == nil {
			value = read
		}
	}
	if raw != nil {
		read, err := schema.Of(schema.Any).Decode(raw)
		if err != nil {
			return err
		}
		value = read
	}
	inputs[name] = value
	v.Set("inputs", inputs)
	return nil
}

// SetRun gives the values of a run: what its steps, its row and its trigger are in
// expressions, and its outputs. inputs are its inputs as JSON.
func (v *Values) SetRun(result *runs.Result, inputs json.RawMessage) error {
	row := result.Run
	given, err := decoded(inputs)
	if err != nil {
		return err
	}
	if given == nil {
		given = map[string]any{}
	}
	v.Set("inputs", given)
	v.Set("run", map[string]any{
		"id": row.ID, "workflow": row.Workflow, "status": string(row.Status), "scheduled_at": schema.FixZone(row.ScheduledAt),
		"started_at": schema.FixZone(row.StartedAt), "attempt": row.Attempt, "trigger": row.Trigger,
	})
	kind := "manual"
	if row.Fire != nil {
		kind = string(row.Fire.Kind)
	}
	v.Set("trigger", map[string]any{"name": row.Trigger, "kind": kind})
	failure, err := failureOf(result.Error)
	if err != nil {
		return err
	}
	v.Set("error", failure)
	outputs := map[string]any{}
	for name, raw := range result.Outputs {
		if outputs[name], err = decoded(raw); err != nil {
			return err
		}
	}
	v.Set("outputs", outputs)
	steps, err := stepsOf(result.Steps)
	if err != nil {
		return err
	}
	v.Set("steps", steps)
	return nil
}

// stepsOf are the steps that an expression reads by name; those of loops' items have none.
func stepsOf(steps map[string]runs.Step) (map[string]any, error) {
	all := map[string]any{}
	for path, step := range steps {
		if strings.ContainsAny(path, "[.:!%#") {
			continue
		}
		outputs, err := decoded(step.Outputs)
		if err != nil {
			return nil, err
		}
		failure, err := failureOf(step.Error)
		if err != nil {
			return nil, err
		}
		all[path] = map[string]any{"status": string(step.Status), "attempts": step.Attempts, "outputs": outputs, "error": failure}
	}
	return all, nil
}

// failureOf is an error as expressions read it; nil of none.
func failureOf(failed *runs.Error) (any, error) {
	if failed == nil {
		return nil, nil
	}
	details, err := decoded(failed.Details)
	if err != nil {
		return nil, err
	}
	orNull := func(text string) any {
		if text == "" {
			return nil
		}
		return text
	}
	return map[string]any{
		"kind": string(failed.Kind), "step": orNull(failed.Step), "attempt": failed.Attempt, "message": failed.Message,
		"reason": orNull(failed.Reason), "hint": orNull(failed.Hint.Text), "details": details,
	}, nil
}

func decoded(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return schema.Of(schema.Any).Decode(raw)
}

// Answer is what an expression gave.
type Answer struct {
	Expression string          `json:"expression"`
	Type       string          `json:"type"`
	Value      json.RawMessage `json:"value"`
	Reads      []Read          `json:"reads"`
}

// Read is a value that the expression read.
type Read struct {
	Name  string          `json:"name"`
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// FailedError says that an expression is right and gave no value.
type FailedError struct{ Problems diag.List }

func (e *FailedError) Error() string { return e.Problems[0].Message }

// WrongError says that an expression can't be evaluated at all.
type WrongError struct{ Problems diag.List }

func (e *WrongError) Error() string { return e.Problems[0].Message }

// Evaluate evaluates an expression, which may stand in `${{ }}`. The error is a *WrongError
// or a *FailedError.
func (v *Values) Evaluate(text string) (*Answer, error) {
	source, from := bare(text)
	x, issues := eval.Parse(source)
	var known *schema.Type
	if len(issues) == 0 {
		known, issues = x.Check(v.scope)
	}
	if eval.HasErrors(issues) {
		wrong := &WrongError{}
		for _, issue := range issues {
			if !issue.Warning {
				wrong.Problems.Errorf(placeOf(text, from+issue.Start, from+issue.End), issue.Code, "%s", issue.Message).Hint = v.hint(issue)
			}
		}
		return nil, wrong
	}
	result, err := x.Compile().Run(v.roots, v.at)
	if err != nil {
		failed := &FailedError{}
		var cause *eval.RunError
		if !errors.As(err, &cause) {
			return nil, err
		}
		failed.Problems.Errorf(placeOf(text, from+cause.Start, from+cause.End), cause.Reason, "%s", cause.Message).Hint = cause.Hint
		return nil, failed
	}
	raw, err := schema.Encode(result)
	if err != nil {
		return nil, err
	}
	answer := &Answer{Expression: strings.TrimSpace(source), Type: typeOf(result).String(), Value: raw, Reads: v.reads(x)}
	if result == nil && known != nil {
		answer.Type = known.String()
	}
	return answer, nil
}

// bare is an expression without the `${{ }}` around it, and where in the text it begins.
func bare(text string) (source string, from int) {
	trimmed := strings.TrimSpace(text)
	inner, ok := strings.CutPrefix(trimmed, "${{")
	if !ok || !strings.HasSuffix(inner, "}}") {
		return text, 0
	}
	return strings.TrimSuffix(inner, "}}"), strings.Index(text, "${{") + len("${{")
}

// hint names what there is, where a name is not.
func (v *Values) hint(issue eval.Issue) diag.Hint {
	if issue.Code == eval.CodeName && issue.Hint.Text == "" {
		return diag.Say("there are " + strings.Join(v.names(), ", ") + ", and functions")
	}
	return issue.Hint
}

// placeOf is the place of a part of the text.
func placeOf(text string, start, end int) diag.Pos {
	line := func(at int) (int, int) {
		before := text[:min(max(at, 0), len(text))]
		return 1 + strings.Count(before, "\n"), 1 + len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
	}
	pos := diag.Pos{File: File}
	pos.Line, pos.Column = line(start)
	pos.EndLine, pos.EndColumn = line(end)
	return pos
}

// reads are the values that the expression reads, each once.
func (v *Values) reads(x *eval.Expression) []Read {
	reads := []Read{}
	for _, r := range x.Reads() {
		name := strings.Join(r.Path, ".")
		if slices.ContainsFunc(reads, func(known Read) bool { return known.Name == name }) {
			continue
		}
		var value any = v.roots
		for _, part := range r.Path {
			object, _ := value.(map[string]any)
			value = object[part]
		}
		raw, err := schema.Encode(value)
		if err != nil {
			continue
		}
		reads = append(reads, Read{Name: name, Type: typeOf(value).String(), Value: raw})
	}
	return reads
}

// mostElements is how many elements of a list its type is made of.
const mostElements = 1000

// typeOf is the type that a value has.
func typeOf(value any) *schema.Type {
	switch v := value.(type) {
	case nil:
		return schema.Nullable(schema.Of(schema.Any))
	case map[string]any:
		fields := make([]schema.Field, 0, len(v))
		for name, part := range v {
			if part == nil {
				fields = append(fields, schema.Optional(name, schema.Of(schema.Any)))
				continue
			}
			fields = append(fields, schema.Required(name, typeOf(part)))
		}
		slices.SortFunc(fields, func(a, b schema.Field) int { return strings.Compare(a.Name, b.Name) })
		return schema.ObjectOf(fields...)
	case []any:
		if len(v) == 0 {
			return schema.ListOf(schema.Of(schema.Any))
		}
		elem := typeOf(v[0])
		for _, item := range v[1:min(len(v), mostElements)] {
			elem = schema.Join(elem, typeOf(item))
		}
		if len(v) > mostElements {
			elem = schema.Of(schema.Any)
		}
		return schema.ListOf(elem)
	case *schema.Encoded:
		return schema.ListOf(schema.Of(schema.Any))
	}
	return schema.Of(schema.KindOf(value))
}

// Complete returns what the last word of a text may become: roots, fields of what stands
// before the last point, and functions. word is that word, which each of them begins with.
func (v *Values) Complete(text string, functions []string) (word string, found []string) {
	start := strings.LastIndexFunc(text, func(r rune) bool {
		return !(r == '_' || r == '.' || r == '?' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}) + 1
	word = text[start:]
	var value any = v.roots
	path, last := "", word
	if at := strings.LastIndexByte(word, '.'); at >= 0 {
		path, last = word[:at+1], word[at+1:]
		for part := range strings.SplitSeq(strings.TrimSuffix(strings.ReplaceAll(word[:at], "?", ""), "."), ".") {
			object, _ := value.(map[string]any)
			value = object[part]
		}
	}
	object, _ := value.(map[string]any)
	for name := range object {
		if strings.HasPrefix(name, last) {
			found = append(found, path+name)
		}
	}
	if path == "" {
		for _, name := range functions {
			if strings.HasPrefix(name, word) && word != "" {
				found = append(found, name+"(")
			}
		}
	}
	slices.Sort(found)
	return word, found
}
