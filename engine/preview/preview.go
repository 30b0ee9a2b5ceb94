// Package preview tells what a run of a workflow would do, before it does: steps in their
// order, what is known of their values, writes, calls and how long the limits let them
// take. Nothing is called and nothing is stored.
package preview

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Options are what a preview is made of besides the workflow.
type Options struct {
	Inputs    map[string]workspace.Input
	Positions map[string][]string // of the workflow's stored cursors, by name; nil = not known
}

// Preview is what a run of a workflow would do, as far as that is known before:
// `plan -o json` prints it. It holds no time and nothing of this computer, so
// that two of them can be compared. No service is called.
type Preview struct {
	Workflow    Workflow     `json:"workflow"`
	Inputs      []Input      `json:"inputs"`
	Steps       []Step       `json:"steps"`
	OnSuccess   []Step       `json:"on_success"`
	OnFailure   []Step       `json:"on_failure"`
	Finally     []Step       `json:"finally"`
	Writes      []Write      `json:"writes"`
	Deliveries  []Delivery   `json:"deliveries,omitempty"`
	Plugins     []Plugin     `json:"plugins"`
	Connections []Connection `json:"connections"`
	Secrets     []string     `json:"secrets"`
	Hosts       []string     `json:"hosts"`
	Cursors     []Cursor     `json:"cursors"`
	Estimate    Estimate     `json:"estimate"`
}

// Workflow names the workflow.
type Workflow struct {
	Name        string `json:"name"`
	File        string `json:"file"`
	Description string `json:"description,omitempty"`
	Timeout     string `json:"timeout"`
}

// Input is one input. Value is null where it is not given and has no
// default: Missing then.
type Input struct {
	Name    string          `json:"name"`
	Value   json.RawMessage `json:"value"`
	Given   bool            `json:"given"`
	Missing bool            `json:"missing,omitempty"`
}

// Step is one step. Level counts from 1: a step of a level follows some
// step of the level above. Values that are known are written out, others as the
// expressions they are.
type Step struct {
	ID          string          `json:"id"`
	Title       string          `json:"title,omitempty"`
	Kind        plan.StepKind   `json:"kind"`
	Level       int             `json:"level"`
	After       []string        `json:"after,omitempty"`
	Reads       []string        `json:"reads,omitempty"`
	If          string          `json:"if,omitempty"`
	IfValue     *bool           `json:"if_value,omitempty"` // where the condition is known already
	RunIf       plan.RunIf      `json:"run_if,omitempty"`   // where it is not ok
	Uses        string          `json:"uses,omitempty"`
	Effect      plan.Effect     `json:"effect,omitempty"`
	Writes      bool            `json:"writes,omitempty"`
	Connection  string          `json:"connection,omitempty"`
	With        json.RawMessage `json:"with,omitempty"`
	Values      json.RawMessage `json:"values,omitempty"` // of let and set_state
	Static      bool            `json:"static"`           // all of With or Values is known
	Cache       string          `json:"cache,omitempty"`
	Incremental string          `json:"incremental,omitempty"`
	Windows     int             `json:"windows,omitempty"` // into which a range is cut
	Items       *int            `json:"items,omitempty"`   // of a loop over a known list
	Calls       *Calls          `json:"calls,omitempty"`
	Steps       []Step          `json:"steps,omitempty"` // of a loop; their calls are those of one item

	calls bounds // the same as Calls
}

// sends notes the calls of a step.
func (s *Step) sends(n bounds) {
	calls := n.calls()
	s.calls, s.Calls = n, &calls
}

// Calls bounds how many calls are sent when nothing fails: no repeated
// attempts and no polls of pending answers. Max null is unbounded.
type Calls struct {
	Min int  `json:"min"`
	Max *int `json:"max"`
}

