package sandbox

import "encoding/json"

// local are the plugins that call no service: in a sandbox they simulate themselves, with
// the settings of the declared connection that say what workflows may name.
func local() []Service {
	simulated := json.RawMessage(`{"simulated":true}`)
	return []Service{
		{Plugin: "exec", Config: simulated, Keep: []string{"commands"}},
		{Plugin: "files", Config: simulated, Keep: []string{"roots", "max_bytes"}},
	}
}

// Local returns what stands for a plugin that simulates itself; false for all others.
func Local(plugin string) (Service, bool) {
	for _, service := range local() {
		if service.Plugin == plugin {
			return service, true
		}
	}
	return Service{}, false
}
