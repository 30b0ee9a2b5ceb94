package services

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/store"
)

// KeyReport says whether the sealing key opens what the store holds.
type KeyReport struct {
	File   string        `json:"file"`
	Keys   int           `json:"keys"`   // in the file; 2 = a rotation was interrupted
	Values int           `json:"values"` // sealed, in the store
	Lost   []SealedValue `json:"lost"`   // that no key opens
}

// SealedValue names a sealed value: never what it is.
type SealedValue struct {
	Kind string `json:"kind"` // "secret", "login", "output", "plugin state", "data key"
	Name string `json:"name"` // of the secret, connection, run, plugin; the number of the data key
}

// KeyRotation tells of a finished rotation of the sealing key.
type KeyRotation struct {
	File      string `json:"file"`
	Values    int    `json:"values"`              // that were sealed anew
	Continued bool   `json:"continued,omitempty"` // it was begun before, and interrupted
	OldKey    string `json:"old_key"`             // the file that keeps the old key
	// Removed are the files of still older keys: the newest three stay.
	Removed []string `json:"removed,omitempty"`
}

// SealedBuckets are the store's buckets whose values are sealed.
func SealedBuckets() []string { return append(secret.Buckets(), StateBucket) }

// SealedValues counts the rows of a store that only its key file opens.
func SealedValues(rows store.KV) (sealed int, err error) {
	for _, bucket := range SealedBuckets() {
		keys, err := rows.List(bucket, "")
		if err != nil {
			return 0, err
		}
		sealed += len(keys)
	}
	return sealed, nil
}

// KeyPath returns the path of the file with the sealing key.
func (s *Services) KeyPath() string { return filepath.Join(s.options.StateDir, KeyFile) }

// CheckKey opens every sealed value of the store with the key file. Values that it
// does not open are in the report; a *fault.StoreError is one of the key file, other
// errors are the store's.
func (s *Services) CheckKey(ctx context.Context) (*KeyReport, error) {
	s.mu.RLock()
	rows := s.rows
	s.mu.RUnlock()
	if rows == nil {
		return nil, ErrNoStore
	}
	path := s.KeyPath()
	keys, err := secret.KeysOf(path)
	if err != nil {
		return nil, &fault.StoreError{Fault: KeyFault(err), Path: path, Err: err}
	}
	lost, values, err := secret.CheckKeyFile(ctx, rows, path, SealedBuckets())
	if err != nil {
		return nil, fmt.Errorf("check the sealed values: %w", err)
	}
	return &KeyReport{File: path, Keys: keys, Values: values, Lost: sealedValues(lost)}, nil
}

// RotateKey is Engine.RotateKey; reached is called at each durable step, nil = nobody
// asks.
func (s *Services) RotateKey(ctx context.Context, reached func(step string)) (*KeyRotation, error) {
	s.rotating.Lock()
	defer s.rotating.Unlock()
	s.mu.RLock()
	sealer, rows := s.sealer, s.rows
	s.mu.RUnlock()
	if sealer == nil {
		return nil, ErrNoStore
	}
	path := s.KeyPath()
	rotated, err := secret.Rotate(ctx, secret.Rotation{
		Path: path, KV: rows, Sealer: sealer, Buckets: SealedBuckets(), Entropy: s.options.Entropy, Now: s.options.Now(), Reached: reached,
	})
	var lost *secret.LostError
	switch {
	case errors.As(err, &lost):
		return nil, &fault.ConflictError{
			Message: fmt.Sprintf("the key is not rotated: %s: %s", lost, listSealed(sealedValues(lost.Places))),
			Hint:    diag.Sayf("put the key file back that belongs to this store; or give these values up: %s, %s, %s", diag.Command{"secrets", "rm", "NAME"}, diag.Command{"connections", "logout", "NAME"}, diag.Command{"runs", "rm", "RUN"}),
		}
	case errors.Is(err, secret.ErrBadKey):
		return nil, &fault.StoreError{Fault: fault.StoreCorrupt, Path: path, Err: err}
	case err != nil:
		return nil, fmt.Errorf("rotate the key: %w", err)
	}
	// What plugins leave for themselves is sealed with a data key of its own from now
	// on: who has the old key file and an old store opens nothing that comes.
	if err := s.renewOpaque(); err != nil {
		return nil, fmt.Errorf("rotate the key: %w", err)
	}
	return &KeyRotation{File: path, Values: rotated.Values, Continued: rotated.Continued, OldKey: rotated.OldKey, Removed: rotated.Removed}, nil
}

// listSealed names a few values.
func listSealed(values []SealedValue) string {
	const shown = 5
	var names []string
	for i, value := range values {
		if i == shown {
			names = append(names, fmt.Sprintf("and %d more", len(values)-shown))
			break
		}
		names = append(names, value.Kind+" "+value.Name)
	}
	return strings.Join(names, ", ")
}

func sealedValues(places []secret.Place) []SealedValue {
	values := []SealedValue{}
	for _, place := range places {
		values = append(values, sealedValue(place))
	}
	return values
}

func sealedValue(place secret.Place) SealedValue {
	if place.Bucket == StateBucket {
		var parts []string // of stateName
		if json.Unmarshal([]byte(place.Key), &parts) != nil || len(parts) == 0 {
			parts = []string{place.Key}
		}
		return SealedValue{Kind: "plugin state", Name: parts[0]}
	}
	kind, name := secret.PlaceName(place)
	if _, connection, ok := strings.Cut(name, "/"); ok && kind == "login" { // plugin/connection
		name = connection
	}
	return SealedValue{Kind: kind, Name: name}
}

// KeyFault classifies what reading or making the key file gave: it is a part of
// the store, though kept apart.
func KeyFault(err error) fault.StoreFault {
	if errors.Is(err, secret.ErrBadKey) || errors.Is(err, errKeyLost) {
		return fault.StoreCorrupt
	}
	return fault.FileFault(err)
}
