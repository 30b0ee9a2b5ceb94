package sdk

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"

	"connectrpc.com/connect"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
	"github.com/flowrun/flowrun/sdk/proto/pluginv1/pluginv1connect"
)

// guard refuses calls without the launch token. An empty token lets everything in: then
// nobody set one.
func guard(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	refusals := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if presented := r.Header.Values(handshake.LaunchTokenKey); len(presented) == 1 && sameToken(presented[0], token) {
			next.ServeHTTP(w, r)
			return
		}
		_ = refusals.Write(w, r, connect.NewError(connect.CodeUnauthenticated, errors.New("the launch token is missing or wrong")))
	})
}

// sameToken takes the same time whatever differs, length included.
func sameToken(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// hostAt is a client of the host's own service on a unix socket. The network connection
// is made at the first call.
func hostAt(socket, token string) *http.Client {
	transport := &http.Transport{
		Protocols: new(http.Protocols),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}
	transport.Protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &presenter{token: token, next: transport}}
}

// presenter sends the launch token with every call.
type presenter struct {
	token string
	next  http.RoundTripper
}

func (p *presenter) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set(handshake.LaunchTokenKey, p.token)
	}
	return p.next.RoundTrip(r)
}

// hostClient speaks gRPC with the host's service; nil = there is none.
func hostClient(client *http.Client) pluginv1connect.HostClient {
	if client == nil {
		return nil
	}
	return pluginv1connect.NewHostClient(client, "http://host", connect.WithGRPC(),
		connect.WithReadMaxBytes(handshake.MaxMessageLimit), connect.WithAcceptCompression("gzip", nil, nil))
}
