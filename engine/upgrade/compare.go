package upgrade

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/schema"
)

// Compare returns what is different in what the next revision of a plugin says of itself,
// in the order of the actions of the one that is there now.
func Compare(now, next *pluginhost.Description) ([]Change, error) {
	c := comparison{}
	for _, action := range now.Actions {
		other, there := next.Action(action.Name)
		if !there {
			c.add(Change{Rule: "action-removed", Action: action.FullName(), Message: "the action is gone", may: true, make: withoutAction(action.Name)})
			continue
		}
		c.action(action, other)
	}
	for _, action := range next.Actions {
		if _, there := now.Action(action.Name); !there {
			c.add(Change{Rule: "action-added", Action: now.Name + "." + action.Name, Message: "the action is new"})
		}
	}
	c.schemas("", "config", now.ConfigSchema, next.ConfigSchema, func(d *pluginhost.Description, text json.RawMessage) { d.ConfigSchema = text })
	c.logins(now, next)
	return c.changes, c.err
}

type comparison struct {
	changes []Change
	err     error
}

func (c *comparison) add(change Change) { c.changes = append(c.changes, change) }

// withoutAction takes an action out of a description.
func withoutAction(name string) func(*pluginhost.Description) {
	return func(d *pluginhost.Description) {
		d.Actions = slices.DeleteFunc(slices.Clone(d.Actions), func(a *plan.Action) bool { return a.Name == name })
	}
}

// onAction changes a copy of an action in a description.
func onAction(name string, change func(*plan.Action)) func(*pluginhost.Description) {
	return func(d *pluginhost.Description) {
		d.Actions = slices.Clone(d.Actions)
		for i, action := range d.Actions {
			if action.Name == name {
				copied := *action
				change(&copied)
				d.Actions[i] = &copied
			}
		}
	}
}

func anyStep(stepInput) bool { return true }

func (c *comparison) action(now, next *plan.Action) {
	name := now.FullName()
	c.schemas(name, "input", now.Input, next.Input, func(d *pluginhost.Description, text json.RawMessage) {
		onAction(now.Name, func(a *plan.Action) { a.Input = text })(d)
	})
	c.schemas(name, "output", now.Output, next.Output, func(d *pluginhost.Description, text json.RawMessage) {
		onAction(now.Name, func(a *plan.Action) { a.Output = text })(d)
	})
	if now.Effect != next.Effect {
		worse := rank(next.Effect) > rank(now.Effect)
		change := Change{
			Rule: "effect", Action: name, Message: fmt.Sprintf("its effect is %s, was %s: %s", next.Effect, now.Effect, meaning(next.Effect)),
			may: true, hard: worse, make: onAction(now.Name, func(a *plan.Action) { a.Effect = next.Effect }),
		}
		if worse {
			change.uses = anyStep
		}
		c.add(change)
	}
	c.reading(now, next)
	c.limits(now, next)
	if next.Deprecated != "" && now.Deprecated != next.Deprecated {
		c.add(Change{Rule: "deprecated", Action: name, Message: "it is deprecated: " + next.Deprecated, uses: anyStep})
	}
	if now.Reconcile && !next.Reconcile {
		c.add(Change{Rule: "reconcile", Action: name, Message: "nobody can ask any more whether a lost call happened", uses: anyStep})
	} else if next.Reconcile && !now.Reconcile {
		c.add(Change{Rule: "reconcile", Action: name, Message: "it can be asked whether a lost call happened"})
	}
}

// rank orders the effects by how little may be repeated.
func rank(e plan.Effect) int {
	return slices.Index([]plan.Effect{plan.EffectRead, plan.EffectIdempotent, plan.EffectKeyed, plan.EffectOnce}, e)
}

// meaning is what an effect says of a call that is lost.
func meaning(e plan.Effect) string {
	switch e {
	case plan.EffectRead:
		return "it may be repeated and cached"
	case plan.EffectIdempotent:
		return "it changes something, and may be repeated"
	case plan.EffectKeyed:
		return "it changes something, and may be repeated with the same key"
	}
	return "a call whose answer is lost is not repeated, and the run asks a person"
}

// schemas compares two schemas of a part: of the input of an action, its output, or the
// config of the connections. What somebody gives is an input; what somebody reads is an
// output.
func (c *comparison) schemas(action, partName string, now, next json.RawMessage, put func(*pluginhost.Description, json.RawMessage)) {
	if bytes.Equal(now, next) || len(now) == 0 || len(next) == 0 { // one can't be asked for any more: nobody uses it
		return
	}
	was, err := schema.FromJSON(now)
	if err == nil {
		var is *schema.Type
		if is, err = schema.FromJSON(next); err == nil {
			c.types(action, partName, was, was.Differences(is), put)
		}
	}
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("compare the %s of %s: %w", partName, action, err)
	}
}

func (c *comparison) types(action, partName string, was *schema.Type, differences []schema.Difference, put func(*pluginhost.Description, json.RawMessage)) {
	for _, d := range differences {
		name := partName
		if d.Pointer != "" {
			name += " `" + d.Pointer + "`"
		}
		change := Change{Rule: partName + "-" + d.What, Action: action, Pointer: d.Pointer, Message: name + " " + d.Text}
		change.may = d.Gives && partName != "output" || d.Reads && partName == "output"
		change.make = func(description *pluginhost.Description) { put(description, d.Apply(was).JSONSchema()) }
		if d.What == schema.DiffDefault && partName == "input" {
			change.uses = func(with stepInput) bool { return !with.has(d.Pointer) }
		}
		c.add(change)
	}
}

