package sdk

import (
	"net/http"
	"net/url"
	"testing"
)

func TestIssue12_06_Origins(t *testing.T) {
	same := [][]string{
		{"https://api.example.com", "https://API.Example.COM/x?y#z", "https://api.example.com:443/", "HTTPS://api.example.com:", "https://api.example.com:0443"},
		{"http://127.0.0.1:80", "http://127.0.0.1"},
		{"http://[::1]:8080", "http://[0:0:0:0:0:0:0:1]:8080", "http://[::0001]:8080/a"},
		{"https://bücher.example", "https://bücher.example:443"},
	}
	var firsts []origin
	for _, group := range same {
		var first origin
		for i, text := range group {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			o, ok := originOf(u)
			if !ok {
				t.Errorf("%s has no origin", text)
			}
			if i == 0 {
				first = o
				firsts = append(firsts, o)
			} else if o != first {
				t.Errorf("%s is %s, want %s", text, o, first)
			}
		}
	}
	for _, text := range []string{
		"http://api.example.com", "https://api.example.com:8443", "https://api.example.com.", "https://api.example.com.evil.example",
		"https://evil.example#@api.example.com", "https://api.example.com@evil.example", "https://aapi.example.com", "https://127.0.0.1", "http://localhost",
		"http://[::ffff:127.0.0.1]", "http://[::1]", "https://[::1]:8080", "https://xn--bcher-kva.example", "https://buecher.example", "https://api．example.com",
		"https://ap\u0131.example.com", "https://\u212aapi.example.com",
	} {
		u, err := url.Parse(text)
		if err != nil {
			continue // goes nowhere
		}
		if origins(firsts).has(u) {
			o, _ := originOf(u)
			t.Errorf("%s passes for %s", text, o)
		}
	}
	for _, text := range []string{"", "/path", "api.example.com", "ftp://api.example.com", "https://", "https://:443", "mailto:a@example.com", "https://h:99999"} {
		if u, err := url.Parse(text); err == nil {
			if o, ok := originOf(u); ok {
				t.Errorf("%q has the origin %s", text, o)
			}
		}
	}
}

func TestIssue12_06_Grants(t *testing.T) {
	for text, want := range map[string][]string{
		"cdn.example.com":               {"https://cdn.example.com"},
		"cdn.example.com:8443":          {"https://cdn.example.com:8443"},
		"CDN.example.com:443":           {"https://cdn.example.com"},
		"https://cdn.example.com/a/b":   {"https://cdn.example.com"},
		"http://cdn.example.com:8080":   {"http://cdn.example.com:8080"},
		"127.0.0.1:8080":                {"https://127.0.0.1:8080", "http://127.0.0.1:8080"},
		"localhost":                     {"https://localhost", "http://localhost"},
		"::1":                           {"https://[::1]", "http://[::1]"},
		"[::1]:8080":                    {"https://[::1]:8080", "http://[::1]:8080"},
		"":                              nil,
		"*.example.com":                 nil,
		"cdn.example.com/path":          nil,
		"u@cdn.example.com":             nil,
		"https://u:p@cdn.example.com":   nil,
		"ftp://cdn.example.com":         nil,
		"cdn.example.com:port":          nil,
		"cdn.example.com?x":             nil,
		"https://":                      nil,
		"cdn example.com":               nil,
		"https://cdn.example.com:77777": nil,
	} {
		got, err := parseGrant(text)
		if (err != nil) != (want == nil) || len(got) != len(want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
			continue
		}
		for i := range got {
			if got[i].String() != want[i] {
				t.Errorf("%q: %v, want %v", text, got, want)
			}
		}
	}
	if err := New("p", "1", "", Hosts("no host")).Err(); err == nil {
		t.Error("a host that is none is declared")
	}
}