// Write is a step that changes something at a service.
type Write struct {
	Step       string      `json:"step"` // its path: "each.label"
	Action     string      `json:"action"`
	Effect     plan.Effect `json:"effect"`
	Connection string      `json:"connection,omitempty"`
}

// Plugin is a plugin that the workflow uses.
type Plugin struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Connection is a connection that the workflow uses.
type Connection struct {
	Name      string   `json:"name"`
	Plugin    string   `json:"plugin"`
	URL       string   `json:"url,omitempty"`
	Rate      string   `json:"rate,omitempty"`
	TokenFrom string   `json:"token_from,omitempty"`
	Secrets   []string `json:"secrets,omitempty"`
	Error     string   `json:"error,omitempty"`
}

// Cursor is where an incremental step reads on. Positions is null when
// the store was not asked, empty when nothing was read yet.
type Cursor struct {
	Name      string   `json:"name"`
	Step      string   `json:"step"`
	Action    string   `json:"action"`
	Positions []string `json:"positions"`
}

// Estimate bounds calls, and the minutes that the rate limits alone make
// them take. Null is unbounded.
type Estimate struct {
	Calls   Calls   `json:"calls"`
	Minutes Minutes `json:"minutes"`
	Limits  []Limit `json:"limits"`
}

// Minutes are those of the slowest limit.
type Minutes struct {
	Min float64  `json:"min"`
	Max *float64 `json:"max"`
}

// Limit is one rate limit with the calls that it counts.
type Limit struct {
	Plugin      string   `json:"plugin"`
	Name        string   `json:"name"`
	Connections []string `json:"connections"`
	Rate        string   `json:"rate"`
	Calls       Calls    `json:"calls"`
	Minutes     Minutes  `json:"minutes"`
}

// Of tells what a run of a checked workflow would do. A wrong input is an
// *InputError; one that is missing is shown as unknown.
func Of(project *workspace.Workspace, workflow *plan.Workflow, options Options) (*Preview, error) {
	inputs, known, err := previewInputs(workflow, options.Inputs)
	if err != nil {
		return nil, err
	}
	v := &previewer{project: project, workflow: workflow, options: options, buckets: map[string]*previewBucket{}}
	result := &Preview{
		Workflow: Workflow{Name: workflow.Name, File: workflow.File, Description: workflow.Description, Timeout: schema.FormatDuration(workflow.Timeout)},
		Inputs:   inputs, Writes: []Write{}, Cursors: []Cursor{},
	}
	v.result = result
	env := map[string]any{"inputs": known, "steps": map[string]any{}}
	var total bounds
	result.Steps, total = v.steps(workflow.Steps, env, "", bounds{least: 1, most: 1})
	handlers := map[string]any{"inputs": known, "steps": map[string]any{}}
	for _, list := range []struct {
		name  string
		steps []plan.Step
		into  *[]Step
	}{{"on_success", workflow.OnSuccess, &result.OnSuccess}, {"on_failure", workflow.OnFailure, &result.OnFailure}, {"finally", workflow.Finally, &result.Finally}} {
		var calls bounds
		*list.into, calls = v.steps(list.steps, handlers, list.name+".", bounds{least: 0, most: 1})
		total = total.and(bounds{least: 0, most: calls.most})
	}
	v.deliveries(map[string]any{"inputs": known, "steps": map[string]any{}})
	result.Estimate.Calls = total.calls()
	v.surroundings()
	v.limits()
	return result, nil
}

