package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/store"
)

// env is where secrets of the environment come from: a sandbox has variables of its
// own.
func (p *Project) env() *secret.Env {
	if p.sandbox != nil {
		return secret.NewSandboxEnv(p.config.Environ)
	}
	return secret.NewEnv(p.config.Environ)
}

// secretsOf gives the secrets of a connection, or of a notify target with its
// LiveNotify: in a sandbox a live one may have the real ones.
func (p *Project) secretsOf(name string) pluginhost.SecretSource {
	if p.sandbox != nil && p.live(name) {
		return p.realSecrets
	}
	return p.services
}

// secretVariable is the variable that gives a secret of a connection.
func (p *Project) secretVariable(connection, name string) string {
	if p.sandbox != nil && p.live(connection) {
		return secret.EnvName(name)
	}
	return p.env().VariableOf(name)
}

// realSecrets are the secrets of live connections: of the environment, of the
// sandbox's own store, and of the project's real store, in the order that
// flowrun.yaml names. The real store is read only when one is wanted, never
// written, and what it gave is kept in memory. Safe for concurrent use.
type realSecrets struct {
	project *Project

	mu    sync.Mutex
	known map[string]string
}

// Reveal returns the clear value of a secret.
func (s *realSecrets) Reveal(ctx context.Context, name string) (string, error) {
	services := s.project.services
	var providers []secret.Provider
	services.mu.RLock()
	if services.vault != nil {
		providers = append(providers, services.vault)
	}
	sealed := services.sealed
	services.mu.RUnlock()
	for _, provider := range s.project.file.Secrets {
		switch provider {
		case SecretFromEnv:
			providers = append(providers, secret.NewEnv(s.project.config.Environ))
		case SecretFromStore:
			if sealed != nil {
				providers = append(providers, secret.NewStored(sealed))
			}
			providers = append(providers, realStore{s})
		}
	}
	return secret.NewResolver(s.project.redactor, providers...).Reveal(ctx, name)
}

// realStore is the provider of the project's real store.
type realStore struct{ of *realSecrets }

// Lookup returns a stored secret.
func (r realStore) Lookup(_ context.Context, name string) (value string, found bool, err error) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if value, found = r.of.known[name]; found {
		return value, true, nil
	}
	config := r.of.project.config
	dir := r.of.project.sandbox.RealState
	if dir == "" || strings.Contains(name, ":") {
		return "", false, nil
	}
	path := filepath.Join(dir, StoreFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	value, found, err = secret.ReadStored(storeFile{path, offlineOptions(config)}, filepath.Join(dir, keyFileName), config.Entropy, name)
	var locked *store.LockedError
	switch {
	case errors.As(err, &locked):
		return "", false, fmt.Errorf("the store that keeps it is in use by another process: set %s, or keep it for the sandbox with `flowrun secrets set %s --sandbox`", secret.EnvName(name), name)
	case err != nil:
		return "", false, err
	case found:
		if r.of.known == nil {
			r.of.known = map[string]string{}
		}
		r.of.known[name] = value
	}
	return value, found, nil
}

// storeFile reads rows of a store that nobody has open.
type storeFile struct {
	path    string
	options boltstore.Options
}

// Get returns one row.
func (f storeFile) Get(bucket, key string) (value []byte, found bool, err error) {
	return boltstore.ReadRow(f.path, f.options, bucket, key)
}
