package pluginhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/sdk"
)

type tokenConfig struct {
	sdk.HTTPSettings
	sdk.TokenSettings
}

type ownerIn struct {
	MinTTL int `json:"min_ttl_s,omitempty"`
}

type ownerOut struct {
	Token string `json:"token" secret:"true"`
}

// ownerPlugin gives tokens: it fetches a new one from its service when the
// stored one is refused.
func ownerPlugin() *sdk.Plugin {
	return sdk.New("owner", "1.0.0", "gives tokens", sdk.TokenAction("token"),
		sdk.Read("token", "An access token", func(c *sdk.Call[tokenConfig], in ownerIn) (ownerOut, error) {
			token, err := c.Token(sdk.TokenRequest{MinTTL: time.Duration(in.MinTTL) * time.Second, Refresh: func(context.Context, *sdk.Token) (*sdk.Token, error) {
				response, err := c.HTTP().Get("/refresh", nil)
				if err != nil {
					return nil, sdk.AuthRequired("the grant of %s is gone", c.Connection()).WithReason("invalid_grant").WithHint("log in")
				}
				return &sdk.Token{AccessToken: string(response.Body)}, nil
			}})
			if err != nil {
				return ownerOut{}, err
			}
			return ownerOut{Token: token.AccessToken}, nil
		}))
}

// userPlugin uses a token of another connection.
func userPlugin() *sdk.Plugin {
	return sdk.New("user", "1.0.0", "uses tokens",
		sdk.Read("use", "Use the token", func(c *sdk.Call[tokenConfig], _ struct{}) (sdkOut, error) {
			token, err := c.AccessToken(c.Config.TokenSettings)
			if err != nil {
				return sdkOut{}, err
			}
			response, err := c.HTTP().WithBearer(token).Get("/use", nil)
			if err != nil {
				return sdkOut{}, err
			}
			return sdkOut{Text: string(response.Body)}, nil
		}))
}

// leaseStore keeps one token and gives one lease at a time.
type leaseStore struct {
	mu    sync.Mutex
	token *secret.Token
	lease chan struct{} // closed when the lease ends; nil = none is out
	err   error
}

func (s *leaseStore) Acquire(ctx context.Context, r TokenRequest) (*secret.Token, *secret.Lease, error) {
	for {
		s.mu.Lock()
		switch {
		case s.token != nil && s.token.ID != r.Reject:
			defer s.mu.Unlock()
			return s.token, nil, nil
		case s.lease == nil:
			defer s.mu.Unlock()
			s.lease = make(chan struct{})
			return nil, &secret.Lease{ID: "lease", Stale: s.token, Until: time.Unix(2e9, 0)}, nil
		}
		ended := s.lease
		s.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		s.mu.Lock()
		err := s.err
		s.mu.Unlock()
		if err != nil {
			return nil, nil, err
		}
	}
}

func (s *leaseStore) Commit(_ context.Context, _, _ string, token *secret.Token, failure *runs.Error) (*secret.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil {
		return nil, errors.New("no lease")
	}
	if s.token = token; failure != nil {
		s.err = failure
	}
	close(s.lease)
	s.lease = nil
	return nil, nil
}

func (s *leaseStore) Stored(context.Context, TokenRequest) (secret.Status, error) {
	return secret.Status{}, nil
}

// identityService takes the token of its last refresh only.
type identityService struct {
	current   atomic.Int64
	refreshes atomic.Int64
	gone      atomic.Bool
}

func (s *identityService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/refresh" && s.gone.Load():
		w.WriteHeader(http.StatusBadRequest)
	case r.URL.Path == "/refresh":
		s.refreshes.Add(1)
		fmt.Fprintf(w, "canary-token-%d", s.current.Add(1))
	case r.Header.Get("Authorization") != fmt.Sprintf("Bearer canary-token-%d", s.current.Load()):
		w.WriteHeader(http.StatusUnauthorized)
	default:
		fmt.Fprint(w, "welcome")
	}
}

// newTokenWorld joins both plugins, the service and a store.
func newTokenWorld(t *testing.T) (*world, *identityService, *leaseStore, Connection) {
	t.Helper()
	service, store := &identityService{}, &leaseStore{}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	w := newWorld(t, "good", func(o *Options) {
		owner, user := evilSource(t, "owner"), evilSource(t, "user")
		owner.Name, user.Name = "owner", "user"
		o.Sources, o.Tokens = append(o.Sources, owner, user), store
	})
	config := json.RawMessage(fmt.Sprintf(`{"base_url":%q,"token_from":{"connection":"login"}}`, server.URL))
	login := Connection{Name: "login", Plugin: "owner", Config: json.RawMessage(fmt.Sprintf(`{"base_url":%q}`, server.URL))}
	return w, service, store, Connection{Name: "work", Plugin: "user", Config: config, TokenFrom: &login}
}

// use calls the action n times at once.
func (w *world) use(conn Connection, n int) []runs.Answer {
	answers := make([]runs.Answer, n)
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() {
			answers[i] = w.host.Call(context.Background(), runs.Request{Action: "user.use", RunID: "run-1", Step: "a", Attempt: 1}, conn, nil)
		})
	}
	calls.Wait()
	return answers
}

func TestTokenFromIsRenewedOnceForAllCalls(t *testing.T) {
	w, service, _, conn := newTokenWorld(t)
	for round := int64(1); round <= 3; round++ {
		for i, answer := range w.use(conn, 64) {
			if answer.Failed != nil || string(answer.Completed.Output) != `{"text":"welcome"}` {
				t.Fatalf("round %d, call %d: %v", round, i, answer.Failed)
			}
		}
		if got := service.refreshes.Load(); got != round {
			t.Fatalf("round %d: %d refreshes", round, got)
		}
		service.current.Add(1) // the service takes the token no more
	}
}

func TestTokenFromPassesOnThatALoginIsNeeded(t *testing.T) {
	w, service, _, conn := newTokenWorld(t)
	service.gone.Store(true)
	for _, answer := range w.use(conn, 3) {
		f := answer.Failed
		if f == nil || f.Kind != plan.KindAuthRequired || f.Reason != "invalid_grant" || f.Hint.Text != "log in" || f.Applied != runs.NotApplied ||
			!strings.Contains(f.Message, "the grant of login is gone") {
			t.Errorf("failure = %+v", f)
		}
	}
}

func TestTokenFromAPluginWithoutTokens(t *testing.T) {
	w, _, _, conn := newTokenWorld(t)
	conn.TokenFrom = &Connection{Name: "other", Plugin: "evil"}
	f := w.use(conn, 1)[0].Failed
	if f == nil || f.Kind != plan.KindInvalid || !strings.Contains(f.Message, `connection "other" can't give a token`) {
		t.Errorf("failure = %+v", f)
	}
}
