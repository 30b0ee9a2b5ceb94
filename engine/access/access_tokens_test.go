package access

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/memstore"
)

// tokenRows are tokens in a store in memory, at a time that is moved by hand.
type tokenRows struct {
	*Control
	rows *memstore.Store
	mu   sync.Mutex
	now  time.Time

	meanwhile func() // happens when the clock is looked at next, once
}

func newTokenRows(t *testing.T) *tokenRows {
	t.Helper()
	tr := &tokenRows{now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), rows: memstore.New(memstore.Options{})}
	tr.open()
	t.Cleanup(func() { _ = tr.rows.Close() })
	return tr
}

func (tr *tokenRows) open() {
	tr.Control = New(tr.rows, tr.clock, rand.Reader, slog.New(slog.DiscardHandler), func(err error) error { return err })
}

// reopen takes the store as another process does.
func (tr *tokenRows) reopen(t *testing.T) {
	t.Helper()
	if err := tr.rows.Close(); err != nil {
		t.Fatal(err)
	}
	tr.rows = tr.rows.Reopen(memstore.Options{})
	tr.open()
}

func (tr *tokenRows) clock() time.Time {
	tr.mu.Lock()
	meanwhile := tr.meanwhile
	tr.meanwhile = nil
	tr.mu.Unlock()
	if meanwhile != nil {
		meanwhile()
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.now
}

func (tr *tokenRows) later(d time.Duration) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.now = tr.now.Add(d)
}

