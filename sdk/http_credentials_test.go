package sdk_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

const (
	configCanary = "canary-config-token"
	hostCanary   = "canary-host-token"
)

// listener keeps all that comes in.
type listener struct {
	url  string
	mu   sync.Mutex
	got  []string
	then http.HandlerFunc
}

func listen(t *testing.T, then http.HandlerFunc) *listener {
	t.Helper()
	l := &listener{then: then}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		dump, err := httputil.DumpRequest(r, true)
		if err != nil {
			dump = []byte(err.Error())
		}
		l.mu.Lock()
		l.got = append(l.got, string(dump))
		l.mu.Unlock()
		if l.then != nil {
			l.then(w, r)
		}
	}))
	t.Cleanup(server.Close)
	l.url = server.URL
	return l
}

// requests returns how many came in, and how many of them had a credential.
func (l *listener) requests() (all, withCredential int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, text := range l.got {
		if strings.Contains(text, "canary") {
			withCredential++
		}
	}
	return len(l.got), withCredential
}

// port returns the port of a URL.
func port(t *testing.T, text string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}

type carrierConfig struct {
	sdk.HTTPSettings
	sdk.TokenSettings
	Mirror string `json:"mirror,omitempty"`
}

// ways are all ways in which a request may carry a credential.
func ways() map[string]func(c *sdk.Call[carrierConfig], r *sdk.Request) (*sdk.HTTPClient, error) {
	type call = *sdk.Call[carrierConfig]
	return map[string]func(c call, r *sdk.Request) (*sdk.HTTPClient, error){
		"WithBearer": func(c call, _ *sdk.Request) (*sdk.HTTPClient, error) { return c.HTTP().WithBearer(configCanary), nil },
		"WithBearer of a token of the host": func(c call, _ *sdk.Request) (*sdk.HTTPClient, error) {
			token, err := c.Token(sdk.TokenRequest{})
			if err != nil {
				return nil, err
			}
			return c.HTTP().WithBearer(token.AccessToken), nil
		},
		"WithHeader": func(c call, _ *sdk.Request) (*sdk.HTTPClient, error) {
			return c.HTTP().WithHeader("X-Site", configCanary), nil
		},
		"WithHeader of a credential that nobody declared": func(c call, _ *sdk.Request) (*sdk.HTTPClient, error) {
			return c.HTTP().WithHeader("X-Api-Key", "canary"), nil
		},
		"the request's header": func(c call, r *sdk.Request) (*sdk.HTTPClient, error) {
			r.Header = http.Header{"Authorization": {"Basic canary"}}
			return c.HTTP(), nil
		},
		"another header": func(c call, r *sdk.Request) (*sdk.HTTPClient, error) {
			r.Header = http.Header{"X-Site": {"v1 " + configCanary}}
			return c.HTTP(), nil
		},
		"the query": func(c call, r *sdk.Request) (*sdk.HTTPClient, error) {
			r.Query, r.SecretQuery = url.Values{"access_token": {"canary"}}, []string{"access_token"}
			return c.HTTP(), nil
		},
		"the query, not marked": func(c call, r *sdk.Request) (*sdk.HTTPClient, error) {
			r.Query = url.Values{"q": {configCanary}}
			return c.HTTP(), nil
		},
		"the body": func(c call, r *sdk.Request) (*sdk.HTTPClient, error) {
			r.Body = []byte("token=" + configCanary)
			return c.HTTP(), nil
		},
		"WithBase": func(c call, r *sdk.Request) (*sdk.HTTPClient, error) {
			client := c.HTTP().WithBearer(configCanary).WithBase(r.URL)
			r.URL, r.Path = "", "/x"
			return client, nil
		},
	}
}

// carrier is a plugin that sends a request in each of the ways.
func carrier(target string, parts ...sdk.Part) *sdk.Plugin {
	for name, way := range ways() {
		id := strings.ToLower(strings.NewReplacer(" ", "_", ",", "", "'", "").Replace(name))
		parts = append(parts, sdk.Read(id, "", func(c *sdk.Call[carrierConfig], _ struct{}) (exchange, error) {
			request := &sdk.Request{URL: target}
			client, err := way(c, request)
			if err != nil {
				return exchange{}, err
			}
			response, err := client.Do(request)
			if err != nil {
				return exchange{}, err
			}
			return exchange{Status: response.Status}, nil
		}))
	}
	return sdk.New("carrier", "1", "", parts...)
}

