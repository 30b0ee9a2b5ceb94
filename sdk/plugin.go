package sdk

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// sdkVersion is what Describe reports: which SDK made the plugin.
const sdkVersion = "go/0.1.0"

// Plugin is a plugin under construction and then its description. It is
// immutable once New returned and safe for concurrent use.
type Plugin struct {
	name, version, doc string

	actions  []*action
	limiters []*pluginv1.Limiter
	grants   *pluginv1.Grants

	tokenAction    string
	login          *Login
	delivery       *Delivery
	simulator      []string
	defaultBaseURL string
	pathPrefix     string

	configType     reflect.Type // nil: no part needs a config
	config         *schema
	validateConfig []func(config any) []Problem
	hostsFrom      []func(config any) []string
	hosts          origins // of Hosts
	check          func(c *core, config any) (string, error)
	described      *describer // nil = its actions are those of its parts

	errs      []error
	actionsAt int // where in errs those belong that the schemas of its actions have
}

// Part is a part of a plugin: an action, a limiter or a setting.
type Part interface{ addTo(*Plugin) }

type partFunc func(*Plugin)

func (f partFunc) addTo(p *Plugin) { f(p) }

// New makes a plugin. Mistakes in its parts (a bad tag, two actions of one
// name) are kept for Err and refused by Serve. The schemas of an action are made when it is
// used, by Err, and when the plugin describes itself; by Serve too, unless the host knows
// already how the plugin describes itself or the author has written them out, with Input and
// Output both.
func New(name, version, doc string, parts ...Part) *Plugin {
	p := &Plugin{name: name, version: version, doc: doc, grants: &pluginv1.Grants{}}
	if !isName(name, nameLetters) {
		p.failf("plugin name %q: use lower-case letters, digits and _", name)
	}
	if version == "" {
		p.failf("plugin %s has no version", name)
	}
	for _, part := range parts {
		part.addTo(p)
	}
	p.finish()
	return p
}

// Failed is a part that could not be made, such as one of data that can't be read: Err and
// Serve tell why.
func Failed(err error) Part {
	return partFunc(func(p *Plugin) { p.errs = append(p.errs, err) })
}

// Name returns the name that workflows use before the dot.
func (p *Plugin) Name() string { return p.name }

// Version returns the version given to New.
func (p *Plugin) Version() string { return p.version }

// Err returns every mistake in the plugin's parts, or nil.
func (p *Plugin) Err() error {
	errs := []error{p.serveErr()}
	for _, a := range p.actions {
		if a.written() {
			errs = append(errs, a.ready(p))
		}
	}
	return errors.Join(errs...)
}

// serveErr is Err without the actions whose schemas are written out: a plugin that is
// generated has many.
func (p *Plugin) serveErr() error {
	errs := slices.Clone(p.errs[:p.actionsAt])
	for _, a := range p.actions {
		if a.written() {
			continue
		}
		_ = a.ready(p)
		if errs = append(errs, a.wrong...); len(errs) == 0 {
			errs = append(errs, a.wrongExamples...)
		}
	}
	return errors.Join(append(errs, p.errs[p.actionsAt:]...)...)
}

func (p *Plugin) failf(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf(format, args...))
}

func (p *Plugin) action(name string) *action {
	for _, a := range p.actions {
		if a.name == name {
			return a
		}
	}
	return nil
}

// useConfig notes which config type a part works with: all must agree.
func (p *Plugin) useConfig(what string, t reflect.Type) {
	switch {
	case p.configType == nil:
		p.configType = t
	case p.configType != t:
		p.failf("%s uses config %s, but others use %s: a plugin has one config type", what, t, p.configType)
	}
}

// finish derives the schema of the config and checks what needs the whole plugin.
func (p *Plugin) finish() {
	if p.configType == nil {
		p.configType = reflect.TypeFor[struct{}]()
	}
	config, err := reflectSchema(p.configType, closedObjects)
	if err != nil {
		p.failf("config: %w", err)
		config = &schema{types: []string{"object"}}
	}
	if config.property("base_url") != nil && p.defaultBaseURL != "" {
		config = config.withDefault("base_url", p.defaultBaseURL)
	}
	p.config = config
	p.actionsAt = len(p.errs)
	for _, l := range p.limiters {
		for _, field := range l.Scope {
			if config.property(field) == nil {
				p.failf("limiter %s: scope field %q is not in the config", l.Name, field)
			}
		}
	}
	if p.described != nil {
		p.described.finish(p)
		return
	}
	if p.tokenAction != "" && p.action(p.tokenAction) == nil {
		p.failf("token action %q is not an action of the plugin", p.tokenAction)
	}
	if p.login != nil {
		p.login.check(p)
	}
	if p.delivery != nil {
		p.delivery.check(p)
	}
}

