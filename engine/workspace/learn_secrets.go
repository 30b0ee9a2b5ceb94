package workspace

import (
	"cmp"
	"context"
)

// taught are the values that learnSecrets has told the redactor for each plugin:
// tokens come and go, and what is masked shall not grow for ever.
type taught map[string][]string

// learnSecrets tells the redactor what the connections of a plugin are opened with,
// before a process of the plugin starts: it may have kept some of it in its folder or
// in its state, and what it says before a connection is opened is masked too.
func (p *Workspace) learnSecrets(ctx context.Context, plugin string) {
	for _, connection := range p.file.Connections {
		if cmp.Or(connection.Plugin, connection.Name) != plugin {
			continue
		}
		for _, name := range configSecrets(connection.Config) {
			_, _ = p.secretsOf(connection.Name).Reveal(ctx, name) // what it reveals is told to the redactor
		}
	}
	var values []string
	p.services.EachSecret(func(value string) { values = append(values, value) })
	for _, value := range values {
		p.redactor.Add(value)
	}
	p.learning.Lock()
	defer p.learning.Unlock()
	for _, value := range p.taught[plugin] {
		p.redactor.Remove(value)
	}
	p.taught[plugin] = values
}
