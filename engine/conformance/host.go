package conformance

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// memory is the state and the tokens that outlive the processes of a plugin.
type memory struct {
	pluginv1grpc.UnimplementedHostServer
	blobs  *blobs
	mu     sync.Mutex
	state  map[string]stored
	tokens map[string]*pluginv1.Token
	leases map[string]lease
	issued int
	calls  int // of the host's service
	bare   int // of them without the launch token
}

type stored struct {
	value   []byte
	version uint64
}

type lease struct {
	key   string
	ended chan struct{}
}

func newMemory() *memory {
	return &memory{blobs: newBlobs(), state: map[string]stored{}, tokens: map[string]*pluginv1.Token{}, leases: map[string]lease{}}
}

// hostService is the Host service that one process may call.
type hostService struct {
	*memory
	path   string
	server *grpc.Server
}

// serveHost serves the host's service for one process, which must present the token.
func (k *kit) serveHost(path, token string) (*hostService, error) {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for what a plugin asks of the host: %w", err)
	}
	h := &hostService{memory: k.memory, path: path}
	h.server = grpc.NewServer(grpc.MaxRecvMsgSize(handshake.MaxMessageLimit), grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		given := metadata.ValueFromIncomingContext(ctx, handshake.LaunchTokenKey)
		ok := len(given) == 1 && given[0] == token
		h.count(ok)
		if !ok {
			return nil, status.Error(codes.Unauthenticated, "the call has no launch token, or a wrong one")
		}
		return handle(ctx, req)
	}))
	pluginv1grpc.RegisterHostServer(h.server, h)
	go func() { _ = h.server.Serve(listener) }() // ends with stop
	return h, nil
}

func (h *hostService) stop() { h.server.Stop() }

func (m *memory) count(ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	if !ok {
		m.bare++
	}
}

// GetState gives a value.
func (m *memory) GetState(_ context.Context, r *pluginv1.GetStateRequest) (*pluginv1.GetStateResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := m.state[r.GetScope()+"|"+r.GetKey()]
	return &pluginv1.GetStateResponse{Value: found.value, Version: found.version, Found: found.value != nil}, nil
}

// PutState writes a value where its version is the one that was named.
func (m *memory) PutState(_ context.Context, r *pluginv1.PutStateRequest) (*pluginv1.PutStateResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := r.GetScope() + "|" + r.GetKey()
	now := m.state[key]
	current := now.version
	if now.value == nil {
		current = 0
	}
	if current != r.GetIfVersion() {
		return &pluginv1.PutStateResponse{Version: current}, nil
	}
	next := stored{version: now.version + 1}
	if !r.GetDelete() {
		next.value = append([]byte{}, r.GetValue()...)
	}
	m.state[key] = next
	return &pluginv1.PutStateResponse{Ok: true, Version: next.version}, nil
}

// AcquireToken gives a token that is good, or the one lease to renew it.
func (m *memory) AcquireToken(ctx context.Context, r *pluginv1.AcquireTokenRequest) (*pluginv1.AcquireTokenResponse, error) {
	key := r.GetConnection() + "|" + r.GetKey()
	for {
		response, ended := m.look(key, r)
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
func (m *memory) look(key string, r *pluginv1.AcquireTokenRequest) (*pluginv1.AcquireTokenResponse, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	token := m.tokens[key]
	good := token != nil && (token.GetExpiresAt() == nil || time.Until(token.GetExpiresAt().AsTime()) > r.GetMinTtl().AsDuration())
	if r.GetPeek() {
		known := &pluginv1.StoredToken{State: "none"}
		if token != nil {
			known = &pluginv1.StoredToken{State: "valid", ExpiresAt: token.GetExpiresAt(), Extra: token.GetExtra(), Renewable: token.GetRefreshToken() != ""}
		}
		return &pluginv1.AcquireTokenResponse{Result: &pluginv1.AcquireTokenResponse_Stored{Stored: known}}, nil
	}
	if good && (r.GetReject() == "" || token.GetId() != r.GetReject()) {
		return &pluginv1.AcquireTokenResponse{Result: &pluginv1.AcquireTokenResponse_Token{Token: token}}, nil
	}
	for _, open := range m.leases {
		if open.key == key {
			return nil, open.ended
		}
	}
	m.issued++
	given := &pluginv1.RefreshLease{Id: strconv.Itoa(m.issued), Stale: token, Until: timestamppb.New(timestamppb.Now().AsTime().Add(time.Minute))}
	m.leases[given.GetId()] = lease{key: key, ended: make(chan struct{})}
	return &pluginv1.AcquireTokenResponse{Result: &pluginv1.AcquireTokenResponse_Lease{Lease: given}}, nil
}

// CommitToken ends a lease.
func (m *memory) CommitToken(_ context.Context, r *pluginv1.CommitTokenRequest) (*pluginv1.CommitTokenResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	open, ok := m.leases[r.GetLeaseId()]
	if !ok {
		return nil, status.Error(codes.FailedPrecondition, "the lease is not open")
	}
	delete(m.leases, r.GetLeaseId())
	close(open.ended)
	if r.GetToken() != nil {
		m.tokens[open.key] = r.GetToken()
	} else if m.tokens[open.key] != nil {
		delete(m.tokens, open.key)
	}
	return &pluginv1.CommitTokenResponse{}, nil
}

// PutBlob takes a part of a large value.
func (m *memory) PutBlob(ctx context.Context, r *pluginv1.PutBlobRequest) (*pluginv1.PutBlobResponse, error) {
	return m.blobs.PutBlob(ctx, r)
}

// GetBlob gives one.
func (m *memory) GetBlob(ctx context.Context, r *pluginv1.GetBlobRequest) (*pluginv1.GetBlobResponse, error) {
	return m.blobs.GetBlob(ctx, r)
}

// releaseLeases ends the leases of a process that was killed.
func (m *memory) releaseLeases() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, open := range m.leases {
		delete(m.leases, id)
		close(open.ended)
	}
}
