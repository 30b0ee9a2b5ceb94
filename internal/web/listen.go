package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// ExposedError says that an address is reached by other machines, and that what
// is said there would be said in clear.
type ExposedError struct {
	Address string
	Reached string // the address that is no loopback
}

func (e *ExposedError) Error() string {
	return fmt.Sprintf("%s is reached by other machines (%s), and there is no TLS: tokens would travel in clear", e.Address, e.Reached)
}

// Resolver looks up the addresses of a name. *net.Resolver is one.
type Resolver interface {
	LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error)
}

// ResolveListen returns the address that a server is to listen on: that of a
// loopback interface, or with TLS any other. *ExposedError.
func ResolveListen(ctx context.Context, resolver Resolver, address string, secure bool) (*net.TCPAddr, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", portText)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	if host == "" {
		if !secure {
			return nil, &ExposedError{Address: address, Reached: "all addresses of this machine"}
		}
		return &net.TCPAddr{Port: port}, nil
	}
	addresses := []net.IPAddr{}
	if ip := net.ParseIP(host); ip != nil {
		addresses = append(addresses, net.IPAddr{IP: ip})
	} else if addresses, err = resolver.LookupIPAddr(ctx, host); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	for _, addr := range addresses {
		if !secure && !addr.IP.IsLoopback() {
			reached := addr.IP.String()
			if addr.IP.IsUnspecified() {
				reached = "all addresses of this machine"
			}
			return nil, &ExposedError{Address: address, Reached: reached}
		}
	}
	if len(addresses) == 0 {
		return nil, fmt.Errorf("listen on %s: the name has no address", address)
	}
	usual := slices.IndexFunc(addresses, func(address net.IPAddr) bool { return address.IP.To4() != nil }) // of localhost what everybody tries
	chosen := addresses[max(usual, 0)]
	return &net.TCPAddr{IP: chosen.IP, Port: port, Zone: chosen.Zone}, nil
}

// Certificate is a TLS certificate from two files, read again by Load. Safe for
// concurrent use.
type Certificate struct {
	cert, key string

	mu      sync.RWMutex
	current *tls.Certificate
}

// NewCertificate reads a certificate with its chain and its key.
func NewCertificate(cert, key string) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key}
	return c, c.Load()
}

// Load reads the files again. The certificate from before stays when they are
// not good.
func (c *Certificate) Load() error {
	if info, err := os.Stat(c.key); err == nil && info.Mode()&fs.ModePerm&0o007 != 0 {
		return fmt.Errorf("the TLS key %s may be read by everybody: take that away with chmod o-rwx", c.key)
	}
	loaded, err := tls.LoadX509KeyPair(c.cert, c.key)
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		return fmt.Errorf("%s can't be read: %w", path.Path, path.Err)
	case err != nil:
		return fmt.Errorf("%s and %s are no certificate with its key: %s", c.cert, c.key, strings.TrimPrefix(err.Error(), "tls: "))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = &loaded
	return nil
}

// Expires returns when the certificate is good no more.
func (c *Certificate) Expires() time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.current.Leaf.NotAfter
}

func (c *Certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			c.mu.RLock()
			defer c.mu.RUnlock()
			return c.current, nil
		},
	}
}
