package engine

import (
	"cmp"
	"context"
	"strings"

	"github.com/flowrun/flowrun/engine/secret"
)

// opaqueServices seals what plugins leave for themselves (pluginhost.Opaque), with
// the data keys of the open store.
type opaqueServices struct{ services *hostServices }

// Seal seals bytes for a place.
func (o opaqueServices) Seal(place string, clear []byte) ([]byte, error) {
	return withOpaque(o.services, func(s *secret.Opaque) ([]byte, error) { return s.Seal(place, clear) })
}

// Open returns what was sealed for a place, and what never was as it is.
func (o opaqueServices) Open(place string, stored []byte) ([]byte, error) {
	return withOpaque(o.services, func(s *secret.Opaque) ([]byte, error) { return s.Open(place, stored) })
}

// Digest is a keyed digest of a text.
func (o opaqueServices) Digest(text string) (string, error) {
	return withOpaque(o.services, func(s *secret.Opaque) (string, error) { return s.Digest(text) })
}

func withOpaque[T any](services *hostServices, use func(*secret.Opaque) (T, error)) (T, error) {
	services.mu.RLock()
	defer services.mu.RUnlock()
	if services.opaque == nil {
		var none T
		return none, errNoStore
	}
	return use(services.opaque)
}

func (s *hostServices) renewOpaque() error {
	_, err := withOpaque(s, func(o *secret.Opaque) (any, error) { return nil, o.Renew() })
	return err
}

// taught are the values that learnSecrets has told the redactor for each plugin:
// tokens come and go, and what is masked shall not grow for ever.
type taught map[string][]string

// learnSecrets tells the redactor what the connections of a plugin are opened with,
// before a process of the plugin starts: it may have kept some of it in its folder or
// in its state, and what it says before a connection is opened is masked too.
func (p *Project) learnSecrets(ctx context.Context, plugin string) {
	for _, connection := range p.file.Connections {
		if cmp.Or(connection.Plugin, connection.Name) != plugin {
			continue
		}
		eachScalar(connection.Config, func(text string) {
			if match := secretReference.FindStringSubmatch(strings.TrimSpace(text)); match != nil {
				_, _ = p.secretsOf(connection.Name).Reveal(ctx, match[1]) // what it reveals is told to the redactor
			}
		})
	}
	var values []string
	p.services.mu.RLock()
	if sealed := p.services.sealed; sealed != nil {
		_ = secret.EachStored(sealed, func(value string) { values = append(values, value) }) // what can't be read can't be told either
	}
	p.services.mu.RUnlock()
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
