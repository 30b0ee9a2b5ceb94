package services

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/secret"
)

// The places that a secret may come from, as flowrun.yaml names them.
const (
	SecretFromEnv   = "env"
	SecretFromStore = "store"
)

// StoredSecrets returns the secrets of the open store.
func (s *Services) StoredSecrets() (*secret.Stored, error) {
	return with(s, &s.sealed, func(sealed *secret.SealedKV) (*secret.Stored, error) { return secret.NewStored(sealed), nil })
}

// RealOptions are what they take from their surroundings.
type RealOptions struct {
	Env     *secret.Env // of the project outside of its sandbox
	Store   string      // the project's real store; "" = none is read
	KeyFile string      // of that store
	Entropy io.Reader
	// Rows gives the rows of a store that nobody has open: a *fault.LockedError
	// where another process has it.
	Rows func(path string) secret.Rows
}

// Real are the secrets of a sandbox's live connections: of the environment, of
// the sandbox's own store, and of the project's real store, in the order that
// flowrun.yaml names. The real store is read only when one is wanted, never
// written, and what it gave is kept in memory. Safe for concurrent use.
type Real struct {
	services *Services
	options  RealOptions

	mu     sync.Mutex
	values map[string]string // of the real store, by name
}

// NewReal returns the real secrets beside the services of a sandbox.
func NewReal(services *Services, options RealOptions) *Real {
	return &Real{services: services, options: options, values: map[string]string{}}
}

// Reveal returns the clear value of a secret.
func (s *Real) Reveal(ctx context.Context, name string) (string, error) {
	var providers []secret.Provider
	s.services.mu.RLock()
	if s.services.vault != nil {
		providers = append(providers, s.services.vault)
	}
	sealed := s.services.sealed
	s.services.mu.RUnlock()
	for _, source := range s.services.options.Sources {
		switch source {
		case SecretFromEnv:
			providers = append(providers, s.options.Env)
		case SecretFromStore:
			if sealed != nil {
				providers = append(providers, secret.NewStored(sealed))
			}
			providers = append(providers, realStore{s})
		}
	}
	return secret.NewResolver(s.services.options.Redactor, providers...).Reveal(ctx, name)
}

// realStore is the provider of the project's real store.
type realStore struct{ of *Real }

// Lookup returns a stored secret.
func (r realStore) Lookup(_ context.Context, name string) (value string, ok bool, err error) {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if value, ok = r.of.values[name]; ok {
		return value, true, nil
	}
	options := r.of.options
	if options.Store == "" || strings.Contains(name, ":") {
		return "", false, nil
	}
	if _, err := os.Stat(options.Store); errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	value, ok, err = secret.ReadStored(options.Rows(options.Store), options.KeyFile, options.Entropy, name)
	var locked *fault.LockedError
	switch {
	case errors.As(err, &locked):
		return "", false, fmt.Errorf("the store that keeps it is in use by another process: set %s, or keep it for the sandbox with `flowrun secrets set %s --sandbox`", secret.EnvName(name), name)
	case err != nil:
		return "", false, err
	case ok:
		r.of.values[name] = value
	}
	return value, ok, nil
}

// mockedSecrets stands for the secret values of mocked outputs, which a later step
// may send to a simulator. It is what their names begin with.
type mockedSecrets string

// Lookup knows the names that test files give.
func (prefix mockedSecrets) Lookup(_ context.Context, name string) (string, bool, error) {
	if !strings.HasPrefix(name, string(prefix)) {
		return "", false, nil
	}
	return "mocked-" + strings.ReplaceAll(strings.TrimPrefix(name, string(prefix)), ":", "-"), true, nil
}
