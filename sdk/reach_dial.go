package sdk

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
)

// bound makes a transport connect only to addresses that the settings allow. They are
// looked at when the connection is made, after names were looked up: what a name stood
// for before does not count. A proxy is the connection's own and is connected to wherever
// it is; what it connects to is its own affair, but for addresses that are written out.
func (r *reach) bound(transport *http.Transport, dialer *net.Dialer) {
	if r == nil {
		return
	}
	var proxies sync.Map // host:port of those that were used
	choose := transport.Proxy
	transport.Proxy = func(request *http.Request) (*url.URL, error) {
		proxy, err := choose(request)
		if proxy != nil {
			proxies.Store(dialedAddress(proxy), true)
		}
		return proxy, err
	}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if _, is := proxies.Load(address); is {
			return dialer.DialContext(ctx, network, address)
		}
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		bounded := *dialer
		bounded.ControlContext = r.control(host)
		return bounded.DialContext(ctx, network, address)
	}
}

// dialedAddress is host:port as a transport dials a proxy.
func dialedAddress(proxy *url.URL) string {
	port := proxy.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[proxy.Scheme]
	}
	return net.JoinHostPort(proxy.Hostname(), port)
}
