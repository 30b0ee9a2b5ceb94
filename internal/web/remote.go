package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/flowrun/flowrun/internal/web/wire"
)

// Bounds of a connection to a server on another machine. An answer may take as long as
// what it is about; a connection that is dead is found by its pings.
const (
	remoteDial      = 10 * time.Second
	remoteHandshake = 10 * time.Second
	remotePing      = 15 * time.Second
)

// Remote is a server on another machine, and how this one is let in.
type Remote struct {
	URL   *url.URL // as ParseRemote has returned it
	Token string
	Roots *x509.CertPool    // nil = those of the system
	Proxy *httpproxy.Config // what HTTPS_PROXY, HTTP_PROXY and NO_PROXY say; nil = none
}

// DeniedError says that the server does not take the token, or not for this.
type DeniedError struct{ *Problem }

// Unwrap returns what the server said.
func (e *DeniedError) Unwrap() error { return e.Problem }

// ParseRemote reads the address of a server: https, or http on this machine alone,
// since a token would travel in clear.
func ParseRemote(text string) (*url.URL, error) {
	address, err := url.Parse(text)
	switch {
	case err != nil || address.Host == "" || address.Hostname() == "":
		return nil, errors.New("it is no address such as https://flowrun.example.com")
	case address.User != nil:
		return nil, errors.New("it names a user: a server takes a token")
	case address.RawQuery != "" || address.Fragment != "" || address.Path != "" && address.Path != "/":
		return nil, errors.New("it has more than scheme, host and port")
	case address.Scheme == "http" && !isLoopback(address.Hostname()):
		return nil, errors.New("http is for this machine alone: the token would travel in clear")
	case address.Scheme != "https" && address.Scheme != "http":
		return nil, fmt.Errorf("its scheme is %q, not https", address.Scheme)
	}
	return &url.URL{Scheme: address.Scheme, Host: address.Host}, nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}

// DialRemote returns a client of a server, which has answered, and what it said of
// itself. The error is a *GoneError when it can't be reached, a *DeniedError when it does
// not take the token.
func DialRemote(ctx context.Context, r Remote) (*Client, *Owner, error) {
	client := r.client()
	asked, cancel := context.WithTimeout(ctx, remoteDial+remoteHandshake)
	defer cancel()
	owner, err := client.Owner(asked)
	if err != nil && errors.Is(asked.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		err = &GoneError{Unsent: true, Err: fmt.Errorf("%s does not answer", r.URL)}
	}
	if err != nil {
		client.Close()
		return nil, nil, err
	}
	return client, owner, nil
}

// client asks the server; it has asked nothing yet.
func (r Remote) client() *Client {
	client := NewClient(&tokenTransport{token: r.Token, next: r.transport()})
	client.base, client.http.CheckRedirect = r.URL.String(), func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

func (r Remote) transport() *http.Transport {
	dialer := &net.Dialer{Timeout: remoteDial, KeepAlive: remotePing}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			connection, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, &dialError{err}
			}
			return connection, nil
		},
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: r.Roots}, TLSHandshakeTimeout: remoteHandshake,
		ForceAttemptHTTP2: true, IdleConnTimeout: idleTimeout,
		HTTP2: &http.HTTP2Config{SendPingTimeout: remotePing, PingTimeout: remotePing},
	}
	if r.Proxy != nil {
		choose := r.Proxy.ProxyFunc()
		transport.Proxy = func(request *http.Request) (*url.URL, error) { return choose(request.URL) }
	}
	return transport
}

// tokenTransport sends a token with each request.
type tokenTransport struct {
	token string
	next  *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (b *tokenTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if b.token == "" {
		return b.next.RoundTrip(request)
	}
	sent := request.Clone(request.Context())
	sent.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(sent)
}

// CloseIdleConnections lets Client.Close reach the transport.
func (b *tokenTransport) CloseIdleConnections() { b.next.CloseIdleConnections() }

// denied tells what a server says of a token from what it says of a request.
func denied(err error) error {
	problem, ok := errors.AsType[*Problem](err)
	if ok && (problem.Code == wire.CodeUnauthorized || problem.Code == wire.CodeForbidden) {
		return &DeniedError{problem}
	}
	return err
}
