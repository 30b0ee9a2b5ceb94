package sdktest

import (
	"cmp"
	"context"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pluginv1 "github.com/flowrun/flowrun/proto/flowrun/plugin/v1"
	"github.com/flowrun/flowrun/sdk"
)

// Host keeps a plugin's state and tokens in memory. Safe for concurrent use.
type Host struct {
	pluginv1.UnimplementedHostServer

	mu     sync.Mutex
	state  map[string]entry
	tokens map[string]*pluginv1.Token
	born   map[string]time.Time // key of a token -> when it was committed
	gone   map[string]string    // key of a forgotten token -> why
	leases map[string]openLease // by lease id
	issued int
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

func newHost() *Host {
	return &Host{
		state: map[string]entry{}, tokens: map[string]*pluginv1.Token{}, born: map[string]time.Time{}, gone: map[string]string{}, leases: map[string]openLease{},
	}
}

// SetToken stores the token of a connection and key.
func (h *Host) SetToken(connection, key string, token *pluginv1.Token) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tokens[connection+"|"+key] = token
	delete(h.born, connection+"|"+key)
}

// Token returns the stored token of a connection and key, or nil.
func (h *Host) Token(connection, key string) *pluginv1.Token {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tokens[connection+"|"+key]
}

// Age makes the stored token of a connection and key look committed a while ago:
// its end comes nearer by as much.
func (h *Host) Age(connection, key string, by time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	name := connection + "|" + key
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
func (h *Host) GetState(_ context.Context, request *pluginv1.GetStateRequest) (*pluginv1.GetStateResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	found, ok := h.state[request.GetScope()+"|"+request.GetKey()]
	return &pluginv1.GetStateResponse{Value: found.value, Version: found.version, Found: ok && found.value != nil}, nil
}

// PutState serves State.Put and State.Delete. A version is never used again.
func (h *Host) PutState(_ context.Context, request *pluginv1.PutStateRequest) (*pluginv1.PutStateResponse, error) {
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
func (h *Host) AcquireToken(ctx context.Context, request *pluginv1.AcquireTokenRequest) (*pluginv1.AcquireTokenResponse, error) {
	key := request.GetConnection() + "|" + request.GetKey()
	for {
		response, ended := h.look(key, request)
		if response != nil {
			return response, nil
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
}

// look returns an answer, or what to wait for.
func (h *Host) look(key string, request *pluginv1.AcquireTokenRequest) (*pluginv1.AcquireTokenResponse, <-chan struct{}) {
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
func (h *Host) stored(key string) *pluginv1.StoredToken {
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
func (h *Host) good(key, reject string, ttl time.Duration) bool {
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
func (h *Host) CommitToken(_ context.Context, request *pluginv1.CommitTokenRequest) (*pluginv1.CommitTokenResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	open, ok := h.leases[request.GetLeaseId()]
	if !ok {
		return nil, status.Error(codes.FailedPrecondition, "the lease is not open")
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

// OpenLeases returns how many leases to refresh a token were not ended.
func (h *Host) OpenLeases() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.leases)
}
