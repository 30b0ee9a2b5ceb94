package secret_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/store"
)

// rotating is a store with sealed values under the key of a file.
type rotating struct {
	path   string
	kv     store.KV
	sealer *secret.Sealer
	now    time.Time
}

func newRotating(t *testing.T, values map[string]string) *rotating {
	t.Helper()
	r := &rotating{path: filepath.Join(t.TempDir(), "key"), kv: storedRows(t), now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	ring, err := secret.KeyFile(r.path, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if r.sealer, err = secret.NewSealer(ring[0], rand.Reader); err != nil {
		t.Fatal(err)
	}
	stored := secret.NewStored(secret.Seal(r.kv, r.sealer))
	for name, value := range values {
		if err := stored.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *rotating) rotate(t *testing.T) (*secret.Rotated, error) {
	t.Helper()
	r.now = r.now.Add(time.Minute)
	return secret.Rotate(t.Context(), secret.Rotation{Path: r.path, KV: r.kv, Sealer: r.sealer, Buckets: secret.Buckets(), Entropy: rand.Reader, Now: r.now})
}

// opened is a value as a process sees it that begins now, with the key file alone.
func (r *rotating) opened(t *testing.T, name string) string {
	t.Helper()
	ring, err := secret.KeyFile(r.path, rand.Reader)
	if err != nil || len(ring) != 1 {
		t.Fatalf("the key file holds %d keys: %v", len(ring), err)
	}
	sealer, err := secret.NewSealer(ring[0], rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	value, _, err := secret.NewStored(secret.Seal(r.kv, sealer)).Lookup(t.Context(), name)
	if err != nil {
		t.Fatalf("%s under the new key: %v", name, err)
	}
	return value
}

func TestARotationSealsEverythingAnewAndKeepsThreeOldKeys(t *testing.T) {
	values := map[string]string{"SHORT": "s3cret", "LONG": strings.Repeat("a long value of several lines\n", 100)}
	r := newRotating(t, values)
	for round := range 5 {
		before, err := os.ReadFile(r.path)
		if err != nil {
			t.Fatal(err)
		}
		done, err := r.rotate(t)
		if err != nil || done.Values != len(values) {
			t.Fatalf("rotation %d: %+v, %v", round, done, err)
		}
		for name, want := range values {
			if got := r.opened(t, name); got != want {
				t.Errorf("after rotation %d %s is %q", round, name, got)
			}
		}
		if kept, err := os.ReadFile(done.OldKey); err != nil || !bytes.Equal(kept, before) {
			t.Errorf("rotation %d keeps %q as the old key, %v", round, kept, err)
		}
	}
	if kept, _ := filepath.Glob(r.path + ".*.bak"); len(kept) != 3 {
		t.Errorf("%d old keys are kept: %v", len(kept), kept)
	}
}

func TestARotationWithTheWrongKeyTouchesNothing(t *testing.T) {
	r := newRotating(t, map[string]string{"NAME": "s3cret"})
	other := []byte(strings.Repeat("ab", secret.KeySize) + "\n")
	if err := os.WriteFile(r.path, other, 0o600); err != nil {
		t.Fatal(err)
	}
	var lost *secret.LostError
	if _, err := r.rotate(t); !errors.As(err, &lost) || len(lost.Places) != 1 {
		t.Errorf("got %v, want the one value that can't be opened", err)
	}
	if content, err := os.ReadFile(r.path); err != nil || !bytes.Equal(content, other) {
		t.Errorf("the key file is %q, %v", content, err)
	}
}

func TestAKeyFileIsForItsUserAlone(t *testing.T) {
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660, 0o620, 0o602} {
		path := filepath.Join(t.TempDir(), "key")
		if _, err := secret.KeyFile(path, rand.Reader); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := secret.KeyFile(path, rand.Reader); err == nil || !strings.Contains(err.Error(), "make it 0600") {
			t.Errorf("a key file of mode %04o: %v", mode, err)
		}
	}
}

// A token that was stored by another process is masked as soon as it is shown.
func TestATokenOfAnotherProcessIsMasked(t *testing.T) {
	rows := newMemory()
	first := tokensOver(t, rows)
	lease := mustLease(t, first, "")
	if err := first.Commit(lease.ID, token("access-t0ken-1", "refresh-t0ken-1", time.Hour), nil); err != nil {
		t.Fatal(err)
	}
	redactor := secret.NewRedactor()
	later := secret.NewTokens(secret.TokensOptions{KV: sealed(t, rows), Now: time.Now, After: time.After, Entropy: rand.Reader, Redactor: redactor})
	mustToken(t, later, "", "access-t0ken-1")
	if text := redactor.Redact("access-t0ken-1 refresh-t0ken-1"); strings.Contains(text, "t0ken") {
		t.Errorf("shown: %s", text)
	}
}

func TestEachLineOfASecretIsMasked(t *testing.T) {
	redactor := secret.NewRedactor()
	redactor.Add("first-line-1\nsecond-line-2\n")
	for _, line := range []string{"first-line-1", "second-line-2"} {
		if text := redactor.Redact("it says " + line + " here"); strings.Contains(text, line) {
			t.Errorf("shown: %s", text)
		}
	}
}

func TestKeysOfObjectsAreMasked(t *testing.T) {
	redactor := secret.NewRedactor()
	redactor.Add("k3y-s3cret")
	got, err := secret.MaskJSON(redactor, []byte(`{"k3y-s3cret":{"a":"k3y-s3cret"},"kept":["k3y-s3cret"]}`))
	if want := `{"[redacted]":{"a":"[redacted]"},"kept":["[redacted]"]}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
