package enginetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// Workflow makes a plan by hand, as the checker would: a step without Needs
// follows the one above it, and each follows what it reads.
func Workflow(steps ...plan.Step) *plan.Workflow {
	w := &plan.Workflow{
		Format: plan.FormatVersion, Name: "scripted", File: "scripted.yaml", Timeout: 24 * time.Hour,
		Steps: link(steps), Actions: map[string]*plan.Action{},
	}
	for _, action := range Service() {
		w.Actions[action.FullName()] = action
	}
	return w
}

// Handlers adds handlers to a plan.
func Handlers(w *plan.Workflow, onSuccess, onFailure, finally []plan.Step) *plan.Workflow {
	w.OnSuccess, w.OnFailure, w.Finally = link(onSuccess), link(onFailure), link(finally)
	return w
}

// Output adds an output to a plan.
func Output(w *plan.Workflow, name string, value any) *plan.Workflow {
	w.Outputs = append(w.Outputs, plan.Output{Name: name, Value: Value(value)})
	return w
}

// Service returns the actions of the scripted service `svc`: read, put
// (idempotent), post (keyed), send (once), ship (once, and its plugin can be asked
// about lost calls), list (paged) and usage (paged, at most 7 days at a time). Inputs and outputs take any field.
func Service() []*plan.Action {
	const (
		open = `{"type":"object","properties":{"value":{},"n":{"type":["integer","null"]}},"additionalProperties":true}`
		page = `{"type":"object","properties":{"rows":{"type":"array","items":{}},"next":{"type":["string","null"]}},"required":["rows"]}`
		span = `{"type":"object","properties":{"from":{"type":"string","format":"date-time"},"to":{"type":"string","format":"date-time"}}}`
	)
	make := func(name string, effect plan.Effect, input, output string) *plan.Action {
		return &plan.Action{
			Plugin: "svc", Name: name, Effect: effect, Input: json.RawMessage(input), Output: json.RawMessage(output),
		}
	}
	list := make("list", plan.EffectRead, open, page)
	usage := make("usage", plan.EffectRead, span, page)
	list.Paging = &plan.Paging{CursorField: "cursor", ItemsField: "rows", NextField: "next"}
	usage.Paging = &plan.Paging{CursorField: "cursor", NextField: "next"}
	usage.Range = &plan.Range{FromField: "from", ToField: "to", Max: 7 * 24 * time.Hour}
	ship := make("ship", plan.EffectOnce, open, `{"type":"object","properties":{"value":{}},"required":["value"],"additionalProperties":true}`)
	ship.Reconcile = true
	return []*plan.Action{
		make("read", plan.EffectRead, open, open), make("put", plan.EffectIdempotent, open, open),
		make("post", plan.EffectKeyed, open, open), make("send", plan.EffectOnce, open, open), list, usage, ship,
	}
}

// Option changes a step.
type Option func(*plan.Step)

// Do is an action step. with is a map, or nil.
func Do(id, uses string, with any, options ...Option) plan.Step {
	step := stepOf(id, plan.StepAction)
	step.Uses = uses
	if with != nil {
		step.With = Value(with)
	}
	if !runs.IsCore(uses) {
		step.Timeout = time.Minute
		step.Retry = &plan.Retry{
			Attempts: 4, Delay: time.Second, Factor: 2, MaxDelay: 30 * time.Second, On: plan.DefaultRetryKinds(),
		}
	}
	return With(step, options...)
}

// Let is a let step of names and values in turn.
func Let(id string, namesAndValues ...any) plan.Step {
	step := stepOf(id, plan.StepLet)
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		step.Let = append(step.Let, plan.Binding{
			Name: namesAndValues[i].(string), Value: Value(namesAndValues[i+1]),
		})
	}
	return step
}

// Each is a loop with `item` as its name and one item at a time.
func Each(id string, foreach any, steps []plan.Step, options ...Option) plan.Step {
	step := stepOf(id, plan.StepLoop)
	step.Loop = &plan.Loop{Foreach: Value(foreach), As: "item", MaxParallel: 1, Steps: link(steps)}
	return With(step, options...)
}

// stepOf is a step of line 1 that runs when all went well before it.
func stepOf(id string, kind plan.StepKind) plan.Step {
	return plan.Step{ID: id, Kind: kind, RunIf: plan.RunIfOK, Pos: plan.Pos{Line: 1, Column: 1}}
}

// With applies options to a step.
func With(step plan.Step, options ...Option) plan.Step {
	for _, option := range options {
		option(&step)
	}
	return step
}

// Needs names what the step follows; without names it follows nothing.
func Needs(ids ...string) Option {
	return func(s *plan.Step) { s.Needs = append([]string{}, ids...) }
}

// If sets the condition.
func If(source string) Option { return func(s *plan.Step) { s.If = Expr(source) } }

// RunIf sets run_if.
func RunIf(condition plan.RunIf) Option { return func(s *plan.Step) { s.RunIf = condition } }

// Retry sets the step's own retry with a fixed delay.
func Retry(attempts int, delay time.Duration) Option {
	return func(s *plan.Step) {
		s.Retry = &plan.Retry{
			Attempts: attempts, Delay: delay, Factor: 1, MaxDelay: time.Hour, On: plan.DefaultRetryKinds(), Explicit: true,
		}
	}
}

