package workspace

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/pluginhost"
)

// NamedConnection is a connection as a command names it.
type NamedConnection struct{ Name, Plugin string }

func (c NamedConnection) name() string { return c.Name }

// FindConnection returns the connection of that name, or the one that a plugin has under
// its own name without being declared. The error is an *UnknownError.
func (p *Workspace) FindConnection(name string) (NamedConnection, error) {
	if declared, ok := p.file.Connection(name); ok {
		return NamedConnection{name, declared.Plugin}, nil
	}
	if slices.Contains(p.PluginNames(), name) {
		return NamedConnection{name, name}, nil
	}
	names := diag.NamesOf(p.ConnectionNames(), NamedConnection.name)
	unknown := &fault.UnknownError{What: "connection", Name: name, Hint: diag.DidYouMean(name, names)}
	unknown.Hint = unknown.Hint.Or(diag.Sayf("%s lists the connections", diag.Command{"connections"}))
	return NamedConnection{}, unknown
}

// ConnectionNames lists the declared connections and, in a sandbox, those that
// the simulated plugins have under their own names.
func (p *Workspace) ConnectionNames() []NamedConnection {
	var all []NamedConnection
	for _, connection := range p.file.Connections {
		all = append(all, NamedConnection{connection.Name, connection.Plugin})
	}
	for _, plugin := range p.simulatedPlugins() {
		if _, declared := p.file.Connection(plugin); !declared {
			all = append(all, NamedConnection{plugin, plugin})
		}
	}
	order.Sort(all, func(a, b NamedConnection) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Login returns the actions that a person logs in with to connections of a plugin; nil
// where there are none, or nothing can be told of the plugin.
func (p *Workspace) Login(plugin string) *pluginhost.Login {
	description, err := p.Describe(plugin)
	if err != nil {
		return nil
	}
	return description.Login
}

// ConnectionSettings returns a connection's config as an object; nil where it is wrong.
func (p *Workspace) ConnectionSettings(namedConnection NamedConnection) map[string]json.RawMessage {
	connection, err := p.Connection(namedConnection.Plugin, namedConnection.Name)
	if err != nil {
		return nil
	}
	var settings map[string]json.RawMessage
	if json.Unmarshal(connection.Config, &settings) != nil {
		return nil
	}
	return settings
}

// TokenSource returns the connection that the token comes from, "" for none.
func (p *Workspace) TokenSource(connection NamedConnection) string {
	resolved, err := p.Connection(connection.Plugin, connection.Name)
	if err != nil {
		return ""
	}
	return tokenFrom(resolved.Config)
}
