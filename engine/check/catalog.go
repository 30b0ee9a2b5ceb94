package check

import (
	"context"
	"encoding/json"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
)

// Catalog is what the checker asks about plugins and connections. It is asked
// from one goroutine.
type Catalog interface {
	// Action returns an action by its full name, "netinfo.whois".
	Action(name string) (*plan.Action, bool)
	// ActionNames returns the full names of all actions that are known.
	ActionNames() []string
	// Validate asks the plugin about a literal input. unknown are the JSON
	// Pointers of the parts that are known only when the step runs. An error
	// means that the plugin can't be asked.
	Validate(ctx context.Context, action string, input json.RawMessage, unknown []string) (Validation, error)
	// Connections returns the connections by name with their plugins; nil when
	// there is no project file, so that names can't be checked.
	Connections() map[string]string
	// PluginProblem says why a plugin can't be described, "" when it can or is
	// not known.
	PluginProblem(plugin string) string
}

// LastWords is a Catalog that knows what a plugin that did not start wrote last.
type LastWords interface {
	LastWords(plugin string) []string
}

// Advice is a Catalog that knows what to do about a plugin that can't be described.
type Advice interface {
	PluginHint(plugin string) diag.Hint
}

// DefaultCatalog is a Catalog that may know which connection of a plugin stands
// where none is named, though it does not know all names. "" = it does not.
type DefaultCatalog interface {
	DefaultConnection(plugin string) string
}

// ConnectionCatalog is a Catalog that can tell a plugin through which connection a call
// goes when it asks about its input: some connections declare what actions take and give.
type ConnectionCatalog interface {
	// ValidateOn is Validate for a call through that connection; "" = it is not known.
	ValidateOn(ctx context.Context, action, connection string, input json.RawMessage, unknown []string) (Validation, error)
}

// LimitCatalog is a Catalog that knows what the project sets of a run's limits.
type LimitCatalog interface {
	// Limits are the limits that a plan is made with; nil = the defaults.
	Limits() *plan.Limits
	// JournalBytes are what the journal of a run may have.
	JournalBytes() int64
}

// Validation is a plugin's word about an input.
type Validation struct {
	Problems []ValidationProblem
	Output   json.RawMessage // narrowed output schema; empty = the action's own
	Identity string          // what tells the items of its pages apart; empty = the action's own
}

// ValidationProblem is one finding of a plugin. Pointer is a JSON Pointer into
// the input.
type ValidationProblem struct {
	Severity diag.Severity
	Summary  string
	Detail   string
	Pointer  string
}
