package spec

import (
	"slices"
	"sync"

	"github.com/flowrun/flowrun/engine/plan"
)

// The patterns of names, RE2 and ECMAScript alike.
const (
	NamePattern    = `^[\p{L}\p{N}][\p{L}\p{M}\p{N} ._-]*$`
	FieldPattern   = `^[A-Za-z_][A-Za-z0-9_]*$`
	IDPattern      = `^[a-z][a-z0-9_]*$`
	TriggerPattern = `^[A-Za-z][A-Za-z0-9_-]*$`
	// DestinationPattern is a destination by its name: plugin, connection, and perhaps a path.
	DestinationPattern = `^([a-z][a-z0-9_-]*)\.([a-z][a-z0-9_-]*)(?:/(.*))?$`
	HeaderPattern      = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" // RFC 9110
	// HasExpression finds a `${{` that is not written as text (`$${{`).
	HasExpression = `(^|[^$])\$\{\{`
)

// MaxName is the most characters of a name or a label.
const MaxName = 100

// V1 returns the table of `flowrun: v1`. It is one value for all: who wants another makes a copy.
var V1 = sync.OnceValue(func() *Language {
	return &Language{Maps: slices.Concat(workflowMaps(), stepMaps(), triggerMaps(), schemaMaps())}
})

func workflowMaps() []Map {
	steps := func(name, doc string) Key {
		return Key{Name: name, Doc: doc, Items: &Key{Map: "step"}, Some: true}
	}
	main := steps("steps", "What is done, from top to bottom. A step without `needs` follows the one above it.")
	main.Needed = true
	return []Map{
		{Name: "workflow", What: "the workflow", Doc: "A file is one map with these keys.", Keys: []Key{
			{Name: "flowrun", Doc: "The version of the language.", Type: Word, Values: []string{Version}, Needed: true, Example: "flowrun: v1"},
			{Name: "name", Doc: "The workflow's name; without it the file's, without its ending.", Type: Text, Pattern: NamePattern, MaxRunes: MaxName, Example: "name: weekly report"},
			{Name: "description", Doc: "What the workflow is for.", Type: Text},
			{Name: "labels", Doc: "Names and values by which runs are found.", Map: "labels", Example: "labels: {team: ops}"},
			{Name: "inputs", Doc: "What a run is given: names with their types.", Map: "inputs", Example: "inputs: {site: {type: string}}"},
			{Name: "triggers", Doc: "What starts a run besides people. Its names are the author's.", Map: "triggers", Some: true, Example: "triggers: {nightly: {cron: \"0 2 * * *\"}}"},
			{Name: "concurrency", Doc: "How many runs go on at once, and what happens to more; as text alone, the key of a limit of 1.", Type: Template, Map: "concurrency", Example: "concurrency: {key: \"${{ inputs.site }}\", limit: 2}"},
			{Name: "timeout", Doc: "The longest that a run may take, waits included.", Type: Duration, Default: "24h", Example: "timeout: 2h"},
			{Name: "defaults", Doc: "What steps that call a plugin take where they say nothing.", Map: "defaults", Example: "defaults: {timeout: 30s}"},
			{Name: "state", Doc: "Values that are kept between runs, with their types; each has a default or may be null.", Map: "state", Example: "state: {seen: {type: integer, default: 0}}"},
			main,
			{Name: "outputs", Doc: "What the run gives, evaluated when all steps ended well.", Map: "outputs", Example: "outputs: {total: \"${{ steps.count.outputs.n }}\"}"},
			steps("on_success", "Steps after a run that succeeded."),
			steps("on_failure", "Steps after a run that failed or timed out; they see `error`."),
			steps("finally", "Steps at the end of every run."),
		}},
		{Name: "labels", What: "`labels`", Names: NamePattern, MaxName: MaxName, Each: &Key{Doc: "The label's text.", Type: Text, What: "a label's text", MaxRunes: MaxName, Null: true}},
		{Name: "concurrency", What: "`concurrency`", Keys: []Key{
			{Name: "key", Doc: "Runs with the same key share the limit. Without it all runs of the workflow do.", Type: Template, Example: "key: ${{ inputs.site }}"},
			{Name: "limit", Doc: "How many go on at once.", Type: Integer, Least: 1, Most: 10_000, Default: "1"},
			{Name: "queue_max", Doc: "How many wait; more are refused.", Type: Integer, Least: 1, Most: 10_000, Default: "100"},
			{Name: "on_full", Doc: "What becomes of a run that finds no place: it waits, replaces those that wait, is left out, fails, or cancels the one that goes on.",
				Type: Word, What: "an `on_full`", Default: string(plan.OnFullQueue), Values: []string{
					string(plan.OnFullQueue), string(plan.OnFullLatest), string(plan.OnFullSkip), string(plan.OnFullFail), string(plan.OnFullCancelRunning),
				}},
		}},
		{Name: "defaults", What: "`defaults`", Keys: []Key{
			{Name: "timeout", Doc: "Of one attempt, for each step that has none of its own.", Type: Duration, Example: "timeout: 30s"},
			{Name: "retry", Doc: "How failed calls are tried again; a step's own `retry` goes over it key by key.", Map: "retry", Example: "retry: {attempts: 4}"},
		}},
		{Name: "outputs", What: "`outputs`", Names: FieldPattern, Each: &Key{Doc: "Any value, or `value` with the `format` in which it is shown.", Type: Anything, Map: "output"}},
		{Name: "output", What: "an output", Doc: "A map with `value` is the output's value with its format.", Keys: []Key{
			{Name: "value", Doc: "The output's value.", Type: Anything, Needed: true},
			{Name: "format", Doc: "How the value is shown. `csv` takes rows too.", Type: Word, What: "a format", Values: []string{"markdown", "csv"}},
			{Name: "to", Doc: "Where it goes when the run has succeeded: `plugin.connection`, `plugin.connection/path`, `notify.target`, or a call that is written out.", Some: true,
				Items: &Key{Type: Text, What: "a destination", Map: "destination", Pattern: DestinationPattern}, Example: "to: [mail.team]"},
		}},
		{Name: "destination", What: "a destination", Doc: "A call that sends an output out. Its inputs see the output as `output`, besides `run`, `inputs` and `secrets`.", Keys: []Key{
			{Name: "uses", Doc: "An action of a plugin that does something, or `core.notify`.", Type: Text, Needed: true, Example: "uses: http.put"},
			{Name: "with", Doc: "Its inputs.", Map: "values", Example: "with: {path: /digest, text: \"${{ output.text }}\"}"},
			{Name: "connection", Doc: "A connection of flowrun.yaml, as of a step.", Type: Text, Example: "connection: work"},
		}},
	}
}

// kindWords are the kinds of errors.
func kindWords() []string {
	var words []string
	for _, kind := range plan.ErrorKinds() {
		words = append(words, string(kind))
	}
	return words
}

// oneOrMore is a key that takes a list of what it takes.
func oneOrMore(key Key) Key {
	key.Items = &Key{Type: key.Type, What: key.What, Values: key.Values, Pattern: key.Pattern}
	return key
}
