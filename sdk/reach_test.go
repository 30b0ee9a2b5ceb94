package sdk

import (
	"net/netip"
	"net/url"
	"testing"
)

// reachConfig is a config with bounds.
type reachConfig struct {
	HTTPSettings
	ReachSettings
}

func reachOf(t *testing.T, base string, settings ReachSettings) *reach {
	t.Helper()
	r, problems := newReach(&reachConfig{ReachSettings: settings}, base)
	if len(problems) > 0 || r == nil {
		t.Fatalf("the settings are refused: %v", problems)
	}
	return r
}

// TestReachOfAddresses holds addresses of every kind against what is granted.
func TestReachOfAddresses(t *testing.T) {
	const public, private, listed, never = "public", "private", "listed", "never"
	nets := []string{"169.254.0.0/16", "fe80::/10", "fd00:ec2::/32", "100.100.100.200/32"}
	for text, kind := range map[string]string{
		"93.184.216.34": public, "1.1.1.1": public, "2606:4700::1111": public, "::ffff:93.184.216.34": public, "64:ff9b::93.184.216.34": public,
		"192.0.1.1": public, "172.32.0.1": public, "11.0.0.1": public, "100.128.0.1": public,
		"127.0.0.1": private, "127.255.255.254": private, "10.0.0.1": private, "172.16.0.1": private, "172.31.255.255": private, "192.168.1.1": private,
		"100.64.0.1": private, "::1": private, "fc00::1": private, "fdff::1": private, "::ffff:127.0.0.1": private, "::ffff:10.0.0.1": private,
		"64:ff9b::127.0.0.1": private, "64:ff9b::10.0.0.1": private,
		"169.254.169.254": listed, "169.254.0.1": listed, "fe80::1": listed, "fd00:ec2::254": listed, "100.100.100.200": listed,
		"::ffff:169.254.169.254": listed, "64:ff9b::169.254.169.254": listed,
		"0.0.0.0": never, "0.1.2.3": never, "::": never, "224.0.0.1": never, "239.255.255.255": never, "240.0.0.1": never, "255.255.255.255": never,
		"192.0.2.1": never, "198.18.0.1": never, "198.51.100.1": never, "203.0.113.9": never, "192.0.0.192": never, "192.88.99.1": never,
		"ff02::1": never, "fec0::1": never, "2001:db8::1": never, "2002:7f00:1::": never, "2001::7f00:1": never, "3fff::1": never, "5f00::1": never,
		"::127.0.0.1": never, "64:ff9b:1::1": never, "100::1": never, "::ffff:0.0.0.0": never,
	} {
		address := netip.MustParseAddr(text)
		for name, granted := range map[string]ReachSettings{"nothing": {}, private: {Private: true}, listed: {Networks: nets}, "both": {Private: true, Networks: nets}} {
			want := kind == public || kind == private && granted.Private || kind == listed && granted.Networks != nil
			if got := reachOf(t, "", granted).checkAddress("host", address) == nil; got != want {
				t.Errorf("%s with %s granted: reached is %t, want %t", text, name, got, want)
			}
		}
	}
}

func TestReachOfHosts(t *testing.T) {
	r := reachOf(t, "https://api.example.com/v1", ReachSettings{Hosts: []string{"cdn.example.net", "files.example.net:8443", "*.example.org", "http://plain.example", "http://*.lan.example:8080"}})
	for text, want := range map[string]bool{
		"https://api.example.com/v2": true, "https://API.example.com:443/": true, "https://cdn.example.net/": true, "https://files.example.net:8443/": true,
		"https://a.example.org/": true, "https://a.b.example.org/": true, "http://plain.example/": true, "http://a.lan.example:8080/": true,
		"http://api.example.com/v1": false, "https://api.example.com:8443/": false, "https://cdn.example.net:8443/": false, "http://cdn.example.net/": false,
		"https://files.example.net/": false, "https://example.org/": false, "https://evilexample.org/": false, "https://a.example.org:8443/": false,
		"https://plain.example/": false, "https://api.example.com.evil.example/": false, "https://api.example.com@evil.example/": false,
		"https://evil.example/?api.example.com": false, "https://user@api.example.com/": false, "ftp://api.example.com/": false,
		"https://apı.example.com/": false, "https://cdn.example.net./": false,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if refused := r.check(u); (refused == nil) != want {
			t.Errorf("%s: %v, want it to be reached: %t", text, refused, want)
		}
	}
}

// TestReachOfAnyHost: * is every host, and no address of a private network for it, in
// whatever form it is written.
func TestReachOfAnyHost(t *testing.T) {
	r := reachOf(t, "", ReachSettings{Hosts: []string{"*", "http://*"}})
	for text, want := range map[string]bool{
		"https://example.com/": true, "http://example.com:8080/": true, "http://1.1.1.1/": true, "http://[2606:4700::1111]/": true,
		"http://127.0.0.1/": false, "http://127.1/": false, "http://2130706433/": false, "http://0x7f000001/": false, "http://0x7f.1/": false, "http://0177.0.0.1/": false,
		"http://017700000001/": false, "http://127.0.0.1./": false, "http://[::1]/": false, "http://[::ffff:127.0.0.1]/": false, "http://[::ffff:7f00:1]/": false,
		"http://[fe80::1%25eth0]/": false, "http://[::]/": false, "http://0/": false, "http://0.0.0.0/": false, "http://①②⑦.⓪.⓪.①/": false, "http://127。0。0。1/": false,
		"http://ⓛocalhost/": false, "http://169.254.169.254/latest": false, "http://[64:ff9b::a9fe:a9fe]/": false, "http://100.100.100.200/": false,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if refused := r.check(u); (refused == nil) != want {
			t.Errorf("%s: %v, want it to be reached: %t", text, refused, want)
		}
	}
}

func TestReachSettingsAreChecked(t *testing.T) {
	for i, settings := range []ReachSettings{
		{Hosts: []string{"https://api.example.com/v1"}}, {Hosts: []string{"a*.example.com"}}, {Hosts: []string{"*.*"}}, {Hosts: []string{"user@example.com"}}, {Hosts: []string{""}},
		{Hosts: []string{"ftp://example.com"}}, {Hosts: []string{"exämple.com"}}, {Hosts: []string{"127.1"}}, {Hosts: []string{"*.127.0.0.1"}}, {Hosts: []string{"example.com:http"}},
		{Networks: []string{"10.0.0.1"}}, {Networks: []string{"10.0.0.0/33"}}, {Networks: []string{"all"}},
	} {
		if _, problems := newReach(&reachConfig{ReachSettings: settings}, ""); len(problems) != 1 || problems[0].Pointer == "" {
			t.Errorf("settings %d, %+v: %v", i, settings, problems)
		}
	}
	if r, _ := newReach(&struct{ HTTPSettings }{}, "https://example.com"); r != nil {
		t.Error("a config without the settings has bounds")
	}
}
