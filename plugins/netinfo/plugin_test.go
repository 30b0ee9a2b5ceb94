package netinfo

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/netinfo/netinfosim"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

var noon = time.Date(2031, 5, 7, 12, 0, 0, 0, time.UTC)

func frozen() time.Time { return noon }

// open returns the plugin with a connection to a simulator without a limit.
func open(t *testing.T) (*sdktest.Plugin, *netinfosim.Sim) {
	t.Helper()
	return openSim(t, netinfosim.Options{Requests: -1, Now: frozen})
}

func openSim(t *testing.T, o netinfosim.Options) (*sdktest.Plugin, *netinfosim.Sim) {
	t.Helper()
	sim := netinfosim.New(o)
	srv := httptest.NewServer(sim)
	t.Cleanup(srv.Close)
	return sdktest.Open(t, NewWith(Options{Now: frozen}), map[string]any{"base_url": srv.URL}), sim
}

// answer makes the simulator answer the next request with a body of the test's.
func answer(t *testing.T, sim *netinfosim.Sim, f simkit.Fault) {
	t.Helper()
	if err := sim.Kit().Add(f); err != nil {
		t.Fatal(err)
	}
}

// output returns the output of a call that must succeed.
func output(t *testing.T, r sdktest.Result) map[string]any {
	t.Helper()
	var out map[string]any
	r.Decode(t, &out)
	return out
}

// in is shorthand for an input.
type in = map[string]any

