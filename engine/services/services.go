// Package services is what the engine gives to plugins: secrets, the vault of secret
// outputs, state, tokens and seals, on the store of a state folder. All but secrets from
// the environment need an open store.
package services

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/store"
)

// KeyFile is the sealing key beside the store; it is not part of a backup.
const KeyFile = "key"

// StateBucket is the store's bucket of plugin state, sealed.
const StateBucket = "plugin.state"

// ErrNoStore answers what needs the store while none is open.
var ErrNoStore = errors.New("no store is open")

// Options are what the services take from their surroundings.
type Options struct {
	StateDir string // holds the key file
	Now      func() time.Time
	Entropy  io.Reader
	Log      *slog.Logger
	Redactor *secret.Redactor
	Sources  []string // SecretFromEnv, SecretFromStore: where secrets come from, in this order
	Env      *secret.Env
	Mocked   string // what the names of secrets begin with that mocked answers give; "" = no answer is mocked
	Quotas   quota.Values
	Unused   time.Duration // how long the state of a plugin is kept that nobody uses; 0 = DefaultUnused
}

// New returns services without a store: attach gives them one.
func New(options Options) *Services { return &Services{options: options} }

// Services is what the plugin host may ask of the engine: secrets, the
// vault of secret outputs, plugin state and tokens. All but secrets from the
// environment need an open store. Safe for concurrent use.
type Services struct {
	options Options

	rotating sync.Mutex // held by the one rotation of the key

	mu       sync.RWMutex
	sealer   *secret.Sealer
	sealed   *secret.SealedKV
	rows     store.KV // the same rows as they are stored
	blobs    store.Blobs
	vault    *secret.Vault
	opaque   *secret.Opaque
	resolver *secret.Resolver
	tokens   *secret.Tokens

	usage stateUsage

	storedNames []string // secrets of a store that is not open
}

// Attach gives the services their store.
func (s *Services) Attach(rows store.KV) error {
	options := s.options
	path := filepath.Join(options.StateDir, KeyFile)
	if err := keyNotLost(rows, path); err != nil {
		return err
	}
	ring, err := secret.KeyFile(path, options.Entropy)
	if err != nil {
		return err
	}
	sealer, err := secret.NewSealer(ring[0], options.Entropy, ring[1:]...)
	if err != nil {
		return fmt.Errorf("key file: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealer = sealer
	s.rows = rows
	s.sealed = secret.Seal(s.rows, sealer)
	s.vault = secret.NewVault(s.sealed)
	s.opaque = secret.NewOpaque(s.sealed, func(key []byte) error { _, err := io.ReadFull(options.Entropy, key); return err })
	s.resolver = secret.NewResolver(options.Redactor, s.providers()...)
	s.tokens = secret.NewTokens(secret.TokensOptions{
		KV: s.sealed, Now: options.Now, After: time.After, Entropy: options.Entropy, Redactor: options.Redactor,
	})
	return nil
}

// keyNotLost refuses to make a new key where the one is gone that sealed what the
// store holds: nobody would hear of the loss until a login or a secret fails.
func keyNotLost(rows store.KV, path string) error {
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("key file: %w", err)
	}
	sealed, err := SealedValues(rows)
	if err != nil || sealed == 0 {
		return err
	}
	return fmt.Errorf("%w: %s is not there, and %d sealed values (logins, secrets, plugins' state) can't be read without it; put it back from where you keep it, "+
		"or give them up and begin anew: move the store away", errKeyLost, path, sealed)
}

// errKeyLost says that the key of the sealed values is gone.
var errKeyLost = errors.New("the key file is lost")

// providers are those that flowrun.yaml names, in its order, and the vault.
func (s *Services) providers() []secret.Provider {
	providers := []secret.Provider{s.vault}
	if s.options.Mocked != "" {
		providers = append(providers, mockedSecrets(s.options.Mocked))
	}
	for _, name := range s.options.Sources {
		switch name {
		case SecretFromEnv:
			providers = append(providers, s.options.Env)
		case SecretFromStore:
			providers = append(providers, secret.NewStored(s.sealed))
		}
	}
	return providers
}

// Detach takes the store away: what needs one is refused with ErrNoStore from then on.
func (s *Services) Detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealer, s.sealed, s.rows, s.vault, s.opaque, s.resolver, s.tokens, s.blobs = nil, nil, nil, nil, nil, nil, nil, nil
	s.usage = stateUsage{}
}

// NoteStored names secrets that lie in a store which is not open: Reveal does not
// call them missing.
func (s *Services) NoteStored(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.storedNames = names
}

func (s *Services) named() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !slices.Contains(s.options.Sources, SecretFromStore) {
		return nil
	}
	return s.storedNames
}

// Reveal returns the clear value of a secret.
func (s *Services) Reveal(ctx context.Context, name string) (string, error) {
	s.mu.RLock()
	resolver := s.resolver
	s.mu.RUnlock()
	if resolver == nil {
		if slices.Contains(s.named(), name) || !slices.Contains(s.options.Sources, SecretFromEnv) {
			return "", ErrNoStore
		}
		resolver = secret.NewResolver(s.options.Redactor, s.options.Env)
	}
	return resolver.Reveal(ctx, name)
}

