package project

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/spec"
)

// Server is how `flowrun serve` is reached; the zero value is the default.
type Server struct {
	Listen  string   // host:port; "" = the default
	Hosts   []string // further names that requests may be sent to, as name or name:port
	TLSCert string   // path of a certificate with its chain, relative to the project's root
	TLSKey  string
	// PublicURL is the address of the page as people reach it, without a slash at its
	// end: messages link there. "" = they have no link.
	PublicURL string
	// TrustedProxies are the networks whose word on a client's address, host and
	// scheme is believed.
	TrustedProxies []netip.Prefix
	// BehindProxy says that a reverse proxy of TrustedProxies speaks TLS before the
	// server, which then listens without, and takes requests of these alone.
	BehindProxy bool
	// NoRemoteAdmin closes over TCP what only the scope admin opens of the commands of
	// another machine: sent files, calls, secrets, tokens, changes of state, removal.
	NoRemoteAdmin bool
	MCP           ServerMCP
	Pos           diag.Pos // of Listen, else of the mapping
}

// ServerMCP is what assistants may do over MCP besides reading, whatever their tokens
// allow; the zero value is the default.
type ServerMCP struct {
	NoRun   bool // no run is started
	Approve bool // steps are approved and rejected
}

// isHost reports whether text is the name of a host, or an address, in brackets
// where it is IPv6.
func isHost(text string) bool {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		ip := net.ParseIP(strings.TrimSuffix(inner, "]"))
		return ip != nil && strings.HasSuffix(inner, "]")
	}
	for label := range strings.SplitSeq(text, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || strings.IndexFunc(label, isNoHostLetter) >= 0 {
			return false
		}
	}
	return true
}

