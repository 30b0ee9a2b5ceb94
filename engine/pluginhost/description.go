package pluginhost

import (
	"encoding/json"
	"slices"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
)

// featureReconcile is the optional feature of plugins that can be asked whether a
// lost call happened.
const featureReconcile = handshake.FeatureReconcile

// Description is what a plugin says of itself, checked.
type Description struct {
	Format        int             `json:"format"` // of this record
	Name          string          `json:"name"`
	Version       string          `json:"version"`
	SDK           string          `json:"sdk,omitempty"`
	Doc           string          `json:"doc,omitempty"`
	Digest        string          `json:"digest"`               // sha256 of the executable, and of what it was told, hex
	Executable    string          `json:"executable,omitempty"` // with settings: sha256 of the executable, hex
	Settings      string          `json:"settings,omitempty"`   // with settings: sha256 of what it was told, hex
	ProtocolMinor uint32          `json:"protocol_minor"`
	Features      []string        `json:"features,omitempty"` // "reconcile"
	ConfigSchema  json.RawMessage `json:"config_schema"`      // JSON Schema of the connection's config
	Actions       []*plan.Action  `json:"actions"`
	Limiters      []plan.Limiter  `json:"limiters,omitempty"`
	TokenAction   string          `json:"token_action,omitempty"`
	Login         *Login          `json:"login,omitempty"`     // nil = nobody logs in to its connections
	Delivery      *Delivery       `json:"delivery,omitempty"`  // nil = no output goes out by the name of a connection alone
	Simulator     []string        `json:"simulator,omitempty"` // command; its program is relative to the executable
	Wants         Wants           `json:"wants,omitzero"`

	SettingsSchema json.RawMessage `json:"settings_schema,omitempty"` // JSON Schema of what a project can tell it; nil = nothing
	Recipe         []byte          `json:"recipe,omitempty"`          // the plugin's own, for its connections

	recipes  map[string][]byte // of actions that are whole, by name
	decided  map[string]bool   // actions, by name, whose schemas decide everything about an input
	warnings []Diagnostic      // against what it was told; they are not kept
}

// Bare reports whether the plugin has no actions since a project has to tell it first
// which: `with` under `plugins` of flowrun.yaml.
func (d *Description) Bare() bool {
	return len(d.Actions) == 0 && d.Supports(handshake.FeatureSettings) && d.Settings == ""
}

// Whole reports whether an action has its schemas, and is no entry of an index.
func Whole(action *plan.Action) bool { return len(action.Input) > 0 }

// Wants is what a plugin asks to be granted.
type Wants struct {
	Env   []string `json:"env,omitempty"`
	Hosts []string `json:"hosts,omitempty"`
	State bool     `json:"state,omitempty"`
}

// Login names the actions of a plugin by which a person logs in to a connection
// and out; what they take and give was checked (proto's Login says what).
type Login struct {
	Start  string   `json:"start"`
	Wait   string   `json:"wait"`
	Status string   `json:"status,omitempty"` // "" = the plugin can't tell
	Revoke string   `json:"revoke,omitempty"` // "" = the service withdraws none
	Scopes []string `json:"scopes,omitempty"` // asked for where nobody names any
}

// Delivery names the action of a plugin that delivers an output of a run, and the inputs
// that take its parts; they were checked (proto's Delivery says what).
type Delivery struct {
	Action   string `json:"action"`
	Content  string `json:"content"`
	Markdown string `json:"markdown,omitempty"` // "" = Content takes Markdown too
	Path     string `json:"path,omitempty"`     // "" = nothing stands behind the connection's name
	Title    string `json:"title,omitempty"`    // "" = nothing takes it
}

// Action returns the action of that name, which is without the plugin's.
func (d *Description) Action(name string) (*plan.Action, bool) {
	for _, action := range d.Actions {
		if action.Name == name {
			return action, true
		}
	}
	return nil, false
}

// LooksAtConfig reports whether the plugin wants the config of the connection when it is
// asked about an input: Host.ValidateOn.
func (d *Description) LooksAtConfig() bool { return d.Supports(handshake.FeatureValidateConfig) }

// Supports reports whether the plugin has an optional feature.
func (d *Description) Supports(feature string) bool { return slices.Contains(d.Features, feature) }

// Diagnostic is one finding of a plugin about an input or a config.
type Diagnostic struct {
	Error   bool   `json:"error"` // else a warning
	Summary string `json:"summary"`
	Detail  string `json:"detail,omitempty"`
	Pointer string `json:"pointer,omitempty"` // JSON Pointer into the input or the config
}
