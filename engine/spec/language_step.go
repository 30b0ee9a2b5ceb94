package spec

import (
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/plan"
)

func stepMaps() []Map {
	all := []Map{
		{Name: "step", What: "a step", Doc: "A step is exactly one of the four kinds: it has `uses`, `let`, `set_state`, or `foreach` with `steps`.", Keys: stepKeys()},
		{Name: "values", What: "`with`", Each: &Key{Type: Anything}},
		{Name: "let", What: "`let`", Names: FieldPattern, Each: &Key{Type: Anything}},
		{Name: "set_state", What: "`set_state`", Names: FieldPattern, Each: &Key{Type: Anything}},
	}
	return append(all, callMaps()...)
}

func stepKeys() []Key {
	action, called, loop := []string{string(ActionStep)}, []string{string(ActionStep), WorkflowStep}, []string{string(LoopStep)}
	reactions := []string{string(plan.ReactContinue), string(plan.ReactFail), string(plan.ReactPause)}
	return []Key{
		{Name: "id", Doc: "By which other steps read this one. An action without one has the last part of its name, if that is free.", Type: Text, Pattern: IDPattern, Example: "id: lookup"},
		{Name: "name", Doc: "For people.", Type: Text},
		{Name: "needs", Doc: "The steps that this one follows; `[]` starts it at once. Without it the step follows the one above.", Type: Text, Items: &Key{Type: Text}, Example: "needs: [fetch, count]"},
		{Name: "if", Doc: "A condition: the step is skipped where it gives false.", Type: Condition, Example: "if: inputs.days > 7"},
		{Name: "run_if", Doc: "What must have become of the steps before.", Type: Word, What: "a `run_if`", Default: string(plan.RunIfOK),
			Values: []string{string(plan.RunIfOK), string(plan.RunIfFailed), string(plan.RunIfAny)}},

		{Name: "uses", Doc: "The action: `plugin.action`, `core.action`, or `./other.yaml` for a workflow as a step.", Type: Text, What: "an action", Makes: string(ActionStep), Kinds: []string{WorkflowStep}, Example: "uses: netinfo.whois"},
		{Name: "with", Doc: "The action's inputs.", Map: "values", Kinds: called, Example: "with: {domain: example.com}"},
		{Name: "connection", Doc: "A connection of flowrun.yaml; without it the one named like the plugin, else the plugin's only one.", Type: Named, Kinds: action},
		{Name: "timeout", Doc: "Of one attempt. Without it: that of `defaults`, else the action's own, else 1m; 5m in handlers.", Type: Duration, Kinds: called, Example: "timeout: 30s"},
		{Name: "within", Doc: "Of the whole step: attempts, pages, rounds, delays and waits.", Type: Duration, Kinds: action, Example: "within: 10m"},
		{Name: "retry", Doc: "How a failed call is tried again.", Map: "retry", Kinds: action, Example: "retry: {attempts: 4}"},
		{Name: "repeat", Doc: "Call again until a condition on `result` holds; for actions that read or are idempotent.", Map: "repeat", Kinds: action, Example: "repeat: {until: result.done, every: 30s}"},
		{Name: "paginate", Doc: "Read page by page; each page is kept.", Map: "paginate", Kinds: action, Example: "paginate: {max_pages: 20}"},
		{Name: "incremental", Doc: "Read only what is new since the last run that succeeded.", Map: "incremental", Kinds: action, Example: "incremental: {cursor: issues}"},
		{Name: "cache", Doc: "How long the answer is used again; for actions that read.", Type: Duration, Kinds: action, Example: "cache: 6h"},
		{Name: "on_error", Doc: "What follows a failure: one word for all kinds of errors, or a map of kinds. `auth_required` pauses unless it says otherwise.",
			Type: Word, What: "what can follow an error", Values: reactions, Map: "reactions", Default: string(plan.ReactFail), Kinds: called, Example: "on_error: {not_found: continue}"},
		{Name: "on_unknown", Doc: "What follows where nobody knows whether a `once` call happened.",
			Type: Word, What: "what can follow an unknown outcome", Values: []string{"ask", "retry", "fail"}, Default: "ask", Kinds: action},

		{Name: "let", Doc: "Values, computed in order; later ones see earlier ones.", Map: "let", Some: true, Makes: string(LetStep), Example: "let: {total: \"${{ len(steps.list.outputs.items) }}\"}"},
		{Name: "set_state", Doc: "New values of `state`, kept when the run succeeds.", Map: "set_state", Some: true, Makes: string(SetStateStep), Example: "set_state: {seen: 5}"},

		{Name: "foreach", Doc: "The list whose items the steps are run for; at most 10,000 items or batches, unless `limits` in flowrun.yaml says more.", Type: Expression, Items: &Key{Type: Anything}, Null: true, Makes: string(LoopStep), Example: "foreach: ${{ inputs.domains }}"},
		{Name: "batch", Doc: "So many elements at a time: an item is a list of up to that many, and its key is the index of the batch unless `key` gives one.", Type: Integer, Least: 1, Most: 100_000, Kinds: loop, Example: "batch: 500"},
		{Name: "as", Doc: "The item's name inside of the loop.", Type: Text, Pattern: FieldPattern, Default: "item", Kinds: loop, Example: "as: domain"},
		{Name: "key", Doc: "What tells an item from the others: text with an expression, unique. A resume runs only what is missing. Without it the index is the key.", Type: Template, Pattern: HasExpression, Kinds: loop, Example: "key: ${{ domain.id }}"},
		{Name: "max_parallel", Doc: "Items at a time.", Type: Integer, Least: 1, Most: 256, Default: "16", Kinds: loop},
		{Name: "steps", Doc: "The steps of one item.", Items: &Key{Map: "step"}, Some: true, Makes: string(LoopStep)},
		{Name: "collect", Doc: "What one item yields: one expression, or a map of values. They are the loop's `items`.", Type: Expression, Map: "values", Kinds: loop, Example: "collect: ${{ steps.whois.outputs }}"},
		{Name: "on_error", Doc: "What a loop does after an item that failed: stop lets those in flight end, collect goes on.",
			Type: Word, What: "what a loop does after an error", Values: []string{"stop", "collect"}, Default: "stop", Kinds: loop},
	}
}

