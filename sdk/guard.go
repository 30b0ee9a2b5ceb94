package sdk

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
)

// guard refuses calls without the launch token and tells when the first call
// comes in. An empty token lets everything in: then nobody set one.
type guard struct {
	token string
	first func()
	once  sync.Once
}

func (g *guard) unary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := g.check(ctx); err != nil {
		return nil, err
	}
	return next(ctx, request)
}

func (g *guard) stream(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if err := g.check(stream.Context()); err != nil {
		return err
	}
	return next(server, stream)
}

func (g *guard) check(ctx context.Context) error {
	if g.first != nil {
		g.once.Do(g.first)
	}
	if g.token == "" {
		return nil
	}
	presented := metadata.ValueFromIncomingContext(ctx, handshake.LaunchTokenKey)
	if len(presented) == 1 && sameToken(presented[0], g.token) {
		return nil
	}
	return status.Error(codes.Unauthenticated, "the launch token is missing or wrong")
}

// sameToken takes the same time whatever differs, length included.
func sameToken(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// dialHost returns the host's own service, or nil when the host offers none.
// The network connection is made at the first call.
func dialHost(socket, token string) (grpc.ClientConnInterface, func(), error) {
	if socket == "" {
		return nil, func() {}, nil
	}
	conn, err := grpc.NewClient("unix:"+socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(handshake.MaxMessageLimit)),
		grpc.WithUnaryInterceptor(presentToken(token)),
	)
	if err != nil {
		return nil, nil, fmt.Errorf("dial the host's socket: %w", err)
	}
	return conn, func() { _ = conn.Close() }, nil
}

// presentToken sends the launch token with every call.
func presentToken(token string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, handshake.LaunchTokenKey, token)
		}
		return next(ctx, method, request, reply, conn, opts...)
	}
}
