package plan

// OnFull says what becomes of a run whose place under `concurrency` is taken
// (docs/language.md, rule 16).
type OnFull string

// The words of on_full.
const (
	OnFullQueue         OnFull = "queue"          // it waits its turn
	OnFullLatest        OnFull = "latest"         // it waits; those that waited before it are canceled
	OnFullSkip          OnFull = "skip"           // it is canceled at once, as a visible row
	OnFullFail          OnFull = "fail"           // it fails at once
	OnFullCancelRunning OnFull = "cancel_running" // it waits; those before it are canceled, running or not
)

// Concurrency bounds how many runs hold a place under one key at a time. Key is
// literal, an expression over `inputs`, or text with such expressions.
type Concurrency struct {
	Key      Value  `json:"key"`
	Limit    int    `json:"limit"`
	OnFull   OnFull `json:"on_full"`
	QueueMax int    `json:"queue_max"` // runs that may wait
	// Implied says that the workflow declares none: it goes on one at a time since
	// it keeps something between runs.
	Implied bool `json:"implied,omitempty"`
}
