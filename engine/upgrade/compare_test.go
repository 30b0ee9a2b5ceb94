package upgrade

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
)

// said is a description with one action, changed as told.
func said(change func(*pluginhost.Description, *plan.Action)) *pluginhost.Description {
	object := json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	action := &plan.Action{Plugin: "p", Name: "do", Effect: plan.EffectKeyed, Input: object, Output: object}
	d := &pluginhost.Description{Name: "p", Version: "1", ConfigSchema: object, Actions: []*plan.Action{action}}
	if change != nil {
		change(d, action)
	}
	return d
}

// TestIssue15_UpgradeTellsEachKindOfChange: there and back, with who may be hit: "may" by
// the checker's word, "uses" each step that uses it, "hard" where that is a break.
func TestIssue15_UpgradeTellsEachKindOfChange(t *testing.T) {
	limiter := plan.Limiter{Name: "rate", Requests: 10, Window: time.Minute}
	for name, row := range map[string]struct {
		is          func(*pluginhost.Description, *plan.Action)
		there, back string
	}{
		"nothing": {nil, "", ""},
		"an action": {func(d *pluginhost.Description, a *plan.Action) {
			d.Actions = append(d.Actions, &plan.Action{Plugin: "p", Name: "more", Effect: plan.EffectRead, Input: a.Input, Output: a.Output})
		}, "action-added p.more - the action is new", "action-removed p.more may the action is gone"},
		"an input": {func(_ *pluginhost.Description, a *plan.Action) {
			a.Input = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["b"]}`)
		}, "input-field p.do may input `/b` is new and must be given", "input-field p.do may input `/b` is gone"},
		"a default": {func(_ *pluginhost.Description, a *plan.Action) {
			a.Input = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","default":"x"}}}`)
		}, "input-default p.do uses input `/a` has the default \"x\", had none", "input-default p.do uses input `/a` has the default none, had \"x\""},
		"an output": {func(_ *pluginhost.Description, a *plan.Action) {
			a.Output = json.RawMessage(`{"type":"object","properties":{"a":{"type":["string","null"]}}}`)
		}, "output-null p.do may output `/a` may be null now", "output-null p.do - output `/a` may not be null any more"},
		"an enum of the output": {func(_ *pluginhost.Description, a *plan.Action) {
			a.Output = json.RawMessage(`{"type":"object","properties":{"a":{"enum":["x"]}}}`)
		}, "output-enum p.do - output `/a` must be one of \"x\" now", "output-enum p.do may output `/a` may be any text, was one of \"x\""},
		"a config": {func(d *pluginhost.Description, _ *plan.Action) {
			d.ConfigSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","maxLength":3}}}`)
		}, "config-bound  may config `/a` has the largest number of characters 3, had none", "config-bound  - config `/a` has the largest number of characters none, had 3"},
		"an effect": {func(_ *pluginhost.Description, a *plan.Action) { a.Effect = plan.EffectOnce },
			"effect p.do may uses hard its effect is once, was keyed", "effect p.do may its effect is keyed, was once"},
		"a read that writes": {func(_ *pluginhost.Description, a *plan.Action) { a.Effect = plan.EffectRead },
			"effect p.do may its effect is read, was keyed", "effect p.do may uses hard its effect is keyed, was read"},
		"a limiter": {func(_ *pluginhost.Description, a *plan.Action) { a.Limiters = []plan.Limiter{limiter} },
			"limiter p.do uses the limiter rate is new: 10 in 1m0s", "limiter p.do - the limiter rate is gone"},
		"paging": {func(_ *pluginhost.Description, a *plan.Action) { a.Paging = &plan.Paging{CursorField: "a"} },
			"paging p.do - paging is new", "paging p.do may paging is gone"},
		"a range": {func(_ *pluginhost.Description, a *plan.Action) { a.Range = &plan.Range{Max: time.Hour} },
			"range p.do - the range that is cut into pieces is new", "range p.do may the range that is cut into pieces is gone"},
		"incremental reading": {func(_ *pluginhost.Description, a *plan.Action) { a.Incremental = true },
			"incremental p.do - incremental reading is new", "incremental p.do may incremental reading is gone"},
		"a timeout": {func(_ *pluginhost.Description, a *plan.Action) { a.DefaultTimeout = time.Second },
			"timeout p.do uses its timeout is 1s, was the usual one", "timeout p.do - its timeout is the usual one, was 1s"},
		"a deprecation": {func(_ *pluginhost.Description, a *plan.Action) { a.Deprecated = "use more" },
			"deprecated p.do uses it is deprecated: use more", ""},
		"a question": {func(_ *pluginhost.Description, a *plan.Action) { a.Reconcile = true },
			"reconcile p.do - it can be asked", "reconcile p.do uses nobody can ask any more"},
		"a login": {func(d *pluginhost.Description, _ *plan.Action) { d.Login = &pluginhost.Login{} },
			"", "login  may nobody can log in"},
		"a delivery": {func(d *pluginhost.Description, _ *plan.Action) { d.Delivery = &pluginhost.Delivery{Action: "do"} },
			"", "delivery  may outputs go out by the name"},
		"a token action": {func(d *pluginhost.Description, _ *plan.Action) { d.TokenAction = "do" },
			"token-action  - the action that gives tokens", "token-action  may the action that gives tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, way := range []struct {
				now, next *pluginhost.Description
				want      string
			}{{said(nil), said(row.is), row.there}, {said(row.is), said(nil), row.back}} {
				changes, err := Compare(way.now, way.next)
				if err != nil {
					t.Fatal(err)
				}
				var lines []string
				for _, c := range changes {
					lines = append(lines, lineOf(c))
					if c.make == nil {
						continue
					}
					hybrid := *way.now
					c.make(&hybrid)
					if left, err := Compare(&hybrid, way.next); err != nil || slices.ContainsFunc(left, func(l Change) bool { return lineOf(l) == lineOf(c) }) {
						t.Errorf("%s is not made: %v", lineOf(c), err)
					}
				}
				got := strings.Join(lines, "\n")
				if way.want == "" && got != "" || !strings.HasPrefix(got, way.want) || len(lines) > 1 {
					t.Errorf("got  %s\nwant %s", got, way.want)
				}
			}
		})
	}
}

