package sdk

import (
	"net/http"
	"reflect"
	"sync"
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
}

// openConnection decodes and checks a config. It does not use the network.
func (p *Plugin) openConnection(name, hash string, raw []byte) (*connection, []Problem) {
	config, problems := decodeInto(raw, p.config, p.configType, nil)
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
		setByName(reflect.ValueOf(config).Elem(), "base_url", base)
	}
	for _, check := range p.validateConfig {
		problems = append(problems, check(config)...)
	}
	if firstError(problems) != nil {
		return nil, problems
	}
	granted, problems := p.grantedOrigins(config, settings.BaseURL, problems)
	if firstError(problems) != nil {
		return nil, problems
	}
	c := &connection{name: name, hash: hash, config: config, settings: settings, secrets: secretValues(p.config, raw), granted: granted}
	transport, err := newTransport(settings)
	if err != nil {
		c.err = err
	} else {
		c.pool = &http.Client{Transport: transport}
	}
	return c, problems
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
	return &HTTPClient{ctx: c.ctx, core: c, settings: c.conn.settings, pool: c.conn.pool, err: c.conn.err, granted: c.conn.granted, prefix: c.plugin.pathPrefix}
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
