package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/store"
)

// keyFileName is the sealing key beside the store; it is not part of a backup.
const keyFileName = "key"

// stateBucket is the store's bucket of plugin state, sealed.
const stateBucket = "plugin.state"

// errNoStore answers what needs the store while none is open.
var errNoStore = errors.New("no store is open")

// hostServices is what the plugin host may ask of the engine: secrets, the
// vault of secret outputs, plugin state and tokens. All but secrets from the
// environment need an open store. Safe for concurrent use.
type hostServices struct {
	project *Project

	rotating sync.Mutex // held by the one rotation of the key

	mu       sync.RWMutex
	sealer   *secret.Sealer
	sealed   *secret.SealedKV
	rows     store.KV // the same rows as they are stored
	vault    *secret.Vault
	opaque   *secret.Opaque
	resolver *secret.Resolver
	tokens   *secret.Tokens

	usage stateUsage

	storedNames []string // secrets of a store that is not open
}

// attach gives the services their store.
func (s *hostServices) attach(rows store.KV) error {
	config := s.project.config
	path := filepath.Join(config.StateDir, keyFileName)
	if err := keyNotLost(rows, path); err != nil {
		return err
	}
	ring, err := secret.KeyFile(path, config.Entropy)
	if err != nil {
		return err
	}
	sealer, err := secret.NewSealer(ring[0], config.Entropy, ring[1:]...)
	if err != nil {
		return fmt.Errorf("key file: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealer = sealer
	s.rows = rows
	s.sealed = secret.Seal(s.rows, sealer)
	s.vault = secret.NewVault(s.sealed)
	s.opaque = secret.NewOpaque(s.sealed, func(key []byte) error { _, err := io.ReadFull(config.Entropy, key); return err })
	s.resolver = secret.NewResolver(s.project.redactor, s.providers()...)
	s.tokens = secret.NewTokens(secret.TokensOptions{
		KV: s.sealed, Now: config.Now, After: time.After, Entropy: config.Entropy, Redactor: s.project.redactor,
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
	sealed := 0
	for _, bucket := range sealedBuckets() {
		keys, err := rows.List(bucket, "")
		if err != nil {
			return err
		}
		sealed += len(keys)
	}
	if sealed == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s is not there, and %d sealed values (logins, secrets, plugins' state) can't be read without it; put it back from where you keep it, "+
		"or give them up and begin anew: move the store away", errKeyLost, path, sealed)
}

// errKeyLost says that the key of the sealed values is gone.
var errKeyLost = errors.New("the key file is lost")

// providers are those that flowrun.yaml names, in its order, and the vault.
func (s *hostServices) providers() []secret.Provider {
	providers := []secret.Provider{s.vault}
	if s.project.sandbox != nil {
		providers = append(providers, mockedSecrets{})
	}
	for _, name := range s.project.file.Secrets {
		switch name {
		case "env":
			providers = append(providers, s.project.env())
		case "store":
			providers = append(providers, secret.NewStored(s.sealed))
		}
	}
	return providers
}

func (s *hostServices) detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealer, s.sealed, s.rows, s.vault, s.opaque, s.resolver, s.tokens = nil, nil, nil, nil, nil, nil, nil
	s.usage = stateUsage{}
}

// noteStored names secrets that lie in a store which is not open: Reveal does not
// call them missing.
func (s *hostServices) noteStored(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.storedNames = names
}

func (s *hostServices) named() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !slices.Contains(s.project.file.Secrets, "store") {
		return nil
	}
	return s.storedNames
}

// Reveal returns the clear value of a secret.
func (s *hostServices) Reveal(ctx context.Context, name string) (string, error) {
	s.mu.RLock()
	resolver := s.resolver
	s.mu.RUnlock()
	if resolver == nil {
		if slices.Contains(s.named(), name) || !slices.Contains(s.project.file.Secrets, "env") {
			return "", errNoStore
		}
		resolver = secret.NewResolver(s.project.redactor, s.project.env())
	}
	return resolver.Reveal(ctx, name)
}

// Seal keeps a secret part of an output and returns the name for its reference.
func (s *hostServices) Seal(_ context.Context, r pluginhost.SealRequest) (string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.vault == nil {
		return "", errNoStore
	}
	return s.vault.Put(r.RunID, string(r.Value))
}

// Open returns the JSON value behind a name that Seal gave.
func (s *hostServices) Open(ctx context.Context, ref string) (json.RawMessage, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.vault == nil {
		return nil, errNoStore
	}
	value, found, err := s.vault.Lookup(ctx, ref)
	if err == nil && !found {
		err = fmt.Errorf("secret output %s is not stored any more", ref)
	}
	return json.RawMessage(value), err
}

// stateRow is one value of a plugin's state as it is stored, inside its seal.
type stateRow struct {
	Value   []byte    `json:"value"`
	Expires time.Time `json:"expires,omitzero"`
}

// stateName joins its parts as JSON, so that no value can pass for another.
func stateName(key pluginhost.StateKey) (string, error) {
	name, err := json.Marshal([]string{key.Plugin, key.Scope, key.Key})
	if err != nil {
		return "", fmt.Errorf("name state of plugin %s: %w", key.Plugin, err)
	}
	return string(name), nil
}

// GetState returns a value of a plugin's state; an expired one is not found.
func (s *hostServices) GetState(_ context.Context, key pluginhost.StateKey) ([]byte, uint64, bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.sealed == nil {
		return nil, 0, false, errNoStore
	}
	name, err := stateName(key)
	if err != nil {
		return nil, 0, false, err
	}
	stored, version, found, err := s.sealed.Get(stateBucket, name)
	if err != nil || !found {
		return nil, 0, false, err
	}
	var row stateRow
	if err := json.Unmarshal(stored, &row); err != nil {
		return nil, 0, false, fmt.Errorf("read state %s of plugin %s: %w", key.Key, key.Plugin, err)
	}
	if !row.Expires.IsZero() && !s.project.config.Now().Before(row.Expires) {
		return nil, 0, false, nil
	}
	s.noteUse(scopeName(key))
	return row.Value, version, true, nil
}

// PutState writes when the stored version is ifVersion, 0 for a key that does
// not exist or has expired. *pluginhost.StateQuotaError where the scope has no room.
func (s *hostServices) PutState(_ context.Context, key pluginhost.StateKey, value []byte, ifVersion uint64, ttl time.Duration) (uint64, bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.sealed == nil {
		return 0, false, errNoStore
	}
	name, err := stateName(key)
	if err != nil {
		return 0, false, err
	}
	usage := s.usage.of(scopeName(key))
	usage.mu.Lock()
	defer usage.mu.Unlock()
	if ifVersion == 0 {
		if ifVersion, err = s.expiredVersion(name); err != nil {
			return 0, false, err
		}
	}
	if value == nil {
		err = s.sealed.Delete(stateBucket, name, &ifVersion)
		if err == nil && usage.known {
			usage.set(name, 0)
		}
		return 0, err == nil, ignoreConflict(err)
	}
	row := stateRow{Value: value}
	if ttl > 0 {
		row.Expires = s.project.config.Now().Add(ttl).UTC()
	}
	encoded, err := json.Marshal(row)
	if err != nil {
		return 0, false, fmt.Errorf("encode state %s of plugin %s: %w", key.Key, key.Plugin, err)
	}
	size := int64(len(name) + len(encoded) + sealedSize)
	if err := usage.admit(s, scopeName(key), name, size); err != nil {
		return 0, false, err
	}
	version, err := s.sealed.Put(stateBucket, name, encoded, &ifVersion)
	if err == nil {
		usage.set(name, size)
		s.noteUse(scopeName(key))
	}
	return version, err == nil, ignoreConflict(err)
}

// expiredVersion returns the version of a row that has expired, else 0.
func (s *hostServices) expiredVersion(name string) (uint64, error) {
	stored, version, found, err := s.sealed.Get(stateBucket, name)
	if err != nil || !found {
		return 0, err
	}
	var row stateRow
	if json.Unmarshal(stored, &row) == nil && !row.Expires.IsZero() && !s.project.config.Now().Before(row.Expires) {
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
