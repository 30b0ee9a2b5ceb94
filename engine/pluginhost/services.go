package pluginhost

import (
	"cmp"
	"context"
	"crypto/subtle"
	"fmt"
	"net"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// maxStateKey bounds the key of a state value, in bytes.
const maxStateKey = 512

// services is the Host service for one plugin process. The socket is its own,
// so the caller is known: connections of others than the process and what descends
// from it are hung up on, and the launch token keeps out who is let in by mistake.
type services struct {
	pluginv1grpc.UnimplementedHostServer
	process *process
	path    string
	server  *grpc.Server
	spawned chan struct{} // closed when pid is set
	pid     int
}

// serve listens on a socket at path.
func serve(p *process, path string) (*services, error) {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for plugin %s: %w", p.unit.source.Name, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("listen for plugin %s: %w", p.unit.source.Name, err)
	}
	limit := p.unit.host.options.Limits.Message
	s := &services{process: p, path: path, spawned: make(chan struct{})}
	s.server = grpc.NewServer(
		grpc.MaxRecvMsgSize(limit), grpc.MaxSendMsgSize(limit), grpc.MaxConcurrentStreams(256),
		grpc.ChainUnaryInterceptor(s.authenticate, s.gateQuestion))
	pluginv1grpc.RegisterHostServer(s.server, s)
	p.unit.host.running.Go(func() { _ = s.server.Serve(&ownListener{Listener: listener, services: s}) })
	return s, nil
}

func (s *services) close() { s.server.Stop() }

// authenticate lets calls with the launch token through.
func (s *services) authenticate(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if values := metadata.ValueFromIncomingContext(ctx, handshake.LaunchTokenKey); len(values) != 1 ||
		subtle.ConstantTimeCompare([]byte(values[0]), []byte(s.process.token)) != 1 {
		return nil, status.Error(codes.Unauthenticated, "the launch token is missing or wrong: a plugin reads it from the descriptor that "+handshake.EnvLaunchTokenFD+" names")
	}
	return handle(ctx, req)
}

// GetState reads one value of the plugin's state.
func (s *services) GetState(ctx context.Context, r *pluginv1.GetStateRequest) (*pluginv1.GetStateResponse, error) {
	key, err := s.stateKey(ctx, r.GetScope(), r.GetKey())
	if err != nil {
		return nil, err
	}
	value, version, ok, err := s.process.unit.host.options.State.GetState(ctx, key)
	if err != nil {
		return nil, s.internal("read state", err)
	}
	return &pluginv1.GetStateResponse{Value: value, Version: version, Found: ok}, nil
}

// PutState writes or deletes one value when its version is the given one.
func (s *services) PutState(ctx context.Context, r *pluginv1.PutStateRequest) (*pluginv1.PutStateResponse, error) {
	key, err := s.stateKey(ctx, r.GetScope(), r.GetKey())
	if err != nil {
		return nil, err
	}
	value := r.GetValue()
	switch {
	case r.GetDelete():
		value = nil
	case value == nil:
		value = []byte{} // an empty value is a value
	}
	if err := s.boundValue(ctx, value); err != nil {
		return nil, err
	}
	version, ok, err := s.process.unit.host.options.State.PutState(ctx, key, value, r.GetIfVersion(), durationOf(r.GetTtl()))
	if err != nil {
		return nil, s.stateFault(ctx, err)
	}
	return &pluginv1.PutStateResponse{Ok: ok, Version: version}, nil
}

// stateKey checks that the plugin may use the scope.
func (s *services) stateKey(ctx context.Context, scope, key string) (StateKey, error) {
	if s.process.unit.host.options.State == nil {
		return StateKey{}, status.Error(codes.Unimplemented, "this host keeps no state")
	}
	if key == "" || len(key) > maxStateKey {
		return StateKey{}, status.Errorf(codes.InvalidArgument, "a key has 1 to %d bytes", maxStateKey)
	}
	k := StateKey{Plugin: s.process.unit.source.Name, Scope: scope, Key: key}
	connection, isConnection := strings.CutPrefix(scope, "connection/")
	switch {
	case scope == "plugin":
	case isConnection:
		if s.process.linked(connection) == nil {
			return StateKey{}, status.Errorf(codes.PermissionDenied, "connection %q is not open in this process", connection)
		}
	case scope == "run":
		run, err := s.run(ctx)
		if err != nil {
			return StateKey{}, err
		}
		k.Scope = "run/" + run
	default:
		return StateKey{}, status.Errorf(codes.InvalidArgument, "scope %q is none of plugin, connection/NAME, run", scope)
	}
	return k, nil
}

