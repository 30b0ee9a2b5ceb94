package netinfosim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2031, 5, 7, 12, 0, 0, 0, time.UTC) // a Wednesday

func frozen() time.Time { return noon }

// ask returns the answer to one GET.
func ask(t *testing.T, h http.Handler, path string) (*http.Response, map[string]any) {
	t.Helper()
	rec := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.RemoteAddr = "192.0.2.7:999"
	h.ServeHTTP(rec, r)
	var body map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &body); err != nil {
		t.Fatalf("%s: %v in %s", path, err, rec.Body)
	}
	return rec.Result(), body
}

func data(t *testing.T, h http.Handler, path string) map[string]any {
	t.Helper()
	resp, body := ask(t, h, path)
	if resp.StatusCode != 200 || body["success"] != true {
		t.Fatalf("%s: %d %v", path, resp.StatusCode, body)
	}
	return body["data"].(map[string]any)
}

// keys flattens an object to dotted names.
func keys(prefix string, v map[string]any) map[string]bool {
	out := map[string]bool{}
	for name, field := range v {
		if sub, ok := field.(map[string]any); ok {
			for k := range keys(prefix+name+".", sub) {
				out[k] = true
			}
			continue
		}
		out[prefix+name] = true
	}
	return out
}

func set(names string) map[string]bool {
	out := map[string]bool{}
	for _, n := range strings.Fields(names) {
		out[n] = true
	}
	return out
}

func TestRecordsHaveTheDocumentedFields(t *testing.T) {
	tests := map[string]struct{ path, fields string }{
		"own address (I-05)": {"/api/v1/ip", `ip location.city location.region location.country location.continent location.latitude
			location.longitude location.timezone location.postal_code location.is_eu network.asn network.isp network.connection_type
			network.tls_version privacy.type privacy.score privacy.grade privacy.label privacy.is_vpn privacy.is_datacenter
			privacy.is_residential ipv6`},
		"lookup (I-08)": {"/api/v1/ip/2001:db8::1", `ip location.city location.region location.country location.country_name
			location.latitude location.longitude location.timezone location.postal_code network.asn network.isp network.org network.as_name`},
		"dns (I-13)":     {"/api/v1/dns/golang.org", "domain type records authority"},
		"headers (I-16)": {"/api/v1/headers", "method url headers.host ip"},
		"whois (I-17)":   {"/api/v1/whois/golang.org", "domain registrar creation_date expiration_date last_updated name_servers status rdap_link"},
	}
	s := New(Options{Now: frozen})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(set(tt.fields), keys("", data(t, s, tt.path))); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorsAreTheDocumentedOnes(t *testing.T) {
	s := New(Options{Now: frozen, Unregistered: []string{"gone.net"}})
	tests := map[string]struct {
		path   string
		status int
		text   string
	}{
		"malformed address":  {"/api/v1/ip/1.2.3", 400, "valid IPv4 or IPv6 address"},
		"unregistered":       {"/api/v1/whois/unregistered-name.com", 404, "not found"},
		"lapsed":             {"/api/v1/whois/harborlight-books.com", 404, "not found"},
		"listed by a test":   {"/api/v1/whois/gone.net", 404, "not found"},
		"reserved top level": {"/api/v1/whois/something.test", 404, "not found"},
		"unknown endpoint":   {"/api/v1/other", 404, "No such endpoint"},
		"unknown type":       {"/api/v1/dns/golang.org?type=TYPO", 400, "record type"},
		"malformed domain":   {"/api/v1/dns/a..b", 400, "valid domain"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resp, body := ask(t, s, tt.path)
			text, _ := body["error"].(string)
			if resp.StatusCode != tt.status || body["success"] != false || !strings.Contains(text, tt.text) {
				t.Errorf("got %d %v, want %d with %q", resp.StatusCode, body, tt.status, tt.text)
			}
		})
	}
}

func TestOnlyGet(t *testing.T) {
	rec := httptest.NewRecorder()
	New(Options{}).ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/api/v1/ip", nil))
	if rec.Code != http.StatusMethodNotAllowed || rec.Header().Get("Allow") != "GET" {
		t.Errorf("got %d %v", rec.Code, rec.Header())
	}
}