func TestPluginIsSound(t *testing.T) {
	if err := New().Err(); err != nil {
		t.Fatal(err)
	}
	d := sdktest.Serve(t, New()).Describe()
	var names []string
	for _, a := range d.Actions {
		names = append(names, a.Name)
		if len(a.Examples) == 0 || len(a.Faults) < 3 || a.Doc == "" || a.Effect != "read" {
			t.Errorf("action %s lacks examples, faults, doc or the effect read", a.Name)
		}
	}
	if diff := cmp.Diff([]string{"my_ip", "ip_lookup", "dns", "headers", "whois"}, names); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

func TestExamplesWork(t *testing.T) {
	p, _ := open(t)
	for _, a := range p.Describe().Actions {
		for _, e := range a.Examples {
			var input map[string]any
			if err := json.Unmarshal(e.Input, &input); err != nil {
				t.Fatal(err)
			}
			if r := p.Call(a.Name, input); r.Err != nil && r.Err.Code != sdk.CodeNotFound {
				t.Errorf("%s, %s: %v", a.Name, e.Name, r.Err)
			}
		}
	}
}

func TestI01_PathsBelowBaseURL(t *testing.T) {
	p, sim := open(t)
	calls := []struct {
		action string
		input  in
		path   string
		query  string
	}{
		{"my_ip", in{}, "/api/v1/ip", ""},
		{"ip_lookup", in{"address": "192.0.2.1"}, "/api/v1/ip/192.0.2.1", ""},
		{"dns", in{"domain": "golang.org", "type": "MX"}, "/api/v1/dns/golang.org", "type=MX"},
		{"headers", in{}, "/api/v1/headers", ""},
		{"whois", in{"domain": "golang.org"}, "/api/v1/whois/golang.org", ""},
	}
	for i, c := range calls {
		output(t, p.Call(c.action, c.input))
		sent := sim.Kit().Requests()[i]
		if sent.Method != "GET" || sent.Path != c.path || sent.Query != c.query || sent.Length != 0 {
			t.Errorf("%s sent %+v", c.action, sent)
		}
	}
}

func TestI01_BaseURLIsChecked(t *testing.T) {
	p := sdktest.Serve(t, New())
	for _, base := range []string{
		"", "netinfo.example", "ftp://netinfo.example", "https://netinfo.example/api/v1", "https://netinfo.example/api/v1/",
		"https://netinfo.example?x=1", "https://netinfo.example#x", "https://user:pass@netinfo.example",
	} {
		problems := p.Connect("c", in{"base_url": base})
		if len(problems) == 0 || problems[0].Pointer != "/base_url" {
			t.Errorf("base_url %q: %v", base, problems)
		}
		for _, problem := range problems {
			if strings.Contains(problem.Summary+problem.Detail, "pass") && strings.Contains(base, "pass@") && !strings.Contains(problem.Summary, "password") {
				t.Errorf("the problem shows the password: %v", problem)
			}
		}
	}
	for _, base := range []string{"https://netinfo.example", "https://netinfo.example/", "http://127.0.0.1:8080/below"} {
		if problems := p.Connect("c", in{"base_url": base}); len(problems) != 0 {
			t.Errorf("base_url %q: %v", base, problems)
		}
	}
}

func TestI02_NoCredentialIsSent(t *testing.T) {
	p, sim := open(t)
	output(t, p.Call("my_ip", in{}))
	echo := output(t, p.Call("headers", in{}))["headers"].(map[string]any)
	for _, sent := range sim.Kit().Requests() {
		for _, name := range []string{"authorization", "cookie", "proxy-authorization", "x-api-key"} {
			if v, ok := sent.Header[name]; ok {
				t.Errorf("%s: %s is sent to %s", name, v, sent.Path)
			}
			if _, ok := echo[name]; ok {
				t.Errorf("the service echoes %s", name)
			}
		}
	}
	for _, setting := range []string{"token", "headers", "api_key"} {
		if problems := p.Connect("c", in{"base_url": "https://netinfo.example", setting: "x"}); len(problems) == 0 {
			t.Errorf("there is a setting %q", setting)
		}
	}
}

func TestI02_CookiesAreNotKept(t *testing.T) {
	p, sim := open(t)
	answer(t, sim, simkit.Fault{Header: map[string]string{"Set-Cookie": "session=1; Path=/"}})
	output(t, p.Call("my_ip", in{}))
	output(t, p.Call("my_ip", in{}))
	if got, ok := sim.Kit().Requests()[1].Header["cookie"]; ok {
		t.Errorf("the second request sends the cookie %q", got)
	}
}

func TestI05_CallerRecord(t *testing.T) {
	p, sim := open(t)
	answer(t, sim, simkit.Fault{Body: `{"success":true,"data":{"ip":"203.0.113.9","location":{"city":"Gdańsk","latitude":54.35,"is_eu":true},
		"network":{"asn":4200000017,"isp":null},"privacy":{"type":"residential","score":97,"grade":"A+"},"ipv6":false,"added_later":{"x":[1.10]}}}`})
	r := p.Call("my_ip", in{})
	out := output(t, r)
	if out["ip"] != "203.0.113.9" || out["location"].(map[string]any)["city"] != "Gdańsk" {
		t.Errorf("got %v", out)
	}
	// I-05: unknown fields stay, null is tolerated; I-07: enumerations are not enforced
	for _, want := range []string{`"added_later":{"x":[1.10]}`, `"isp":null`, `"grade":"A+"`} {
		if !strings.Contains(string(r.Output), want) {
			t.Errorf("%s lacks %s", r.Output, want)
		}
	}
}

func TestI06_NumbersAreExact(t *testing.T) {
	p, sim := open(t)
	answer(t, sim, simkit.Fault{Body: `{"success":true,"data":{"ip":"::1","location":{"latitude":-23.54750},"network":{"asn":9007199254740993}}}`})
	r := p.Call("ip_lookup", in{"address": "::1"})
	output(t, r)
	if !strings.Contains(string(r.Output), `"asn":9007199254740993`) || !strings.Contains(string(r.Output), `-23.54750`) {
		t.Errorf("got %s", r.Output)
	}
}

func TestI06_FieldTypes(t *testing.T) {
	var schema struct {
		Properties map[string]struct {
			Properties map[string]struct{ Type any }
		}
	}
	p, _ := open(t)
	if err := json.Unmarshal(p.Action("my_ip").Output, &schema); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"location.latitude": "number", "location.longitude": "number", "location.is_eu": "boolean", "location.country": "string",
		"location.continent": "string", "location.timezone": "string", "network.asn": "integer", "privacy.score": "number", "privacy.is_vpn": "boolean",
	}
	fields := 0
	for name, part := range schema.Properties {
		fields += max(1, len(part.Properties))
		for field, s := range part.Properties {
			if w, ok := want[name+"."+field]; ok {
				if diff := cmp.Diff([]any{w, "null"}, s.Type); diff != "" {
					t.Errorf("type of %s.%s (-want +got):\n%s", name, field, diff)
				}
			}
		}
	}
	if fields != 22 { // I-05
		t.Errorf("the record has %d fields, want 22", fields)
	}
}

