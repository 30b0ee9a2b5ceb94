package services

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/memstore"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/store"
)

// attached returns services on the rows of a store, and what gives them back.
func attached(t *testing.T, dir string, rows store.KV, quotas quota.Values, now func() time.Time) (s *Services, end func()) {
	t.Helper()
	s = New(Options{
		StateDir: dir, Now: now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler), Redactor: secret.NewRedactor(),
		Sources: []string{SecretFromStore}, Env: secret.NewEnv(nil), Quotas: quotas,
	})
	if err := s.Attach(rows); err != nil {
		t.Fatal(err)
	}
	return s, s.Detach
}

func keep(t *testing.T, s *Services, scope, key string, size int, ttl time.Duration) error {
	t.Helper()
	at := pluginhost.StateKey{Plugin: "tasks", Scope: scope, Key: key}
	_, version, _, err := s.GetState(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	_, ok, err := s.PutState(t.Context(), at, []byte(strings.Repeat("v", size)), version, ttl)
	if err == nil && !ok {
		t.Fatalf("%s of %s was not stored", key, scope)
	}
	return err
}

func wantFull(t *testing.T, err error, quota string) {
	t.Helper()
	var full *pluginhost.StateQuotaError
	if !errors.As(err, &full) || full.Quota != quota {
		t.Errorf("want the end of %s, got %v", quota, err)
	}
}

// TestIssue13_05AStateHasNoMoreThanItsQuota: of bytes and of keys, each scope for
// itself, also after a restart; what is taken out makes room.
func TestIssue13_05AStateHasNoMoreThanItsQuota(t *testing.T) {
	dir := t.TempDir()
	quotas := quota.Values{quota.State: 100_000, quota.StateKeys: 20}
	rows := memstore.New(memstore.Options{}).KV()
	s, end := attached(t, dir, rows, quotas, time.Now)
	for n := range 7 { // base64 makes 13,400 of 10,000
		if err := keep(t, s, "plugin", fmt.Sprint(n), 10_000, 0); err != nil {
			t.Fatal(err)
		}
	}
	wantFull(t, keep(t, s, "plugin", "7", 10_000, 0), quota.State)
	wantFull(t, keep(t, s, "plugin", "0", 20_000, 0), quota.State)
	if err := keep(t, s, "plugin", "0", 9000, 0); err != nil { // smaller than before always goes
		t.Error(err)
	}
	if err := keep(t, s, "connection/work", "0", 10_000, 0); err != nil { // a scope of its own
		t.Error(err)
	}
	for n := range 20 {
		if err := keep(t, s, "run/01k8zq4c0vdx3y6t7k9m2n5p8r", fmt.Sprint(n), 10, 0); err != nil {
			t.Fatal(err)
		}
	}
	wantFull(t, keep(t, s, "run/01k8zq4c0vdx3y6t7k9m2n5p8r", "20", 10, 0), quota.StateKeys)
	end()

	s, end = attached(t, dir, rows, quotas, time.Now)
	defer end()
	wantFull(t, keep(t, s, "plugin", "7", 10_000, 0), quota.State)
	at := pluginhost.StateKey{Plugin: "tasks", Scope: "plugin", Key: "1"}
	_, version, _, err := s.GetState(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.PutState(t.Context(), at, nil, version, 0); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if err := keep(t, s, "plugin", "7", 10_000, 0); err != nil {
		t.Errorf("with one less there is no room: %v", err)
	}
	states, err := s.states(stateScope{Plugin: "tasks"})
	if err != nil || len(states) != 3 || states[0].Scope != "plugin" || states[0].Keys != 7 || states[0].Bytes < 90_000 || states[0].Bytes > 100_000 || states[0].UsedAt == nil {
		t.Errorf("states %+v: %v", states, err)
	}
	removed, err := s.RemoveState(PluginStateRequest{Plugin: "tasks", Scope: "plugin"})
	if err != nil || len(removed.Removed) != 1 || removed.Removed[0].Keys != 7 {
		t.Errorf("removed %+v: %v", removed, err)
	}
	for n := range 7 {
		if err := keep(t, s, "plugin", fmt.Sprint(n), 10_000, 0); err != nil {
			t.Errorf("after its removal: %v", err)
		}
	}
	var unknown *fault.UnknownError
	if _, err := s.RemoveState(PluginStateRequest{Plugin: "none"}); !errors.As(err, &unknown) {
		t.Errorf("of a plugin that keeps nothing: %v", err)
	}
}

// TestIssue13_05ManyWritersFindNoRoomTogether: what several write at once counts
// like what one writes after the other.
func TestIssue13_05ManyWritersFindNoRoomTogether(t *testing.T) {
	s, end := attached(t, t.TempDir(), memstore.New(memstore.Options{}).KV(), quota.Values{quota.StateKeys: 5}, time.Now)
	defer end()
	stored := make(chan bool, 40)
	for n := range cap(stored) {
		go func() {
			_, ok, err := s.PutState(context.Background(), pluginhost.StateKey{Plugin: "tasks", Scope: "plugin", Key: fmt.Sprint(n)}, []byte("v"), 0, 0)
			stored <- ok && err == nil
		}()
	}
	count := 0
	for range cap(stored) {
		if <-stored {
			count++
		}
	}
	if count != 5 {
		t.Errorf("%d of 40 were stored", count)
	}
}

// TestIssue13_05StateEndsWhenNothingNeedsIt: rows with their time, scopes of runs
// with their runs, the others when nobody has used them for long.
func TestIssue13_05StateEndsWhenNothingNeedsIt(t *testing.T) {
	now := time.Now()
	s, end := attached(t, t.TempDir(), memstore.New(memstore.Options{}).KV(), nil, func() time.Time { return now })
	defer end()
	for scope, ttl := range map[string]time.Duration{"plugin": 0, "connection/short": time.Hour, "connection/old": 0, "run/01k8zq4c0vdx3y6t7k9m2n5p8r": 0} {
		if err := keep(t, s, scope, "k", 10, ttl); err != nil {
			t.Fatal(err)
		}
	}
	scopes := func() (left []string) {
		t.Helper()
		if _, err := s.SweepStates(t.Context(), now, func(string) (bool, error) { return true, nil }); err != nil {
			t.Fatal(err)
		}
		states, err := s.states(stateScope{})
		if err != nil {
			t.Fatal(err)
		}
		for _, state := range states {
			left = append(left, state.Scope)
		}
		return left
	}
	if left := scopes(); len(left) != 3 { // the run is not there
		t.Errorf("at once: %q", left)
	}
	now = now.Add(2 * time.Hour)
	if left := scopes(); len(left) != 2 {
		t.Errorf("after the ttl: %q", left)
	}
	now = now.Add(DefaultUnused - 3*time.Hour)
	if err := keep(t, s, "plugin", "k", 10, 0); err != nil {
		t.Fatal(err)
	}
	if left := scopes(); len(left) != 2 {
		t.Errorf("before its time: %q", left)
	}
	now = now.Add(48 * time.Hour)
	if left := scopes(); len(left) != 1 || left[0] != "plugin" {
		t.Errorf("after 400 days: %q", left)
	}
}
