package guard

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

type schemeKey struct{}

// asSent returns a request as its client has sent it: where a proxy of flowrun.yaml
// has passed it on, with the client's address, and the host and scheme that it was
// sent to. What others say of these is not looked at.
func (g *Guard) asSent(r *http.Request) *http.Request {
	peer, err := netip.ParseAddr(addressOf(r))
	if err != nil || !g.trusts(peer) {
		return r
	}
	scheme := strings.ToLower(lastOf(r.Header, "X-Forwarded-Proto"))
	if scheme != "http" && scheme != "https" {
		scheme = ""
	}
	sent := r.WithContext(context.WithValue(r.Context(), schemeKey{}, scheme)) // a copy
	if client := g.clientOf(r.Header, peer.Unmap()); client != peer.Unmap() {
		sent.RemoteAddr = netip.AddrPortFrom(client, 0).String()
	}
	if host := lastOf(r.Header, "X-Forwarded-Host"); host != "" {
		sent.Host = host
	}
	return sent
}

// isThroughProxy reports whether a request comes from a trusted proxy or this machine, or
// asks what the probes of a cluster ask, which go around its proxies.
func (g *Guard) isThroughProxy(r *http.Request) bool {
	if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
		return true
	}
	peer, err := netip.ParseAddr(addressOf(r))
	return err == nil && (peer.Unmap().IsLoopback() || g.trusts(peer))
}

// trusts reports whether what an address says of others is believed.
func (g *Guard) trusts(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	return slices.ContainsFunc(g.options.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// clientOf returns the address that proxies say a request came from: the last one
// that is no trusted proxy. Each of them adds at the right the address that it was
// reached from; what stands left of an address that nobody trusts may be anything.
// Where X-Forwarded-For and Forwarded disagree, one of them is the client's own
// invention: neither is believed.
func (g *Guard) clientOf(header http.Header, peer netip.Addr) netip.Addr {
	old, isOld := g.walk(peer, listOf(header, "X-Forwarded-For"))
	standard, isStandard := g.walk(peer, forwardedFor(header))
	switch {
	case isOld && isStandard && old != standard:
		return peer
	case isStandard:
		return standard
	}
	return old
}

// walk goes from the peer to the left as far as there are trusted proxies. Text
// that is no address ends it: the last address is who has let that pass.
func (g *Guard) walk(peer netip.Addr, hops []string) (client netip.Addr, any bool) {
	for _, hop := range slices.Backward(hops) {
		if !g.trusts(peer) {
			break
		}
		address, ok := parseHop(hop)
		if !ok {
			break
		}
		peer = address
	}
	return peer, len(hops) > 0
}

// parseHop reads an address, which may have a port, and of IPv6 its brackets.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if end, err := netip.ParseAddrPort(text); err == nil {
		return end.Addr().Unmap().WithZone(""), true
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		text = strings.TrimSuffix(inner, "]")
	}
	address, err := netip.ParseAddr(text)
	return address.Unmap().WithZone(""), err == nil
}

// listOf returns the elements of a header that is a list, over all its lines.
func listOf(header http.Header, name string) []string {
	var items []string
	for _, line := range header.Values(name) {
		items = append(items, strings.Split(line, ",")...)
	}
	return items
}

// lastOf returns the last element of a header that is a list: what the proxy that
// we talk to has said.
func lastOf(header http.Header, name string) string {
	items := listOf(header, name)
	if len(items) == 0 {
		return ""
	}
	return strings.TrimSpace(items[len(items)-1])
}

// forwardedFor returns the `for` of each element of a Forwarded header (RFC 7239),
// "" where an element has none.
func forwardedFor(header http.Header) []string {
	var hops []string
	for _, element := range listOf(header, "Forwarded") {
		hop := ""
		for pair := range strings.SplitSeq(element, ";") {
			if name, value, _ := strings.Cut(strings.TrimSpace(pair), "="); strings.EqualFold(name, "for") {
				hop = strings.Trim(value, `"`)
			}
		}
		hops = append(hops, hop)
	}
	return hops
}

// forwardedScheme returns the scheme that a trusted proxy was asked with, "" where
// nobody says.
func forwardedScheme(r *http.Request) string {
	scheme, _ := r.Context().Value(schemeKey{}).(string)
	return scheme
}

// addressOf returns the address that a request came from, without its port.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
