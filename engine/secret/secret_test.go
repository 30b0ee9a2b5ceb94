package secret_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/secret"
)

const canary = "canary-7f3a9c"

func TestReferences(t *testing.T) {
	for _, name := range []string{"TASKS_TOKEN", "run/01/ab", `quote"`} {
		got, ok := secret.ParseReference(secret.Reference(name))
		if !ok || got != name {
			t.Errorf("reference of %q = %q, %v", name, got, ok)
		}
	}
	for _, text := range []string{``, `null`, `"x"`, `{}`, `{"$secret":1}`, `{"$secret":""}`, `{"$secret":null}`, `{"$secret":"a","b":1}`, `[{"$secret":"a"}]`, `{"$secret":"a"`, `{"$secret":"a"} x`} {
		if name, ok := secret.ParseReference([]byte(text)); ok {
			t.Errorf("%s is taken for a reference to %q", text, name)
		}
	}
}

func TestResolverAsksInOrder(t *testing.T) {
	kv := sealed(t, storedRows(t))
	stored := secret.NewStored(kv)
	for name, value := range map[string]string{"A": "stored-a", "B": "stored-b"} {
		if err := stored.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	vault := secret.NewVault(kv)
	redactor := secret.NewRedactor()
	env := secret.NewEnv([]string{"FLOWRUN_SECRET_A=from=env", "FLOWRUN_SECRET_EMPTY=", "FLOWRUN_SECRET_MY_KEY=dashed", "A=other", "PATH=/bin"})
	r := secret.NewResolver(redactor, env, stored, vault)
	for name, want := range map[string]string{"A": "from=env", "a": "from=env", "B": "stored-b", "my-key": "dashed"} {
		got, err := r.Reveal(t.Context(), name)
		if err != nil || got != want {
			t.Errorf("%s = %q, %v", name, got, err)
		}
	}
	if got := redactor.Redact("x stored-b y"); got != "x [redacted] y" {
		t.Errorf("a revealed secret is not masked: %q", got)
	}
	for name, env := range map[string]string{"EMPTY": "FLOWRUN_SECRET_EMPTY", "my-other": "FLOWRUN_SECRET_MY_OTHER", "run/x/y": ""} {
		_, err := r.Reveal(t.Context(), name)
		var notFound *secret.NotFoundError
		if !errors.As(err, &notFound) || notFound.Name != name || notFound.EnvName != env || !strings.Contains(err.Error(), env) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if names, err := stored.Names(); err != nil || !slices.Equal(names, []string{"A", "B"}) {
		t.Errorf("names = %v, %v", names, err)
	}
	if err := stored.Remove("B"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reveal(t.Context(), "B"); err == nil {
		t.Error("a removed secret is there")
	}
}

func TestVaultOutputsDieWithTheirRun(t *testing.T) {
	rows := storedRows(t)
	vault := secret.NewVault(sealed(t, rows))
	name, err := vault.Put("run1", canary)
	if err != nil {
		t.Fatal(err)
	}
	again, err := vault.Put("run1", canary)
	if err != nil || again != name {
		t.Errorf("second put = %q, %v, want %q", again, err, name)
	}
	other, err := vault.Put("run10", canary)
	if err != nil || other == name || strings.Contains(name, canary) {
		t.Errorf("another run's = %q, %v", other, err)
	}
	if value, found, err := vault.Lookup(t.Context(), name); err != nil || !found || value != canary {
		t.Errorf("lookup = %q %v %v", value, found, err)
	}
	if err := vault.DeleteRun("run1"); err != nil {
		t.Fatal(err)
	}
	if _, found, _ := vault.Lookup(t.Context(), name); found {
		t.Error("it outlived its run")
	}
	if _, found, _ := vault.Lookup(t.Context(), other); !found {
		t.Error("another run's output was deleted")
	}
	if _, err := vault.Put("a/b", canary); err == nil {
		t.Error("a run id with a slash was taken")
	}
}

func TestSealedValuesStayInTheirPlace(t *testing.T) { // docs/reliability.md, "Secrets"
	rows := storedRows(t)
	kv := sealed(t, rows)
	if _, err := kv.Put("a", "k", []byte(canary), nil); err != nil {
		t.Fatal(err)
	}
	raw, _, _, err := rows.Get("a", "k")
	if err != nil || bytes.Contains(raw, []byte(canary)) {
		t.Fatalf("stored: %q, %v", raw, err)
	}
	for name, place := range map[string][2]string{"key": {"a", "other"}, "bucket": {"b", "k"}} {
		if _, err := rows.Put(place[0], place[1], raw, nil); err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := kv.Get(place[0], place[1]); !errors.Is(err, secret.ErrUnseal) {
			t.Errorf("moved to another %s: %v", name, err)
		}
	}
	for i := range raw {
		damaged := bytes.Clone(raw)
		damaged[i] ^= 1
		if _, err := rows.Put("a", "k", damaged, nil); err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := kv.Get("a", "k"); !errors.Is(err, secret.ErrUnseal) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
	wrong, err := secret.NewSealer(make([]byte, secret.KeySize), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wrong.Open("a", "k", raw); !errors.Is(err, secret.ErrUnseal) {
		t.Errorf("another key: %v", err)
	}
	if _, err := secret.NewSealer([]byte("short"), rand.Reader); err == nil {
		t.Error("a short key was taken")
	}
	if _, _, found, err := kv.Get("a", "absent"); found || err != nil {
		t.Errorf("absent: %v %v", found, err)
	}
}

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	ring, err := secret.KeyFile(path, rand.Reader)
	if err != nil || len(ring) != 1 || len(ring[0]) != secret.KeySize {
		t.Fatalf("%d keys, %v", len(ring), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
	again, err := secret.KeyFile(path, rand.Reader)
	if err != nil || len(again) != 1 || !bytes.Equal(again[0], ring[0]) {
		t.Errorf("second read: %v", err)
	}
	write := func(content string, mode os.FileMode) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	write("00ff", 0o600)
	if _, err := secret.KeyFile(path, rand.Reader); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("short file: %v", err)
	}
	write(strings.Repeat("00", 32), 0o644)
	if _, err := secret.KeyFile(path, rand.Reader); err == nil || !strings.Contains(err.Error(), "0600") {
		t.Errorf("readable by others: %v", err)
	}
	write("", 0o600) // a crash right after its creation
	if ring, err := secret.KeyFile(path, rand.Reader); err != nil || len(ring) != 1 || len(ring[0]) != secret.KeySize {
		t.Errorf("empty file: %v", err)
	}
	if _, err := secret.KeyFile(filepath.Join(path, "no"), rand.Reader); err == nil {
		t.Error("no folder: no error")
	}
}
