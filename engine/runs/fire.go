package runs

import (
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
)

// The reasons of a fire that started no run (docs/schedules.md).
const (
	SkipOverlap  = "overlap"        // the trigger's last run is active, and the workflow has no `concurrency`
	SkipLate     = "late"           // nobody was there for the slot, and it lies before the catch-up window
	SkipCatchup  = "catchup"        // it lies in the window, and `keep` does not take it
	SkipPaused   = "paused"         // the schedule was paused
	SkipRestored = "restored"       // the slot lies before the restore of the store
	SkipInvalid  = "invalid"        // the inputs could not be made: Note says why
	SkipBusy     = "busy"           // too many runs, or too little space: Note says which
	SkipFailed   = "failed"         // the call of a poll failed: Note says why
	SkipRepeated = "repeated"       // a webhook's or poll's event that has its run already
	SkipBacklog  = "too_many_slots" // more slots were missed than are looked at
)

// Fire is one fire of a trigger and what became of it: a run, or the reason why
// there is none. (Workflow, Trigger, Slot) is unique in a store (docs/reliability.md,
// P10). Times are UTC.
type Fire struct {
	Workflow string           `json:"workflow"`
	Trigger  string           `json:"trigger"`
	Kind     plan.TriggerKind `json:"kind"`
	Slot     time.Time        `json:"slot"`              // the nominal time; of other kinds than schedules when it happened
	At       time.Time        `json:"at"`                // when it was decided
	Run      string           `json:"run,omitempty"`     // "" = none was started
	Skipped  string           `json:"skipped,omitempty"` // why there is none
	Slots    int              `json:"slots,omitempty"`   // how many skipped slots the row stands for, when more than one: Slot is the first
	Note     string           `json:"note,omitempty"`    // for people: "02:30 does not exist on this day"
	Backfill bool             `json:"backfill,omitempty"`
	By       string           `json:"by,omitempty"`    // who asked for it; "" = the clock
	From     string           `json:"from,omitempty"`  // of after: the run that it follows
	Depth    int              `json:"depth,omitempty"` // of after: how many runs stand before it that follow each other
}

// TriggerState is what the store keeps of a trigger between fires.
type TriggerState struct {
	Workflow string    `json:"workflow"`
	Trigger  string    `json:"trigger"`
	Hash     string    `json:"hash,omitempty"`     // of the definition that Done counts by
	Done     time.Time `json:"done,omitzero"`      // every slot up to it is decided: it is never fired again
	Epoch    uint64    `json:"epoch,omitempty"`    // of the store when Done was written
	Failures int       `json:"failures,omitempty"` // runs in a row that failed
	LastRun  string    `json:"last_run,omitempty"` // the newest one it started
	Paused   bool      `json:"paused,omitempty"`
	PausedAt time.Time `json:"paused_at,omitzero"`
	PausedBy string    `json:"paused_by,omitempty"`     // "" = the engine, after failures
	Reason   string    `json:"paused_reason,omitempty"` // "3 failures in a row", or what a person said
	Counted  uint64    `json:"counted,omitempty"`       // the newest outbox entry that Failures counts
}

// WholeWorkflow stands in the place of a trigger's name for what is kept of all triggers
// of a workflow: paused, it is disabled. No trigger can be named so.
const WholeWorkflow = "*"

// TriggerID is how a trigger is named outside: "WORKFLOW/TRIGGER".
func TriggerID(workflow, trigger string) string { return workflow + "/" + trigger }

// SplitTriggerID is the reverse of TriggerID: the name of a workflow may hold
// anything but a slash. ok is false where one of the two is missing.
func SplitTriggerID(id string) (workflow, trigger string, ok bool) {
	workflow, trigger, ok = strings.Cut(id, "/")
	return workflow, trigger, ok && workflow != "" && trigger != "" && !strings.Contains(trigger, "/")
}

// OutboxKind says what happened to a run that others wait to hear of.
type OutboxKind string

// The kinds of outbox entries.
const (
	OutboxClosed OutboxKind = "closed" // it has its final status and its handlers have ended
	OutboxPaused OutboxKind = "paused"
	// OutboxTriggerPaused is about a trigger, not a run: the engine has paused it.
	OutboxTriggerPaused OutboxKind = "trigger_paused"
)

// OutboxEntry is a change of a run that is stored in the same transaction as the
// change itself and handed on afterwards: to `after` triggers, to the notices of
// flowrun.yaml, to the count of failures. Seq rises within a store.
type OutboxEntry struct {
	Seq   uint64     `json:"seq"`
	Kind  OutboxKind `json:"kind"`
	At    time.Time  `json:"at"`
	Epoch uint64     `json:"epoch,omitempty"` // of the store then
	Run   Run        `json:"run,omitzero"`    // as it was then
	// Trigger is set in place of Run where it is about a trigger.
	Trigger *TriggerState `json:"trigger,omitempty"`
}
