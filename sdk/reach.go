package sdk

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// ReachSettings bound where the requests of a connection may go: embed them in the
// config of a plugin whose URLs a workflow or an answer may name. Requests, links and
// redirects then go to the origin of base_url and to Hosts alone; an address that is no
// public one is connected to only where Private or Networks grant it, and it is looked at
// when it is connected to, so that no name can lead elsewhere. They say nothing about
// credentials: those go where Hosts, HostsFrom and base_url grant it, see HTTPClient. A
// config without them is not bounded so. The SDK for Python does not have them.
type ReachSettings struct {
	Hosts    []string `json:"hosts,omitempty" doc:"Hosts that requests may go to besides base_url, without credentials: host, host:port, *.example.com, or * for all public ones. https, unless http:// stands before it"`
	Private  bool     `json:"private" default:"false" doc:"Allow addresses of private networks and of this machine (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, 127.0.0.0/8, fc00::/7, ::1)"`
	Networks []string `json:"networks,omitempty" doc:"Further networks that are allowed, as CIDR: 169.254.0.0/16"`
}

// reach is where the requests of a connection may go. Immutable; nil = anywhere.
type reach struct {
	base     origins
	hosts    []hostRule
	private  bool
	networks []netip.Prefix
}

// hostRule is an entry of Hosts: origins, with wildcards.
type hostRule struct {
	schemes []string
	host    string // "" = any; with a dot in front the names below it
	port    string // "" = any
}

// ReachError is the cause of the error of a request that may not go where it leads.
type ReachError struct {
	Host    string     // as the URL names it
	Address netip.Addr // what it stands for; the zero Addr where the host itself is not allowed
	why     string
}

func (e *ReachError) Error() string { return e.why }

// hint is what to do about it.
func (e *ReachError) hint() string {
	if e.Address.IsValid() {
		return "allow it with `private: true` of the connection, or list its network in `networks`, if the service is meant to be there"
	}
	return "list it in `hosts` of the connection if requests may go there"
}

// newReach reads the settings of a config that has them; nil for one that has not.
func newReach(config any, baseURL string) (*reach, []Problem) {
	settings, has := embeddedSettings[ReachSettings](config)
	if !has {
		return nil, nil
	}
	r := &reach{private: settings.Private}
	if u, err := url.Parse(baseURL); err == nil {
		if o, ok := originOf(u); ok {
			r.base = origins{o}
		}
	}
	var problems []Problem
	for i, text := range settings.Hosts {
		rule, err := parseHostRule(text)
		if err != nil {
			problems = append(problems, Problemf(Pointer("hosts", i), "%v", err).WithDetail("write api.example.com, *.example.com, or http://intranet:8080"))
			continue
		}
		r.hosts = append(r.hosts, rule)
	}
	networks, wrong := networksOf(settings.Networks)
	r.networks, problems = networks, append(problems, wrong...)
	return r, problems
}

// parseHostRule reads host, host:port, *.host and *, with or without a scheme.
func parseHostRule(text string) (hostRule, error) {
	wrong := fmt.Errorf("must be a host, host:port, *.host or *, with http:// in front where it is not https")
	rule, rest := hostRule{schemes: []string{"https"}}, text
	if scheme, after, found := strings.Cut(text, "://"); found {
		if scheme != "http" && scheme != "https" {
			return rule, wrong
		}
		rule.schemes, rest = []string{scheme}, after
	}
	if rest == "*" {
		return rule, nil
	}
	name, below := strings.CutPrefix(rest, "*.")
	granted, err := parseGrant(rule.schemes[0] + "://" + name)
	if err != nil || strings.ContainsAny(name, "*/?#@% ") || problemOfHost(granted[0].host) != "" {
		return rule, wrong
	}
	rule.host, rule.port = granted[0].host, granted[0].port
	if below {
		if _, err := netip.ParseAddr(rule.host); err == nil {
			return rule, wrong
		}
		rule.host = "." + rule.host
	}
	return rule, nil
}

func (rule hostRule) takes(o origin) bool {
	switch {
	case !slices.Contains(rule.schemes, o.scheme):
		return false
	case rule.host == "":
		return true
	case rule.port != o.port:
		return false
	case rule.host[0] == '.':
		return strings.HasSuffix(o.host, rule.host)
	}
	return rule.host == o.host
}

// check says why a request may not go to a URL, nil where it may. An address that is
// written out is judged here, and every one again when it is connected to.
func (r *reach) check(u *url.URL) *ReachError {
	if r == nil {
		return nil
	}
	refused := &ReachError{Host: plain(cut(u.Hostname(), 128))}
	o, ok := originOf(u)
	if !ok || u.User != nil {
		refused.why = "the URL has a user, or is none of http and https"
		return refused
	}
	if problem := problemOfHost(o.host); problem != "" {
		refused.why = "the host " + problem
		return refused
	}
	if !slices.Contains(r.base, o) && !slices.ContainsFunc(r.hosts, func(rule hostRule) bool { return rule.takes(o) }) {
		refused.why = "requests of this connection may not go to " + plain(cut(o.String(), 200))
		return refused
	}
	if address, err := netip.ParseAddr(o.host); err == nil {
		return r.checkAddress(refused.Host, address)
	}
	return nil
}

// problemOfHost says what makes a host one that programs read differently, "" for
// nothing. Names are ASCII; addresses are written in the one way that all read alike.
func problemOfHost(host string) string {
	for _, r := range host {
		if r > 126 || r <= ' ' {
			return "must be written in ASCII, international names as xn--…"
		}
	}
	if _, err := netip.ParseAddr(host); err == nil {
		if strings.Contains(host, "%") {
			return "must not have a zone"
		}
		return ""
	}
	if strings.ContainsAny(host, `%\:[]`) {
		return "is no name"
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := labels[len(labels)-1]
	isHex := strings.HasPrefix(last, "0x")
	if isHex || last != "" && strings.Trim(last, "0123456789") == "" {
		return "is a number: write an address as four decimal numbers, such as 192.0.2.1"
	}
	return ""
}
