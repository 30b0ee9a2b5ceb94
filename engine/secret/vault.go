package secret

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
)

// vaultBucket holds the secret outputs of runs.
const vaultBucket = "secrets.run"

// runPrefix begins the name of a secret output; no author can write a "/".
const runPrefix = "run/"

func isRunReference(name string) bool { return strings.HasPrefix(name, runPrefix) }

// Vault keeps the secret outputs of runs, sealed, until their run is deleted. It
// is a Provider for the references that it gives.
type Vault struct{ kv *SealedKV }

// NewVault returns the vault over sealed rows.
func NewVault(kv *SealedKV) *Vault { return &Vault{kv: kv} }

// Put stores a secret output of a run, durably, and returns the name for its
// reference. The same value in the same run has the same name.
func (v *Vault) Put(run, value string) (name string, err error) {
	if run == "" || strings.Contains(run, "/") {
		return "", fmt.Errorf("store secret output: %q is not a run id", run)
	}
	print, err := v.kv.sealer.fingerprint(vaultBucket, run, value)
	if err != nil {
		return "", err
	}
	name = runPrefix + run + "/" + hex.EncodeToString(print[:16])
	if _, _, ok, err := v.kv.Get(vaultBucket, name); err != nil || ok {
		return name, err
	}
	if _, err := v.kv.Put(vaultBucket, name, []byte(value), nil); err != nil {
		return "", fmt.Errorf("store secret output of run %s: %w", run, err)
	}
	return name, nil
}

// Lookup returns the value behind a name that Put gave.
func (v *Vault) Lookup(_ context.Context, name string) (string, bool, error) {
	if !isRunReference(name) {
		return "", false, nil
	}
	value, _, ok, err := v.kv.Get(vaultBucket, name)
	return string(value), ok, err
}

// DeleteRun removes all secret outputs of a run.
func (v *Vault) DeleteRun(run string) error {
	names, err := v.kv.List(vaultBucket, runPrefix+run+"/")
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := v.kv.Delete(vaultBucket, name, nil); err != nil {
			return fmt.Errorf("delete secret outputs of run %s: %w", run, err)
		}
	}
	return nil
}

// Runs returns the runs that have secret outputs, in order.
func (v *Vault) Runs() ([]string, error) {
	names, err := v.kv.List(vaultBucket, runPrefix)
	if err != nil {
		return nil, err
	}
	var runs []string
	for _, name := range names {
		run, _, _ := strings.Cut(strings.TrimPrefix(name, runPrefix), "/")
		if len(runs) == 0 || runs[len(runs)-1] != run {
			runs = append(runs, run)
		}
	}
	return runs, nil
}
