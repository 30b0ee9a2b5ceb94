package sdk

import (
	"encoding/json"
	"reflect"
	"time"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// ActionOption is an option of an action.
type ActionOption func(*Plugin, *action)

// Limits names the declared limiters that each call of the action counts in.
func Limits(names ...string) ActionOption {
	return func(_ *Plugin, a *action) { a.limiters = append(a.limiters, names...) }
}

// Paged declares that one call is one page: the input that names the first
// page, the output array that is concatenated ("" = the only array), and the
// output that shows the next cursor. The action sets it with Call.Next, or
// leaves that to Call.ReadPage. With `paginate` the engine fails a reading in
// which a later page gives an item of an earlier one again: an item that is the
// same as a whole, unless ItemsNamedBy or ItemsMayRepeat say otherwise.
func Paged(cursorField, itemsField, nextField string) ActionOption {
	return func(_ *Plugin, a *action) {
		a.paging = &pluginv1.Paging{CursorField: cursorField, ItemsField: itemsField, NextField: nextField}
	}
}

// ItemsNamedBy declares the field that names an item of a paged action, such as
// "id": with it, two items of one name are the same, whatever else they hold. An
// item without the field counts as a whole.
func ItemsNamedBy(field string) ActionOption {
	return func(_ *Plugin, a *action) { a.identity = field }
}

// ItemsMayRepeat declares that a paged action may give the same item on several
// pages, and that each counts: measured values, lines of a log.
func ItemsMayRepeat() ActionOption { return func(_ *Plugin, a *action) { a.identity = itemsMayRepeat } }

// NarrowItems lets known inputs say what tells the items of a paged action apart, while a
// workflow is checked: for an action whose input names the list that it reads. fn returns
// the name of a field, as for ItemsNamedBy, ItemsAsWhole or ItemsRepeat, or "" to leave it
// as it is declared.
func NarrowItems[I any](fn func(in I, unknown []string) string) ActionOption {
	return func(_ *Plugin, a *action) {
		a.hooks = append(a.hooks, hook{"NarrowItems", reflect.TypeFor[I]()})
		a.identify = func(input any, unknown []string) string { return fn(*input.(*I), unknown) }
	}
}

// What NarrowItems returns where it is no name of a field.
const (
	ItemsAsWhole = itemsAsWhole   // an item is the same as another as a whole
	ItemsRepeat  = itemsMayRepeat // each item counts
)

// What Paging.identity says where it is no name of a field.
const (
	itemsAsWhole   = "*"
	itemsMayRepeat = "-"
)

// RangeMax declares that the input's [from, to) may not be longer than max;
// with `paginate` the engine cuts longer ranges into windows. Whole hours.
func RangeMax(from, to string, longest time.Duration) ActionOption {
	return func(p *Plugin, a *action) {
		if longest <= 0 || longest%time.Hour != 0 {
			p.failf("action %s: a range of %s is not whole hours", a.name, longest)
		}
		a.rng = &pluginv1.Range{FromField: from, ToField: to, Max: protoDuration(longest)}
	}
}

// Incremental declares that the action understands Call.Watermark and sets a
// new one.
func Incremental() ActionOption { return func(_ *Plugin, a *action) { a.incremental = true } }

// Timeout sets how long one call may take unless the step says otherwise.
func Timeout(d time.Duration) ActionOption { return func(_ *Plugin, a *action) { a.timeout = d } }

// Deprecated marks the action as one that should not be used in new workflows,
// with what to use instead.
func Deprecated(instead string) ActionOption {
	return func(_ *Plugin, a *action) { a.deprecated = instead }
}

// Example adds a valid input and, when output is not nil, what it may give.
// New checks both against their schemas. A Value keeps its bytes.
func Example(name string, input, output any) ActionOption {
	return func(p *Plugin, a *action) {
		of := "action " + a.name + ": "
		a.examples = append(a.examples, example{
			name, p.exampleJSON(of+"example "+name, input), p.exampleJSON(of+"output of the example "+name, output),
		})
	}
}

// exampleJSON encodes a value of an example; nil stays nil.
func (p *Plugin) exampleJSON(what string, v any) json.RawMessage {
	if v == nil {
		return nil
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		p.failf("%s: %w", what, err)
	}
	return encoded
}

// Fault declares a failure that the action may end with.
func Fault(code Code, reason, doc string) ActionOption {
	return func(_ *Plugin, a *action) {
		a.faults = append(a.faults, &pluginv1.Fault{Code: pluginv1.Code(code), Reason: reason, Doc: doc})
	}
}

// ValidateWith adds a check of the input that tags cannot say, such as rules
// across fields. It runs after the tags' checks when a workflow is checked and
// before each call, and must not use the network. unknown holds JSON Pointers
// of inputs that are not known yet while a workflow is checked: they are zero
// values in in. It is empty before a call.
func ValidateWith[I any](fn func(in I, unknown []string) []Problem) ActionOption {
	return func(_ *Plugin, a *action) {
		a.hooks = append(a.hooks, hook{"ValidateWith", reflect.TypeFor[I]()})
		a.validators = append(a.validators, func(input any, unknown []string) []Problem { return fn(*input.(*I), unknown) })
	}
}

// ValidateField is ValidateWith for a rule about the input at a JSON Pointer alone: it
// is not asked as long as that input is not known.
func ValidateField[I any](pointer string, fn func(in I) []Problem) ActionOption {
	return ValidateWith(func(in I, unknown []string) []Problem {
		if IsUnknown(unknown, pointer) {
			return nil
		}
		return fn(in)
	})
}

// NarrowWith lets known inputs narrow the output's schema while a workflow is
// checked. fn returns a JSON Schema, or nil to leave it as declared.
func NarrowWith[I any](fn func(in I, unknown []string) json.RawMessage) ActionOption {
	return func(_ *Plugin, a *action) {
		a.hooks = append(a.hooks, hook{"NarrowWith", reflect.TypeFor[I]()})
		a.narrowers = append(a.narrowers, func(input any, unknown []string) json.RawMessage { return fn(*input.(*I), unknown) })
	}
}

// Input gives the input's JSON Schema instead of the one read from the type.
func Input(schema json.RawMessage) ActionOption {
	return func(_ *Plugin, a *action) { a.rawInput = schema }
}

// Output gives the output's JSON Schema instead of the one read from the type.
func Output(schema json.RawMessage) ActionOption {
	return func(_ *Plugin, a *action) { a.rawOutput = schema }
}

// OutputOf gives the output's JSON Schema as the tags of T say it: for an action that
// gives a Value, such as a record that is passed on as the service wrote it.
func OutputOf[T any]() ActionOption {
	return func(_ *Plugin, a *action) { a.outputShape = reflect.TypeFor[T]() }
}

// Reconciled is the answer to "did it happen?". Output is set when the effect
// happened and its result is known; a nil one is not.
type Reconciled[O any] struct {
	Applied Applied
	Output  *O
	Note    string // for people
}

// ReconcileWith answers "did it happen?" for a call whose answer was lost. It
// must not change anything. An error counts as unknown.
func ReconcileWith[C, I, O any](fn func(c *Call[C], in I) (Reconciled[O], error)) ActionOption {
	return func(_ *Plugin, a *action) {
		a.reconcile = &reconciler{
			config: reflect.TypeFor[C](), input: reflect.TypeFor[I](), output: reflect.TypeFor[O](),
			ask: func(c *core, config, input any) (Applied, any, string, error) {
				r, err := fn(newCall[C](c, config), *input.(*I))
				if r.Output == nil {
					return r.Applied, nil, r.Note, err
				}
				return r.Applied, r.Output, r.Note, err
			},
		}
	}
}
