package openapi

import (
	"slices"

	"github.com/flowrun/flowrun/plugins/openapi/tree"
)

// SimulatedConfig is the config of a connection to a simulator of the service: with its
// address in place of the document's, and with credentials that open nothing.
func (s *Service) SimulatedConfig(address, tokenPath string) map[string]any {
	config := map[string]any{"base_url": address}
	fields := s.configFields()
	has := func(name string) bool { return slices.Contains(fields, name) }
	switch {
	case has("token"):
		config["token"] = "sandbox-token"
	case has("username"):
		config["username"], config["password"] = "sandbox", "sandbox-password"
	}
	if has("token_url") {
		config["token_url"] = address + tokenPath
	}
	if has("api_key") {
		config["api_key"] = "sandbox-key"
	}
	if has("api_keys") {
		keys := map[string]any{}
		for _, one := range s.Auth {
			if one.Key != "" {
				keys[one.Key] = "sandbox-key"
			}
		}
		config["api_keys"] = keys
	}
	return config
}

// Example is the document's example of what an action gives, nil where it has none. It
// may break the schema beside it.
func (a *Action) Example() *tree.Node {
	good := successes(a.document.responses(a.Operation))
	if len(good) == 0 || good[0].media == "" {
		return nil
	}
	content := good[0].node.Get("content").Get(good[0].media)
	if example := content.Get("example"); example != nil {
		return example
	}
	for _, named := range content.Get("examples").Members() {
		example, _ := a.document.deref(named.Value, good[0].place)
		if value := example.Get("value"); value != nil {
			return value
		}
	}
	if example := good[0].schema.Get("example"); example != nil {
		return example
	}
	return nil
}
