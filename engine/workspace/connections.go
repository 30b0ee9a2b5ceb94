package workspace

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/project"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// resolved is a connection that can be called, with its rate override.
type resolved struct {
	pluginhost.Connection
	rate string
}

// DefaultConnection is the connection of a plugin where none is named: the one
// named like the plugin, else the plugin's only one (docs/language.md, rule 15).
func (p *Workspace) DefaultConnection(plugin string) (string, error) {
	names := p.namesOf(plugin)
	switch {
	case slices.Contains(names, plugin) || len(names) == 0:
		return plugin, nil
	case len(names) == 1:
		return names[0], nil
	}
	if _, simulated := p.simulator(plugin, plugin); simulated {
		return plugin, nil
	}
	return "", fmt.Errorf("plugin %s has several connections: name one of %s", plugin, strings.Join(names, ", "))
}

// Connection finds the named connection of a plugin. A plugin without any may
// be used under its own name with an empty config: the plugin itself says what
// is missing then.
func (p *Workspace) Connection(plugin, name string) (*resolved, error) {
	if !p.Live(name) {
		simulator, ok := p.simulator(plugin, name)
		if !ok {
			return nil, p.refusal(plugin, name)
		}
		return &resolved{pluginhost.Connection{Name: name, Plugin: plugin, Config: p.simulated(simulator, name)}, simulator.Rate}, nil
	}
	declared, ok := p.file.Connection(name)
	if !ok {
		if name == plugin {
			return &resolved{Connection: p.withSecrets(pluginhost.Connection{Name: name, Plugin: plugin, Config: json.RawMessage(noSettings)})}, nil
		}
		return nil, fmt.Errorf("there is no connection `%s`: declare it under `connections` of %s", name, project.FileName)
	}
	if declared.Plugin != plugin {
		return nil, fmt.Errorf("connection `%s` belongs to plugin %s, not to %s", name, declared.Plugin, plugin)
	}
	config, problems := p.connectionConfig(declared)
	err := problems.Err()
	if err != nil {
		return nil, err
	}
	connection := pluginhost.Connection{Name: name, Plugin: plugin, Config: config}
	if owner := tokenFrom(config); owner != "" {
		if connection.TokenFrom, err = p.tokenOwner(name, owner); err != nil {
			return nil, err
		}
	}
	return &resolved{p.withSecrets(connection), declared.Rate}, nil
}

// withSecrets gives a connection of a sandbox the secrets that it may have.
func (p *Workspace) withSecrets(connection pluginhost.Connection) pluginhost.Connection {
	if p.sandbox == nil {
		return connection
	}
	connection.Secrets = p.secretsOf(connection.Name)
	if owner := connection.TokenFrom; owner != nil {
		own := *owner
		own.Secrets = p.secretsOf(owner.Name)
		connection.TokenFrom = &own
	}
	return connection
}

// connectionConfig converts a connection's config by the plugin's schema, where
// that is known.
func (p *Workspace) connectionConfig(c *project.Connection) (json.RawMessage, diag.List) {
	if c.Config == nil {
		return json.RawMessage("{}"), nil
	}
	var problems diag.List
	configType, err := p.configType(c.Plugin)
	if err != nil {
		configType = nil // what is wrong with the plugin is told by who uses it
	}
	converter := configConverter{of: "connection `" + c.Name + "`", problems: &problems}
	value := converter.convert(c.Config, configType)
	p.resolvePaths(value)
	encoded, err := json.Marshal(value)
	if err != nil {
		problems.Errorf(c.Pos, project.CodeSetting, "connection `%s`: %v", c.Name, err)
	}
	return encoded, problems
}

// resolvePaths makes the paths of a config absolute: those of settings whose
// names end in _file, which are relative to the project file. A plugin runs in a
// folder of its own.
func (p *Workspace) resolvePaths(config any) {
	settings, _ := config.(map[string]any)
	for name, value := range settings {
		var path string
		raw, ok := value.(json.RawMessage)
		if !ok || !strings.HasSuffix(name, "_file") || json.Unmarshal(raw, &path) != nil || path == "" || filepath.IsAbs(path) {
			continue
		}
		settings[name] = filepath.Join(p.config.Dir, filepath.FromSlash(path))
	}
}

// configConverter turns YAML nodes into JSON values by a type.
type configConverter struct {
	of       string // for messages: "connection `crm`"
	problems *diag.List
	secret   bool // the value stands below one that is secret as a whole
}

func (c configConverter) convert(node *spec.Node, t *schema.Type) any {
	if !c.hasShape(node, t) {
		c.problems.Errorf(node.Pos, project.CodeSetting, "%s: this setting takes %s", c.of, t.Article())
		return nil
	}
	switch node.Kind {
	case spec.Mapping:
		return c.object(node, t)
	case spec.Sequence:
		inside := c.inside(t)
		t = t.Shaped(schema.List)
		values := make([]any, len(node.Items))
		for i, item := range node.Items {
			values[i] = inside.convert(item, t.Element())
		}
		return values
	}
	return c.scalar(node, t)
}

// hasShape reports whether a mapping stands where one is due, and a list where one
// is. Texts are held against the schema when they are converted.
func (c configConverter) hasShape(node *spec.Node, t *schema.Type) bool {
	switch {
	case t == nil || !t.Known():
		return true
	case node.Kind == spec.Mapping:
		return t.Shaped(schema.Object).Kind == schema.Object
	case node.Kind == spec.Sequence:
		return t.Shaped(schema.List).Kind == schema.List
	}
	return true
}

// inside converts the parts of a value: below one that is secret as a whole,
// every leaf may be a secret.
func (c configConverter) inside(t *schema.Type) configConverter {
	c.secret = c.secret || t != nil && t.Secret
	return c
}

func (c configConverter) object(node *spec.Node, t *schema.Type) any {
	inside := c.inside(t)
	t = t.Shaped(schema.Object)
	values := map[string]any{}
	for _, pair := range node.Pairs {
		var fieldType *schema.Type
		if t != nil && t.Kind == schema.Object {
			var ok bool
			if fieldType, ok = t.Field(pair.Key.Text); !ok && t.Additional == nil {
				c.problems.Errorf(pair.Key.Pos, project.CodeNoSetting, "%s has no setting `%s`", c.of, pair.Key.Text).Hint =
					diag.MeantOr(pair.Key.Text, t.FieldNames(), "its settings are ")
				continue
			}
		}
		values[pair.Key.Text] = inside.convert(pair.Value, fieldType)
	}
	return values
}

func (c configConverter) scalar(node *spec.Node, t *schema.Type) any {
	if name, ok := project.SecretName(node.Text); ok {
		if t != nil && t.Known() && !t.Secret && !c.secret {
			c.problems.Errorf(node.Pos, project.CodeSecretHere, "%s: this setting is not secret, so it takes no secret", c.of)
		}
		return map[string]string{"$secret": name}
	}
	if strings.Contains(node.Text, "${{") {
		c.problems.Errorf(node.Pos, project.CodeLiteral, "%s: a setting is literal text or exactly one ${{ secrets.NAME }}", c.of)
		return nil
	}
	plain := node.Style == spec.Plain
	if t == nil {
		t = &schema.Type{Kind: schema.Any}
	}
	literal := *t
	literal.Secret = false
	value, err := literal.FromScalar(node.Text, plain)
	if err != nil {
		c.problems.Errorf(node.Pos, project.CodeSetting, "%s: %v", c.of, err)
		return nil
	}
	return value
}
