package http

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// try is one way to make a request arrive where it may not.
type try struct {
	name   string
	config in     // of the connection; nil = any host, and of private addresses that of the base alone
	input  in     // of http.get, or of http.post
	action string // "" = get
	begin  string // the URL that a client without checks would begin at; "" = the input's
	code   sdk.Code
}

// world is a network in which all leads somewhere: a base that a connection may reach, a
// secret that none may, and names for both.
type world struct {
	base, secret *httptest.Server
	arrived      atomic.Int64
	names        map[string][]string
}

// Addresses of this machine.
const (
	secretAddress = "127.0.0.2"
	baseAddress   = "127.0.0.3"
)

func serveAt(t *testing.T, address string, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	listener, err := net.Listen("tcp", address+":0")
	if err != nil {
		t.Skipf("this system has no further loopback addresses: %v", err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return server
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{}
	w.secret = serveAt(t, secretAddress, func(http.ResponseWriter, *http.Request) { w.arrived.Add(1) })
	w.base = serveAt(t, baseAddress, w.redirect)
	w.names = map[string][]string{
		"private.test": {secretAddress}, "six.test": {"::1"}, "mapped.test": {"::ffff:" + secretAddress}, "both.test": {"10.0.0.7", secretAddress},
		"metadata.test": {"169.254.169.254"}, "translated.test": {"64:ff9b::7f00:2"}, "evil.good.test": {secretAddress}, "ten.test": {"10.1.2.3"},
		"unique.test": {"fd00::7"}, "link.test": {"fe80::7"}, "rebound.test": {"93.184.216.34"}, "zero.test": {"0.0.0.0"},
	}
	resolver := net.DefaultResolver
	net.DefaultResolver = w.resolver(t)
	t.Cleanup(func() { net.DefaultResolver = resolver })
	return w
}

// redirect answers /301/x?to=URL and so on with a redirect, /chain/x with one to itself
// first, /link/x with a page whose next page is there, and else with a page.
func (w *world) redirect(out http.ResponseWriter, r *http.Request) {
	kind, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if status, err := strconv.Atoi(kind); err == nil {
		out.Header().Set("Location", r.URL.Query().Get("to"))
		out.WriteHeader(status)
		return
	}
	out.Header().Set("Content-Type", "application/json")
	switch to := r.URL.Query().Get("to"); kind {
	case "chain":
		http.Redirect(out, r, "/302/x?to="+url.QueryEscape(to), http.StatusFound)
	case "link":
		out.Header().Set("Link", "<"+to+">; rel=next")
		_, _ = io.WriteString(out, "[1]")
	default:
		_, _ = io.WriteString(out, `{"list":[1],"next":`+strconv.Quote(to)+`}`)
	}
}

func (w *world) port() string {
	return w.secret.Listener.Addr().(*net.TCPAddr).AddrPort().String()[len(secretAddress)+1:]
}

// at is a URL of the secret under another name of its host.
func (w *world) at(host string) string { return "http://" + host + ":" + w.port() + "/latest" }

// via is a path of the base that leads to a URL.
func (w *world) via(kind, to string) in {
	return in{"path": "/" + kind + "/x", "query": in{"to": to}}
}

// tries are the ways, those with an address or a name first.
func (w *world) tries() []try {
	var all []try
	for _, host := range []string{
		"127.0.0.2", "127.2", "127.0.2", "2130706434", "0x7f000002", "0x7f.0.0.2", "0x7F.0x0.0x0.0x2", "0177.0.0.2", "017700000002", "127.0.0.2.",
		"[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.2]", "[::ffff:7f00:2]", "[::127.0.0.2]", "[64:ff9b::127.0.0.2]", "[64:ff9b:1::7f00:2]", "[2002:7f00:2::]",
		"[2001:0:7f00:2::80ff:fffd]", "0.0.0.0", "0", "[::]", "10.0.0.1", "172.16.0.1", "172.31.255.254", "192.168.0.1", "100.64.0.1", "169.254.169.254",
		"[fd00:ec2::254]", "[fe80::1%25lo]", "100.100.100.200", "192.0.0.192", "224.0.0.1", "255.255.255.255", "[fec0::1]",
		"localhost", "LOCALHOST", "①②⑦.⓪.⓪.②", "127。0。0。2", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
		"private.test", "PRIVATE.test", "six.test", "mapped.test", "both.test", "metadata.test", "translated.test", "ten.test", "unique.test", "link.test", "zero.test",
	} {
		all = append(all, try{name: host, input: in{"url": w.at(host)}, code: sdk.CodeForbidden})
	}
	secret := w.at(secretAddress)
	for _, way := range []struct{ kind, to string }{
		{"301", secret}, {"302", secret}, {"303", secret}, {"307", secret}, {"308", secret}, {"chain", secret},
		{"302", "//" + strings.TrimPrefix(secret, "http://")}, {"302", w.at("2130706434")}, {"302", w.at("private.test")}, {"302", w.at("[::ffff:127.0.0.2]")},
		{"302", strings.Replace(secret, "http://", "http://user:word@", 1)}, {"302", w.at("metadata.test")}, {"302", w.at("0x7f.0.0.2")}, {"302", w.at("ⓛⓞⓒⓐⓛⓗⓞⓢⓣ")},
	} {
		code := sdk.CodeUnexpectedResponse // the redirect is not followed
		if strings.HasSuffix(way.to, ".test:"+w.port()+"/latest") {
			code = sdk.CodeForbidden // a name is known when it is dialled
		}
		all = append(all, try{name: way.kind + " to " + way.to, input: w.via(way.kind, way.to), begin: w.base.URL + "/" + way.kind + "/x?to=" + url.QueryEscape(way.to), code: code})
	}
	listed := in{"base_url": w.base.URL, "private": true}
	return append(all,
		try{name: "a name below a wildcard", config: in{"hosts": []string{"http://*.good.test:" + w.port()}}, input: in{"url": w.at("evil.good.test")}, code: sdk.CodeForbidden},
		try{name: "base_url is a name of it", config: in{"base_url": "http://private.test:" + w.port()}, input: in{"path": "/latest"}, begin: w.at("private.test"), code: sdk.CodeForbidden},
		try{name: "private is granted, and the host is another", config: listed, input: in{"url": secret}, code: sdk.CodeForbidden},
		try{name: "private is granted, a redirect to another host", config: listed, input: w.via("302", secret), begin: w.base.URL + "/302/x?to=" + url.QueryEscape(secret), code: sdk.CodeUnexpectedResponse},
		try{name: "a redirect of a write", action: "post", config: listed, input: w.via("307", secret), begin: w.base.URL + "/307/x?to=" + url.QueryEscape(secret), code: sdk.CodeUnexpectedResponse},
		try{name: "a user that looks like a host", config: listed, input: in{"url": strings.Replace(secret, "http://", w.base.URL+"@", 1)}, begin: strings.Replace(secret, "http://", "http://base@", 1), code: sdk.CodeInvalid},
		try{name: "a fragment that looks like a host", config: listed, input: in{"url": secret + "#@" + strings.TrimPrefix(w.base.URL, "http://")}, code: sdk.CodeInvalid},
		try{name: "a query that looks like a host", config: listed, input: in{"url": secret + "?" + w.base.URL}, code: sdk.CodeForbidden},
		try{name: "a next page in a header", config: listed, input: in{"path": "/link/x", "query": in{"to": secret}, "pages": in{"by": "link"}}, begin: secret, code: sdk.CodeUnexpectedResponse},
		try{name: "a next page in the body", config: listed, input: in{"path": "/page/x", "query": in{"to": secret}, "pages": in{"by": "link", "items": "/list", "next": "/next"}}, begin: secret, code: sdk.CodeUnexpectedResponse},
		try{name: "a cursor that is a URL", config: listed, input: in{"path": "/link/x", "cursor": secret, "pages": in{"by": "link"}}, begin: secret, code: sdk.CodeForbidden},
	)
}

// TestOutOfBounds takes every way twice: with the plugin, where nothing arrives and the
// error says that it was refused before anything was sent there, and with a client that
// checks nothing, which arrives.
func TestOutOfBounds(t *testing.T) {
	w := newWorld(t)
	tries := w.tries()
	if len(tries) < 60 {
		t.Errorf("%d tries, there must be 60", len(tries))
	}
	for _, try := range tries {
		t.Run(try.name, func(t *testing.T) {
			config := try.config
			if config == nil {
				config = in{"base_url": w.base.URL, "hosts": []string{"*", "http://*"}, "networks": []string{baseAddress + "/32"}}
			}
			p := sdktest.Open(t, New(), config)
			before := w.arrived.Load()
			failure := p.Call(or(try.action, "get"), try.input).Err
			if failure == nil || failure.Code != try.code || w.arrived.Load() != before {
				t.Errorf("%d requests arrived, error %+v, want %s", w.arrived.Load()-before, failure, try.code)
			}
			if failure != nil && failure.Code == sdk.CodeForbidden && (failure.Applied != sdk.NotApplied || failure.Hint == "") {
				t.Errorf("error %+v", failure)
			}
			begin := try.begin
			if begin == "" {
				begin, _ = try.input["url"].(string)
			}
			before = w.arrived.Load()
			response, err := w.unchecked().Get(begin)
			if err == nil {
				response.Body.Close()
			}
			if w.arrived.Load() == before {
				t.Errorf("the control does not arrive either: %v", err)
			}
		})
	}
}

// TestNamesAreLookedUpOnce: a name that stood for a public address when somebody looked,
// and stands for another one when it is connected to.
func TestNamesAreLookedUpOnce(t *testing.T) {
	w := newWorld(t)
	look := func() bool { // the check of a client that looks first
		addresses, err := net.DefaultResolver.LookupNetIP(t.Context(), "ip", "rebound.test")
		return err == nil && len(addresses) == 1 && addresses[0].Unmap() == netip.MustParseAddr("93.184.216.34")
	}
	if !look() {
		t.Fatal("the name is no public one at first")
	}
	w.names["rebound.test"] = []string{secretAddress}
	p := sdktest.Open(t, New(), in{"hosts": []string{"http://rebound.test:" + w.port()}})
	if r := p.Call("get", in{"url": w.at("rebound.test")}); r.Err == nil || r.Err.Code != sdk.CodeForbidden || w.arrived.Load() > 0 {
		t.Errorf("%d requests arrived, error %v", w.arrived.Load(), r.Err)
	}
	response, err := w.unchecked().Get(w.at("rebound.test"))
	if err != nil || w.arrived.Load() != 1 {
		t.Fatalf("the control does not arrive: %v", err)
	}
	response.Body.Close()
}

// TestWhatIsGrantedArrives is the other side: with the network listed, or private allowed,
// the same requests go through.
func TestWhatIsGrantedArrives(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		config, input in
	}{
		"a listed network":     {in{"hosts": []string{"http://*"}, "networks": []string{"127.0.0.2/32"}}, in{"url": w.at("127.0.0.2")}},
		"a private address":    {in{"hosts": []string{"http://127.0.0.2:" + w.port()}, "private": true}, in{"url": w.at("127.0.0.2")}},
		"a name":               {in{"hosts": []string{"http://*.good.test:" + w.port()}, "private": true}, in{"url": w.at("evil.good.test")}},
		"a redirect to a host": {in{"base_url": w.base.URL, "private": true, "hosts": []string{"http://" + secretAddress + ":" + w.port()}}, w.via("302", w.at(secretAddress))},
		"the second address":   {in{"hosts": []string{"http://both.test:" + w.port()}, "networks": []string{"127.0.0.2/32"}}, in{"url": w.at("both.test")}},
	} {
		before := w.arrived.Load()
		if r := sdktest.Open(t, New(), c.config).Call("get", c.input); r.Err != nil || w.arrived.Load() != before+1 {
			t.Errorf("%s: %d requests arrived, error %v", name, w.arrived.Load()-before, r.Err)
		}
	}
}

// TestWhatIsPrivate: private means the networks of people, not the addresses at which
// machines of clouds get their credentials.
func TestWhatIsPrivate(t *testing.T) {
	p := sdktest.Open(t, New(), in{"hosts": []string{"http://*"}, "private": true})
	for _, host := range []string{"169.254.169.254", "[fd00:ec2::254]", "[fd20:ce::254]", "100.100.100.200", "[::ffff:169.254.169.254]", "[64:ff9b::169.254.169.254]"} {
		if r := p.Call("get", in{"url": "http://" + host + "/latest"}); r.Err == nil || r.Err.Code != sdk.CodeForbidden {
			t.Errorf("%s: %v", host, r.Err)
		}
	}
}

// TestAWildcardIsOfNamesBelowIt: a name that only ends like it is another one.
func TestAWildcardIsOfNamesBelowIt(t *testing.T) {
	w := newWorld(t)
	w.names["notgood.test"], w.names["good.test"] = []string{secretAddress}, []string{secretAddress}
	p := sdktest.Open(t, New(), in{"hosts": []string{"http://*.good.test:" + w.port()}, "private": true})
	for host, want := range map[string]int64{"notgood.test": 0, "good.test": 0, "evil.good.test.": 0, "evil.good.test": 1} {
		before := w.arrived.Load()
		if r := p.Call("get", in{"url": w.at(host)}); w.arrived.Load()-before != want || (r.Err == nil) != (want == 1) {
			t.Errorf("%s: %d requests arrived, error %v", host, w.arrived.Load()-before, r.Err)
		}
	}
}

// A proxy of the connection may stand in a private network; what it is asked for may not.
func TestBoundsBehindAProxy(t *testing.T) {
	w := newWorld(t)
	proxy := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Host == "" {
			out.WriteHeader(http.StatusTeapot)
			return
		}
		says(200, "text/plain", "by the proxy to "+r.URL.Host)(out, r)
	}))
	t.Cleanup(proxy.Close)
	p := sdktest.Open(t, New(), in{"hosts": []string{"http://*"}, "proxy": proxy.URL})
	if out := outputOfCall(t, p.Call("get", in{"url": "http://public.example/"})); out["body"] != "by the proxy to public.example" {
		t.Errorf("got %v", out["body"])
	}
	for _, host := range []string{"127.0.0.2", "[::ffff:127.0.0.2]", "2130706434", "169.254.169.254"} {
		if r := p.Call("get", in{"url": w.at(host)}); r.Err == nil || r.Err.Code != sdk.CodeForbidden {
			t.Errorf("%s: %v %s", host, r.Err, r.Output)
		}
	}
}