// run tells which run a call belongs to: the one that it names, or the only one
// that has a call in flight in this process.
func (s *services) run(ctx context.Context) (string, error) {
	p := s.process
	p.unit.mu.Lock()
	defer p.unit.mu.Unlock()
	if named := metadata.ValueFromIncomingContext(ctx, handshake.RunKey); len(named) == 1 {
		if p.runs[named[0]] == 0 {
			return "", status.Error(codes.PermissionDenied, "that run has no call in flight in this process")
		}
		return named[0], nil
	}
	if len(p.runs) == 1 {
		for run := range p.runs {
			return run, nil
		}
	}
	return "", status.Errorf(codes.FailedPrecondition, "say which of %d runs is meant, in the metadata %s", len(p.runs), handshake.RunKey)
}

// AcquireToken gives a token, or the one lease to refresh it.
func (s *services) AcquireToken(ctx context.Context, r *pluginv1.AcquireTokenRequest) (*pluginv1.AcquireTokenResponse, error) {
	h := s.process.unit.host
	if h.options.Tokens == nil {
		return nil, status.Error(codes.Unimplemented, "this host keeps no tokens")
	}
	l := s.process.linked(r.GetConnection())
	if l == nil {
		return nil, status.Errorf(codes.PermissionDenied, "connection %q is not open in this process", r.GetConnection())
	}
	request := TokenRequest{
		Plugin: s.process.unit.source.Name, Connection: r.GetConnection(), Key: r.GetKey(), MinTTL: durationOf(r.GetMinTtl()), Reject: r.GetReject(),
	}
	if r.GetPeek() {
		return s.peek(ctx, request)
	}
	call := s.process.callOf(ctx)
	if request.Reject == "" {
		if _, request.Reject = call.state(); call == nil {
			request.Reject = l.refused()
		}
	}
	token, lease, err := s.acquire(ctx, l, request)
	if err != nil {
		return nil, s.failed("acquire token", err)
	}
	if token != nil {
		h.learnToken(token)
		l.gave(token.ID)
		call.gave(token.ID)
		return &pluginv1.AcquireTokenResponse{Result: &pluginv1.AcquireTokenResponse_Token{Token: wireToken(token)}}, nil
	}
	if lease == nil {
		return nil, status.Error(codes.Internal, "the token store gave neither token nor lease")
	}
	h.learnToken(lease.Stale)
	return &pluginv1.AcquireTokenResponse{Result: &pluginv1.AcquireTokenResponse_Lease{Lease: &pluginv1.RefreshLease{
		Id: lease.ID, Stale: wireToken(lease.Stale), Until: timestamppb.New(lease.Until),
	}}}, nil
}

// acquire asks the store, or the owner of a connection with token_from.
func (s *services) acquire(ctx context.Context, l *link, request TokenRequest) (*secret.Token, *secret.Lease, error) {
	h := s.process.unit.host
	owner := l.owner.Load()
	if owner == nil || request.Key != "" {
		return h.options.Tokens.Acquire(ctx, request)
	}
	token, failure := h.ownerToken(ctx, *owner, request)
	if failure != nil {
		return nil, nil, failure
	}
	return token, nil, nil
}

// CommitToken stores what came of a lease, durably.
func (s *services) CommitToken(ctx context.Context, r *pluginv1.CommitTokenRequest) (*pluginv1.CommitTokenResponse, error) {
	h := s.process.unit.host
	if h.options.Tokens == nil {
		return nil, status.Error(codes.Unimplemented, "this host keeps no tokens")
	}
	token := tokenOf(r.GetToken())
	h.learnToken(token)
	if r.GetError() == nil && token == nil {
		return nil, status.Error(codes.InvalidArgument, "a lease ends with a token or an error")
	}
	var failure *runs.Error
	if r.GetError() != nil {
		token, failure = nil, errorOf(r.GetError(), nil)
	}
	usable, err := h.options.Tokens.Commit(ctx, s.process.unit.source.Name, r.GetLeaseId(), token, failure)
	if err != nil {
		return nil, s.failed("commit token", err)
	}
	if used := cmp.Or(token, usable); used != nil {
		h.learnToken(used)
		s.process.callOf(ctx).gave(used.ID)
	}
	return &pluginv1.CommitTokenResponse{Token: wireToken(usable)}, nil
}

func (h *Host) learnToken(t *secret.Token) {
	if t == nil || h.options.Redactor == nil {
		return
	}
	for _, text := range []string{t.AccessToken, t.RefreshToken} {
		if text != "" {
			h.options.Redactor.Add(text)
		}
	}
}

// internal logs the cause and tells the plugin only what failed.
func (s *services) internal(doing string, err error) error {
	name := s.process.unit.source.Name
	s.process.unit.host.options.Log.Error("host service failed", "plugin", name, "doing", doing, "error", err)
	return status.Errorf(codes.Internal, "%s: the host has a problem", doing)
}
