package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/project"
)

// tokenFrom reads the setting `token_from` of a connection's config: the name of
// the connection that gives it its access token, "" when it has its own.
func tokenFrom(config json.RawMessage) string {
	var settings struct {
		TokenFrom struct {
			Connection string `json:"connection"`
		} `json:"token_from"`
	}
	if json.Unmarshal(config, &settings) != nil {
		return "" // a config of another shape has no such setting
	}
	return settings.TokenFrom.Connection
}

// tokenOwner finds the connection that gives another one its access token. It
// must be declared, of a plugin with a token action, and have its own tokens.
func (p *Workspace) tokenOwner(connection, name string) (*pluginhost.Connection, error) {
	declared, ok := p.file.Connection(name)
	if !ok {
		err := fmt.Errorf("token_from of connection `%s`: there is no connection `%s`", connection, name)
		if hint := diag.DidYouMean(name, p.declaredConnections()); hint.Text != "" {
			err = fmt.Errorf("%w; %s", err, hint.Text)
		}
		return nil, err
	}
	if !p.Live(name) {
		return nil, ownerRefusal(connection, name)
	}
	description, err := p.Describe(declared.Plugin)
	if err != nil {
		return nil, err
	}
	if description.TokenAction == "" {
		return nil, fmt.Errorf("token_from of connection `%s`: plugin %s of connection `%s` gives no tokens; name one of plugin auth",
			connection, declared.Plugin, name)
	}
	config, problems := p.connectionConfig(declared)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if tokenFrom(config) != "" {
		return nil, fmt.Errorf("token_from of connection `%s`: connection `%s` has a token_from itself; name the one with the login", connection, name)
	}
	return &pluginhost.Connection{Name: name, Plugin: declared.Plugin, Config: config}, nil
}

// checkTokenFrom reports a token_from that can't work, at its place.
func (p *Workspace) checkTokenFrom(declared *project.Connection, config json.RawMessage, problems *diag.List) {
	name := tokenFrom(config)
	if name == "" || declared.Config == nil {
		return
	}
	if _, err := p.tokenOwner(declared.Name, name); err != nil {
		if _, ok := errors.AsType[diag.List](err); ok {
			return // its own connection reports them
		}
		place := declared.Pos
		if node := declared.Config.Get("token_from"); node != nil {
			place = node.Pos
		}
		problems.Errorf(place, project.CodeConnection, "%v", err)
	}
}

func (p *Workspace) declaredConnections() []string {
	names := diag.NamesOf(p.file.Connections, func(c project.Connection) string { return c.Name })
	slices.Sort(names)
	return names
}