// callMaps are the maps of a step that calls.
func callMaps() []Map {
	var reactions []Key
	for _, kind := range kindWords() {
		reactions = append(reactions, Key{Name: kind, Doc: plan.ErrorKind(kind).Meaning(), Type: Word, What: "what can follow an error", Values: []string{string(plan.ReactContinue), string(plan.ReactFail), string(plan.ReactPause)}})
	}
	var retried []string
	for _, kind := range plan.DefaultRetryKinds() {
		retried = append(retried, string(kind))
	}
	return []Map{
		{Name: "retry", What: "`retry`", Keys: []Key{
			{Name: "attempts", Doc: "How often the call is sent, the first time counted.", Type: Integer, Least: 1, Most: 1000, Default: "4", Example: "attempts: 6"},
			{Name: "delay", Doc: "Before the second attempt.", Type: Duration, Default: "1s"},
			{Name: "factor", Doc: "By which the delay grows.", Type: Number, Least: 1, Most: 100, Default: "2"},
			{Name: "max_delay", Doc: "The longest delay.", Type: Duration, Default: "30s"},
			{Name: "jitter", Doc: "The share by which delays vary.", Type: Number, Least: 0, Most: 1, Default: "0.2"},
			oneOrMore(Key{Name: "on", Doc: "The kinds of errors that are tried again.", Type: Word, What: "a kind of error", Values: kindWords(), Default: "[" + strings.Join(retried, ", ") + "]"}),
		}},
		{Name: "repeat", What: "`repeat`", Keys: []Key{
			{Name: "until", Doc: "A condition that sees the round's outputs as `result`.", Type: Condition, Needed: true, Example: "until: result.done"},
			{Name: "every", Doc: "Between two rounds.", Type: Duration, Needed: true},
			{Name: "max", Doc: "How many rounds there are at most; without it `within` or the run's timeout ends them.", Type: Integer, Least: 1, Most: 1_000_000},
		}},
		{Name: "paginate", What: "`paginate`", Keys: []Key{
			{Name: "max_pages", Doc: "How many pages are read at most.", Type: Integer, Least: 1, Most: 1_000_000, Default: "100"},
			{Name: "max_items", Doc: "How many items are kept at most.", Type: Integer, Least: 1, Most: 100_000_000, Default: "10000"},
		}},
		{Name: "incremental", What: "`incremental`", Keys: []Key{
			{Name: "cursor", Doc: "The name under which the watermark is kept, unique in the file.", Type: Text, What: "a cursor's name", Pattern: NamePattern, MaxRunes: MaxName, Needed: true, Missing: "write {cursor: NAME}", Example: "cursor: NAME"},
		}},
		{Name: "reactions", What: "`on_error`", Doc: "For each kind of error what follows it.", Keys: slices.Clip(reactions)},
	}
}