// with lets use work on a part of the services that needs the open store: ErrNoStore
// while none is.
func with[P, T any](s *Services, part **P, use func(*P) (T, error)) (result T, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if *part == nil {
		return result, ErrNoStore
	}
	return use(*part)
}

// Seal keeps a secret part of an output and returns the name for its reference.
func (s *Services) Seal(_ context.Context, r pluginhost.SealRequest) (string, error) {
	return with(s, &s.vault, func(v *secret.Vault) (string, error) { return v.Put(r.RunID, string(r.Value)) })
}

// Open returns the JSON value behind a name that Seal gave.
func (s *Services) Open(ctx context.Context, ref string) (json.RawMessage, error) {
	return with(s, &s.vault, func(v *secret.Vault) (json.RawMessage, error) {
		value, ok, err := v.Lookup(ctx, ref)
		if err == nil && !ok {
			err = fmt.Errorf("secret output %s is not stored any more", ref)
		}
		return json.RawMessage(value), err
	})
}

// ForgetOutputs removes what a run or a single call has sealed.
func (s *Services) ForgetOutputs(id string) error {
	_, err := with(s, &s.vault, func(v *secret.Vault) (any, error) { return nil, v.DeleteRun(id) })
	return err
}

// OutputOwners returns the runs and single calls that have sealed outputs.
func (s *Services) OutputOwners() ([]string, error) { return with(s, &s.vault, (*secret.Vault).Runs) }

// stateRow is one value of a plugin's state as it is stored, inside its seal.
type stateRow struct {
	Value   []byte    `json:"value"`
	Expires time.Time `json:"expires,omitzero"`
}

// stateName joins its parts as JSON, so that no value can pass for another.
func stateName(key pluginhost.StateKey) string {
	name, _ := json.Marshal([]string{key.Plugin, key.Scope, key.Key}) // texts always can be encoded
	return string(name)
}

// GetState returns a value of a plugin's state; an expired one is not found.
func (s *Services) GetState(_ context.Context, key pluginhost.StateKey) ([]byte, uint64, bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.sealed == nil {
		return nil, 0, false, ErrNoStore
	}
	stored, version, ok, err := s.sealed.Get(StateBucket, stateName(key))
	if err != nil || !ok {
		return nil, 0, false, err
	}
	var row stateRow
	if err := json.Unmarshal(stored, &row); err != nil {
		return nil, 0, false, fmt.Errorf("read state %s of plugin %s: %w", key.Key, key.Plugin, err)
	}
	if !row.Expires.IsZero() && !s.options.Now().Before(row.Expires) {
		return nil, 0, false, nil
	}
	s.noteUse(scopeName(key))
	return row.Value, version, true, nil
}

// PutState writes when the stored version is ifVersion, 0 for a key that does
// not exist or has expired. *pluginhost.StateQuotaError where the scope has no room.
func (s *Services) PutState(_ context.Context, key pluginhost.StateKey, value []byte, ifVersion uint64, ttl time.Duration) (uint64, bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.sealed == nil {
		return 0, false, ErrNoStore
	}
	name := stateName(key)
	usage := s.usage.of(scopeName(key))
	usage.mu.Lock()
	defer usage.mu.Unlock()
	var err error
	if ifVersion == 0 {
		if ifVersion, err = s.expiredVersion(name); err != nil {
			return 0, false, err
		}
	}
	if value == nil {
		err = s.sealed.Delete(StateBucket, name, &ifVersion)
		if err == nil && usage.measured {
			usage.set(name, 0)
		}
		return 0, err == nil, ignoreConflict(err)
	}
	row := stateRow{Value: value}
	if ttl > 0 {
		row.Expires = s.options.Now().Add(ttl).UTC()
	}
	encoded, err := json.Marshal(row)
	if err != nil {
		return 0, false, fmt.Errorf("encode state %s of plugin %s: %w", key.Key, key.Plugin, err)
	}
	size := int64(len(name) + len(encoded) + sealedSize)
	if err := usage.admit(s, scopeName(key), name, size); err != nil {
		return 0, false, err
	}
	version, err := s.sealed.Put(StateBucket, name, encoded, &ifVersion)
	if err == nil {
		usage.set(name, size)
		s.noteUse(scopeName(key))
	}
	return version, err == nil, ignoreConflict(err)
}

// expiredVersion returns the version of a row that has expired, else 0.
func (s *Services) expiredVersion(name string) (uint64, error) {
	stored, version, ok, err := s.sealed.Get(StateBucket, name)
	if err != nil || !ok {
		return 0, err
	}
	var row stateRow
	if json.Unmarshal(stored, &row) == nil && !row.Expires.IsZero() && !s.options.Now().Before(row.Expires) {
		return version, nil
	}
	return 0, nil
}

// ignoreConflict turns a lost compare-and-set into an answer.
func ignoreConflict(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}