func isNoHostLetter(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

func (p *parser) server(n *spec.Node) {
	server := &p.project.Server
	server.Pos = n.Pos
	p.keys(n, "`server`", map[string]func(*spec.Node){
		"listen": func(v *spec.Node) {
			if server.Listen = p.text(v, "`listen`"); server.Listen == "" {
				return
			}
			server.Pos = v.Pos
			if err := CheckListen(server.Listen); err != "" {
				p.problems.Errorf(v.Pos, CodeAddress, "`%s` is not an address to listen on: %s", server.Listen, err).Hint = diag.Say("write host:port, such as 127.0.0.1:7070")
			}
		},
		"public_url":      func(v *spec.Node) { p.publicURL(v) },
		"hosts":           func(v *spec.Node) { p.serverHosts(v) },
		"trusted_proxies": func(v *spec.Node) { p.trustedProxies(v) },
		"behind_proxy":    func(v *spec.Node) { p.behindProxy(v) },
		"remote_admin":    func(v *spec.Node) { server.NoRemoteAdmin = p.boolean(v, "`remote_admin`") == "false" },
		"mcp":             func(v *spec.Node) { p.serverMCP(v) },
		"tls_cert":        func(v *spec.Node) { server.TLSCert = p.optional(v, "`tls_cert`") },
		"tls_key":         func(v *spec.Node) { server.TLSKey = p.optional(v, "`tls_key`") },
	})
	if (server.TLSCert == "") != (server.TLSKey == "") {
		p.problems.Errorf(n.Pos, CodeCertificate, "`tls_cert` and `tls_key` belong together: one of them is missing")
	}
}

func (p *parser) publicURL(v *spec.Node) {
	text := p.text(v, "`public_url`")
	address, err := url.Parse(text)
	switch {
	case text == "":
	case err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http", address.User != nil, address.RawQuery != "" || address.Fragment != "":
		p.problems.Errorf(v.Pos, CodeAddress, "`%s` is not the address of a page", text).Hint =
			diag.Say("write scheme and host, such as https://flowrun.example.com; nobody's name, no query")
	default:
		p.project.Server.PublicURL = strings.TrimRight(text, "/")
	}
}

func (p *parser) serverHosts(v *spec.Node) {
	for _, item := range p.items(v, "`hosts`") {
		text := p.text(item, "`hosts`")
		name := text
		if host, port, err := net.SplitHostPort(text); err == nil && isPort(port) {
			name = host
			if strings.Contains(host, ":") {
				name = "[" + host + "]"
			}
		}
		if text != "" && !isHost(name) {
			p.problems.Errorf(item.Pos, CodeAddress, "`%s` is not the name of a host", text).Hint = diag.Say("write name or name:port, such as flowrun.example.com; no scheme, no path, no *")
			continue
		}
		p.project.Server.Hosts = append(p.project.Server.Hosts, strings.ToLower(text))
	}
}

func (p *parser) serverMCP(n *spec.Node) {
	p.keys(n, "`mcp`", map[string]func(*spec.Node){
		"allow": func(v *spec.Node) {
			settings := ServerMCP{NoRun: true}
			for _, item := range p.items(v, "`allow`") {
				switch text := p.text(item, "`allow`"); text {
				case "run":
					settings.NoRun = false
				case "approve":
					settings.Approve = true
				case "":
				default:
					p.problems.Errorf(item.Pos, CodeShape, "`%s` is nothing that `allow` takes", text).Hint = diag.MeantOr(text, []string{"run", "approve"}, "it takes ")
				}
			}
			p.project.Server.MCP = settings
		},
	})
}

// behindProxy reads who speaks TLS before the server: without a name nobody would.
func (p *parser) behindProxy(n *spec.Node) {
	before := len(p.project.Server.TrustedProxies)
	named := false
	p.keys(n, "`behind_proxy`", map[string]func(*spec.Node){
		"trusted_proxies": func(v *spec.Node) { named = true; p.trustedProxies(v) },
	})
	if p.project.Server.BehindProxy = len(p.project.Server.TrustedProxies) > before; !p.project.Server.BehindProxy && !named && !n.Bad {
		p.problems.Errorf(n.Pos, CodeShape, "`behind_proxy` names no proxy").Hint = diag.Say("write its addresses or networks: behind_proxy: {trusted_proxies: [10.0.0.0/8]}")
	}
}

// trustedProxies reads networks and addresses. A network of everybody would make
// every client a proxy.
func (p *parser) trustedProxies(v *spec.Node) {
	for _, item := range p.items(v, "`trusted_proxies`") {
		text := p.text(item, "`trusted_proxies`")
		if text == "" {
			continue
		}
		network, err := parseNetwork(text)
		switch {
		case err != nil:
			p.problems.Errorf(item.Pos, CodeAddress, "`%s` is not an address or a network", text).Hint = diag.Say("write an address, such as 127.0.0.1, or a network, such as 10.0.0.0/8")
			continue
		case network.Bits() == 0:
			p.problems.Errorf(item.Pos, CodeAddress, "`%s` would believe everybody", text).Hint = diag.Say("name the addresses of the proxies: whoever is in the list says where requests come from")
			continue
		}
		p.project.Server.TrustedProxies = append(p.project.Server.TrustedProxies, network)
	}
}

// parseNetwork reads a network; an address is the network of itself.
func parseNetwork(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		address, err := netip.ParseAddr(text)
		if err != nil || address.Zone() != "" {
			return netip.Prefix{}, errors.Join(err, errors.New("no address"))
		}
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	if network.Addr().Is4In6() { // what is compared is the address in it
		if network.Bits() < 96 {
			return netip.Prefix{}, errors.New("a network of IPv4 inside of IPv6")
		}
		network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-96)
	}
	return network.Masked(), nil
}

// boolean reads true or false; "" is neither.
func (p *parser) boolean(n *spec.Node, what string) string {
	if n.Kind != spec.Scalar || !n.IsPlain() || n.Text != "true" && n.Text != "false" {
		p.problems.Errorf(n.Pos, CodeShape, "%s must be true or false", what)
		return ""
	}
	return n.Text
}

// optional reads text that may be empty.
func (p *parser) optional(n *spec.Node, what string) string {
	if n.Kind == spec.Scalar && n.Text == "" && !n.IsPlain() {
		return ""
	}
	return p.text(n, what)
}

// CheckListen says what is wrong with an address to listen on, "" when nothing
// is. A host that must be resolved is not looked up.
func CheckListen(text string) string {
	host, port, err := net.SplitHostPort(text)
	switch {
	case err != nil:
		return "it has no port"
	case !isPort(port):
		return "the port must be a number from 0 to 65535"
	case strings.ContainsAny(host, "/@ ${}"):
		return "the host is neither a name nor an address"
	}
	return ""
}

func isPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && strconv.FormatUint(port, 10) == text
}
