package secret_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/secret"
)

func tokensOver(t testing.TB, kv secret.KV) *secret.Tokens {
	t.Helper()
	return secret.NewTokens(secret.TokensOptions{KV: sealed(t, kv), Now: time.Now, After: time.After, Entropy: rand.Reader})
}

func token(access, refresh string, ttl time.Duration) *secret.Token {
	return &secret.Token{AccessToken: access, RefreshToken: refresh, ExpiresAt: time.Now().Add(ttl)}
}

// mustLease fails unless it is this caller that must renew.
func mustLease(t *testing.T, tokens *secret.Tokens, reject string) *secret.Lease {
	t.Helper()
	got, lease, err := tokens.Acquire(t.Context(), "login", "k", time.Minute, reject)
	if err != nil || lease == nil || got != nil {
		t.Fatalf("acquire = %v, %v, %v", got, lease, err)
	}
	return lease
}

func mustToken(t *testing.T, tokens *secret.Tokens, reject, want string) *secret.Token {
	t.Helper()
	got, lease, err := tokens.Acquire(t.Context(), "login", "k", time.Minute, reject)
	if err != nil || lease != nil || got.AccessToken != want {
		t.Fatalf("acquire = %+v, %v, %v, want %s", got, lease, err, want)
	}
	return got
}

func TestAThousandCallersRenewOnce(t *testing.T) { // P11
	tokens := tokensOver(t, storedRows(t))
	var leases atomic.Int32
	var all sync.WaitGroup
	for range 1000 {
		all.Go(func() {
			got, lease, err := tokens.Acquire(t.Context(), "login", "k", time.Minute, "")
			if err != nil {
				t.Error(err)
				return
			}
			if lease != nil {
				leases.Add(1)
				if err := tokens.Commit(lease.ID, token("access-1", "refresh-1", time.Hour), nil); err != nil {
					t.Error(err)
				}
				return
			}
			if got.AccessToken != "access-1" || got.RefreshToken != "" || got.ID == "" {
				t.Errorf("token = %+v", got)
			}
		})
	}
	all.Wait()
	if leases.Load() != 1 {
		t.Errorf("%d leases", leases.Load())
	}
}

func TestATokenIsRenewedWhenRejectedOrOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := tokensOver(t, newMemory())
		lease := mustLease(t, tokens, "")
		if lease.Stale != nil || lease.Interrupted {
			t.Errorf("first lease = %+v", lease)
		}
		if err := tokens.Commit(lease.ID, token("a1", "r1", time.Hour), nil); err != nil {
			t.Fatal(err)
		}
		first := mustToken(t, tokens, "", "a1")
		lease = mustLease(t, tokens, first.ID)
		if lease.Stale == nil || lease.Stale.RefreshToken != "r1" {
			t.Errorf("stale = %+v", lease.Stale)
		}
		if err := tokens.Commit(lease.ID, token("a2", "", time.Hour), nil); err != nil {
			t.Fatal(err)
		}
		mustToken(t, tokens, first.ID, "a2")
		time.Sleep(59*time.Minute + time.Second) // less than minTTL is left
		lease = mustLease(t, tokens, "")
		if lease.Stale.RefreshToken != "" {
			t.Errorf("a token that stands alone has the refresh token of another: %+v", lease.Stale)
		}
		if err := tokens.Commit(lease.ID, &secret.Token{AccessToken: "a3", ID: "given"}, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1000 * time.Hour) // no expiry
		if got := mustToken(t, tokens, "", "a3"); got.ID != "given" {
			t.Errorf("id = %q", got.ID)
		}
		if err := tokens.Commit(lease.ID, token("a4", "", 0), nil); !errors.Is(err, secret.ErrNoLease) {
			t.Errorf("second commit: %v", err)
		}
		if err := tokens.Forget("login", "k"); err != nil {
			t.Fatal(err)
		}
		if lease := mustLease(t, tokens, ""); lease.Stale != nil {
			t.Errorf("after logout: %+v", lease)
		}
	})
}

func TestWaitersShareAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := tokensOver(t, newMemory())
		lease := mustLease(t, tokens, "")
		refused := errors.New("service unavailable")
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				_, lease, err := tokens.Acquire(t.Context(), "login", "k", time.Minute, "")
				var failed *secret.RefreshError
				if lease != nil || !errors.As(err, &failed) || !errors.Is(err, refused) || failed.LostInCrash {
					t.Errorf("waiter got %v, %v", lease, err)
				}
			})
		}
		synctest.Wait()
		if err := tokens.Commit(lease.ID, nil, refused); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		if lease := mustLease(t, tokens, ""); lease.Interrupted {
			t.Error("a reported failure counts as a crash")
		}
	})
}

func TestALeaseExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := tokensOver(t, newMemory())
		start := time.Now()
		lost := mustLease(t, tokens, "")
		second := mustLease(t, tokens, "") // waits for the first one's end
		if waited := time.Since(start); waited != time.Minute || !second.Interrupted {
			t.Errorf("second lease after %s, interrupted %v", waited, second.Interrupted)
		}
		// The first renewal was only slow. Its token must not be lost, since the
		// service has rotated.
		if err := tokens.Commit(lost.ID, token("late", "r-late", time.Hour), nil); err != nil {
			t.Fatal(err)
		}
		mustToken(t, tokens, "", "late")
		if err := tokens.Commit(second.ID, nil, errors.New("invalid_grant")); !errors.Is(err, secret.ErrNoLease) {
			t.Errorf("the second one's refusal: %v", err)
		}
		mustToken(t, tokens, "", "late")
	})
}

