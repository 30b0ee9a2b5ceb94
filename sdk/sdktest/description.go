package sdktest

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/flowrun/flowrun/sdk"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// Description is what a plugin says of itself to a host.
type Description struct {
	Name, Version string
	Doc           string
	SDK           string   // what it was built with
	Features      []string // what it has beyond the calls that all plugins have: "reconcile"
	Config        json.RawMessage
	Actions       []Action
	Limiters      []Limiter
	Wants         Wants
	TokenAction   string
	Simulator     []string
	Login         *sdk.Login    // nil = there is none
	Delivery      *sdk.Delivery // nil = there is none

	Settings json.RawMessage // JSON Schema of what a project can tell it; nil = nothing
	Problems []sdk.Problem   // what it has against what it was told, with pointers into the settings
}

// Action is what a plugin says of one action. Input and Output are its schemas.
type Action struct {
	Name, Doc     string
	Effect        string // "read", "idempotent", "keyed", "once"
	Input, Output json.RawMessage
	Timeout       time.Duration // of one call, 0 = the host's
	Limiters      []string
	Paging        *Paging // nil = it has no pages
	Range         *Range  // nil = it has no range
	Incremental   bool
	Examples      []Example
	Faults        []Fault
	Deprecated    string // what to use instead
}

// Paging says where an action has its pages.
type Paging struct {
	Cursor   string // input that names the first page
	Items    string // output that is concatenated, "" = the only list
	Next     string // output that shows the next cursor
	Identity string // what tells items apart: "*" = an item as a whole, "-" = they may repeat, else a field
}

// Range says where an action's input has its time range.
type Range struct {
	From, To string
	Max      time.Duration // the longest that one call takes
}

// Example is a declared example.
type Example struct {
	Name          string
	Input, Output json.RawMessage // Output nil = none is shown
}

// Fault is a declared failure.
type Fault struct {
	Code        sdk.Code
	Reason, Doc string
}

// Limiter is a declared limit of the service.
type Limiter struct {
	Name          string
	Requests      int
	Window        time.Duration
	FixedWindow   bool
	MaxConcurrent int
	Scope         []string
}

// Wants is what a plugin asks for besides its connections.
type Wants struct {
	Env, Hosts []string
	State      bool
}

func description(r *pluginv1.DescribeResponse) Description {
	d := Description{
		Name: r.GetName(), Version: r.GetVersion(), Doc: r.GetDoc(), SDK: r.GetSdk(), Features: r.GetPlugin().GetFeatures(),
		Config: r.GetConfigSchema(), TokenAction: r.GetTokenAction(), Simulator: r.GetSimulator(),
		Settings: r.GetSettingsSchema(), Problems: problems(r.GetDiagnostics()),
		Wants: Wants{Env: r.GetWants().GetEnv(), Hosts: r.GetWants().GetHosts(), State: r.GetWants().GetState()},
	}
	if l := r.GetLogin(); l != nil {
		d.Login = &sdk.Login{Start: l.GetStart(), Wait: l.GetWait(), Status: l.GetStatus(), Revoke: l.GetRevoke(), Scopes: l.GetScopes()}
	}
	if l := r.GetDelivery(); l != nil {
		d.Delivery = &sdk.Delivery{Action: l.GetAction(), Content: l.GetContent(), Markdown: l.GetMarkdown(), Path: l.GetPath(), Title: l.GetTitle()}
	}
	for _, a := range r.GetActions() {
		d.Actions = append(d.Actions, action(a))
	}
	for _, l := range r.GetLimiters() {
		d.Limiters = append(d.Limiters, Limiter{
			Name: l.GetName(), Requests: int(l.GetRequests()), Window: l.GetWindow().AsDuration(),
			FixedWindow: l.GetFixedWindow(), MaxConcurrent: int(l.GetMaxConcurrent()), Scope: l.GetScope(),
		})
	}
	return d
}

func action(a *pluginv1.Action) Action {
	described := Action{
		Name: a.GetName(), Doc: a.GetDoc(), Effect: strings.ToLower(strings.TrimPrefix(a.GetEffect().String(), "EFFECT_")),
		Input: a.GetInputSchema(), Output: a.GetOutputSchema(), Timeout: a.GetDefaultTimeout().AsDuration(),
		Limiters: a.GetLimiters(), Incremental: a.GetIncremental(), Deprecated: a.GetDeprecated(),
	}
	if p := a.GetPaging(); p != nil {
		described.Paging = &Paging{Cursor: p.GetCursorField(), Items: p.GetItemsField(), Next: p.GetNextField(), Identity: p.GetIdentity()}
	}
	if r := a.GetRange(); r != nil {
		described.Range = &Range{From: r.GetFromField(), To: r.GetToField(), Max: r.GetMax().AsDuration()}
	}
	for _, e := range a.GetExamples() {
		described.Examples = append(described.Examples, Example{Name: e.GetName(), Input: e.GetInput(), Output: e.GetOutput()})
	}
	for _, f := range a.GetFaults() {
		described.Faults = append(described.Faults, Fault{Code: sdk.Code(f.GetCode()), Reason: f.GetReason(), Doc: f.GetDoc()})
	}
	return described
}
