package sdk

import (
	"net/url"
	"reflect"
)

// Hosts declares hosts that the plugin talks to besides its base_url, and that
// the connection's credentials may go to. It is shown to the user before it is
// granted. One is a host, host:port (https; on this machine http too) or a URL, of
// which scheme, host and port count. There are no wildcards.
func Hosts(hosts ...string) Part {
	return partFunc(func(p *Plugin) {
		for _, host := range hosts {
			granted, err := parseGrant(host)
			if err != nil {
				p.failf("host %q: %w", host, err)
			}
			p.hosts = append(p.hosts, granted...)
		}
		p.grants.Hosts = append(p.grants.Hosts, hosts...)
	})
}

// HostsFrom names the hosts and URLs of a config that the connection's credentials
// may go to besides base_url: those that the user has written there as addresses of
// the same service. Empty ones do not count.
func HostsFrom[C any](fn func(config C) []string) Part {
	return partFunc(func(p *Plugin) {
		p.useConfig("HostsFrom", reflect.TypeFor[C]())
		p.hostsFrom = append(p.hostsFrom, func(config any) []string { return fn(*config.(*C)) })
	})
}

// grantedOrigins are where the credentials of a connection may go: its base_url,
// and what the plugin and the config grant.
func (p *Plugin) grantedOrigins(config any, baseURL string, problems []Problem) (origins, []Problem) {
	granted := p.hosts
	if u, err := url.Parse(baseURL); err == nil {
		if o, ok := originOf(u); ok {
			granted = granted.with(o)
		}
	}
	for _, hosts := range p.hostsFrom {
		for _, host := range hosts(config) {
			if host == "" {
				continue
			}
			more, err := parseGrant(host)
			if err != nil {
				problems = append(problems, Problemf("", "%q %v", plain(cut(host, 128)), err))
			}
			granted = granted.with(more...)
		}
	}
	return granted, problems
}
