package sdktest

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flowrun/flowrun/sdk"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// Host keeps a plugin's state, tokens and large values in memory. Safe for concurrent use.
type Host struct{ keeper *keeper }

// SetToken stores the token of a connection and key; the zero Token takes it away.
func (h *Host) SetToken(connection, key string, token sdk.Token) {
	var stored *pluginv1.Token
	if token.AccessToken != "" {
		stored = wireToken(token)
	}
	h.keeper.setToken(connection+"|"+key, stored)
}

// Token returns the stored token of a connection and key, the zero Token for none.
func (h *Host) Token(connection, key string) sdk.Token {
	h.keeper.mu.Lock()
	defer h.keeper.mu.Unlock()
	return sdkToken(h.keeper.tokens[connection+"|"+key])
}

// Age makes the stored token of a connection and key look committed a while ago:
// its end comes nearer by as much.
func (h *Host) Age(connection, key string, by time.Duration) {
	h.keeper.age(connection+"|"+key, by)
}

// OpenLeases returns how many leases to refresh a token were not ended.
func (h *Host) OpenLeases() int {
	h.keeper.mu.Lock()
	defer h.keeper.mu.Unlock()
	return len(h.keeper.leases)
}

func wireToken(t sdk.Token) *pluginv1.Token {
	token := &pluginv1.Token{Id: t.ID, AccessToken: t.AccessToken, TokenType: t.TokenType, RefreshToken: t.RefreshToken, Extra: t.Extra}
	if !t.ExpiresAt.IsZero() {
		token.ExpiresAt = timestamppb.New(t.ExpiresAt)
	}
	return token
}

func sdkToken(t *pluginv1.Token) sdk.Token {
	token := sdk.Token{ID: t.GetId(), AccessToken: t.GetAccessToken(), TokenType: t.GetTokenType(), RefreshToken: t.GetRefreshToken(), Extra: t.GetExtra()}
	if t.GetExpiresAt() != nil {
		token.ExpiresAt = t.GetExpiresAt().AsTime()
	}
	return token
}

// keeper is the service that Host stands before.
type keeper struct {
	mu     sync.Mutex
	state  map[string]entry
	tokens map[string]*pluginv1.Token
	born   map[string]time.Time // key of a token -> when it was committed
	gone   map[string]string    // key of a forgotten token -> why
	leases map[string]openLease // by lease id
	issued int

	blobs     map[string][]byte  // by digest
	uploads   map[string]*upload // by key of the call, and name
	failAfter int64              // bytes of an upload; 0 = never
}

// openLease is a lease that was not ended yet.
type openLease struct {
	key   string // of the token
	asked *pluginv1.AcquireTokenRequest
	ended chan struct{}
}

type entry struct {
	value   []byte
	version uint64
}

func newKeeper() *keeper {
	return &keeper{
		state: map[string]entry{}, tokens: map[string]*pluginv1.Token{}, born: map[string]time.Time{}, gone: map[string]string{}, leases: map[string]openLease{},
		blobs: map[string][]byte{}, uploads: map[string]*upload{},
	}
}

func (h *keeper) setToken(name string, token *pluginv1.Token) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.tokens, name)
	delete(h.born, name)
	if token != nil {
		h.tokens[name] = token
	}
}

func (h *keeper) age(name string, by time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if born, ok := h.born[name]; ok {
		h.born[name] = born.Add(-by)
	}
	if token := h.tokens[name]; token.GetExpiresAt() != nil {
		aged := proto.CloneOf(token)
		aged.ExpiresAt = timestamppb.New(token.GetExpiresAt().AsTime().Add(-by))
		h.tokens[name] = aged
	}
}

// GetState serves State.Get.
func (h *keeper) GetState(_ context.Context, request *pluginv1.GetStateRequest) (*pluginv1.GetStateResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	found, ok := h.state[request.GetScope()+"|"+request.GetKey()]
	return &pluginv1.GetStateResponse{Value: found.value, Version: found.version, Found: ok && found.value != nil}, nil
}

// PutState serves State.Put and State.Delete. A version is never used again.
func (h *keeper) PutState(_ context.Context, request *pluginv1.PutStateRequest) (*pluginv1.PutStateResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := request.GetScope() + "|" + request.GetKey()
	stored := h.state[key]
	current := stored.version
	if stored.value == nil {
		current = 0
	}
	if current != request.GetIfVersion() {
		return &pluginv1.PutStateResponse{Version: current}, nil
	}
	next := entry{version: stored.version + 1}
	if !request.GetDelete() {
		next.value = append([]byte{}, request.GetValue()...)
	}
	h.state[key] = next
	return &pluginv1.PutStateResponse{Ok: true, Version: next.version}, nil
}

