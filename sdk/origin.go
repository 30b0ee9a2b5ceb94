package sdk

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// origin is scheme, host and port: what a credential belongs to. Two URLs with
// the same origin are of one service.
type origin struct{ scheme, host, port string }

// originOf returns the origin of an absolute URL of http or https; ok is false
// for any other. The host is compared in lower case, addresses by their value, a
// port that is not written is that of the scheme. A name in Unicode and the same
// one in Punycode are two.
func originOf(u *url.URL) (o origin, ok bool) {
	scheme := strings.ToLower(u.Scheme)
	port, exists := defaultPorts[scheme]
	if !exists || u.Hostname() == "" {
		return origin{}, false
	}
	if text := u.Port(); text != "" {
		number, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return origin{}, false
		}
		port = strconv.FormatUint(number, 10)
	}
	return origin{scheme, plainHostName(u.Hostname()), port}, true
}

var defaultPorts = map[string]string{"http": "80", "https": "443"}

// plainHostName writes a host in one way: ASCII in lower case, addresses as
// netip does. It does not join what only a resolver would.
func plainHostName(host string) string {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.String()
	}
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, host)
}

func (o origin) String() string {
	host := o.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if defaultPorts[o.scheme] == o.port {
		return o.scheme + "://" + host
	}
	return o.scheme + "://" + host + ":" + o.port
}

// isLoopback reports an address of this machine.
func (o origin) isLoopback() bool {
	addr, err := netip.ParseAddr(o.host)
	return err == nil && addr.Unmap().IsLoopback() || o.host == "localhost"
}

// origins are where the credentials of a connection may go. Immutable.
type origins []origin

// has reports whether a credential may go to a URL.
func (all origins) has(u *url.URL) bool {
	o, ok := originOf(u)
	return ok && slices.Contains(all, o)
}

// with returns the origins and one more.
func (all origins) with(more ...origin) origins { return append(slices.Clip(all), more...) }

// parseGrant reads what Hosts and HostsFrom take: a URL, of which the origin
// counts, or host or host:port, which mean https, and on this machine http too.
func parseGrant(text string) ([]origin, error) {
	if strings.Contains(text, "://") {
		u, err := url.Parse(text)
		if err != nil || u.User != nil {
			return nil, fmt.Errorf("is no URL of a host that a credential may go to")
		}
		o, ok := originOf(u)
		if !ok {
			return nil, fmt.Errorf("must start with http:// or https:// and name a host")
		}
		return []origin{o}, nil
	}
	host := text
	if _, err := netip.ParseAddr(text); err == nil && strings.Contains(text, ":") {
		host = "[" + text + "]"
	}
	u, err := url.Parse("https://" + host)
	if err != nil || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(host, "*% ") {
		return nil, fmt.Errorf("must be a host, host:port or a URL, without wildcards")
	}
	o, ok := originOf(u)
	if !ok {
		return nil, fmt.Errorf("names no host")
	}
	grants := []origin{o}
	if o.isLoopback() {
		plain, _ := originOf(&url.URL{Scheme: "http", Host: net.JoinHostPort(o.host, cmp.Or(u.Port(), "80"))})
		grants = append(grants, plain)
	}
	return grants, nil
}
