package web

import (
	"context"
	"errors"
	"net"
	"testing"
)

// fakeResolver knows the addresses of names.
type fakeResolver map[string][]string

func (f fakeResolver) LookupIPAddr(_ context.Context, host string) ([]net.IPAddr, error) {
	var found []net.IPAddr
	for _, text := range f[host] {
		found = append(found, net.IPAddr{IP: net.ParseIP(text)})
	}
	if found == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return found, nil
}

func TestWhereAServerListens(t *testing.T) {
	names := fakeResolver{
		"localhost": {"::1", "127.0.0.1"}, "six.example": {"::1"}, "lan.example": {"192.168.1.5"}, "both.example": {"127.0.0.1", "192.168.1.5"},
	}
	cases := map[string]struct {
		address string
		secure  bool
		want    string // "" = refused because others reach it
	}{
		"loopback":                               {"127.0.0.1:7070", false, "127.0.0.1:7070"},
		"another address of loopback":            {"127.0.0.2:7070", false, "127.0.0.2:7070"},
		"loopback of IPv6":                       {"[::1]:7070", false, "[::1]:7070"},
		"a free port":                            {"127.0.0.1:0", false, "127.0.0.1:0"},
		"a name of loopback":                     {"localhost:7070", false, "127.0.0.1:7070"},
		"a name that has IPv6 alone":             {"six.example:7070", false, "[::1]:7070"},
		"every address":                          {"0.0.0.0:7070", false, ""},
		"every address of IPv6":                  {"[::]:7070", false, ""},
		"no host":                                {":7070", false, ""},
		"an address of the network":              {"192.168.1.5:7070", false, ""},
		"an address of the network inside IPv6":  {"[::ffff:192.168.1.5]:7070", false, ""},
		"loopback inside of IPv6":                {"[::ffff:127.0.0.1]:7070", false, "127.0.0.1:7070"},
		"an address of a link":                   {"[fe80::1]:7070", false, ""},
		"a name of the network":                  {"lan.example:7070", false, ""},
		"a name of which one address is outside": {"both.example:7070", false, ""},
		"every address, with TLS":                {"0.0.0.0:7070", true, "0.0.0.0:7070"},
		"no host, with TLS":                      {":7070", true, ":7070"},
		"a name of the network, with TLS":        {"lan.example:7070", true, "192.168.1.5:7070"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			address, err := ResolveListen(t.Context(), names, c.address, c.secure)
			var exposed *ExposedError
			switch {
			case c.want == "" && !errors.As(err, &exposed):
				t.Errorf("%v, %v: it is not refused", address, err)
			case c.want != "" && (err != nil || address.String() != c.want):
				t.Errorf("%v, %v, want %s", address, err, c.want)
			}
		})
	}
	for _, wrong := range []string{"127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", "nobody.example:1", ""} {
		if address, err := ResolveListen(t.Context(), names, wrong, true); err == nil {
			t.Errorf("%q: %v", wrong, address)
		}
	}
}

func TestTheURLOfAServer(t *testing.T) {
	for name, c := range map[string]struct {
		address string
		secure  bool
		hosts   []string
		want    string
	}{
		"loopback":                  {"127.0.0.1:7070", false, []string{"flow.example"}, "http://127.0.0.1:7070"},
		"loopback of IPv6":          {"[::1]:7070", false, nil, "http://[::1]:7070"},
		"every address":             {"0.0.0.0:7443", true, nil, "https://box:7443"},
		"every address with a name": {"0.0.0.0:7443", true, []string{"flow.example"}, "https://flow.example:7443"},
		"a name with a port":        {"0.0.0.0:7443", true, []string{"flow.example:443"}, "https://flow.example:443"},
		"an address of the network": {"192.168.1.5:7443", true, nil, "https://192.168.1.5:7443"},
		"a name that is IPv6":       {"[::]:7443", true, []string{"[2001:db8::1]"}, "https://[2001:db8::1]:7443"},
	} {
		address, err := net.ResolveTCPAddr("tcp", c.address)
		if err != nil {
			t.Fatal(err)
		}
		if got := ServerURL(address, c.secure, c.hosts, "box"); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