func openCarrier(t *testing.T, plugin *sdk.Plugin, base string, more map[string]any) *sdktest.Plugin {
	t.Helper()
	config := map[string]any{"base_url": base, "token": configCanary}
	for name, value := range more {
		config[name] = value
	}
	p := sdktest.Open(t, plugin, config)
	p.Host().SetToken(sdktest.Connection, "", sdk.Token{ID: "1", AccessToken: hostCanary})
	return p
}

// TestIssue12_06_ACredentialGoesToItsOriginOnly sends every kind of credential to
// URLs of other origins: nothing comes there. At its own origin, however that is
// written, and at those that are granted it comes.
func TestIssue12_06_ACredentialGoesToItsOriginOnly(t *testing.T) {
	home, other := listen(t, nil), listen(t, nil)
	homePort, otherPort := port(t, home.url), port(t, other.url)
	foreign := map[string]string{
		"another port":      other.url + "/x",
		"another host":      "http://localhost:" + homePort + "/x",
		"another scheme":    "https://127.0.0.1:" + homePort + "/x",
		"both":              "http://localhost:" + otherPort,
		"a mapped address":  "http://[::ffff:127.0.0.1]:" + homePort + "/x",
		"the port of https": "http://127.0.0.1:443/x",
	}
	for name, target := range foreign {
		p := openCarrier(t, carrier(target), home.url, nil)
		for _, action := range p.Describe().Actions {
			err := p.Call(action.Name, nil).Err
			if err == nil || err.Code != sdk.CodeInvalid || err.Applied != sdk.NotApplied || strings.Contains(err.Message+err.Hint, "canary") {
				t.Errorf("%s, %s: %+v", name, action.Name, err)
			}
		}
	}
	if all, _ := other.requests(); all > 0 {
		t.Errorf("%d requests came to another origin", all)
	}
	if all, _ := home.requests(); all > 0 {
		t.Errorf("%d requests came to another name of the same port", all)
	}
	for name, c := range map[string]struct {
		target string
		parts  []sdk.Part
		config map[string]any
		to     *listener
	}{
		"its own":      {home.url + "/x", nil, nil, home},
		"of Hosts":     {other.url + "/x", []sdk.Part{sdk.Hosts("127.0.0.1:" + otherPort)}, nil, other},
		"of Hosts URL": {other.url, []sdk.Part{sdk.Hosts(other.url + "/root")}, nil, other},
		"of the config": {"http://localhost:" + otherPort, []sdk.Part{sdk.HostsFrom(func(c carrierConfig) []string { return []string{c.Mirror} })},
			map[string]any{"mirror": "http://LOCALHOST:" + otherPort + "/mirror"}, other},
	} {
		before, _ := c.to.requests()
		p := openCarrier(t, carrier(c.target, c.parts...), home.url, c.config)
		for _, action := range p.Describe().Actions {
			if err := p.Call(action.Name, nil).Err; err != nil {
				t.Errorf("%s, %s: %v", name, action.Name, err)
			}
		}
		all, with := c.to.requests()
		if n := len(ways()); all-before != n || with != all {
			t.Errorf("%s: %d requests, %d with a credential, want %d", name, all-before, with, n)
		}
	}
}

// TestIssue12_06_WithoutACredential: any URL may be read, without the client's
// headers.
func TestIssue12_06_WithoutACredential(t *testing.T) {
	home, other := listen(t, nil), listen(t, nil)
	plugin := sdk.New("reader", "1", "", sdk.Read("read", "", func(c *sdk.Call[carrierConfig], _ struct{}) (exchange, error) {
		_, err := c.HTTP().WithHeader("X-Language", "fr").Do(&sdk.Request{URL: other.url, Header: http.Header{"X-Own": {"1"}}})
		return exchange{}, err
	}))
	if err := openCarrier(t, plugin, home.url, nil).Call("read", nil).Err; err != nil {
		t.Fatal(err)
	}
	if all, with := other.requests(); all != 1 || with != 0 || strings.Contains(other.got[0], "X-Language") || !strings.Contains(other.got[0], "X-Own") {
		t.Errorf("sent %q", other.got)
	}
}