func TestI08_LookupIsAnotherRecord(t *testing.T) {
	p, _ := open(t)
	own, other := output(t, p.Call("my_ip", in{})), output(t, p.Call("ip_lookup", in{"address": "2001:db8::7"}))
	if _, ok := own["privacy"]; !ok {
		t.Errorf("my_ip lacks privacy: %v", own)
	}
	if _, ok := other["privacy"]; ok || other["ip"] != "2001:db8::7" || other["location"].(map[string]any)["country_name"] == nil {
		t.Errorf("ip_lookup: %v", other)
	}
}

func TestI19_LimiterIsDeclared(t *testing.T) {
	p, _ := open(t)
	limits := p.Describe().Limiters
	if len(limits) != 1 {
		t.Fatalf("limiters %v", limits)
	}
	l := limits[0]
	if l.Requests != 60 || l.Window != time.Minute || !l.FixedWindow {
		t.Errorf("limiter %v", l)
	}
	if diff := cmp.Diff([]string{"base_url"}, l.Scope); diff != "" {
		t.Errorf("scope (-want +got):\n%s", diff)
	}
	for _, a := range p.Describe().Actions {
		if len(a.Limiters) != 1 || a.Limiters[0] != l.Name {
			t.Errorf("action %s counts in %v", a.Name, a.Limiters)
		}
	}
}

func TestI20_RateIsShownAsReceived(t *testing.T) {
	p, sim := openSim(t, netinfosim.Options{Now: frozen})
	want := in{"limit": 60.0, "remaining": 59.0, "window": 60.0}
	if diff := cmp.Diff(any(want), p.Call("my_ip", in{}).Meta["rate"]); diff != "" {
		t.Errorf("rate (-want +got):\n%s", diff)
	}
	answer(t, sim, simkit.Fault{Header: map[string]string{"X-Ratelimit-Window": "one minute"}})
	want["remaining"], want["window"] = 58.0, "one minute"
	if diff := cmp.Diff(any(want), p.Call("my_ip", in{}).Meta["rate"]); diff != "" {
		t.Errorf("rate with a unit that is not shown (-want +got):\n%s", diff)
	}
}

func TestCheckConnectionShowsTheAddress(t *testing.T) {
	p, sim := open(t)
	if account, err := p.CheckConnection(); err != nil || account != "203.0.113.42" {
		t.Errorf("got %q and %v", account, err)
	}
	answer(t, sim, simkit.Fault{Status: 503})
	if _, err := p.CheckConnection(); err == nil || err.Code != sdk.CodeUnavailable {
		t.Errorf("got %v, want unavailable", err)
	}
}

func TestI02_CredentialOfAProxyStaysWithTheProxy(t *testing.T) {
	sim := netinfosim.New(netinfosim.Options{Now: frozen}) // as a proxy: it is asked for http://netinfo.invalid/...
	srv := httptest.NewServer(sim)
	t.Cleanup(srv.Close)
	proxy := strings.Replace(srv.URL, "http://", "http://user:word@", 1)
	p := sdktest.Open(t, NewWith(Options{Now: frozen}), in{"base_url": "http://netinfo.invalid", "proxy": proxy})
	output(t, p.Call("my_ip", in{}))
	sent := sim.Kit().Requests()[0]
	if _, ok := sent.Header["authorization"]; ok || sent.Header["proxy-authorization"] == "" || sent.Path != "/api/v1/ip" {
		t.Errorf("sent %+v", sent)
	}
}
