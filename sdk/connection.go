package sdk

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"sync"

	"google.golang.org/protobuf/proto"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// connection is one named instance of the plugin's config, with its own pool
// of network connections. Immutable.
type connection struct {
	name     string
	hash     string
	config   any // pointer to the author's struct
	settings HTTPSettings
	pool     *http.Client
	err      error
	secrets  []string
	granted  origins // where its credentials may go
	reach    *reach  // where its requests may go; nil = anywhere
	wire     []byte  // the recipe that it was opened with
	recipe   []byte  // the author's, in it
}

// recipeOf reads the recipe of a connection: the schema of its config, and the author's
// own part.
func (p *Plugin) recipeOf(wire []byte) (config *schema, recipe []byte, err error) {
	if p.described == nil || len(wire) == 0 {
		return p.config, nil, nil
	}
	var described pluginv1.DescribeResponse
	if err := proto.Unmarshal(wire, &described); err != nil {
		return nil, nil, errors.New("the recipe is not one of this plugin's")
	}
	config, err = parseSchema(described.GetConfigSchema())
	return config, described.GetRecipe(), err
}

// openConnection decodes and checks a config. It does not use the network.
func (p *Plugin) openConnection(name, hash string, raw, wire []byte) (*connection, []Problem) {
	shape, recipe, err := p.recipeOf(wire)
	if err != nil {
		return nil, []Problem{Problemf("", "%v", err)}
	}
	config, problems := decodeInto(raw, shape, p.configType, nil)
	if firstError(problems) != nil {
		return nil, problems
	}
	settings := settingsOf(config)
	problems = append(problems, checkSettings(settings)...)
	problems = append(problems, checkTokenSettings(config)...)
	if firstError(problems) != nil {
		return nil, problems
	}
	if base, err := CheckBaseURL(settings.BaseURL); err == nil {
		settings.BaseURL = base
		setBaseURL(config, base)
	}
	for _, check := range p.validateConfig {
		problems = append(problems, check(config)...)
	}
	if p.described != nil && p.described.check != nil {
		problems = append(problems, p.described.check(recipe, config)...)
	}
	if firstError(problems) != nil {
		return nil, problems
	}
	granted, problems := p.grantedOrigins(config, settings.BaseURL, problems)
	bounds, wrong := newReach(config, settings.BaseURL)
	problems = append(problems, wrong...)
	own := clientCertificate(config)
	problems = append(problems, own.check()...)
	networks, _ := embeddedSettings[NetworkSettings](config)
	problems = append(problems, networks.check()...)
	if firstError(problems) != nil {
		return nil, problems
	}
	c := &connection{name: name, hash: hash, config: config, settings: settings, secrets: secretValues(shape, raw), granted: granted, wire: wire, recipe: recipe, reach: bounds}
	transport, err := newTransport(settings, own, bounds)
	if err != nil {
		c.err = err
	} else {
		c.pool = &http.Client{Transport: transport}
	}
	return c, problems
}

// setBaseURL puts the checked address into a config: a struct, or a Value.
func setBaseURL(config any, base string) {
	document, is := config.(*Value)
	if !is {
		if fields := reflect.ValueOf(config).Elem(); fields.Kind() == reflect.Struct {
			setByName(fields, "base_url", base)
		}
		return
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(*document, &fields) != nil || fields["base_url"] == nil {
		return
	}
	fields["base_url"], _ = json.Marshal(base) // a text
	if changed, err := json.Marshal(fields); err == nil {
		*document = changed
	}
}

// setByName sets the text field of a JSON name, in embedded structs too.
func setByName(v reflect.Value, name, text string) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Anonymous && v.Field(i).Kind() == reflect.Struct {
			setByName(v.Field(i), name, text)
			continue
		}
		tag := field.Tag.Get("json")
		if (tag == name || len(tag) > len(name) && tag[:len(name)+1] == name+",") && v.Field(i).Kind() == reflect.String && v.Field(i).CanSet() {
			v.Field(i).SetString(text)
		}
	}
}

// close lets calls in flight end and drops idle network connections.
func (c *connection) close() {
	if c.pool != nil {
		c.pool.CloseIdleConnections()
	}
}

func (c *core) httpClient() *HTTPClient {
	return &HTTPClient{ctx: c.ctx, core: c, settings: c.conn.settings, pool: c.conn.pool, err: c.conn.err, granted: c.conn.granted, reach: c.conn.reach, prefix: c.plugin.pathPrefix}
}

// connections are the open connections of a process. Safe for concurrent use.
type connections struct {
	mu   sync.Mutex
	open map[string]*connection
}

func (all *connections) get(name string) *connection {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.open[name]
}

// put opens or replaces a connection. Calls in flight keep the one they have.
func (all *connections) put(c *connection) {
	all.mu.Lock()
	replaced := all.open[c.name]
	if all.open == nil {
		all.open = map[string]*connection{}
	}
	all.open[c.name] = c
	all.mu.Unlock()
	if replaced != nil {
		replaced.close()
	}
}

func (all *connections) closeAll() {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, c := range all.open {
		c.close()
	}
}