// TestIssue12_06_ARedirectTakesNoCredentialAway lets the service redirect reads
// that carry a credential.
func TestIssue12_06_ARedirectTakesNoCredentialAway(t *testing.T) {
	other := listen(t, nil)
	granted := listen(t, nil)
	var location string
	home := listen(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/x" {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
	})
	homePort := port(t, home.url)
	host := net.JoinHostPort("127.0.0.1", port(t, other.url))
	for name, c := range map[string]struct {
		location string
		to       *listener
	}{
		"another port":                  {other.url + "/y", nil},
		"another host":                  {"http://localhost:" + homePort + "/y", nil},
		"another scheme":                {"https://127.0.0.1:" + homePort + "/y", nil},
		"without a scheme":              {"//" + host + "/y", nil},
		"a user that looks like a host": {"http://127.0.0.1:" + homePort + "@" + host + "/y", nil},
		"a user at the same origin":     {"http://u:p@127.0.0.1:" + homePort + "/y", nil},
		"a backslash":                   {`http://127.0.0.1:` + homePort + `\@` + host + "/y", nil},
		"a mapped address":              {"http://[::ffff:127.0.0.1]:" + homePort + "/y", nil},
		"the same origin":               {"/y", home},
		"the same origin, whole":        {"HTTP://127.0.0.1:" + homePort + "/y", home},
		"an origin of Hosts":            {"http://localhost:" + port(t, granted.url) + "/y", granted},
	} {
		t.Run(name, func(t *testing.T) {
			location = c.location
			plugin := carrier(home.url+"/x", sdk.Hosts("localhost:"+port(t, granted.url)))
			for _, action := range []string{"withbearer", "withheader", "the_requests_header", "another_header", "the_query"} {
				before := 0
				if c.to != nil {
					_, before = c.to.requests()
				}
				err := openCarrier(t, plugin, home.url, nil).Call(action, nil).Err
				if c.to == nil {
					if err == nil || err.HTTPStatus != http.StatusTemporaryRedirect && err.Code != sdk.CodeUnavailable {
						t.Errorf("%s: %+v", action, err)
					}
					continue
				}
				want := 1 // with the credential
				if c.to == home {
					want = 2 // the first one too
				}
				if action == "the_query" { // the redirect says which query
					want--
				}
				if _, after := c.to.requests(); err != nil || after-before != want {
					t.Errorf("%s: %v, %d requests with the credential, want %d", action, err, after-before, want)
				}
			}
		})
	}
	if all, _ := other.requests(); all > 0 {
		t.Errorf("%d requests came to another origin: %q", all, fmt.Sprint(other.got))
	}
}

// TestIssue12_06_NeverFromHTTPSToHTTP: not even where both are granted.
func TestIssue12_06_NeverFromHTTPSToHTTP(t *testing.T) {
	plain := listen(t, nil)
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.url+"/y", http.StatusFound)
	}))
	defer secure.Close()
	p := openCarrier(t, carrier(secure.URL+"/x", sdk.Hosts(plain.url)), secure.URL, map[string]any{"ca_file": caFile(t, secure)})
	if err := p.Call("withbearer", nil).Err; err == nil || err.HTTPStatus != http.StatusFound {
		t.Errorf("got %+v", err)
	}
	if all, _ := plain.requests(); all > 0 {
		t.Errorf("%d requests over http", all)
	}
}

// TestIssue12_06_AddressesInAllForms: ::1 is one host, however it is written.
func TestIssue12_06_AddressesInAllForms(t *testing.T) {
	six, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	got := 0
	server := &httptest.Server{Listener: six, Config: &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer "+configCanary {
			got++
		}
	})}}
	server.Start()
	defer server.Close()
	p := openCarrier(t, carrier("http://[0:0:0:0:0:0:0:1]:"+port(t, server.URL)), server.URL, nil)
	if err := p.Call("withbearer", nil).Err; err != nil || got != 1 {
		t.Errorf("%v, %d requests with the credential", err, got)
	}
}
