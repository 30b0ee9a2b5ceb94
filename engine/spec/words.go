package spec

// StepKind says what a step does. Its text is the kind in the table of the language.
type StepKind string

// The kinds of steps. NoKind is a step that does nothing: it was reported.
const (
	NoKind       StepKind = ""
	ActionStep   StepKind = "action"
	LetStep      StepKind = "let"
	SetStateStep StepKind = "set_state"
	LoopStep     StepKind = "loop"
)

// WorkflowStep is the kind, in the table, of a step that calls a workflow: an ActionStep with fewer keys.
const WorkflowStep = "workflow"

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
		"batch_size": "did you mean `batch`?",
		"chunk":      "did you mean `batch`?",
		"args":       "an action's inputs stand under `with`",
		"params":     "an action's inputs stand under `with`",
		"retries":    "did you mean `retry`? It is a map: {attempts: 4}",
		"version":    "the language version is `flowrun: v1`",
	}
}
