package sdktest

import (
	"context"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	pluginv1 "github.com/flowrun/flowrun/proto/flowrun/plugin/v1"
)

// Host keeps a plugin's state and tokens in memory. Safe for concurrent use.
type Host struct {
	pluginv1.UnimplementedHostServer

	mu     sync.Mutex
	state  map[string]entry
	tokens map[string]*pluginv1.Token
	leases map[string]string // lease id -> key of the token
	issued int
}

type entry struct {
	value   []byte
	version uint64
}

func newHost() *Host {
	return &Host{state: map[string]entry{}, tokens: map[string]*pluginv1.Token{}, leases: map[string]string{}}
}

// SetToken stores the token of a connection and key.
func (h *Host) SetToken(connection, key string, token *pluginv1.Token) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tokens[connection+"|"+key] = token
}

// Token returns the stored token of a connection and key, or nil.
func (h *Host) Token(connection, key string) *pluginv1.Token {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tokens[connection+"|"+key]
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
// lease.
func (h *Host) AcquireToken(_ context.Context, request *pluginv1.AcquireTokenRequest) (*pluginv1.AcquireTokenResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := request.GetConnection() + "|" + request.GetKey()
	stored := h.tokens[key]
	if stored != nil && stored.GetId() != request.GetReject() && validFor(stored, request.GetMinTtl().AsDuration()) {
		return &pluginv1.AcquireTokenResponse{Result: &pluginv1.AcquireTokenResponse_Token{Token: stored}}, nil
	}
	h.issued++
	lease := &pluginv1.RefreshLease{Id: strconv.Itoa(h.issued), Stale: stored, Until: timestamppb.New(time.Now().Add(time.Minute))}
	h.leases[lease.Id] = key
	return &pluginv1.AcquireTokenResponse{Result: &pluginv1.AcquireTokenResponse_Lease{Lease: lease}}, nil
}

func validFor(token *pluginv1.Token, ttl time.Duration) bool {
	return token.GetExpiresAt() == nil || time.Until(token.GetExpiresAt().AsTime()) > ttl
}

// CommitToken ends a lease; one that is not open is refused.
func (h *Host) CommitToken(_ context.Context, request *pluginv1.CommitTokenRequest) (*pluginv1.CommitTokenResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key, ok := h.leases[request.GetLeaseId()]
	if !ok {
		return nil, status.Error(codes.FailedPrecondition, "the lease is not open")
	}
	delete(h.leases, request.GetLeaseId())
	if request.GetToken() != nil {
		h.tokens[key] = request.GetToken()
	}
	return &pluginv1.CommitTokenResponse{}, nil
}

// OpenLeases returns how many leases to refresh a token were not ended.
func (h *Host) OpenLeases() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.leases)
}
