package workspace

import "encoding/json"

// simulated is the config of a simulated connection: the simulator's own, with the
// settings of the declared connection that the simulator keeps (Simulator.Keep), without
// their secrets. It is the same for everybody who asks.
func (p *Workspace) simulated(s *Simulator, connection string) json.RawMessage {
	declared, ok := p.file.Connection(connection)
	if !ok || len(s.Keep) == 0 || declared.Plugin != s.Plugin {
		return s.Config
	}
	config, problems := p.connectionConfig(declared)
	if problems.Err() != nil {
		return s.Config // what is wrong with it is told by who checks the project
	}
	open, err := withoutSecrets(config)
	var kept, own map[string]json.RawMessage
	if err != nil || json.Unmarshal(open, &kept) != nil || json.Unmarshal(s.Config, &own) != nil {
		return s.Config
	}
	for _, name := range s.Keep {
		if value, ok := kept[name]; ok && own[name] == nil {
			own[name] = value
		}
	}
	merged, err := json.Marshal(own)
	if err != nil {
		return s.Config
	}
	return merged
}
