package engine

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
)

// named is a connection as a command names it.
type named struct{ name, plugin string }

// find returns the connection of that name, or the one that a plugin has under
// its own name without being declared. The error is an *UnknownError.
func (p *Project) find(name string) (named, error) {
	if declared, ok := p.file.Connection(name); ok {
		return named{name, declared.Plugin}, nil
	}
	if slices.Contains(p.PluginNames(), name) {
		return named{name, name}, nil
	}
	var names []string
	for _, connection := range p.connectionNames() {
		names = append(names, connection.name)
	}
	unknown := &fault.UnknownError{What: "connection", Name: name, Hint: diag.DidYouMean(name, names)}
	if unknown.Hint == "" {
		unknown.Hint = "`flowrun connections` lists the connections"
	}
	return named{}, unknown
}

// connectionNames lists the declared connections and, in a sandbox, those that
// the simulated plugins have under their own names.
func (p *Project) connectionNames() []named {
	var all []named
	for _, connection := range p.file.Connections {
		all = append(all, named{connection.Name, connection.Plugin})
	}
	for _, plugin := range p.simulatedPlugins() {
		if _, declared := p.file.Connection(plugin); !declared {
			all = append(all, named{plugin, plugin})
		}
	}
	slices.SortFunc(all, func(a, b named) int { return strings.Compare(a.name, b.name) })
	return all
}

// has reports whether a plugin has an action.
func (p *Project) has(plugin, action string) bool {
	description, err := p.describe(plugin)
	if err != nil {
		return false
	}
	_, found := description.Action(action)
	return found
}

// settings returns a connection's config as an object; nil where it is wrong.
func (p *Project) settings(found named) map[string]json.RawMessage {
	connection, err := p.connection(found.plugin, found.name)
	if err != nil {
		return nil
	}
	var settings map[string]json.RawMessage
	if json.Unmarshal(connection.Config, &settings) != nil {
		return nil
	}
	return settings
}

// tokenFrom returns the connection that the token comes from, "" for none.
func (p *Project) tokenFrom(found named) string {
	var source struct {
		Connection string `json:"connection"`
	}
	if json.Unmarshal(p.settings(found)["token_from"], &source) != nil {
		return ""
	}
	return source.Connection
}

// The actions of a plugin that a person logs in with. A plugin has a login when
// it has the first two.
const (
	actionDeviceStart = "device_start"
	actionDeviceWait  = "device_wait"
	actionStatus      = "status"
	actionRevoke      = "revoke"
)
