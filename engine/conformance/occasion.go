package conformance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/schema"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// servicePlace is what stands in a config for the address at which the kit listens.
const servicePlace = "${service}"

// chooseConnection makes the config of the connection: that of the simulator, with what
// the author gave, or what its schema lets guess. It says why there is none.
func (k *kit) chooseConnection(ctx context.Context) string {
	config := map[string]any{}
	given := k.Options.Service
	command := k.Config.Simulator
	if len(command) == 0 {
		command = k.described.GetSimulator()
	}
	if given == nil && len(command) > 0 && k.Simulate != nil && k.Config.Service == "" && len(k.Config.Answers) == 0 {
		started, err := k.Simulate(ctx, command)
		if err != nil {
			return "its simulator can't be used: " + err.Error()
		}
		given = started
	}
	if given != nil {
		if err := json.Unmarshal(given, &config); err != nil {
			return "what stands for its service gave no JSON object: " + err.Error()
		}
		k.standsIn = true
		config = k.between(config)
	}
	if k.Config.Connection == nil && given == nil {
		k.standsIn = k.Config.Service == ""
		config = k.guess()
	}
	for name, value := range k.Config.Connection {
		config[name] = replaceTexts(value, func(text string) string { return strings.ReplaceAll(text, servicePlace, k.service.url) })
	}
	if k.Config.Connection != nil && given == nil {
		text, _ := json.Marshal(k.Config.Connection) // it was read from JSON
		k.standsIn = k.Config.Service == "" && (strings.Contains(string(text), servicePlace) || !strings.Contains(string(text), "://"))
	}
	k.connection, _ = json.Marshal(config) // of JSON values
	t, err := schema.FromJSON(k.described.GetConfigSchema())
	if err != nil {
		return "" // describe.schemas tells
	}
	k.secretsOf(t, config)
	if err := t.WithoutSecrets().Check(k.connection); err != nil && k.Config.Connection == nil {
		return fmt.Sprintf("there is no connection to try it with (%v): give one with --config", err)
	}
	return ""
}

// between puts the kit between the plugin and the service that a config names on this
// machine. One with HTTPS is called past it where the plugin can't be told whom to trust.
func (k *kit) between(config map[string]any) map[string]any {
	caFile, trusts := config[caFileSetting].(string)
	placed, secured := false, ""
	changed, _ := replaceTexts(config, func(text string) string {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && !(u.Scheme == "https" && trusts) || u.Hostname() != "127.0.0.1" && u.Hostname() != "localhost" {
			return text
		}
		address := u.Scheme + "://" + u.Host
		if !placed && u.Scheme == "https" {
			if secured, err = k.service.secure(k.Dir, caFile, k.Now()); err != nil {
				return text // what the plugin makes of that file is its own affair
			}
		}
		if !placed {
			placed = k.service.handOn(address) == nil
			k.service.keepsHost = placed
		}
		if upstream := k.service.behind(); upstream != address {
			return text // a second service: nothing stands before it
		}
		return k.service.url + strings.TrimPrefix(text, address)
	}).(map[string]any)
	if secured != "" {
		changed[caFileSetting] = secured
	}
	return changed
}

// behind is the address of the service that requests are handed on to, "" = none.
func (s *service) behind() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.upstream == nil {
		return ""
	}
	return s.upstream.String()
}

// replaceTexts changes the texts of a JSON value.
func replaceTexts(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case []any:
		for i := range v {
			v[i] = replaceTexts(v[i], change)
		}
	case map[string]any:
		for name := range v {
			v[name] = replaceTexts(v[name], change)
		}
	}
	return v
}

// guess makes a config of the connection to the kit's stub.
func (k *kit) guess() map[string]any {
	config := map[string]any{}
	t, err := schema.FromJSON(k.described.GetConfigSchema())
	if err != nil || t.Kind != schema.Object {
		return config
	}
	formats := formatsOf(k.described.GetConfigSchema())
	for _, f := range t.Fields {
		address := f.Type.Kind == schema.String && (formats[f.Name] == "uri" || slices.Contains([]string{"base_url", "url", "endpoint", "api_url"}, f.Name))
		switch {
		case address && (f.Required || f.Name == "base_url" || f.Name == "url" || f.Name == "endpoint"):
			config[f.Name] = k.service.url
		case f.Type.Secret && f.Type.Kind == schema.String && f.Type.Pattern == "" && f.Type.Enum == nil:
			config[f.Name] = k.canary("the connection's " + f.Name)
		case f.Required:
			config[f.Name] = sample(f.Type)
		}
	}
	return config
}

