package guard

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// knowsHost reports whether a request was sent to a name of ours. A name of
// somebody else's that resolves to our address is how a foreign page reaches a
// server on a private address (DNS rebinding): it is refused.
func (g *Guard) knowsHost(r *http.Request) bool {
	host := strings.ToLower(r.Host)
	name := hostName(host)
	if name == "" {
		return false
	}
	if g.isNamed(r) {
		return true
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	reached := IPOf(local)
	if name == "localhost" {
		return reached.IsLoopback()
	}
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	if err != nil {
		return false
	}
	return reached.IsValid() && ip.Unmap() == reached // a page can't make a browser write an address that it did not connect to
}

// hostName takes the port off a Host header; "" when it is none.
func hostName(host string) string {
	if host == "" || strings.ContainsAny(host, "/@?#% ") {
		return ""
	}
	end := strings.LastIndexByte(host, ':')
	if end < 0 || strings.HasSuffix(host, "]") {
		return host
	}
	for _, r := range host[end+1:] {
		if r < '0' || r > '9' {
			return ""
		}
	}
	return host[:end]
}

// IPOf returns the address of a connection's end, the zero value where it is no
// TCP.
func IPOf(address net.Addr) netip.Addr {
	if address == nil {
		return netip.Addr{}
	}
	end, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return netip.Addr{}
	}
	return end.Addr().Unmap().WithZone("")
}

// isOwnOrigin reports whether a request comes from a page of ours, or from no
// page at all. Requests of other sites are refused whatever their method: there
// is nothing here that they may read.
func (g *Guard) isOwnOrigin(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		parsed, err := url.Parse(origin)
		if err != nil || parsed.Host == "" || !strings.EqualFold(parsed.Host, r.Host) || !g.ownScheme(parsed.Scheme, r) {
			return false
		}
	}
	return g.origins.Check(r) == nil
}

// ownScheme reports whether a page of ours may have come with that scheme. Under
// a name of flowrun.yaml a proxy may speak TLS in front of us; one that is trusted
// says whether it does.
func (g *Guard) ownScheme(scheme string, r *http.Request) bool {
	if g.options.Secure {
		return scheme == "https"
	}
	if said := forwardedScheme(r); said != "" {
		return scheme == said
	}
	return scheme == "http" || scheme == "https" && g.isNamed(r)
}

// isNamed reports whether a request was sent to a name of flowrun.yaml.
func (g *Guard) isNamed(r *http.Request) bool {
	host := strings.ToLower(r.Host)
	return slices.Contains(g.hosts, host) || slices.Contains(g.hosts, hostName(host))
}

// overTLS reports whether the browser is known to speak TLS, with us or with a
// proxy: a trusted one says so, or the browser's origin, which is our own.
func (g *Guard) overTLS(r *http.Request) bool {
	return g.options.Secure || forwardedScheme(r) == "https" || strings.HasPrefix(r.Header.Get("Origin"), "https://")
}

// OriginOf returns scheme and host that a request was sent to. own is the server's
// own address, which has its scheme.
func OriginOf(r *http.Request, own string) string {
	scheme, _, _ := strings.Cut(own, "://")
	switch said := forwardedScheme(r); {
	case said != "":
		scheme = said
	case r.TLS != nil:
		scheme = "https"
	case scheme == "":
		scheme = "http"
	}
	return scheme + "://" + r.Host
}
