package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/schema"
)

// describeTimeout bounds the first start of a plugin whose description is not
// cached.
const describeTimeout = 30 * time.Second

// description is what a plugin has said of itself, or why it could not.
type description struct {
	*pluginhost.Description
	config    *schema.Type // of its connections
	configErr error        // why the schema of them can't be read
	err       error
	answered  chan struct{} // closed when the rest is set
}

// Describe asks a plugin once for its description. Others do not wait for one that
// takes long.
func (p *Workspace) Describe(plugin string) (*pluginhost.Description, error) {
	d := p.described(plugin)
	return d.Description, d.err
}

func (p *Workspace) described(plugin string) *description {
	p.mu.Lock()
	d, asked := p.descriptions[plugin]
	if !asked {
		d = &description{answered: make(chan struct{})}
		p.descriptions[plugin] = d
	}
	p.mu.Unlock()
	if asked {
		<-d.answered
		return d
	}
	defer close(d.answered)
	ctx, cancel := context.WithTimeout(context.Background(), describeTimeout)
	if p.config.Attach[plugin] != "" { // somebody may look at it in a debugger
		cancel()
		ctx, cancel = context.WithCancel(context.Background())
	}
	defer cancel()
	if d.Description, d.err = p.host.Describe(ctx, plugin); d.err == nil {
		d.config, d.configErr = schema.FromJSON(d.ConfigSchema)
		d.err = p.checkDescription(plugin, d.Description)
	}
	return d
}

// lastWords are what a plugin wrote before it died, by lines; none where err is no
// failure of a plugin.
func lastWords(err error) []string {
	if dead, ok := errors.AsType[*pluginhost.PluginError](err); ok {
		return dead.LastWords()
	}
	return nil
}

// configType returns the type of the config of a plugin's connections.
func (p *Workspace) configType(plugin string) (*schema.Type, error) {
	d := p.described(plugin)
	if d.err != nil {
		return nil, d.err
	}
	return d.config, d.configErr
}

// ForgetFailures lets the plugins that could not be described be asked again.
func (p *Workspace) ForgetFailures() {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.descriptions, func(_ string, d *description) bool {
		select {
		case <-d.answered:
			return d.err != nil
		default:
			return false
		}
	})
}

// askPlugin asks the plugin of an action about an input that nobody has held against its
// schema, in the revision that the project goes by.
func (p *Workspace) askPlugin(ctx context.Context, action string, input json.RawMessage, unknown []string) ([]pluginhost.Diagnostic, json.RawMessage, error) {
	plugin, _, _ := strings.Cut(action, ".")
	digest := ""
	if description, err := p.Describe(plugin); err == nil {
		digest = description.Digest
	}
	return p.host.Validate(ctx, action, digest, input, unknown)
}

// askPluginOn asks about an input that fits the action's schema, for a call through a
// connection, "" where it is not known: unless the schemas say all. What is wrong with the connection itself is told elsewhere: the plugin is asked without it.
func (p *Workspace) askPluginOn(ctx context.Context, action, connection string, input json.RawMessage, unknown []string) (pluginhost.Validation, error) {
	plugin, _, _ := strings.Cut(action, ".")
	digest := ""
	var conn pluginhost.Connection
	if description, err := p.Describe(plugin); err == nil {
		digest = description.Digest
		if connection != "" && description.LooksAtConfig() {
			if resolved, err := p.Connection(plugin, connection); err == nil {
				conn = resolved.Connection
			}
		}
	}
	return p.host.ValidateOn(ctx, action, digest, conn, input, unknown)
}
