package sandbox

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
)

// local are the plugins that call no service: in a sandbox they simulate themselves, with
// the settings of the declared connection that say what workflows may name. id names the
// sandbox, so that nothing of one before is taken for its own.
func local(id string) []Service {
	simulated, _ := json.Marshal(map[string]string{"simulated": id}) // of texts
	return []Service{
		{Plugin: "exec", Config: simulated, Keep: []string{"commands"}},
		{Plugin: "files", Config: simulated, Keep: []string{"roots", "max_bytes"}},
	}
}

// newID names a sandbox.
func newID(random io.Reader) (string, error) {
	id := make([]byte, 8)
	if _, err := io.ReadFull(random, id); err != nil {
		return "", fmt.Errorf("name the sandbox: %w", err)
	}
	return hex.EncodeToString(id), nil
}

// Local returns what stands for a plugin that simulates itself, for who only looks at what
// would run; false for all others.
func Local(plugin string) (Service, bool) {
	for _, service := range local("planned") {
		if service.Plugin == plugin {
			return service, true
		}
	}
	return Service{}, false
}