// A link to the next page is followed at the origin that the page came from, in
// whatever way the two are written.
func TestIssue12_06_LinksToTheNextPage(t *testing.T) {
	for _, tt := range []struct{ page, link, leads string }{
		{"https://api.example.com/list", "/list?at=2", "https://api.example.com/list?at=2"},
		{"https://api.example.com/list", "https://API.example.com:443/list?at=2#x", "https://API.example.com:443/list?at=2"},
		{"https://api.example.com:0443/list", "https://api.example.com/list?at=2", "https://api.example.com/list?at=2"},
		{"http://api.example.com:80/list", "http://api.example.com:/list?at=2", "http://api.example.com:/list?at=2"},
		{"http://[::1]/list", "http://[0:0:0:0:0:0:0:1]:80/list?at=2", "http://[0:0:0:0:0:0:0:1]:80/list?at=2"},
		{"https://[::1]:443/list", "https://[::0001]/list?at=2", "https://[::0001]/list?at=2"},
		{"http://[::1]:8080/list", "//[::1]:8080/list?at=2", "http://[::1]:8080/list?at=2"},
		{"http://[::1]/list", "http://[::1]:8080/list", ""},
		{"http://[::1]/list", "https://[::1]/list", ""},
		{"http://[::1]/list", "http://[::2]/list", ""},
		{"http://[::1]/list", "http://127.0.0.1/list", ""},
		{"http://127.0.0.1/list", "http://[::ffff:127.0.0.1]/list", ""},
		{"https://api.example.com/list", "http://api.example.com:443/list", ""},
		{"https://api.example.com/list", "https://api.example.com:444/list", ""},
		{"https://api.example.com/list", "https://api.example.com:99999/list", ""},
		{"https://api.example.com/list", "https://api.example.com./list", ""},
		{"https://api.example.com/list", "https://u@api.example.com/list", ""},
		{"https://api.example.com/list", "ftp://api.example.com:443/list", ""},
		{"https://api.example.com/list", "mailto:list@api.example.com", ""},
	} {
		page, err := url.Parse(tt.page)
		if err != nil {
			t.Fatal(err)
		}
		leads, err := NextLink(&Response{Status: 200, core: &core{}, method: "GET", url: page}, tt.link)
		if leads != tt.leads || (err == nil) != (tt.leads != "") {
			t.Errorf("%s of %s leads to %q (%v), want %q", tt.link, tt.page, leads, err, tt.leads)
		}
	}
}

func TestIssue12_06_Redirects(t *testing.T) {
	parse := func(text string) *url.URL {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	home, _ := originOf(parse("https://api.example.com"))
	cdn, _ := originOf(parse("https://cdn.example.com"))
	h := &HTTPClient{granted: origins{home, cdn}}
	for _, tt := range []struct {
		from, to          string
		carrying, without bool
	}{
		{"https://api.example.com/x", "https://API.example.com:443/y", true, true},
		{"https://api.example.com/x", "https://cdn.example.com/y", true, true},
		{"https://api.example.com/x", "https://api.example.com:8443/y", false, false},
		{"https://api.example.com/x", "http://api.example.com/y", false, false},
		{"https://api.example.com/x", "https://u@api.example.com/y", false, false},
		{"https://api.example.com/x", "ftp://api.example.com/y", false, false},
		{"https://api.example.com/x", "https://evil.example/y", false, false},
		{"http://plain.example/x", "https://plain.example/y", false, true},
		{"http://plain.example/x", "https://plain.example:8443/y", false, false},
		{"http://plain.example/x", "http://other.example/y", false, false},
	} {
		if got := h.mayFollow(parse(tt.from), parse(tt.to), true); got != tt.carrying {
			t.Errorf("%s to %s with a credential: %t", tt.from, tt.to, got)
		}
		if got := h.mayFollow(parse(tt.from), parse(tt.to), false); got != tt.without {
			t.Errorf("%s to %s without one: %t", tt.from, tt.to, got)
		}
	}
}

// A redirect never takes the headers of the client to another origin, whatever
// their names: nobody but the plugin knows what they open.
func TestIssue12_06_HeadersOfTheClientAreNotRedirected(t *testing.T) {
	first, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://plain.example:8080/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	home, _ := originOf(first.URL)
	for to, follows := range map[string]map[bool]bool{ // by whether there is such a header
		"http://plain.example:8080/y":  {true: true, false: true},
		"https://plain.example:8080/y": {true: false, false: true},
		"http://plain.example:8081/y":  {true: false, false: false},
	} {
		for with, want := range follows {
			h := &HTTPClient{core: &core{}, pool: &http.Client{}, granted: origins{home}}
			outgoing := first.Clone(t.Context())
			if with {
				h.header = http.Header{"X-Workspace": {"w"}}
				outgoing.Header.Set("X-Workspace", "w")
			}
			next := first.Clone(t.Context())
			if next.URL, err = url.Parse(to); err != nil {
				t.Fatal(err)
			}
			check := h.redirecting(outgoing, &Request{}).CheckRedirect
			if err := check(next, []*http.Request{outgoing}); (err == nil) != want {
				t.Errorf("to %s, with a header of the client %t: %v", to, with, err)
			}
		}
	}
}