func lineOf(c Change) string {
	who := ""
	for _, is := range []struct {
		word string
		so   bool
	}{{"may", c.may}, {"uses", c.uses != nil}, {"hard", c.uses != nil && c.hard}} {
		if is.so {
			who += " " + is.word
		}
	}
	if who == "" {
		who = " -"
	}
	return fmt.Sprintf("%s %s%s %s", c.Rule, c.Action, who, c.Message)
}

// A limiter that allows less, for more calls together, slows steps down; the other way it
// hits nobody.
func TestIssue15_UpgradeTellsATighterLimiter(t *testing.T) {
	base := plan.Limiter{Name: "rate", Requests: 10, Window: time.Minute, FixedWindow: true}
	for name, change := range map[string]func(*plan.Limiter){
		"fewer requests":  func(l *plan.Limiter) { l.Requests = 9 },
		"a longer window": func(l *plan.Limiter) { l.Window = time.Hour },
		"spread evenly":   func(l *plan.Limiter) { l.FixedWindow = false },
		"fewer at once":   func(l *plan.Limiter) { l.MaxConcurrent = 2 },
	} {
		is := base
		change(&is)
		if !tighter(base, is) || tighter(is, base) {
			t.Errorf("%s: there %v, back %v", name, tighter(base, is), tighter(is, base))
		}
	}
}

// What a step gives is known where it is written out, or may be by an expression.
func TestIssue15_UpgradeKnowsWhatAStepGives(t *testing.T) {
	text := plan.Value{Kind: plan.ValueLiteral, Literal: json.RawMessage(`"x"`)}
	with := plan.Value{Kind: plan.ValueObject, Object: []plan.Binding{{Name: "a", Value: text}, {Name: "o", Value: plan.Value{Kind: plan.ValueObject, Object: []plan.Binding{{Name: "b", Value: text}}}}}}
	for pointer, want := range map[string]bool{"/a": true, "/b": false, "/o/b": true, "/o/c": false} {
		if got := (stepInput{with: with}).has(pointer); got != want {
			t.Errorf("%s: %v", pointer, got)
		}
	}
	whole := stepInput{with: plan.Value{Kind: plan.ValueLiteral, Literal: json.RawMessage(`{"a":"x"}`)}}
	if !whole.has("/a") || whole.has("/b") || (stepInput{}).has("/a") || !(stepInput{with: plan.Value{Kind: plan.ValueExpr}}).has("/a") {
		t.Error("literals of objects are read, and expressions may give all")
	}
}
