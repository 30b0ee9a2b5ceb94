package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// ValidateOn adds a check of the input against the config of the connection: for
// connections that declare what an action takes. It runs before each call, and when a
// workflow is checked by a host that knows the connection; it must not use the network.
// unknown is as for ValidateWith. Secrets of the config are zero values while a workflow
// is checked.
func ValidateOn[C, I any](fn func(config C, in I, unknown []string) []Problem) ActionOption {
	return func(_ *Plugin, a *action) {
		a.configHook("ValidateOn", reflect.TypeFor[C](), reflect.TypeFor[I]())
		a.configChecks = append(a.configChecks, func(config, input any, unknown []string) []Problem {
			return fn(*config.(*C), *input.(*I), unknown)
		})
	}
}

// NarrowOn lets the config of the connection narrow the output's schema, with the known
// inputs, while a workflow is checked by a host that knows the connection. fn returns a
// JSON Schema, or nil to leave it as it is.
func NarrowOn[C, I any](fn func(config C, in I, unknown []string) json.RawMessage) ActionOption {
	return func(_ *Plugin, a *action) {
		a.configHook("NarrowOn", reflect.TypeFor[C](), reflect.TypeFor[I]())
		a.configNarrowers = append(a.configNarrowers, func(config, input any, unknown []string) json.RawMessage {
			return fn(*config.(*C), *input.(*I), unknown)
		})
	}
}

// configHook notes the types of an option that takes config and input.
func (a *action) configHook(option string, config, input reflect.Type) {
	a.hooks = append(a.hooks, hook{option: option, input: input})
	if a.configType != config {
		a.otherConfigs = append(a.otherConfigs, fmt.Sprintf("%s takes the config %s, the action %s", option, config, a.configType))
	}
}

// looksAtConfig reports whether the action is checked against the config too.
func (a *action) looksAtConfig() bool { return len(a.configChecks)+len(a.configNarrowers) > 0 }

// onConfig checks an input that is good in itself against a config, and narrows the
// output by it.
func (a *action) onConfig(config, input any, unknown []string) (problems []Problem, narrowed json.RawMessage) {
	for _, check := range a.configChecks {
		problems = append(problems, check(config, input, unknown)...)
	}
	if firstError(problems) != nil {
		return problems, nil
	}
	for _, narrow := range a.configNarrowers {
		if schema := narrow(config, input, unknown); schema != nil {
			narrowed = schema
		}
	}
	return problems, narrowed
}

// validateOn goes on with a question that comes with the config of a connection.
func (p *Plugin) validateOn(a *action, request *pluginv1.ValidateRequest, input any, unknown []string) ([]Problem, json.RawMessage) {
	if request.GetConfig() == nil || !a.looksAtConfig() {
		return nil, nil
	}
	missing := []string(newUnknownSet(request.GetConfigUnknown()))
	config, wrong := decodeInto(request.GetConfig().GetJson(), p.config, p.configType, missing)
	if firstError(wrong) == nil && len(missing) == 0 { // rules across fields may need the secrets
		for _, check := range p.validateConfig {
			wrong = append(wrong, check(config)...)
		}
	}
	if refused := firstError(wrong); refused != nil {
		at := ""
		if refused.Pointer != "" {
			at = refused.Pointer + " "
		}
		return []Problem{Problemf("", "connection `%s`: its config is wrong: %s%s", plain(cut(request.GetConnection(), 64)), at, refused.Message).
			WithDetail("%s", refused.Hint)}, nil
	}
	return a.onConfig(config, input, unknown)
}