func TestLimitShowsInHeadersAndRefuses(t *testing.T) {
	now := noon
	s := New(Options{Now: func() time.Time { return now }})
	for i := range 60 {
		resp, _ := ask(t, s, "/api/v1/whois/unregistered-x.com") // errors count and carry the headers too
		want := []string{"60", fmt.Sprint(59 - i), "60"}
		got := []string{resp.Header.Get("X-RateLimit-Limit"), resp.Header.Get("X-RateLimit-Remaining"), resp.Header.Get("X-RateLimit-Window")}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("request %d (-want +got):\n%s", i+1, diff)
		}
	}
	now = noon.Add(13500 * time.Millisecond)
	resp, body := ask(t, s, "/api/v1/ip")
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "47" || !strings.Contains(body["error"].(string), "60 requests per minute") {
		t.Errorf("got %d, Retry-After %q, %v", resp.StatusCode, resp.Header.Get("Retry-After"), body)
	}
	now = noon.Add(time.Minute)
	if resp, _ := ask(t, s, "/api/v1/ip"); resp.StatusCode != 200 {
		t.Errorf("the next window starts with %d", resp.StatusCode)
	}
}

func TestEveryTypeHasRecords(t *testing.T) {
	s := New(Options{Requests: -1, Now: frozen})
	names := map[string]string{"CNAME": "www.golang.org", "PTR": "7.2.0.192.in-addr.arpa", "SRV": "_imaps._tcp.golang.org"}
	for kind, code := range dnsTypes {
		name := names[kind]
		if name == "" {
			name = "golang.org"
		}
		d := data(t, s, "/api/v1/dns/"+name+"?type="+kind)
		records := d["records"].([]any)
		if len(records) == 0 || d["type"] != kind {
			t.Errorf("%s %s: %v", kind, name, d)
			continue
		}
		first := records[0].(map[string]any)
		if first["type"] != float64(code) || first["name"] != name || first["ttl"].(float64) <= 0 || first["data"] == "" {
			t.Errorf("%s: %v", kind, first)
		}
	}
}

func TestNoRecordsIsAnEmptyListWithAuthority(t *testing.T) {
	d := data(t, New(Options{}), "/api/v1/dns/unregistered-x.com?type=MX")
	if len(d["records"].([]any)) != 0 || len(d["authority"].([]any)) != 1 {
		t.Errorf("got %v", d)
	}
}

// expires returns the days from noon to a name's expiration.
func expires(t *testing.T, s *Sim, name string) float64 {
	t.Helper()
	end, err := time.Parse(time.RFC3339, data(t, s, "/api/v1/whois/"+name)["expiration_date"].(string))
	if err != nil {
		t.Fatal(err)
	}
	return end.Sub(noon).Hours() / 24
}

func TestExpiriesFollowTheClock(t *testing.T) {
	s := New(Options{Requests: -1, Now: frozen})
	soon := 0
	for i := range 300 {
		days := expires(t, s, fmt.Sprintf("name-%d.com", i))
		switch {
		case days > 0 && days < 30:
			soon++
		case days < 39:
			t.Errorf("name-%d.com expires in %.1f days: neither soon nor late", i, days)
		}
	}
	if soon < 15 || soon > 60 {
		t.Errorf("%d of 300 expire soon", soon)
	}
	if d := expires(t, s, "expiring-lease.org"); d <= 0 || d >= 30 {
		t.Errorf("expiring-lease.org ends in %.1f days", d)
	}
	if d := expires(t, s, "expired-lease.org"); d >= 0 {
		t.Errorf("expired-lease.org ends in %.1f days", d)
	}
}

func TestSameNameSameRecord(t *testing.T) {
	for _, path := range []string{"/api/v1/whois/golang.org", "/api/v1/dns/golang.org?type=A", "/api/v1/ip/198.51.100.9", "/api/v1/ip"} {
		a, b := data(t, New(Options{Now: frozen}), path), data(t, New(Options{Now: func() time.Time { return noon.Add(36 * time.Hour) }}), path)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("%s changes after a restart in the same week (-first +second):\n%s", path, diff)
		}
	}
}

func TestHeadersEchoWhatWasSent(t *testing.T) {
	rec := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/api/v1/headers", nil)
	r.Header.Set("X-Thing", "Ünï")
	New(Options{}).ServeHTTP(rec, r)
	if !strings.Contains(rec.Body.String(), `"x-thing":"Ünï"`) {
		t.Errorf("got %s", rec.Body)
	}
}

func TestControlEndpointResetsTheLimiter(t *testing.T) {
	s := New(Options{Requests: 1, Now: frozen})
	ask(t, s, "/api/v1/ip")
	if resp, _ := ask(t, s, "/api/v1/ip"); resp.StatusCode != 429 {
		t.Fatalf("got %d, want 429", resp.StatusCode)
	}
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/_sim/reset", nil))
	if resp, _ := ask(t, s, "/api/v1/ip"); rec.Code != 204 || resp.StatusCode != 200 {
		t.Errorf("after a reset: %d, then %d", rec.Code, resp.StatusCode)
	}
}
