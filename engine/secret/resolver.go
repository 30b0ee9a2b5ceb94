package secret

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// NotFoundError says that no provider has the secret. EnvName is the variable
// that would give it, "" where only the store could.
type NotFoundError struct {
	Name    string
	EnvName string
}

func (e *NotFoundError) Error() string {
	if e.EnvName == "" {
		return fmt.Sprintf("secret %s is not stored", e.Name)
	}
	return fmt.Sprintf("secret %s is not set: set the environment variable %s, or keep it with `flowrun secrets set %s`", e.Name, e.EnvName, e.Name)
}

// Provider looks a secret up. found is false where it has none of that name.
type Provider interface {
	Lookup(ctx context.Context, name string) (value string, found bool, err error)
}

// Resolver asks providers in order. Safe for concurrent use when they are.
type Resolver struct {
	providers []Provider
	redactor  *Redactor
}

// NewResolver returns a Resolver. Every value that it reveals is added to the
// redactor first, which may be nil.
func NewResolver(redactor *Redactor, providers ...Provider) *Resolver {
	return &Resolver{providers: providers, redactor: redactor}
}

// Reveal returns the clear value of a secret. *NotFoundError when no provider
// has it.
func (r *Resolver) Reveal(ctx context.Context, name string) (string, error) {
	for _, provider := range r.providers {
		value, ok, err := provider.Lookup(ctx, name)
		if err != nil {
			return "", fmt.Errorf("secret %s: %w", name, err)
		}
		if !ok {
			continue
		}
		if r.redactor != nil {
			r.redactor.Add(value)
		}
		return value, nil
	}
	notFound := &NotFoundError{Name: name}
	if !isRunReference(name) {
		notFound.EnvName = r.envName(name)
	}
	return "", notFound
}

// envName is the variable that would give a secret.
func (r *Resolver) envName(name string) string {
	for _, provider := range r.providers {
		if env, ok := provider.(*Env); ok {
			return env.VariableOf(name)
		}
	}
	return EnvName(name)
}

// EnvName is the environment variable of a secret: FLOWRUN_SECRET_ and the name
// in upper case, with "_" for "-".
func EnvName(name string) string { return EnvPrefix + variablePart(name) }

func variablePart(name string) string {
	return strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// How the variables of secrets begin. A sandbox has its own, so that it never
// reads those of the real services.
const (
	EnvPrefix        = "FLOWRUN_SECRET_"
	SandboxEnvPrefix = "FLOWRUN_SANDBOX_SECRET_"
)

// Env is the provider of the variables of one prefix.
type Env struct {
	prefix string
	values map[string]string
}

// NewEnv reads the FLOWRUN_SECRET_ variables of an environment of NAME=value
// entries. An empty value counts as not set.
func NewEnv(environ []string) *Env { return newEnv(EnvPrefix, environ) }

// NewSandboxEnv is NewEnv for the FLOWRUN_SANDBOX_SECRET_ variables.
func NewSandboxEnv(environ []string) *Env { return newEnv(SandboxEnvPrefix, environ) }

func newEnv(prefix string, environ []string) *Env {
	env := &Env{prefix: prefix, values: map[string]string{}}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, prefix) && value != "" {
			env.values[name] = value
		}
	}
	return env
}

// VariableOf is the name of the variable of a secret.
func (e *Env) VariableOf(name string) string { return e.prefix + variablePart(name) }

// Prefix is how its variables begin.
func (e *Env) Prefix() string { return e.prefix }

// Lookup returns the variable's value.
func (e *Env) Lookup(_ context.Context, name string) (string, bool, error) {
	value, ok := e.values[e.VariableOf(name)]
	return value, ok, nil
}

// StoredBucket is the bucket of the secrets that a person stored.
const StoredBucket = "secrets"

// Stored is the provider of secrets that were put into the store, over rows that
// Seal wraps.
type Stored struct{ kv KV }

// NewStored returns the provider. kv must seal.
func NewStored(kv *SealedKV) *Stored { return &Stored{kv: kv} }

// Lookup returns the stored value.
func (s *Stored) Lookup(_ context.Context, name string) (string, bool, error) {
	if name == "" {
		return "", false, nil
	}
	value, _, ok, err := s.kv.Get(StoredBucket, name)
	return string(value), ok, err
}

// Set stores a secret.
func (s *Stored) Set(name, value string) error {
	if name == "" || value == "" {
		return errors.New("a secret needs a name and a value")
	}
	_, err := s.kv.Put(StoredBucket, name, []byte(value), nil)
	return err
}

// Remove deletes a secret; an absent one is no error.
func (s *Stored) Remove(name string) error { return s.kv.Delete(StoredBucket, name, nil) }

// Names returns the names of the stored secrets in order.
func (s *Stored) Names() ([]string, error) { return s.kv.List(StoredBucket, "") }