// unchecked is a client that goes wherever it is led. It looks names up as the C library
// does, numbers in all their forms among them; every address leads to the secret, but that
// of the base.
func (w *world) unchecked() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		at, err := w.lookUp(ctx, host)
		if err != nil {
			return nil, err
		}
		to := w.secret.Listener.Addr().String()
		if base := w.base.Listener.Addr().(*net.TCPAddr).AddrPort(); at == base.Addr() && port == strconv.Itoa(int(base.Port())) {
			to = base.String()
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", to)
	}}}
}

func (w *world) lookUp(ctx context.Context, host string) (netip.Addr, error) {
	host = strings.TrimSuffix(host, ".")
	if address, err := netip.ParseAddr(host); err == nil {
		return address, nil
	}
	if address, ok := oldForm(host); ok {
		return address, nil
	}
	if strings.EqualFold(host, "localhost") {
		return netip.MustParseAddr("127.0.0.1"), nil
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(addresses) == 0 {
		return netip.Addr{}, errors.Join(err, errors.New("no address of "+host))
	}
	return addresses[0], nil
}

// oldForm reads an address as inet_aton does: one to four numbers, decimal, octal or
// hexadecimal, the last of which fills what is left.
func oldForm(host string) (netip.Addr, bool) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		n, err := strconv.ParseUint(strings.ToLower(part), 0, 32)
		if err != nil {
			return netip.Addr{}, false
		}
		if i == len(parts)-1 {
			value += n
		} else {
			value += n << (24 - 8*i)
		}
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}