// ValidateConfig adds a check of the config that tags cannot say. It runs on
// Connect and must not use the network.
func ValidateConfig[C any](fn func(config C) []Problem) Part {
	return partFunc(func(p *Plugin) {
		p.useConfig("ValidateConfig", reflect.TypeFor[C]())
		p.validateConfig = append(p.validateConfig, func(config any) []Problem { return fn(*config.(*C)) })
	})
}

// CheckConnection says how `flowrun connections test` tries a connection: by one
// harmless request. The account is what the service calls the holder of the
// credential, or "". A plugin without it, and a test that calls NotTried, is told as
// "opened", not as a service that answers.
func CheckConnection[C any](fn func(c *Call[C]) (account string, err error)) Part {
	return partFunc(func(p *Plugin) {
		p.useConfig("CheckConnection", reflect.TypeFor[C]())
		p.check = func(c *core, config any) (string, error) { return fn(newCall[C](c, config)) }
	})
}

// TokenAction names the action whose output is an access token: what another
// connection's `token_from` calls.
func TokenAction(name string) Part {
	return partFunc(func(p *Plugin) { p.tokenAction = name })
}

// Login is a part that names the actions by which a person logs in to a connection
// and out again: what `flowrun connections login` and `logout` call. What each takes
// and gives stands in the README of the protocol, under "Logins"; the host refuses a
// plugin whose actions have another shape.
type Login struct {
	Start  string   // begins a login, with a code for a person
	Wait   string   // answers Pending until the person has decided
	Status string   // what is known of the login; "" = the plugin can't tell
	Revoke string   // has the service withdraw the login; "" = it can't
	Scopes []string // asked for where neither the person nor the config's `scopes` names any
}

func (l Login) addTo(p *Plugin) { p.login = &l }

func (l Login) check(p *Plugin) {
	for part, name := range map[string]string{"start": l.Start, "wait": l.Wait, "status": l.Status, "revoke": l.Revoke} {
		if needed := part == "start" || part == "wait"; p.action(name) == nil && (needed || name != "") {
			p.failf("the login's %s %q is not an action of the plugin", part, name)
		}
	}
}

// Delivery is a part that names the action by which an output of a run goes out where a
// workflow names a connection alone, `to: [files.out/digest.md]`, and the inputs that take
// its parts: each takes text. The README of the protocol says what each gets, under
// "Deliveries"; the host refuses a plugin whose action has another shape.
type Delivery struct {
	Action   string // not a read
	Content  string // input that takes the output as text
	Markdown string // input that takes it in place of Content where it is Markdown; "" = Content does
	Path     string // input that takes what stands behind the connection's name; "" = nothing may stand there
	Title    string // input that takes what the output is called; "" = none
}

func (d Delivery) addTo(p *Plugin) { p.delivery = &d }

func (d Delivery) check(p *Plugin) {
	a := p.action(d.Action)
	switch {
	case a == nil:
		p.failf("the delivery's action %q is not an action of the plugin", d.Action)
	case a.effect == pluginv1.Effect_EFFECT_READ:
		p.failf("the delivery's action %q is a read: it delivers nothing", d.Action)
	case d.Content == "":
		p.failf("the delivery names no input for the content")
	}
}

// Simulator names the program that stands for the service in a sandbox, with its
// arguments. Where it has no slash in front it is looked for beside the plugin's
// executable. It prints the config of a connection to itself as one JSON object on
// stdout, and serves on this machine until its stdin ends.
func Simulator(program string, args ...string) Part {
	return partFunc(func(p *Plugin) {
		if program == "" {
			p.failf("the simulator has no program")
		}
		p.simulator = append([]string{program}, args...)
	})
}

// BaseURL sets the default of the config's base_url, which is otherwise
// required.
func BaseURL(url string) Part {
	return partFunc(func(p *Plugin) {
		if _, err := CheckBaseURL(url); err != nil {
			p.failf("default base URL: %w", err)
		}
		p.defaultBaseURL = url
	})
}

// PathPrefix says what the paths of the service begin with, such as "/api/v1":
// Call.HTTP puts it before each, and a base_url that ends in it is refused.
func PathPrefix(prefix string) Part {
	return partFunc(func(p *Plugin) {
		p.pathPrefix = prefix
		p.validateConfig = append(p.validateConfig, func(config any) []Problem {
			if !strings.HasSuffix(settingsOf(config).BaseURL, prefix) {
				return nil
			}
			return []Problem{Problemf("/base_url", "must not end in %s", prefix).
				WithDetail("write it without %s: the plugin adds it", prefix)}
		})
	})
}

// Env declares names of the host's environment that the plugin wants to read.
func Env(names ...string) Part {
	return partFunc(func(p *Plugin) { p.grants.Env = append(p.grants.Env, names...) })
}

// UsesState declares that the plugin keeps state in the host.
func UsesState() Part {
	return partFunc(func(p *Plugin) { p.grants.State = true })
}
