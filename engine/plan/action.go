package plan

import (
	"encoding/json"
	"time"
)

// Effect says what a repeated call of an action does (docs/language.md, rule 11).
type Effect string

// The effect classes.
const (
	EffectRead       Effect = "read"       // free to repeat and to cache
	EffectIdempotent Effect = "idempotent" // safe to repeat
	EffectKeyed      Effect = "keyed"      // safe to repeat with the same idempotency key
	EffectOnce       Effect = "once"       // not safe: an unknown outcome pauses the run
)

// Writes reports whether an intent must be durable before the call is sent.
func (e Effect) Writes() bool { return e != EffectRead }

// Action is what a plugin's action looks like to the engine. Schemas are JSON
// Schema 2020-12 as the plugin described them.
type Action struct {
	Plugin         string          `json:"plugin"`
	Name           string          `json:"name"` // without the plugin: "whois"
	Doc            string          `json:"doc,omitempty"`
	Effect         Effect          `json:"effect"`
	Input          json.RawMessage `json:"input_schema"`
	Output         json.RawMessage `json:"output_schema"`
	DefaultTimeout time.Duration   `json:"default_timeout,omitempty"`
	Limiters       []Limiter       `json:"limiters,omitempty"`
	Paging         *Paging         `json:"paging,omitempty"`
	Range          *Range          `json:"range,omitempty"`
	Incremental    bool            `json:"incremental,omitempty"`
	Examples       []Example       `json:"examples,omitempty"`
	Faults         []Fault         `json:"faults,omitempty"`
	Deprecated     string          `json:"deprecated,omitempty"`
	Reconcile      bool            `json:"reconcile,omitempty"` // of effect once: its plugin can be asked whether a lost call happened
	Recipe         string          `json:"recipe,omitempty"`    // sha256 of what its plugin keeps of its settings for it, hex; "" = nothing
	PluginVersion  string          `json:"plugin_version,omitempty"`
	PluginDigest   string          `json:"plugin_digest,omitempty"` // sha256 of the executable, and of what the plugin was told, hex
}

// Attached is the PluginDigest of a process that a person started and attached: nobody has
// seen its bytes.
const Attached = "attached"

// FullName returns plugin.name, as a workflow's `uses` says it.
func (a *Action) FullName() string { return a.Plugin + "." + a.Name }

// Limiter is a rate limit that a plugin declares and the engine keeps.
type Limiter struct {
	Name          string        `json:"name"`
	Requests      int           `json:"requests"`
	Window        time.Duration `json:"window"`
	FixedWindow   bool          `json:"fixed_window"`             // all at once allowed, else spread evenly
	MaxConcurrent int           `json:"max_concurrent,omitempty"` // 0 = no limit
	Scope         []string      `json:"scope,omitempty"`          // config fields; empty = base_url
}

// Paging names the fields of a paginated action.
type Paging struct {
	CursorField string `json:"cursor_field"`
	ItemsField  string `json:"items_field,omitempty"` // "" = the only array of the output
	NextField   string `json:"next_field"`
	Identity    string `json:"identity,omitempty"` // a field's name, or one of the constants below
}

// What tells the items of a paginated action apart, where it is not the name of
// a field. An item without that field counts as a whole.
const (
	IdentityObject = ""  // an object as a whole; other values may repeat
	IdentityWhole  = "*" // any item as a whole
	IdentityNone   = "-" // items may repeat
)

// Range is a limit on [from, to) that the engine cuts longer ranges into.
type Range struct {
	FromField string        `json:"from_field"`
	ToField   string        `json:"to_field"`
	Max       time.Duration `json:"max"`
}

// Example is a valid input of an action, and perhaps its output.
type Example struct {
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input"`
	Output json.RawMessage `json:"output,omitempty"`
}

// Fault is a failure that an action declares.
type Fault struct {
	Kind   ErrorKind `json:"kind"`
	Reason string    `json:"reason,omitempty"`
	Doc    string    `json:"doc,omitempty"`
}
