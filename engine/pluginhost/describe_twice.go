package pluginhost

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/flowrun/flowrun/engine/plan"
)

// confirm starts the plugin once more and has it describe itself again: what is kept of a
// description stands for every later start of these bytes, so that one that differs from
// start to start is refused before anything is checked by it. `said` is the record of the
// first before it was checked. Bundled plugins are the engine's own program, which the kit
// judges.
func (u *unit) confirm(ctx context.Context, first *Description, said []byte) error {
	if u.source.Bundled {
		return nil
	}
	u.rest() // the next question goes to another start
	second, err := u.ask(ctx)
	if err != nil {
		return err
	}
	return u.same(first, second, said)
}

// same refuses a second description that is not the first, whose record is `said`.
func (u *unit) same(first, second *Description, said []byte) error {
	again, err := encodeRecord(second)
	if err != nil {
		return u.wrongDescription(err)
	}
	if bytes.Equal(said, again) {
		return nil
	}
	return u.wrongDescription(fmt.Errorf("it differs from one start to the next in %s; it is made of what the program has and is told, not of the time, the environment or what a service answers",
		describedOtherwise(first, second)))
}

// describedOtherwise names the first part in which two descriptions differ.
func describedOtherwise(first, second *Description) string {
	switch {
	case first.Name != second.Name:
		return fmt.Sprintf("the name: %q, then %q", clipped(first.Name), clipped(second.Name))
	case first.Version != second.Version:
		return fmt.Sprintf("the version: %q, then %q", clipped(first.Version), clipped(second.Version))
	case !bytes.Equal(first.ConfigSchema, second.ConfigSchema):
		return "the config schema"
	}
	for _, a := range first.Actions {
		b, there := second.Action(a.Name)
		if !there {
			return fmt.Sprintf("its actions: %s is missing the second time", clipped(a.Name))
		}
		if what := actionOtherwise(a, b); what != "" {
			return fmt.Sprintf("%s of the action %s", what, clipped(a.Name))
		}
	}
	for _, b := range second.Actions {
		if _, there := first.Action(b.Name); !there {
			return fmt.Sprintf("its actions: %s is there the second time only", clipped(b.Name))
		}
	}
	if !slices.EqualFunc(first.Actions, second.Actions, func(a, b *plan.Action) bool { return a.Name == b.Name }) {
		return "the order of its actions"
	}
	return "its texts, limiters, login, delivery or wants"
}

// actionOtherwise names what two descriptions of an action differ in, "" for nothing.
func actionOtherwise(a, b *plan.Action) string {
	switch {
	case a.Effect != b.Effect:
		return "the effect"
	case !bytes.Equal(a.Input, b.Input):
		return "the input schema"
	case !bytes.Equal(a.Output, b.Output):
		return "the output schema"
	}
	one, other := *a, *b
	one.Reconcile, other.Reconcile = false, false // it is learned when the description is checked
	if was, err := json.Marshal(one); err == nil {
		if is, err := json.Marshal(other); err == nil && !bytes.Equal(was, is) {
			return "the text, paging, range, limiters or examples"
		}
	}
	return ""
}
