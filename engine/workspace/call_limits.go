package workspace

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/ratelimit"
)

// LimitBucket is one rate limit that a call must pass.
type LimitBucket struct {
	Name string // of the limiter, as the plugin declares it
	Key  string
	Spec ratelimit.Spec
}

// LimitBuckets resolves the limits of a call. A rate of the connection replaces the
// plugin's limiters and keeps the kind of the first.
func (p *Workspace) LimitBuckets(action *plan.Action, connection string) ([]LimitBucket, error) {
	if len(action.Limiters) == 0 && p.rateOf(action.Plugin, connection) == "" {
		return nil, nil // as most calls: the connection need not be resolved
	}
	resolved, err := p.Connection(action.Plugin, connection)
	if err != nil {
		return nil, nil //nolint:nilerr // the call itself reports it, before anything is sent
	}
	var config map[string]json.RawMessage
	if err := json.Unmarshal(resolved.Config, &config); err != nil {
		return nil, fmt.Errorf("read config of connection %s: %w", connection, err)
	}
	if resolved.rate != "" {
		spec, err := ratelimit.Parse(resolved.rate)
		if err != nil {
			return nil, fmt.Errorf("rate of connection %s: %w", connection, err)
		}
		spec.Fixed = true
		scope := []string{"base_url"}
		name := "connection"
		if len(action.Limiters) > 0 {
			spec.Fixed, name = action.Limiters[0].FixedWindow, action.Limiters[0].Name
			spec.MaxConcurrent, scope = action.Limiters[0].MaxConcurrent, scopeOf(action.Limiters[0])
		}
		return []LimitBucket{{Name: name, Key: bucketKey(action.Plugin, name, scope, config), Spec: spec}}, nil
	}
	buckets := make([]LimitBucket, len(action.Limiters))
	for i, declared := range action.Limiters {
		buckets[i] = LimitBucket{
			Name: declared.Name,
			Key:  bucketKey(action.Plugin, declared.Name, scopeOf(declared), config),
			Spec: ratelimit.Spec{
				Requests: declared.Requests, Window: declared.Window,
				Fixed: declared.FixedWindow, MaxConcurrent: declared.MaxConcurrent,
			},
		}
	}
	return buckets, nil
}

// rateOf is the rate that is declared for a connection, or for its simulator; "" = none.
func (p *Workspace) rateOf(plugin, name string) string {
	if !p.Live(name) {
		if simulator, ok := p.simulator(plugin, name); ok {
			return simulator.Rate
		}
		return ""
	}
	if declared, ok := p.file.Connection(name); ok {
		return declared.Rate
	}
	return ""
}

func scopeOf(declared plan.Limiter) []string {
	if len(declared.Scope) == 0 {
		return []string{"base_url"}
	}
	return declared.Scope
}

// bucketKey joins its parts as JSON, so that no value can pass for another.
func bucketKey(plugin, limiter string, scope []string, config map[string]json.RawMessage) string {
	parts := []string{plugin, limiter}
	for _, field := range scope {
		parts = append(parts, field+"="+string(config[field]))
	}
	key, err := json.Marshal(parts)
	if err != nil {
		return strings.Join(parts, "\x00") // strings always encode; this keeps the buckets apart all the same
	}
	return string(key)
}