// previewInputs converts what is given and fills in defaults, as a run does; what
// is missing stays unknown.
func previewInputs(workflow *plan.Workflow, given map[string]workspace.Input) ([]Input, map[string]any, error) {
	shown, known := []Input{}, map[string]any{}
	inputs, err := schema.FromJSONOr(workflow.Inputs, schema.ObjectOf())
	if err != nil {
		return nil, nil, err
	}
	all := workspace.UnknownInputs(workflow, inputs, given)
	for _, field := range inputs.Fields {
		_, isGiven := given[field.Name]
		raw, ok, wrong := workspace.ConvertInput(field, given)
		if isGiven && len(wrong) > 0 {
			all = append(all, wrong...)
			continue
		}
		if !ok {
			shown = append(shown, Input{Name: field.Name, Value: json.RawMessage("null"), Missing: true})
			continue
		}
		value, err := field.Type.Decode(raw)
		if err != nil {
			all = append(all, workspace.WrongInput("input", field, err))
			continue
		}
		known[field.Name] = value
		if field.Type.Secret {
			raw = json.RawMessage(`"` + workspace.PublicHidden + `"`)
		}
		shown = append(shown, Input{Name: field.Name, Value: raw, Given: isGiven})
	}
	if err := fault.WrongInputs(all); err != nil {
		return nil, nil, err
	}
	return shown, known, nil
}

// surroundings lists plugins, connections, secrets and hosts.
func (v *previewer) surroundings() {
	r := v.result
	r.Plugins, r.Connections, r.Secrets, r.Hosts = []Plugin{}, []Connection{}, []string{}, []string{}
	for i := 0; i < len(v.used); i++ { // grows: a token may come from another connection
		namedConnection := v.used[i]
		if description, err := v.project.Describe(namedConnection.Plugin); err == nil {
			r.Plugins = append(r.Plugins, Plugin{Name: namedConnection.Plugin, Version: description.Version})
		}
		if namedConnection.Name == "" {
			continue
		}
		connection := v.connection(namedConnection)
		r.Connections = append(r.Connections, connection)
		v.secrets = append(v.secrets, connection.Secrets...)
		if owner, ok := v.project.Declared().Connection(connection.TokenFrom); ok && connection.TokenFrom != "" {
			v.use(owner.Plugin, owner.Name)
		}
	}
	r.Secrets = append(r.Secrets, v.secrets...)
	for _, list := range []*[]string{&r.Secrets, &r.Hosts} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	order.Sort(r.Plugins, func(a, b Plugin) int { return strings.Compare(a.Name, b.Name) })
	r.Plugins = slices.Compact(r.Plugins)
	order.Sort(r.Connections, func(a, b Connection) int {
		return strings.Compare(a.Plugin+" "+a.Name, b.Plugin+" "+b.Name)
	})
}

// connection describes one connection and notes its hosts. In a sandbox the
// simulators' addresses say nothing.
func (v *previewer) connection(namedConnection workspace.NamedConnection) Connection {
	status := v.project.ConnectionStatus(namedConnection)
	connection := Connection{
		Name: namedConnection.Name, Plugin: namedConnection.Plugin, URL: status.URL, Rate: status.Rate, TokenFrom: status.TokenFrom,
		Error: status.Error,
	}
	if !v.project.Live(namedConnection.Name) {
		connection.URL = ""
		return connection
	}
	var config any
	if json.Unmarshal(status.Config, &config) == nil {
		connection.Secrets = workspace.SecretNames(status.Config)
		v.hosts(config)
	}
	v.host(status.URL)
	return connection
}

// hosts notes the hosts of a config's own addresses.
func (v *previewer) hosts(config any) {
	settings, _ := config.(map[string]any)
	for name, value := range settings {
		if text, ok := value.(string); ok && name != "proxy" {
			v.host(text)
		}
	}
}

func (v *previewer) host(text string) {
	if parsed, err := url.Parse(text); err == nil && parsed.Host != "" && (parsed.Scheme == "http" || parsed.Scheme == "https") {
		v.result.Hosts = append(v.result.Hosts, parsed.Host)
	}
}

// use notes a plugin and a connection; "" = the connection is not known.
func (v *previewer) use(plugin, connection string) {
	if namedConnection := (workspace.NamedConnection{Name: connection, Plugin: plugin}); !slices.Contains(v.used, namedConnection) {
		v.used = append(v.used, namedConnection)
	}
}
