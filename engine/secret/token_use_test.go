package secret_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowrun/flowrun/engine/secret"
)

// TestIssue12_10_HalfOfTheLifetimeIsTheMostThatIsAskedFor: a token of a minute is
// not renewed at each call that wants it for a minute.
func TestIssue12_10_HalfOfTheLifetimeIsTheMostThatIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := tokensOver(t, newMemory())
		if err := tokens.Commit(mustLease(t, tokens, "").ID, token("a1", "r1", 30*time.Second), nil); err != nil {
			t.Fatal(err)
		}
		mustToken(t, tokens, "", "a1") // asks for a minute
		time.Sleep(14 * time.Second)
		mustToken(t, tokens, "", "a1")
		time.Sleep(time.Second)
		if lease := mustLease(t, tokens, ""); lease.Stale.RefreshToken != "r1" {
			t.Errorf("lease %+v", lease)
		}
	})
}

func TestIssue12_10_ARenewalByNameIsNotCut(t *testing.T) {
	tokens := tokensOver(t, newMemory())
	if err := tokens.Commit(mustLease(t, tokens, "").ID, token("a1", "r1", time.Hour), nil); err != nil {
		t.Fatal(err)
	}
	if got, lease, err := tokens.Acquire(t.Context(), "login", "k", secret.Renew, ""); got != nil || lease == nil || err != nil {
		t.Errorf("acquire = %v, %v, %v", got, lease, err)
	}
}

// TestIssue12_02_AValidTokenOutlivesAFailedRenewal: the holder of the lease and
// those that wait get the stored token as long as it is good; who had it refused
// by a service, and who wants a new one by all means, hears of the failure.
func TestIssue12_02_AValidTokenOutlivesAFailedRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := tokensOver(t, newMemory())
		if err := tokens.Commit(mustLease(t, tokens, "").ID, token("a1", "r1", time.Minute), nil); err != nil {
			t.Fatal(err)
		}
		id := mustToken(t, tokens, "", "a1").ID
		time.Sleep(40 * time.Second) // less than half of it is left
		for round := range 2 {       // the next need tries again
			lease := mustLease(t, tokens, "")
			type answer struct {
				token *secret.Token
				err   error
			}
			asked := map[string]struct {
				ttl    time.Duration
				reject string
			}{"waiter": {time.Minute, ""}, "refused": {0, id}, "renewal": {secret.Renew, ""}}
			heard := map[string]answer{}
			var mu sync.Mutex
			var all sync.WaitGroup
			for name, q := range asked {
				all.Go(func() {
					got, _, err := tokens.Acquire(t.Context(), "login", "k", q.ttl, q.reject)
					mu.Lock()
					defer mu.Unlock()
					heard[name] = answer{got, err}
				})
			}
			synctest.Wait()
			usable, err := tokens.Fail(lease.ID, errors.New("403 of a proxy"))
			if err != nil || usable == nil || usable.AccessToken != "a1" || usable.RefreshToken != "" {
				t.Errorf("round %d: the holder goes on with %+v, %v", round, usable, err)
			}
			all.Wait()
			if got := heard["waiter"]; got.err != nil || got.token == nil || got.token.AccessToken != "a1" {
				t.Errorf("round %d: a waiter got %+v", round, got)
			}
			for _, name := range []string{"refused", "renewal"} {
				var failed *secret.RefreshError
				if got := heard[name]; got.token != nil || !errors.As(got.err, &failed) || !strings.Contains(failed.Error(), "403 of a proxy") {
					t.Errorf("round %d: %s got %+v", round, name, got)
				}
			}
		}
		time.Sleep(20 * time.Second) // its time is over
		lease := mustLease(t, tokens, "")
		if usable, err := tokens.Fail(lease.ID, errors.New("503")); usable != nil || err != nil {
			t.Errorf("a token that has ended is used: %v, %v", usable, err)
		}
		rejected := mustLease(t, tokens, id)
		if usable, err := tokens.Fail(rejected.ID, errors.New("503")); usable != nil || err != nil {
			t.Errorf("a token that was refused is used: %v, %v", usable, err)
		}
		if lease := mustLease(t, tokens, ""); lease.Stale.RefreshToken != "r1" {
			t.Errorf("the login is lost: %+v", lease)
		}
	})
}