// formatsOf are the formats of the members of an object's schema.
func formatsOf(doc []byte) map[string]string {
	var read struct {
		Properties map[string]struct {
			Format string `json:"format"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(doc, &read) // where it is no such schema, nothing is known
	formats := map[string]string{}
	for name, p := range read.Properties {
		formats[name] = p.Format
	}
	return formats
}

// secretsOf notes the secrets of a value: no plugin may tell them.
func (k *kit) secretsOf(t *schema.Type, v any) {
	object, ok := v.(map[string]any)
	if !ok || t == nil {
		return
	}
	for _, f := range t.Fields {
		text, isText := object[f.Name].(string)
		if f.Type.Secret && isText && k.ear.find(text) == "" { // one in an example is nobody's
			k.canaries.add("the secret "+f.Name, text)
		}
		k.secretsOf(f.Type, object[f.Name])
	}
}

// sample is a value of a type.
func sample(t *schema.Type) any {
	var v any
	switch {
	case t.Default != nil && json.Unmarshal(t.Default, &v) == nil:
		return v
	case len(t.Enum) > 0:
		return t.Enum[0]
	}
	switch t.Kind {
	case schema.Bool:
		return false
	case schema.Int, schema.Number:
		if t.Min != nil {
			return *t.Min
		}
		return 1
	case schema.String:
		text := "kit"
		if t.MinLength != nil && *t.MinLength > len(text) {
			text += strings.Repeat("x", *t.MinLength-len(text))
		}
		return text
	case schema.Time:
		return "2024-01-01T00:00:00Z"
	case schema.Duration:
		return "PT1S"
	case schema.List:
		list := []any{}
		for range t.Least() {
			list = append(list, sample(t.Element()))
		}
		return list
	case schema.Object:
		object := map[string]any{}
		for _, f := range t.Fields {
			if f.Required {
				object[f.Name] = sample(f.Type)
			}
		}
		return object
	}
	return "kit"
}

// connect opens the connection in a process, once.
func (k *kit) connect(ctx context.Context, p *process) error {
	sum := sha256.Sum256(k.connection)
	hash := hex.EncodeToString(sum[:])
	if p.opened[connectionName] == hash {
		return nil
	}
	response, err := p.rpc.Connect(p.authorized(ctx), &pluginv1.ConnectRequest{
		Connection: connectionName, Config: &pluginv1.Value{Json: k.connection}, ConfigHash: hash,
	})
	sent := "Connect with " + string(k.connection)
	if err != nil {
		return fault(sent, "the gRPC error %v", err)
	}
	k.ear.hear("what Connect says", response)
	if refused := errorsIn(response.GetDiagnostics()); len(refused) > 0 {
		return fault(sent, "it was refused: %s", saidOf(refused))
	}
	p.opened[connectionName] = hash
	return nil
}

// callsOfAction is how many calls of one action are tried at most.
const callsOfAction = 3

// chooseCalls tries the calls of the config and the examples of the manifest: what can be
// done is what the cases go by.
func (k *kit) chooseCalls(ctx context.Context) {
	perAction := map[string]int{}
	add := func(c *call) {
		same := func(other *call) bool { return other.action == c.action && string(other.input) == string(c.input) }
		if c.action != nil && perAction[c.action.GetName()] < callsOfAction && !slices.ContainsFunc(k.calls, same) {
			perAction[c.action.GetName()]++
			k.calls = append(k.calls, c)
		}
	}
	for _, given := range k.Config.Calls {
		add(&call{action: k.action(given.Action), input: orEmpty(given.Input), count: given.CountedBy})
	}
	for _, a := range k.actions {
		if !a.reads() && !k.standsIn {
			continue
		}
		for _, example := range a.GetExamples() {
			add(&call{action: a, input: example.GetInput()})
		}
		if a.reads() && perAction[a.GetName()] == 0 && a.input != nil && a.input.Check([]byte("{}")) == nil {
			add(&call{action: a, input: []byte("{}")})
		}
	}
	for _, c := range k.calls {
		if c.action.input != nil {
			var v any
			_ = json.Unmarshal(c.input, &v) // describe.examples tells
			k.secretsOf(c.action.input, v)
		}
		p, err := k.connected(ctx)
		if err != nil {
			c.first = &answer{err: err}
			continue
		}
		k.service.pass()
		bounded, cancel := context.WithTimeout(ctx, startLimit)
		c.first = k.execute(bounded, p, k.request(c, k.key()))
		cancel()
		c.requests = k.service.seen()
	}
}

func orEmpty(doc []byte) []byte {
	if len(doc) == 0 {
		return []byte("{}")
	}
	return doc
}

// noCall is why a case that needs a call of a kind that works has no occasion.
func (k *kit) noCall(which string, kind func(*call) bool) error {
	tried := slices.DeleteFunc(slices.Clone(k.calls), func(c *call) bool { return kind != nil && !kind(c) })
	if len(tried) == 0 {
		return skip("there is no call of " + which + " to try: give `calls` with --config, or examples in the manifest")
	}
	var ended []string
	for _, c := range tried {
		if c.first != nil && !c.first.ok() && len(ended) < 1 {
			ended = append(ended, c.action.GetName()+" ended with "+c.first.String())
		}
	}
	why := "no call of " + which + " completes here"
	if len(ended) > 0 {
		why += " (" + strings.Join(ended, "; ") + ")"
	}
	return skip(k.clean(why + ": name a simulator, answers or calls with --config"))
}

// working are the calls that complete and are of a kind.
func (k *kit) working(kind func(*call) bool) []*call {
	var found []*call
	for _, c := range k.calls {
		if c.first != nil && c.first.ok() && (kind == nil || kind(c)) {
			found = append(found, c)
		}
	}
	return found
}

// seenCalls are working calls whose requests come by the kit.
func (k *kit) seenCalls(kind func(*call) bool) []*call {
	return k.working(func(c *call) bool { return len(c.requests) > 0 && (kind == nil || kind(c)) })
}

// withoutSecrets is an output without the parts that may be secrets.
func (k *kit) withoutSecrets(name string, value *pluginv1.Value) []byte {
	var v any
	if json.Unmarshal(value.GetJson(), &v) != nil {
		return value.GetJson()
	}
	for _, pointer := range value.GetSensitive() {
		v = removeAt(v, pointer)
	}
	if a := k.action(name); a != nil && a.output != nil {
		v = removeSecrets(v, a.output)
	}
	text, _ := json.Marshal(v) // it was read from JSON
	return text
}

func removeSecrets(v any, t *schema.Type) any {
	if t.Secret {
		return nil
	}
	switch v := v.(type) {
	case []any:
		if t.Elem != nil {
			for i := range v {
				v[i] = removeSecrets(v[i], t.Elem)
			}
		}
	case map[string]any:
		for _, f := range t.Fields {
			if part, ok := v[f.Name]; ok {
				v[f.Name] = removeSecrets(part, f.Type)
			}
		}
	}
	return v
}

// removeAt puts null at a JSON Pointer.
func removeAt(v any, pointer string) any {
	if pointer == "" {
		return nil
	}
	name, rest, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	if rest != "" {
		rest = "/" + rest
	}
	name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	switch v := v.(type) {
	case map[string]any:
		if part, ok := v[name]; ok {
			v[name] = removeAt(part, rest)
		}
	case []any:
		for i := range v {
			if fmt.Sprint(i) == name {
				v[i] = removeAt(v[i], rest)
			}
		}
	}
	return v
}

// at is the part of a document at a JSON Pointer.
func at(v any, pointer string) (any, bool) {
	for pointer != "" {
		var name string
		name, pointer, _ = strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
		if pointer != "" {
			pointer = "/" + pointer
		}
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch part := v.(type) {
		case map[string]any:
			next, ok := part[name]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i := slices.IndexFunc(part, func(any) bool { return false })
			for n := range part {
				if fmt.Sprint(n) == name {
					i = n
				}
			}
			if i < 0 {
				return nil, false
			}
			v = part[i]
		default:
			return nil, false
		}
	}
	return v, true
}
