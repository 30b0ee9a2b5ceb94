package sdk

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestIssue12_16_WhyThereIsNoConnection: names, addresses, proxies and certificates in
// plain words.
func TestIssue12_16_WhyThereIsNoConnection(t *testing.T) {
	address := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 81}
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: address, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, c := range []struct {
		err  error
		want string
	}{
		{refused, "connection refused"},
		{&net.OpError{Op: "dial", Net: "tcp", Addr: address, Err: os.NewSyscallError("connect", syscall.ENETUNREACH)}, "network is unreachable"},
		{&net.OpError{Op: "proxyconnect", Net: "tcp", Err: refused}, "the proxy 127.0.0.1:81: connection refused"},
		{&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, "the connection broke: connection reset by peer"},
		{&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Name: "nope.invalid", Err: "no such host", IsNotFound: true}}, "no host nope.invalid is known"},
		{&net.DNSError{Name: "a.example", Err: "server misbehaving", Server: "127.0.0.53:53"}, "the name a.example can't be looked up"},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "its certificate can't be verified: certificate signed by unknown authority"},
		{errors.New("http: server gave HTTP response to HTTPS client"), "it answers in HTTP where base_url says https"},
		{errors.New("tls: first record does not look like a TLS handshake"), "it does not speak TLS where base_url says https"},
	} {
		got := networkWords(stripURL(&url.Error{Op: "Get", URL: "https://a.example/x", Err: fmt.Errorf("%w", c.err)}))
		if got != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
		for _, word := range []string{"dial tcp", "x509:", "tls:", "proxyconnect", "lookup", "http:"} {
			if strings.Contains(got, word) {
				t.Errorf("%q speaks of %s", got, word)
			}
		}
	}
}