// OnError sets the reaction to one kind; with the kind "" to all.
func OnError(kind plan.ErrorKind, reaction plan.Reaction) Option {
	return func(s *plan.Step) {
		if kind == "" {
			s.OnErrorAll = reaction
			return
		}
		if s.OnError == nil {
			s.OnError = map[plan.ErrorKind]plan.Reaction{}
		}
		s.OnError[kind] = reaction
	}
}

// OnUnknown sets on_unknown.
func OnUnknown(word string) Option { return func(s *plan.Step) { s.OnUnknown = word } }

// Within bounds the whole step.
func Within(d time.Duration) Option { return func(s *plan.Step) { s.Within = d } }

// Paginate makes the step read pages.
func Paginate(maxPages, maxItems int) Option {
	return func(s *plan.Step) { s.Paginate = &plan.Paginate{MaxPages: maxPages, MaxItems: maxItems} }
}

// Repeat makes the step poll.
func Repeat(until string, every time.Duration, most int) Option {
	return func(s *plan.Step) { s.Repeat = &plan.Repeat{Until: *Expr(until), Every: every, Max: most} }
}

// Key sets a loop's key.
func Key(source string) Option { return func(s *plan.Step) { s.Loop.Key = Expr(source) } }

// Parallel sets how many items a loop has in flight.
func Parallel(n int) Option { return func(s *plan.Step) { s.Loop.MaxParallel = n } }

// Batch makes the items of a loop lists of up to n elements.
func Batch(n int) Option { return func(s *plan.Step) { s.Loop.Batch = n } }

// Collecting makes a loop collect the errors of its items.
func Collecting() Option { return func(s *plan.Step) { s.Loop.Collecting = true } }

// Collect sets what one item yields.
func Collect(value any) Option {
	return func(s *plan.Step) {
		v := Value(value)
		s.Loop.Collect = &v
	}
}

// Expr is an expression at line 1.
func Expr(source string) *plan.Expr {
	return &plan.Expr{Source: source, Pos: plan.Pos{Line: 1, Column: 5}}
}

// Value reads text with ${{ }}, maps and lists into a plan's value. A text that
// is one ${{ secrets.NAME }} is that secret.
func Value(v any) plan.Value {
	switch v := v.(type) {
	case string:
		return textValue(v)
	case map[string]any:
		value := plan.Value{Kind: plan.ValueObject}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			value.Object = append(value.Object, plan.Binding{Name: name, Value: Value(v[name])})
		}
		return value
	case []any:
		value := plan.Value{Kind: plan.ValueList}
		for _, item := range v {
			value.List = append(value.List, Value(item))
		}
		return value
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("enginetest: %T is no literal", v))
	}
	return plan.Value{Kind: plan.ValueLiteral, Literal: data}
}

var (
	holePattern   = regexp.MustCompile(`\$\{\{ (.*?) \}\}`)
	secretPattern = regexp.MustCompile(`^\$\{\{ secrets\.([A-Z_]+) \}\}$`)
	readsPattern  = regexp.MustCompile(`steps\??\.([a-z][a-z0-9_]*)`)
)

func textValue(text string) plan.Value {
	if secret := secretPattern.FindStringSubmatch(text); secret != nil {
		return plan.Value{Kind: plan.ValueSecret, Secret: secret[1]}
	}
	holes := holePattern.FindAllStringSubmatchIndex(text, -1)
	if len(holes) == 1 && holes[0][0] == 0 && holes[0][1] == len(text) {
		return plan.Value{Kind: plan.ValueExpr, Expr: Expr(text[holes[0][2]:holes[0][3]])}
	}
	if len(holes) == 0 {
		data, _ := json.Marshal(text) // a string always encodes
		return plan.Value{Kind: plan.ValueLiteral, Literal: data}
	}
	value, at := plan.Value{Kind: plan.ValueText}, 0
	for _, hole := range holes {
		if hole[0] > at {
			value.Text = append(value.Text, plan.TextPart{Text: text[at:hole[0]]})
		}
		value.Text = append(value.Text, plan.TextPart{Expr: Expr(text[hole[2]:hole[3]])})
		at = hole[1]
	}
	if at < len(text) {
		value.Text = append(value.Text, plan.TextPart{Text: text[at:]})
	}
	return value
}

// link fills in what steps follow: the one above, and what they read.
func link(steps []plan.Step) []plan.Step {
	linked := slices.Clone(steps)
	for i := range linked {
		step := &linked[i]
		if step.Needs == nil && i > 0 {
			step.Needs = []string{linked[i-1].ID}
		}
		written, err := json.Marshal(step)
		if err != nil {
			panic(fmt.Sprintf("enginetest: encode step %s: %v", step.ID, err))
		}
		for _, read := range readsPattern.FindAllStringSubmatch(string(written), -1) {
			id := read[1]
			inList := slices.ContainsFunc(linked, func(other plan.Step) bool { return other.ID == id })
			if inList && id != step.ID && !slices.Contains(step.Needs, id) && !slices.Contains(step.Reads, id) {
				step.Reads = append(step.Reads, id)
			}
		}
	}
	return linked
}
