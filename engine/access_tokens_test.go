package engine

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/workspace"
)

// tokenEngine is an engine whose clock is moved by hand.
type tokenEngine struct {
	*Engine
	mu  sync.Mutex
	now time.Time
	dir string
	end func() error // closes the engine, once

	meanwhile func() // happens when the engine looks at its clock next, once
}

func newTokenEngine(t *testing.T) *tokenEngine {
	t.Helper()
	te := &tokenEngine{now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), dir: t.TempDir()}
	te.open(t)
	return te
}

func (te *tokenEngine) open(t *testing.T) {
	t.Helper()
	project, err := LoadProject(t.Context(), workspace.Config{
		StateDir: te.dir, Dir: t.TempDir(), Executable: "none", Version: "test", Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time {
			te.mu.Lock()
			meanwhile := te.meanwhile
			te.meanwhile = nil
			te.mu.Unlock()
			if meanwhile != nil {
				meanwhile()
			}
			te.mu.Lock()
			defer te.mu.Unlock()
			return te.now
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if te.Engine, err = Open(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	opened := te.Engine
	end := sync.OnceValue(func() error { return opened.Close(context.Background()) })
	te.end = end
	t.Cleanup(func() { _ = end() })
}

func (te *tokenEngine) later(d time.Duration) {
	te.mu.Lock()
	defer te.mu.Unlock()
	te.now = te.now.Add(d)
}

func (te *tokenEngine) create(t *testing.T, r NewAccessToken) (*AccessToken, string) {
	t.Helper()
	token, text, err := te.CreateAccessToken(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return token, text
}

func TestATokenIsGoodUntilItIsRemoved(t *testing.T) {
	te := newTokenEngine(t)
	made, text := te.create(t, NewAccessToken{Name: "ci", Scope: "operator", By: "ann"})
	if !regexp.MustCompile(`^frt_[A-Za-z0-9_-]{43}$`).MatchString(text) {
		t.Errorf("token %q", text)
	}
	found, err := te.CheckAccessToken(t.Context(), text)
	if err != nil || found.Name != "ci" || found.Scope != "operator" || found.ID != made.ID || found.CreatedBy != "ann" {
		t.Fatalf("%+v, %v", found, err)
	}
	for _, wrong := range []string{"", "frt_", text + "x", text[:len(text)-1], strings.ToUpper(text), strings.TrimPrefix(text, "frt_"), "frt_" + strings.Repeat("A", 43), made.ID, "frt_" + made.ID, strings.Repeat("frt_", 10000)} {
		if _, err := te.CheckAccessToken(t.Context(), wrong); !errors.Is(err, ErrNoAccessToken) {
			t.Errorf("%.20q: %v", wrong, err)
		}
	}
	if !te.AccessTokenHolds(t.Context(), made.ID) || te.AccessTokenHolds(t.Context(), "") || te.AccessTokenHolds(t.Context(), "000000000000") {
		t.Error("the token does not hold, or none does")
	}
	if err := te.end(); err != nil {
		t.Fatal(err)
	}
	te.open(t) // it is durable
	if _, err := te.CheckAccessToken(t.Context(), text); err != nil {
		t.Error(err)
	}
	if err := te.RemoveAccessToken(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	if _, err := te.CheckAccessToken(t.Context(), text); !errors.Is(err, ErrNoAccessToken) {
		t.Errorf("removed: %v", err)
	}
	if te.AccessTokenHolds(t.Context(), made.ID) {
		t.Error("removed, it holds")
	}
	var unknown *fault.UnknownError
	if err := te.RemoveAccessToken(t.Context(), "ci"); !errors.As(err, &unknown) {
		t.Errorf("removed twice: %v", err)
	}
}

// TestATokenIsStoredAsAHash alone: neither its text nor its random bits are in
// any file.
func TestATokenIsStoredAsAHash(t *testing.T) {
	te := newTokenEngine(t)
	_, text := te.create(t, NewAccessToken{Scope: "admin"})
	if _, err := te.CheckAccessToken(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	if err := te.end(); err != nil {
		t.Fatal(err)
	}
	hash, found := []byte(tokenHash(text)), false
	err := filepath.WalkDir(te.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Type()&os.ModeSocket != 0 {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(strings.TrimPrefix(text, "frt_"))) {
			t.Errorf("%s holds the token", path)
		}
		found = found || bytes.Contains(data, hash)
		return err
	})
	if err != nil || !found {
		t.Errorf("the control: the hash is in no file: %v", err)
	}
}

func TestATokenExpires(t *testing.T) {
	te := newTokenEngine(t)
	made, text := te.create(t, NewAccessToken{Scope: "viewer", ExpiresAt: te.now.Add(time.Hour)})
	te.later(time.Hour - time.Nanosecond)
	if _, err := te.CheckAccessToken(t.Context(), text); err != nil {
		t.Errorf("before its time: %v", err)
	}
	te.later(time.Nanosecond)
	if _, err := te.CheckAccessToken(t.Context(), text); !errors.Is(err, ErrNoAccessToken) || te.AccessTokenHolds(t.Context(), made.ID) {
		t.Errorf("at its time: %v", err)
	}
	listed, err := te.ListAccessTokens(t.Context())
	if err != nil || len(listed) != 1 || !listed[0].Expired {
		t.Errorf("%+v, %v", listed, err)
	}
}

func TestTheUseOfATokenIsNotedNowAndThen(t *testing.T) {
	te := newTokenEngine(t)
	_, text := te.create(t, NewAccessToken{Scope: "viewer"})
	use := func() (commits uint64, at time.Time) {
		before := te.StoreStats().Commits
		token, err := te.CheckAccessToken(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		return te.StoreStats().Commits - before, *token.LastUsedAt
	}
	first := te.now
	if commits, at := use(); commits != 1 || !at.Equal(first) {
		t.Errorf("the first use: %d commits, %s", commits, at)
	}
	te.later(time.Minute)
	if commits, at := use(); commits != 0 || !at.Equal(first) {
		t.Errorf("a minute later: %d commits, %s", commits, at)
	}
	te.later(usedStep)
	if commits, at := use(); commits != 1 || at.Equal(first) {
		t.Errorf("later: %d commits, %s", commits, at)
	}
	te.later(-time.Hour) // the clock is set back
	if commits, _ := use(); commits != 1 {
		t.Errorf("earlier: %d commits", commits)
	}
}

func TestTokensHaveNamesOfTheirOwn(t *testing.T) {
	te := newTokenEngine(t)
	for i := range 3 {
		if made, _ := te.create(t, NewAccessToken{Scope: "viewer"}); made.Name != fmt.Sprintf("viewer-%d", i+1) {
			t.Errorf("name %q", made.Name)
		}
	}
	var conflict *fault.ConflictError
	if _, _, err := te.CreateAccessToken(t.Context(), NewAccessToken{Name: "viewer-2", Scope: "admin"}); !errors.As(err, &conflict) {
		t.Errorf("a name that is taken: %v", err)
	}
	var unknown *fault.UnknownError
	if err := te.RemoveAccessToken(t.Context(), "viewer-4"); !errors.As(err, &unknown) || !strings.Contains(unknown.Hint, "viewer-") {
		t.Errorf("a near name: %v", err)
	}
	listed, err := te.ListAccessTokens(t.Context())
	if err != nil || len(listed) != 3 || listed[0].Name != "viewer-1" {
		t.Errorf("%+v, %v", listed, err)
	}
	if err := te.RemoveAccessToken(t.Context(), listed[1].ID); err != nil {
		t.Errorf("by its id: %v", err)
	}
}

func TestWrongTokensAreNotMade(t *testing.T) {
	te := newTokenEngine(t)
	for name, r := range map[string]NewAccessToken{
		"no scope":               {Name: "a"},
		"an unknown scope":       {Name: "a", Scope: "root"},
		"a scope in capitals":    {Name: "a", Scope: "Admin"},
		"expired before it is":   {Name: "a", Scope: "viewer", ExpiresAt: te.now},
		"a slash in the name":    {Name: "a/b", Scope: "viewer"},
		"a line feed in it":      {Name: "a\nb", Scope: "viewer"},
		"an escape in it":        {Name: "a\x1b[31m", Scope: "viewer"},
		"a name that is a flag":  {Name: "--scope", Scope: "viewer"},
		"a name that is a space": {Name: " ", Scope: "viewer"},
		"a long name":            {Name: strings.Repeat("a", 64), Scope: "viewer"},
	} {
		var input *fault.InputError
		if _, _, err := te.CreateAccessToken(t.Context(), r); !errors.As(err, &input) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if listed, err := te.ListAccessTokens(t.Context()); err != nil || len(listed) != 0 {
		t.Errorf("%v, %v", listed, err)
	}
}

// TestTokensMadeAtOnce have different names, and none is lost.
func TestTokensMadeAtOnce(t *testing.T) {
	te := newTokenEngine(t)
	var done sync.WaitGroup
	for range 20 {
		done.Go(func() {
			if _, _, err := te.CreateAccessToken(context.Background(), NewAccessToken{Scope: "viewer"}); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	listed, err := te.ListAccessTokens(t.Context())
	names := map[string]bool{}
	for _, token := range listed {
		names[token.Name] = true
	}
	if err != nil || len(names) != 20 {
		t.Errorf("%d names, %v", len(names), err)
	}
}

// TestTheUseOfARemovedTokenDoesNotBringItBack: the note of its use is written
// only over the row that was read.
func TestTheUseOfARemovedTokenDoesNotBringItBack(t *testing.T) {
	te := newTokenEngine(t)
	_, text := te.create(t, NewAccessToken{Name: "a", Scope: "viewer"})
	row, version, err := te.storedToken(tokenHash(text))
	if err != nil || row == nil {
		t.Fatal(err)
	}
	if err := te.RemoveAccessToken(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	row.LastUsedAt = &row.CreatedAt
	if err := te.putToken(*row, &version); err != nil {
		t.Fatal(err)
	}
	if _, err := te.CheckAccessToken(t.Context(), text); !errors.Is(err, ErrNoAccessToken) {
		t.Errorf("it is back: %v", err)
	}
}

// TestATokenThatIsRemovedWhileItIsUsedStaysRemoved: the removal comes between the
// look at the token and the note of its use.
func TestATokenThatIsRemovedWhileItIsUsedStaysRemoved(t *testing.T) {
	te := newTokenEngine(t)
	_, text := te.create(t, NewAccessToken{Name: "a", Scope: "viewer"})
	te.mu.Lock()
	te.meanwhile = func() {
		if err := te.RemoveAccessToken(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	}
	te.mu.Unlock()
	if _, err := te.CheckAccessToken(t.Context(), text); err != nil && !errors.Is(err, ErrNoAccessToken) {
		t.Fatal(err)
	}
	if _, err := te.CheckAccessToken(t.Context(), text); !errors.Is(err, ErrNoAccessToken) {
		t.Errorf("the use that was under way has brought it back: %v", err)
	}
	if listed, err := te.ListAccessTokens(t.Context()); err != nil || len(listed) != 0 {
		t.Errorf("%+v, %v", listed, err)
	}
}

// TestAStoreHoldsAThousandTokens: one more is refused, and made where one was
// removed.
func TestAStoreHoldsAThousandTokens(t *testing.T) {
	te := newTokenEngine(t)
	var full sync.WaitGroup
	for i := range 999 { // at once: many share a commit
		full.Go(func() {
			name := fmt.Sprintf("t%d", i)
			hash := tokenHash(name)
			if err := te.putToken(storedToken{Hash: hash, AccessToken: AccessToken{ID: hash[:12], Name: name, Scope: "viewer", CreatedAt: te.now}}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	full.Wait()
	te.create(t, NewAccessToken{Name: "thousandth", Scope: "viewer"})
	var conflict *fault.ConflictError
	if made, text, err := te.CreateAccessToken(t.Context(), NewAccessToken{Name: "one more", Scope: "viewer"}); !errors.As(err, &conflict) || made != nil || text != "" {
		t.Errorf("one more than a thousand: %+v, %v", made, err)
	}
	if listed, err := te.ListAccessTokens(t.Context()); err != nil || len(listed) != 1000 {
		t.Errorf("%d tokens, %v", len(listed), err)
	}
	if err := te.RemoveAccessToken(t.Context(), "t7"); err != nil {
		t.Fatal(err)
	}
	te.create(t, NewAccessToken{Name: "one more", Scope: "viewer"})
}
