package spec

import "slices"

// shape says what a key's value may be.
type shape uint8

const (
	aScalar shape = 1 << iota
	aMapping
	aSequence
	anything = aScalar | aMapping | aSequence
)

func (s shape) allows(kind Kind) bool {
	switch kind {
	case Mapping:
		return s&aMapping != 0
	case Sequence:
		return s&aSequence != 0
	}
	return s&aScalar != 0
}

// String names the shape as a message does after "must be".
func (s shape) String() string {
	switch s {
	case aMapping:
		return "a map"
	case aSequence:
		return "a list"
	case aMapping | aSequence:
		return "a map or a list"
	case aScalar | aMapping:
		return "a single value or a map"
	case aScalar | aSequence:
		return "a single value or a list"
	}
	return "a single value"
}

// word is a key of the language with the shape of its value.
type word struct {
	name  string
	shape shape
}

// workflowWords are the keys of a workflow (docs/language.md, "Keys").
func workflowWords() []word {
	return []word{
		{"flowrun", aScalar}, {"name", aScalar}, {"description", aScalar}, {"labels", aMapping},
		{"inputs", aMapping}, {"triggers", aMapping}, {"concurrency", aScalar | aMapping}, {"timeout", aScalar},
		{"defaults", aMapping}, {"state", aMapping}, {"steps", aSequence}, {"outputs", aMapping},
		{"on_success", aSequence}, {"on_failure", aSequence}, {"finally", aSequence},
	}
}

// stepWords are the keys of a step (docs/language.md, "Keys").
func stepWords() []word {
	return []word{
		{"id", aScalar}, {"name", aScalar}, {"uses", aScalar}, {"with", aMapping}, {"connection", aScalar},
		{"let", aMapping}, {"set_state", aMapping}, {"steps", aSequence}, {"foreach", aScalar | aSequence},
		{"as", aScalar}, {"key", aScalar}, {"max_parallel", aScalar}, {"collect", aScalar | aMapping},
		{"needs", aScalar | aSequence}, {"if", aScalar}, {"run_if", aScalar}, {"repeat", aMapping},
		{"retry", aMapping}, {"timeout", aScalar}, {"within", aScalar}, {"cache", aScalar},
		{"paginate", aMapping}, {"incremental", aMapping}, {"on_error", aScalar | aMapping}, {"on_unknown", aScalar},
	}
}

func names(words []word) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = w.name
	}
	return list
}

func lookup(words []word, name string) (word, bool) {
	i := slices.IndexFunc(words, func(w word) bool { return w.name == name })
	if i < 0 {
		return word{}, false
	}
	return words[i], true
}

// StepKind says what a step does.
type StepKind uint8

// The kinds of steps. NoKind is a step that does nothing: it was reported.
const (
	NoKind StepKind = iota
	ActionStep
	LetStep
	SetStateStep
	LoopStep
)

// String names the kind as messages do.
func (k StepKind) String() string {
	switch k {
	case ActionStep:
		return "an action"
	case LetStep:
		return "`let`"
	case SetStateStep:
		return "`set_state`"
	case LoopStep:
		return "a loop"
	}
	return "nothing"
}

// kindOf returns the kind of step that a key makes, or NoKind.
func kindOf(key string) StepKind {
	switch key {
	case "uses":
		return ActionStep
	case "let":
		return LetStep
	case "set_state":
		return SetStateStep
	case "foreach", "steps":
		return LoopStep
	}
	return NoKind
}

// keysOf returns the keys that a kind of step may have (docs/language.md, "Keys").
func keysOf(kind StepKind) []string {
	keys := []string{"id", "name", "needs", "if", "run_if"}
	switch kind {
	case ActionStep:
		return append(keys, "uses", "with", "connection", "repeat", "retry", "timeout", "within", "cache",
			"paginate", "incremental", "on_error", "on_unknown")
	case LoopStep:
		return append(keys, "foreach", "as", "key", "max_parallel", "collect", "steps", "on_error")
	case LetStep:
		return append(keys, "let")
	case SetStateStep:
		return append(keys, "set_state")
	}
	return names(stepWords())
}

// foreignWords are keys that other engines have, with what flowrun has instead.
func foreignWords() map[string]string {
	return map[string]string{
		"on":         "triggers are written under `triggers`",
		"jobs":       "steps are written under `steps`",
		"tasks":      "steps are written under `steps`",
		"run":        "there are no shell steps; a plugin's action does the work (`uses`)",
		"script":     "there are no shell steps; a plugin's action does the work (`uses`)",
		"command":    "there are no shell steps; a plugin's action does the work (`uses`)",
		"shell":      "there are no shell steps; a plugin's action does the work (`uses`)",
		"depends_on": "the steps before are named under `needs`",
		"depends":    "the steps before are named under `needs`",
		"when":       "a condition is written under `if`",
		"matrix":     "use `foreach` over `cross(a, b)`",
		"strategy":   "use `foreach` over `cross(a, b)`",
		"for_each":   "did you mean `foreach`?",
		"args":       "an action's inputs stand under `with`",
		"params":     "an action's inputs stand under `with`",
		"retries":    "did you mean `retry`? It is a map: {attempts: 4}",
		"version":    "the language version is `flowrun: v1`",
	}
}
