package web

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/flowrun/flowrun/engine"
)

// secretKey matches the settings whose values are secrets.
var secretKey = regexp.MustCompile(`(?i)(token|secret|password|passwd|api_?key|webhook|headers\.)`)

// SecretSetting reports whether the value of a setting is a secret in clear,
// which nobody is shown. Key is the setting's full name; a value that refers to
// a secret is none.
func SecretSetting(key, value string) bool {
	return secretKey.MatchString(key) && !strings.HasPrefix(value, "${{") && value != ""
}

// masked returns the connections without the secrets that stand in them in
// clear. The connections themselves are not changed.
func masked(connections []engine.ConnectionInfo) []engine.ConnectionInfo {
	out := make([]engine.ConnectionInfo, len(connections))
	for i, connection := range connections {
		var config map[string]any
		if json.Unmarshal(connection.Config, &config) == nil && config != nil {
			maskObject("", config)
			connection.Config, _ = json.Marshal(config) // what was JSON can be JSON again
		}
		out[i] = connection
	}
	return out
}

func maskObject(prefix string, object map[string]any) {
	for name, value := range object {
		switch value := value.(type) {
		case string:
			if SecretSetting(prefix+name, value) {
				object[name] = "[redacted]"
			}
		case map[string]any:
			if _, reference := value["$secret"]; !reference {
				maskObject(prefix+name+".", value)
			}
		}
	}
}
