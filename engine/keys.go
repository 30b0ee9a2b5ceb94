package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/secret"
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

// sealedBuckets are the store's buckets whose values are sealed.
func sealedBuckets() []string { return append(secret.Buckets(), stateBucket) }

// KeyPath returns the path of the file with the sealing key.
func (p *Project) KeyPath() string { return filepath.Join(p.config.StateDir, keyFileName) }

// CheckKey opens every sealed value of the store with the key file. Values that
// it does not open are in the report; an error is one of the file or the store.
func (e *Engine) CheckKey(ctx context.Context) (*KeyReport, error) {
	path := e.project.KeyPath()
	keys, err := secret.KeysOf(path)
	if err != nil {
		return nil, &fault.StoreError{Fault: keyFault(err), Path: path, Err: err}
	}
	lost, values, err := secret.CheckKeyFile(ctx, e.store.KV(), path, sealedBuckets())
	if err != nil {
		return nil, e.fault(fmt.Errorf("check the sealed values: %w", err))
	}
	return &KeyReport{File: path, Keys: keys, Values: values, Lost: sealedValues(lost)}, nil
}

// RotateKey puts a new sealing key in the place of the old one and seals every
// value anew; a rotation that was interrupted is finished. Runs and logins go on
// meanwhile. The old key is kept in a file beside: backups from before need it.
// A *ConflictError when a value can't be opened, before anything is changed.
func (e *Engine) RotateKey(ctx context.Context) (*KeyRotation, error) {
	services := e.project.services
	services.rotating.Lock()
	defer services.rotating.Unlock()
	services.mu.RLock()
	sealer := services.sealer
	services.mu.RUnlock()
	if sealer == nil {
		return nil, errNoStore
	}
	path := e.project.KeyPath()
	rotated, err := secret.Rotate(ctx, secret.Rotation{
		Path: path, KV: e.store.KV(), Sealer: sealer, Buckets: sealedBuckets(), Entropy: e.project.config.Entropy,
		Now: e.project.config.Now(), Reached: e.project.config.OnCommit,
	})
	var lost *secret.LostError
	switch {
	case errors.As(err, &lost):
		return nil, &fault.ConflictError{
			Message: fmt.Sprintf("the key is not rotated: %s: %s", lost, listSealed(sealedValues(lost.Places))),
			Hint:    "put the key file back that belongs to this store; or give these values up: `flowrun secrets rm NAME`, `flowrun connections logout NAME`, `flowrun runs rm RUN`",
		}
	case errors.Is(err, secret.ErrBadKey):
		return nil, &fault.StoreError{Fault: fault.StoreCorrupt, Path: path, Err: err}
	case err != nil:
		return nil, e.fault(fmt.Errorf("rotate the key: %w", err))
	}
	// What plugins leave for themselves is sealed with a data key of its own from now
	// on: who has the old key file and an old store opens nothing that comes.
	if err := services.renewOpaque(); err != nil {
		return nil, e.fault(fmt.Errorf("rotate the key: %w", err))
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
	if place.Bucket == stateBucket {
		var parts []string // of stateName
		if json.Unmarshal([]byte(place.Key), &parts) != nil || len(parts) == 0 {
			parts = []string{place.Key}
		}
		return SealedValue{Kind: "plugin state", Name: parts[0]}
	}
	kind, name := secret.PlaceName(place)
	if _, connection, found := strings.Cut(name, "/"); found && kind == "login" { // plugin/connection
		name = connection
	}
	return SealedValue{Kind: kind, Name: name}
}
