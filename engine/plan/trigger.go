package plan

import "encoding/json"

// TriggerKind says what starts a run.
type TriggerKind string

// The kinds of triggers. Manual is the one that every workflow has.
const (
	TriggerManual  TriggerKind = "manual"
	TriggerCron    TriggerKind = "cron"
	TriggerEvery   TriggerKind = "every"
	TriggerWebhook TriggerKind = "webhook"
	TriggerPoll    TriggerKind = "poll"
	TriggerAfter   TriggerKind = "after"
)

// Scheduled reports whether a trigger of this kind fires for slots, of which each
// has at most one run (docs/reliability.md, P10). Other kinds fire when something
// happens.
func (k TriggerKind) Scheduled() bool { return k == TriggerCron || k == TriggerEvery }

// Trigger is a checked trigger (docs/language.md, rules 17 and 18). Kind names the
// one part that is set.
type Trigger struct {
	Name               string      `json:"name"`
	Kind               TriggerKind `json:"kind"`
	Pos                Pos         `json:"pos"`
	Inputs             []Binding   `json:"inputs,omitempty"`               // in written order; inputs that lack take their defaults
	PauseAfterFailures int         `json:"pause_after_failures,omitempty"` // in a row; 0 = never

	Schedule *Schedule `json:"schedule,omitempty"` // of cron and every
	Webhook  *Webhook  `json:"webhook,omitempty"`
	Poll     *Poll     `json:"poll,omitempty"`
	After    *After    `json:"after,omitempty"`
}

// Schedule is a cron or every trigger: exactly one of Cron and Every is set.
type Schedule struct {
	Cron     string   `json:"cron,omitempty"`
	Every    Duration `json:"every,omitempty"`
	Timezone string   `json:"timezone"` // IANA name
	Jitter   Duration `json:"jitter,omitempty"`
	Skipped  string   `json:"skipped_time"`  // run_after, skip
	Repeated string   `json:"repeated_time"` // run_once, run_twice
	Catchup  Catchup  `json:"catchup"`
}

// Catchup says which slots that nobody was there for are still run: those
// inside Window before now, of which Keep are taken (none, latest, all).
type Catchup struct {
	Window Duration `json:"window"`
	Keep   string   `json:"keep"`
}

// Webhook starts a run for a request. Exactly one of HMAC and Token is set.
type Webhook struct {
	HMAC   *WebhookHMAC    `json:"hmac_sha256,omitempty"`
	Token  *Value          `json:"token,omitempty"`
	Dedupe *Value          `json:"dedupe,omitempty"` // text; an empty one means no deduplication
	Body   json.RawMessage `json:"body,omitempty"`   // JSON Schema; empty = any body
}

// WebhookHMAC is how a request is signed.
type WebhookHMAC struct {
	Secret          Value  `json:"secret"`
	Header          string `json:"header"`
	Prefix          string `json:"prefix,omitempty"`
	TimestampHeader string `json:"timestamp_header,omitempty"`
}

// Poll calls an action and starts a run for each new or changed key of its
// items.
type Poll struct {
	Uses         string          `json:"uses"`
	Connection   *Value          `json:"connection,omitempty"`
	With         Value           `json:"with,omitzero"`
	Every        Duration        `json:"every"`
	Items        Expr            `json:"items"`                   // sees `result`
	Key          Expr            `json:"key"`                     // sees `item`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"` // narrowed by Validate; empty = the action's own
}

// After starts a run when another workflow's run has ended with one of the
// statuses.
type After struct {
	Workflow string   `json:"workflow"`
	Status   []string `json:"status"` // words of runs.Status
}