func TestACrashInsideARenewalIsSaid(t *testing.T) { // P11
	synctest.Test(t, func(t *testing.T) {
		kv := newMemory()
		tokens := tokensOver(t, kv)
		if err := tokens.Commit(mustLease(t, tokens, "").ID, token("a1", "r1", time.Second), nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		mustLease(t, tokens, "") // and the engine dies

		tokens = tokensOver(t, kv)
		for range 2 { // a second refusal says the same
			lease := mustLease(t, tokens, "")
			if !lease.Interrupted || lease.Stale.RefreshToken != "r1" {
				t.Errorf("lease = %+v", lease)
			}
			heard := make(chan error, 1)
			go func() {
				_, _, err := tokens.Acquire(context.Background(), "login", "k", time.Minute, "")
				heard <- err
			}()
			synctest.Wait()
			if err := tokens.Commit(lease.ID, nil, errors.New("invalid_grant")); err != nil {
				t.Fatal(err)
			}
			var failed *secret.RefreshError
			if err := <-heard; !errors.As(err, &failed) || !failed.LostInCrash || !strings.Contains(err.Error(), "lost in a crash") {
				t.Errorf("waiter heard %v", err)
			}
			if lost, err := tokens.Interrupted("login", "k"); err != nil || !lost {
				t.Errorf("interrupted = %v, %v", lost, err)
			}
		}
		lease := mustLease(t, tokens, "")
		if err := tokens.Commit(lease.ID, token("a2", "r2", time.Hour), nil); err != nil {
			t.Fatal(err)
		}
		if lost, err := tokens.Interrupted("login", "k"); err != nil || lost {
			t.Errorf("after a login: interrupted = %v, %v", lost, err)
		}
	})
}

func TestATokenIsDurableBeforeItIsSeen(t *testing.T) { // P11
	kv := newMemory()
	tokens := tokensOver(t, kv)
	kv.refuse = errors.New("disk is gone")
	if _, _, err := tokens.Acquire(t.Context(), "login", "k", 0, ""); err == nil {
		t.Fatal("a lease was given without its marker")
	}
	kv.refuse = nil
	lease := mustLease(t, tokens, "")
	kv.refuse = errors.New("disk is gone")
	heard := make(chan error, 1)
	go func() {
		_, _, err := tokens.Acquire(context.Background(), "login", "k", 0, "")
		heard <- err
	}()
	if err := tokens.Commit(lease.ID, token("a1", "r1", time.Hour), nil); err == nil {
		t.Error("an unsaved token was committed")
	}
	if err := <-heard; err == nil {
		t.Error("a waiter saw a token that is not stored")
	}
}

func TestAWaiterKeepsToItsContext(t *testing.T) {
	tokens := tokensOver(t, newMemory())
	mustLease(t, tokens, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := tokens.Acquire(ctx, "login", "k", 0, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	// Another credential is not held up, however its names are cut.
	if _, lease, err := tokens.Acquire(t.Context(), "logi", "n/k", 0, ""); err != nil || lease == nil {
		t.Errorf("other credential: %v, %v", lease, err)
	}
}

func TestTokensAreMaskedWhileTheyLive(t *testing.T) {
	redactor := secret.NewRedactor()
	tokens := secret.NewTokens(secret.TokensOptions{
		KV: sealed(t, newMemory()), Now: time.Now, After: time.After, Entropy: rand.Reader, Redactor: redactor,
	})
	names := "abcdefghij"
	for i := range names {
		access, refresh := "access-token-"+names[i:i+1], "refresh-token-"+names[i:i+1]
		lease := mustLease(t, tokens, "")
		if err := tokens.Commit(lease.ID, token(access, refresh, 0), nil); err != nil {
			t.Fatal(err)
		}
		if got := redactor.Redact(access + " " + refresh); got != "[redacted] [redacted]" {
			t.Errorf("token %d: %q", i, got)
		}
	}
	if got := redactor.Redact("access-token-i access-token-a"); got != "[redacted] access-token-a" {
		t.Errorf("got %q: the last ones are masked, long gone ones are not", got)
	}
}

func TestALostGrantIsForgottenWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := tokensOver(t, newMemory())
		status := func(want secret.Status) {
			t.Helper()
			got, err := tokens.Stored("login", "k")
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("status: %v (-want +got):\n%s", err, diff)
			}
		}
		status(secret.Status{State: secret.StateNone})
		lease := mustLease(t, tokens, "")
		if err := tokens.Commit(lease.ID, token("a1", "r1", time.Hour), nil); err != nil {
			t.Fatal(err)
		}
		status(secret.Status{State: secret.StateValid, ExpiresAt: time.Now().Add(time.Hour).UTC(), Renewable: true})
		time.Sleep(2 * time.Hour)
		status(secret.Status{State: secret.StateExpired, ExpiresAt: time.Now().Add(-time.Hour).UTC(), Renewable: true})
		lease = mustLease(t, tokens, "")
		if interrupted, err := tokens.Lose(lease.ID, "invalid_grant", errors.New("refused")); interrupted || err != nil {
			t.Fatalf("lose: %v %v", interrupted, err)
		}
		status(secret.Status{State: secret.StateAuthRequired, Reason: "invalid_grant"})
		lease = mustLease(t, tokens, "")
		if lease.Stale != nil {
			t.Errorf("the token is still there: %+v", lease.Stale)
		}
		if err := tokens.Commit(lease.ID, token("a2", "r2", time.Hour), nil); err != nil {
			t.Fatal(err)
		}
		lease = mustLease(t, tokens, mustToken(t, tokens, "", "a2").ID)
		if _, err := tokens.Lose(lease.ID, "revoked", errors.New("revoked")); err != nil {
			t.Fatal(err)
		}
		status(secret.Status{State: secret.StateNone})
	})
}

// A caller whose own call was cut off says nothing about the token: one that
// waits goes on in its place.
func TestAWaiterTakesAReleasedLeaseOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, sent := range []bool{false, true} {
			tokens := tokensOver(t, newMemory())
			lease := mustLease(t, tokens, "")
			got := make(chan *secret.Lease, 1)
			go func() {
				_, taken, err := tokens.Acquire(t.Context(), "login", "k", time.Minute, "")
				if err != nil {
					t.Error(err)
				}
				got <- taken
			}()
			synctest.Wait()
			if err := tokens.Release(lease.ID, sent); err != nil {
				t.Fatal(err)
			}
			taken := <-got
			if taken == nil || taken.Interrupted != sent {
				t.Fatalf("sent %v: the waiter got %+v", sent, taken)
			}
			if err := tokens.Commit(taken.ID, token("a1", "r1", time.Hour), nil); err != nil {
				t.Fatal(err)
			}
			if err := tokens.Release(lease.ID, sent); !errors.Is(err, secret.ErrNoLease) {
				t.Errorf("released twice: %v", err)
			}
		}
	})
}