func (tr *tokenRows) create(t *testing.T, r NewToken) (*TokenInfo, string) {
	t.Helper()
	token, text, err := tr.CreateAccessToken(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return token, text
}

func TestATokenIsGoodUntilItIsRemoved(t *testing.T) {
	tr := newTokenRows(t)
	made, text := tr.create(t, NewToken{Name: "ci", Scope: "operator", By: "ann"})
	if !regexp.MustCompile(`^frt_[A-Za-z0-9_-]{43}$`).MatchString(text) {
		t.Errorf("token %q", text)
	}
	found, err := tr.CheckAccessToken(t.Context(), text)
	if err != nil || found.Name != "ci" || found.Scope != "operator" || found.ID != made.ID || found.CreatedBy != "ann" {
		t.Fatalf("%+v, %v", found, err)
	}
	for _, wrong := range []string{"", "frt_", text + "x", text[:len(text)-1], strings.ToUpper(text), strings.TrimPrefix(text, "frt_"), "frt_" + strings.Repeat("A", 43), made.ID, "frt_" + made.ID, strings.Repeat("frt_", 10000)} {
		if _, err := tr.CheckAccessToken(t.Context(), wrong); !errors.Is(err, ErrNoToken) {
			t.Errorf("%.20q: %v", wrong, err)
		}
	}
	if !tr.AccessTokenHolds(t.Context(), made.ID) || tr.AccessTokenHolds(t.Context(), "") || tr.AccessTokenHolds(t.Context(), "000000000000") {
		t.Error("the token does not hold, or none does")
	}
	tr.reopen(t) // it is durable
	if _, err := tr.CheckAccessToken(t.Context(), text); err != nil {
		t.Error(err)
	}
	if _, err := tr.RemoveAccessToken(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.CheckAccessToken(t.Context(), text); !errors.Is(err, ErrNoToken) {
		t.Errorf("removed: %v", err)
	}
	if tr.AccessTokenHolds(t.Context(), made.ID) {
		t.Error("removed, it holds")
	}
	var unknown *fault.UnknownError
	if _, err := tr.RemoveAccessToken(t.Context(), "ci"); !errors.As(err, &unknown) {
		t.Errorf("removed twice: %v", err)
	}
}

// TestATokenIsStoredAsAHash alone: neither its text nor its random bits are in
// its row.
func TestATokenIsStoredAsAHash(t *testing.T) {
	tr := newTokenRows(t)
	_, text := tr.create(t, NewToken{Scope: "admin"})
	if _, err := tr.CheckAccessToken(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	keys, err := tr.rows.KV().List(tokenBucket, "")
	if err != nil || len(keys) != 1 || !strings.Contains(keys[0], tokenHash(text)) {
		t.Fatalf("the control: the hash is in no row: %q %v", keys, err)
	}
	value, _, _, err := tr.rows.KV().Get(tokenBucket, keys[0])
	if err != nil || bytes.Contains(append(value, keys[0]...), []byte(strings.TrimPrefix(text, "frt_"))) {
		t.Errorf("the row holds the token: %s %v", value, err)
	}
}

func TestATokenExpires(t *testing.T) {
	tr := newTokenRows(t)
	made, text := tr.create(t, NewToken{Scope: "viewer", ExpiresAt: tr.now.Add(time.Hour)})
	tr.later(time.Hour - time.Nanosecond)
	if _, err := tr.CheckAccessToken(t.Context(), text); err != nil {
		t.Errorf("before its time: %v", err)
	}
	tr.later(time.Nanosecond)
	if _, err := tr.CheckAccessToken(t.Context(), text); !errors.Is(err, ErrNoToken) || tr.AccessTokenHolds(t.Context(), made.ID) {
		t.Errorf("at its time: %v", err)
	}
	listed, err := tr.ListAccessTokens(t.Context())
	if err != nil || len(listed) != 1 || !listed[0].Expired {
		t.Errorf("%+v, %v", listed, err)
	}
}

func TestTheUseOfATokenIsNotedNowAndThen(t *testing.T) {
	tr := newTokenRows(t)
	_, text := tr.create(t, NewToken{Scope: "viewer"})
	use := func() (commits uint64, at time.Time) {
		before := tr.rows.Stats().Commits
		token, err := tr.CheckAccessToken(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		return tr.rows.Stats().Commits - before, *token.LastUsedAt
	}
	first := tr.now
	if commits, at := use(); commits != 1 || !at.Equal(first) {
		t.Errorf("the first use: %d commits, %s", commits, at)
	}
	tr.later(time.Minute)
	if commits, at := use(); commits != 0 || !at.Equal(first) {
		t.Errorf("a minute later: %d commits, %s", commits, at)
	}
	tr.later(usedStep)
	if commits, at := use(); commits != 1 || at.Equal(first) {
		t.Errorf("later: %d commits, %s", commits, at)
	}
	tr.later(-time.Hour) // the clock is set back
	if commits, _ := use(); commits != 1 {
		t.Errorf("earlier: %d commits", commits)
	}
}

func TestTokensHaveNamesOfTheirOwn(t *testing.T) {
	tr := newTokenRows(t)
	for i := range 3 {
		if made, _ := tr.create(t, NewToken{Scope: "viewer"}); made.Name != fmt.Sprintf("viewer-%d", i+1) {
			t.Errorf("name %q", made.Name)
		}
	}
	var conflict *fault.ConflictError
	if _, _, err := tr.CreateAccessToken(t.Context(), NewToken{Name: "viewer-2", Scope: "admin"}); !errors.As(err, &conflict) {
		t.Errorf("a name that is taken: %v", err)
	}
	var unknown *fault.UnknownError
	if _, err := tr.RemoveAccessToken(t.Context(), "viewer-4"); !errors.As(err, &unknown) || !strings.Contains(unknown.Hint.Text, "viewer-") {
		t.Errorf("a near name: %v", err)
	}
	listed, err := tr.ListAccessTokens(t.Context())
	if err != nil || len(listed) != 3 || listed[0].Name != "viewer-1" {
		t.Errorf("%+v, %v", listed, err)
	}
	if _, err := tr.RemoveAccessToken(t.Context(), listed[1].ID); err != nil {
		t.Errorf("by its id: %v", err)
	}
}

func TestWrongTokensAreNotMade(t *testing.T) {
	tr := newTokenRows(t)
	for name, r := range map[string]NewToken{
		"no scope":               {Name: "a"},
		"an unknown scope":       {Name: "a", Scope: "root"},
		"a scope in capitals":    {Name: "a", Scope: "Admin"},
		"expired before it is":   {Name: "a", Scope: "viewer", ExpiresAt: tr.now},
		"a slash in the name":    {Name: "a/b", Scope: "viewer"},
		"a line feed in it":      {Name: "a\nb", Scope: "viewer"},
		"an escape in it":        {Name: "a\x1b[31m", Scope: "viewer"},
		"a name that is a flag":  {Name: "--scope", Scope: "viewer"},
		"a name that is a space": {Name: " ", Scope: "viewer"},
		"a long name":            {Name: strings.Repeat("a", 64), Scope: "viewer"},
	} {
		var input *fault.InputError
		if _, _, err := tr.CreateAccessToken(t.Context(), r); !errors.As(err, &input) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if listed, err := tr.ListAccessTokens(t.Context()); err != nil || len(listed) != 0 {
		t.Errorf("%v, %v", listed, err)
	}
}

// TestTokensMadeAtOnce have different names, and none is lost.
func TestTokensMadeAtOnce(t *testing.T) {
	tr := newTokenRows(t)
	var done sync.WaitGroup
	for range 20 {
		done.Go(func() {
			if _, _, err := tr.CreateAccessToken(context.Background(), NewToken{Scope: "viewer"}); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	listed, err := tr.ListAccessTokens(t.Context())
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
	tr := newTokenRows(t)
	_, text := tr.create(t, NewToken{Name: "a", Scope: "viewer"})
	row, version, err := tr.storedToken(tokenHash(text))
	if err != nil || row == nil {
		t.Fatal(err)
	}
	if _, err := tr.RemoveAccessToken(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	row.LastUsedAt = &row.CreatedAt
	if err := tr.putToken(*row, &version); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.CheckAccessToken(t.Context(), text); !errors.Is(err, ErrNoToken) {
		t.Errorf("it is back: %v", err)
	}
}

// TestATokenThatIsRemovedWhileItIsUsedStaysRemoved: the removal comes between the
// look at the token and the note of its use.
func TestATokenThatIsRemovedWhileItIsUsedStaysRemoved(t *testing.T) {
	tr := newTokenRows(t)
	_, text := tr.create(t, NewToken{Name: "a", Scope: "viewer"})
	tr.mu.Lock()
	tr.meanwhile = func() {
		if _, err := tr.RemoveAccessToken(t.Context(), "a"); err != nil {
			t.Error(err)
		}
	}
	tr.mu.Unlock()
	if _, err := tr.CheckAccessToken(t.Context(), text); err != nil && !errors.Is(err, ErrNoToken) {
		t.Fatal(err)
	}
	if _, err := tr.CheckAccessToken(t.Context(), text); !errors.Is(err, ErrNoToken) {
		t.Errorf("the use that was under way has brought it back: %v", err)
	}
	if listed, err := tr.ListAccessTokens(t.Context()); err != nil || len(listed) != 0 {
		t.Errorf("%+v, %v", listed, err)
	}
}

// TestAStoreHoldsAThousandTokens: one more is refused, and made where one was
// removed.
func TestAStoreHoldsAThousandTokens(t *testing.T) {
	tr := newTokenRows(t)
	var full sync.WaitGroup
	for i := range 999 { // at once: many share a commit
		full.Go(func() {
			name := fmt.Sprintf("t%d", i)
			hash := tokenHash(name)
			if err := tr.putToken(storedToken{Hash: hash, TokenInfo: TokenInfo{ID: hash[:12], Name: name, Scope: "viewer", CreatedAt: tr.now}}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	full.Wait()
	tr.create(t, NewToken{Name: "thousandth", Scope: "viewer"})
	var conflict *fault.ConflictError
	if made, text, err := tr.CreateAccessToken(t.Context(), NewToken{Name: "one more", Scope: "viewer"}); !errors.As(err, &conflict) || made != nil || text != "" {
		t.Errorf("one more than a thousand: %+v, %v", made, err)
	}
	if listed, err := tr.ListAccessTokens(t.Context()); err != nil || len(listed) != 1000 {
		t.Errorf("%d tokens, %v", len(listed), err)
	}
	if _, err := tr.RemoveAccessToken(t.Context(), "t7"); err != nil {
		t.Fatal(err)
	}
	tr.create(t, NewToken{Name: "one more", Scope: "viewer"})
}
