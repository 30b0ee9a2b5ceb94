package quota

import (
	"fmt"
	"strconv"
	"sync"
)

// Quota bounds one thing that grows by what plugins or runs put into it, or by what a
// workflow says. All of them stand in Quotas: docs/reliability.md, "Limits", and `limits` in flowrun.yaml
// are made of that table.
type Quota struct {
	Name    string // as flowrun.yaml writes it, and `details.limit` of what it ended
	What    string // of what, for people
	Default int64
	Ceiling int64
	Count   bool // a number of things; else bytes

	Workflow bool // of what a workflow does; else of what plugins and runs leave
}

// The names of the quotas.
const (
	Journal      = "journal"
	Cursor       = "cursor"
	Watermark    = "watermark"
	Meta         = "meta"
	PageNote     = "page_note"
	ErrorText    = "error_text"
	ErrorDetails = "error_details"
	Prompt       = "prompt"
	Checkpoint   = "checkpoint"
	Log          = "log"
	StateValue   = "state_value"
	State        = "state"
	StateKeys    = "state_keys"
	Blob         = "blob"
	Blobs        = "blobs"

	ExpressionSteps  = "expression_steps"
	ExpressionResult = "expression_result"
	LoopItems        = "loop_items"
	WorkflowFile     = "workflow_file"
)

// byName finds a row for each part of each answer: it is made once.
var byName = sync.OnceValue(func() map[string]Quota {
	rows := map[string]Quota{}
	for _, row := range All() {
		rows[row.Name] = row
	}
	return rows
})

// All returns the table, in the order of the documents.
func All() []Quota {
	const kib, mib, gib = 1 << 10, 1 << 20, 1 << 30
	return []Quota{
		{Name: Journal, What: "the journal of a run, with its log", Default: 64 * mib, Ceiling: 256 * mib},
		{Name: Cursor, What: "the cursor of a page", Default: 16 * kib, Ceiling: 64 * kib},
		{Name: Watermark, What: "the watermark of an incremental reading", Default: 64 * kib, Ceiling: 1 * mib},
		{Name: Meta, What: "what an answer says of itself (`meta`)", Default: 64 * kib, Ceiling: 1 * mib},
		{Name: PageNote, What: "what a page leaves for the next one", Default: 4 * kib, Ceiling: 64 * kib},
		{Name: ErrorText, What: "the texts of an error, and of a pending answer", Default: 64 * kib, Ceiling: 256 * kib},
		{Name: ErrorDetails, What: "the details of an error", Default: 64 * kib, Ceiling: 1 * mib},
		{Name: Prompt, What: "what a person is asked to do (`prompt`)", Default: 16 * kib, Ceiling: 64 * kib},
		{Name: Checkpoint, What: "the checkpoint of a pending call", Default: 1 * mib, Ceiling: 4 * mib},
		{Name: Log, What: "the log of one call", Default: MaxStepLog, Ceiling: 64 * mib},
		{Name: StateValue, What: "a value of a plugin's state", Default: 1 * mib, Ceiling: 4 * mib},
		{Name: State, What: "the state of a plugin in one scope: its own, a connection's or a run's", Default: 64 * mib, Ceiling: 1 * gib},
		{Name: StateKeys, What: "the keys of that state", Default: 10_000, Ceiling: 1_000_000, Count: true},
		{Name: Blob, What: "one large value", Default: 2 * gib, Ceiling: 64 * gib},
		{Name: Blobs, What: "the large values of a run, as they lie on the disk", Default: 4 * gib, Ceiling: 256 * gib},
		{Name: ExpressionSteps, What: "the steps of an expression", Default: 100_000, Ceiling: 2_000_000, Count: true, Workflow: true},
		{Name: ExpressionResult, What: "the result that an expression makes, as JSON", Default: 256 * kib, Ceiling: 4 * mib, Workflow: true},
		{Name: LoopItems, What: "the items of a loop", Default: 10_000, Ceiling: 100_000, Count: true, Workflow: true},
		{Name: WorkflowFile, What: "a workflow file", Default: 256 * kib, Ceiling: 1 * mib, Workflow: true},
	}
}

// Named returns a quota of the table; the zero Quota where there is none.
func Named(name string) Quota { return byName()[name] }

// Text writes a value of the quota as flowrun.yaml does.
func (q Quota) Text(value int64) string {
	if q.Count {
		return strconv.FormatInt(value, 10)
	}
	return SizeText(value)
}

// Raise says how a limit that stands at a value is raised, or that it is at its ceiling.
func Raise(name string, value int64) string {
	q := Named(name)
	if value >= q.Ceiling {
		return fmt.Sprintf("`%s` is at its ceiling of %s", name, q.Text(q.Ceiling))
	}
	return fmt.Sprintf("`limits: {%s: …}` in flowrun.yaml raises it, up to %s", name, q.Text(q.Ceiling))
}

// Values are what was set, by name; what is not set has its default. A value
// above its ceiling counts as the ceiling.
type Values map[string]int64

// Of returns the value of a quota.
func (v Values) Of(name string) int64 {
	quota := byName()[name]
	if set, ok := v[name]; ok && set > 0 {
		return min(set, quota.Ceiling)
	}
	return quota.Default
}