// reading compares how an action is read page by page and piece by piece.
func (c *comparison) reading(now, next *plan.Action) {
	compare := func(rule, what string, was, is any, make func(*plan.Action)) {
		if reflect.DeepEqual(was, is) {
			return
		}
		text := what + " is declared otherwise"
		switch {
		case reflect.ValueOf(is).IsZero():
			text = what + " is gone"
		case reflect.ValueOf(was).IsZero():
			text = what + " is new"
		}
		c.add(Change{Rule: rule, Action: now.FullName(), Message: text, may: !reflect.ValueOf(was).IsZero(), make: onAction(now.Name, make)})
	}
	compare("paging", "paging", now.Paging, next.Paging, func(a *plan.Action) { a.Paging = next.Paging })
	compare("range", "the range that is cut into pieces", now.Range, next.Range, func(a *plan.Action) { a.Range = next.Range })
	compare("incremental", "incremental reading", now.Incremental, next.Incremental, func(a *plan.Action) { a.Incremental = next.Incremental })
}

// limits compares what bounds the calls: rates and times.
func (c *comparison) limits(now, next *plan.Action) {
	for _, was := range now.Limiters {
		i := slices.IndexFunc(next.Limiters, func(l plan.Limiter) bool { return l.Name == was.Name })
		switch {
		case i < 0:
			c.add(Change{Rule: "limiter", Action: now.FullName(), Message: "the limiter " + was.Name + " is gone (" + limiterText(was) + ")"})
		case !reflect.DeepEqual(was, next.Limiters[i]):
			is := next.Limiters[i]
			change := Change{Rule: "limiter", Action: now.FullName(), Message: fmt.Sprintf("the limiter %s allows %s, allowed %s", was.Name, limiterText(is), limiterText(was))}
			if tighter(was, is) {
				change.uses = anyStep
			}
			c.add(change)
		}
	}
	for _, is := range next.Limiters {
		if !slices.ContainsFunc(now.Limiters, func(l plan.Limiter) bool { return l.Name == is.Name }) {
			c.add(Change{Rule: "limiter", Action: now.FullName(), Message: "the limiter " + is.Name + " is new: " + limiterText(is), uses: anyStep})
		}
	}
	if now.DefaultTimeout != next.DefaultTimeout {
		change := Change{Rule: "timeout", Action: now.FullName(), Message: fmt.Sprintf("its timeout is %s, was %s", orDefault(next.DefaultTimeout), orDefault(now.DefaultTimeout))}
		if next.DefaultTimeout > 0 && (now.DefaultTimeout == 0 || next.DefaultTimeout < now.DefaultTimeout) {
			change.uses = func(with stepInput) bool { return with.timeout == now.DefaultTimeout || now.DefaultTimeout == 0 }
		}
		c.add(change)
	}
}

func orDefault(d time.Duration) string {
	if d == 0 {
		return "the usual one"
	}
	return d.String()
}

// tighter reports whether calls may have to wait longer, or share with others.
func tighter(was, is plan.Limiter) bool {
	slower := was.Requests == 0 && is.Requests > 0 || is.Requests > 0 && float64(is.Requests)*float64(was.Window) < float64(was.Requests)*float64(is.Window)
	fewer := is.MaxConcurrent > 0 && (was.MaxConcurrent == 0 || is.MaxConcurrent < was.MaxConcurrent)
	return slower || fewer || was.FixedWindow && !is.FixedWindow || !slices.Equal(was.Scope, is.Scope)
}

func limiterText(l plan.Limiter) string {
	var parts []string
	if l.Requests > 0 {
		parts = append(parts, fmt.Sprintf("%d in %s", l.Requests, l.Window))
	}
	if l.MaxConcurrent > 0 {
		parts = append(parts, fmt.Sprintf("%d at once", l.MaxConcurrent))
	}
	if len(l.Scope) > 0 {
		parts = append(parts, "for each "+strings.Join(l.Scope, " and "))
	}
	return strings.Join(parts, ", ")
}

// logins compares how people and other connections log in.
func (c *comparison) logins(now, next *pluginhost.Description) {
	if now.Login != nil && next.Login == nil {
		c.add(Change{Rule: "login", Message: "nobody can log in to its connections any more", may: true, make: func(d *pluginhost.Description) { d.Login = nil }})
	}
	if now.Delivery != nil && (next.Delivery == nil || *now.Delivery != *next.Delivery) {
		c.add(Change{Rule: "delivery", Message: "outputs go out by the name of its connections in another way, or not at all", may: true, make: func(d *pluginhost.Description) { d.Delivery = next.Delivery }})
	}
	if now.TokenAction != next.TokenAction {
		c.add(Change{
			Rule: "token-action", Message: fmt.Sprintf("the action that gives tokens to other connections is %q, was %q", next.TokenAction, now.TokenAction),
			may: now.TokenAction != "", make: func(d *pluginhost.Description) { d.TokenAction = next.TokenAction },
		})
	}
}