// AcquireToken serves Call.Token: the stored token while it is valid, else a
// lease. There is one lease for a token at a time: others wait for its end.
func (h *keeper) AcquireToken(ctx context.Context, request *pluginv1.AcquireTokenRequest) (*pluginv1.AcquireTokenResponse, error) {
	key := request.GetConnection() + "|" + request.GetKey()
	for {
		response, ended := h.look(key, request)
		if response != nil {
			return response, nil
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// look returns an answer, or what to wait for.
func (h *keeper) look(key string, request *pluginv1.AcquireTokenRequest) (*pluginv1.AcquireTokenResponse, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	stored := h.tokens[key]
	if request.GetPeek() {
		return &pluginv1.AcquireTokenResponse{Result: &pluginv1.AcquireTokenResponse_Stored{Stored: h.stored(key)}}, nil
	}
	if h.good(key, request.GetReject(), request.GetMinTtl().AsDuration()) {
		return &pluginv1.AcquireTokenResponse{Result: &pluginv1.AcquireTokenResponse_Token{Token: stored}}, nil
	}
	for _, open := range h.leases {
		if open.key == key {
			return nil, open.ended
		}
	}
	h.issued++
	given := &pluginv1.RefreshLease{Id: strconv.Itoa(h.issued), Stale: stored, Until: timestamppb.New(time.Now().Add(time.Minute))}
	h.leases[given.Id] = openLease{key: key, asked: request, ended: make(chan struct{})}
	return &pluginv1.AcquireTokenResponse{Result: &pluginv1.AcquireTokenResponse_Lease{Lease: given}}, nil
}

// stored is what the real host says about a token without giving it.
func (h *keeper) stored(key string) *pluginv1.StoredToken {
	token := h.tokens[key]
	switch {
	case token == nil && h.gone[key] != "":
		return &pluginv1.StoredToken{State: sdk.TokenAuthRequired, Reason: h.gone[key]}
	case token == nil:
		return &pluginv1.StoredToken{State: sdk.TokenNone}
	}
	state := sdk.TokenExpired
	if validFor(token, 0) {
		state = sdk.TokenValid
	}
	return &pluginv1.StoredToken{State: state, ExpiresAt: token.GetExpiresAt(), Extra: token.GetExtra(), Renewable: token.GetRefreshToken() != ""}
}

// renew is a validity that asks for a new token by all means.
const renew = 50 * 365 * 24 * time.Hour

// good reports whether the stored token may be given; half of its lifetime is the
// most that ttl asks for.
func (h *keeper) good(key, reject string, ttl time.Duration) bool {
	token := h.tokens[key]
	if token == nil || token.GetId() == reject {
		return false
	}
	if born, ok := h.born[key]; ok && ttl < renew && token.GetExpiresAt() != nil {
		ttl = min(ttl, max(token.GetExpiresAt().AsTime().Sub(born)/2, 0))
	}
	return validFor(token, ttl)
}

func validFor(token *pluginv1.Token, ttl time.Duration) bool {
	return token.GetExpiresAt() == nil || time.Until(token.GetExpiresAt().AsTime()) > ttl
}

// CommitToken ends a lease; one that is not open is refused. auth_required makes
// the host forget the token; after other failures it gives the stored one where
// that is still good.
func (h *keeper) CommitToken(_ context.Context, request *pluginv1.CommitTokenRequest) (*pluginv1.CommitTokenResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	open, ok := h.leases[request.GetLeaseId()]
	if !ok {
		return nil, connect.NewError(connect.CodeFailedPrecondition, errors.New("the lease is not open"))
	}
	delete(h.leases, request.GetLeaseId())
	close(open.ended)
	switch {
	case request.GetToken() != nil:
		h.tokens[open.key], h.born[open.key] = request.GetToken(), time.Now()
		delete(h.gone, open.key)
	case request.GetError().GetReason() == sdk.ReasonTokenRefused:
	case request.GetError().GetCode() != pluginv1.Code_CODE_AUTH_REQUIRED:
		if open.asked.GetMinTtl().AsDuration() < renew && h.good(open.key, open.asked.GetReject(), 0) {
			return &pluginv1.CommitTokenResponse{Token: h.tokens[open.key]}, nil
		}
	default:
		reason := cmp.Or(request.GetError().GetReason(), request.GetError().GetMessage())
		if h.tokens[open.key] != nil && reason != "revoked" {
			h.gone[open.key] = reason
		}
		delete(h.tokens, open.key)
	}
	return &pluginv1.CommitTokenResponse{}, nil
}
