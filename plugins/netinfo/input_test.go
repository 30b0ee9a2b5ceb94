package netinfo

import (
	"strings"
	"testing"
	"testing/quick"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/sdk"
)

// refused checks that an input is refused before any request, both when a
// workflow is checked and when the action is called.
func refused(t *testing.T, action string, input in, pointer, word string) {
	t.Helper()
	p, sim := open(t)
	problems := p.Validate(action, input)
	if len(problems) != 1 || problems[0].Pointer != pointer || !strings.Contains(problems[0].Summary+" "+problems[0].Detail, word) {
		t.Errorf("validate %v: %v, want one at %s with %q", input, problems, pointer, word)
	}
	r := p.Call(action, input)
	if r.Err == nil || r.Err.Code != sdk.CodeInvalid || r.Err.Pointer != pointer || r.Err.Applied != sdk.NotApplied {
		t.Errorf("call with %v: %+v, want invalid at %s", input, r.Err, pointer)
	}
	if n := sim.Kit().Count(""); n != 0 {
		t.Errorf("%d requests were sent for %v", n, input)
	}
}

func TestI09_AddressIsCheckedBeforeSending(t *testing.T) {
	tests := map[string]struct{ address, word string }{
		"empty":                     {"", "empty"},
		"a name":                    {"example.com", "valid IPv4 or IPv6 address"}, // I-10: the same text as the service
		"an IPv4 address too short": {"192.0.2", "such as 192.0.2.1"},
		"leading zeros":             {"192.0.02.1", "valid IPv4"},
		"a zone":                    {"fe80::1%eth0", "zone"},
		"a network":                 {"192.0.2.0/24", "not a network"},
		"a port":                    {"192.0.2.1:80", "port"},
		"a port after brackets":     {"[2001:db8::1]:80", "port"},
		"spaces":                    {" 192.0.2.1", "valid IPv4"},
		"a dot":                     {".", "valid IPv4"},
		"two dots":                  {"..", "valid IPv4"}, // I-24
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { refused(t, "ip_lookup", in{"address": tt.address}, "/address", tt.word) })
	}
}

func TestI09_CanonicalTextIsSent(t *testing.T) {
	p, sim := open(t)
	for address, path := range map[string]string{
		"2001:DB8:0:0:0:0:0:1": "/api/v1/ip/2001:db8::1",
		"192.0.2.1":            "/api/v1/ip/192.0.2.1",
		"::ffff:192.0.2.1":     "/api/v1/ip/::ffff:192.0.2.1",
	} {
		output(t, p.Call("ip_lookup", in{"address": address}))
		if sim.Kit().Count(path) != 1 {
			t.Errorf("%s is sent as %v, want %s", address, sim.Kit().Counts(), path)
		}
	}
}

func TestI11_DomainIsCheckedBeforeSending(t *testing.T) {
	long := strings.Repeat("a", 64)
	tests := map[string]struct{ domain, word string }{
		"empty":               {"", "empty"},
		"a URL":               {"https://example.com", "URL"},
		"a path":              {"example.com/x", "path"},
		"a query":             {"example.com?x", `"?"`},
		"a fragment":          {"example.com#x", `"#"`},
		"a port":              {"example.com:80", "port"},
		"a space":             {"exam ple.com", "space"},
		"a line break":        {"example.com\n", "may not stand"},
		"a control character": {"exam\x01ple.com", "control"},
		"an empty part":       {"example..com", "empty part"},
		"a leading dot":       {".example.com", "empty part"},
		"one dot":             {".", "no domain"},
		"two dots":            {"..", "no domain"}, // I-24
		"a long part":         {long + ".com", "64 characters"},
		"too long":            {strings.Repeat("abcdefg.", 32) + "com", "253"},
		"international text":  {"münchen.de", "xn--"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			refused(t, "dns", in{"domain": tt.domain}, "/domain", tt.word)
			refused(t, "whois", in{"domain": tt.domain}, "/domain", tt.word)
		})
	}
}

func TestI11_DomainsThatAreSent(t *testing.T) {
	p, sim := open(t)
	for domain, path := range map[string]string{
		"_dmarc.example.com":            "/api/v1/dns/_dmarc.example.com",
		"example.com.":                  "/api/v1/dns/example.com", // trailing dot: policy
		"xn--mnchen-3ya.de":             "/api/v1/dns/xn--mnchen-3ya.de",
		"7.2.0.192.in-addr.arpa":        "/api/v1/dns/7.2.0.192.in-addr.arpa",
		strings.Repeat("a", 63) + ".de": "/api/v1/dns/" + strings.Repeat("a", 63) + ".de",
	} {
		output(t, p.Call("dns", in{"domain": domain}))
		if sim.Kit().Count(path) != 1 {
			t.Errorf("%s is sent as %v, want %s", domain, sim.Kit().Counts(), path)
		}
	}
}

func TestI12_Type(t *testing.T) {
	refused(t, "dns", in{"domain": "example.com", "type": "TYPO"}, "/type", "TXT")
	refused(t, "dns", in{"domain": "example.com", "type": "AAA"}, "/type", "did you mean `AAAA`?")
	refused(t, "dns", in{"domain": "example.com", "type": ""}, "/type", "one of")

	p, sim := open(t)
	output(t, p.Call("dns", in{"domain": "example.com"}))
	output(t, p.Call("dns", in{"domain": "example.com", "type": nil}))
	for _, kind := range []string{"A", "AAAA", "CNAME", "MX", "NS", "TXT", "SOA", "SRV", "CAA", "PTR"} {
		output(t, p.Call("dns", in{"domain": "example.com", "type": kind}))
		output(t, p.Call("dns", in{"domain": "example.com", "type": strings.ToLower(kind)}))
	}
	counts := map[string]int{}
	for _, r := range sim.Kit().Requests() {
		counts[r.Query]++
	}
	want := map[string]int{
		"":       2, // omitted when absent: the service has its own default
		"type=A": 2, "type=AAAA": 2, "type=CNAME": 2, "type=MX": 2, "type=NS": 2, "type=TXT": 2, "type=SOA": 2, "type=SRV": 2, "type=CAA": 2, "type=PTR": 2,
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

func TestI12_UnknownInputsAreNotJudged(t *testing.T) {
	p, _ := open(t)
	for action, field := range map[string]string{"dns": "domain", "whois": "domain", "ip_lookup": "address"} {
		if problems := p.Validate(action, in{}, "/"+field); len(problems) != 0 {
			t.Errorf("%s with %s not known yet: %v", action, field, problems)
		}
	}
}

func TestI24_PathsAreEscaped(t *testing.T) {
	p, sim := open(t)
	r := p.Call("whois", in{"domain": "100%25.com"})
	if r.Err == nil || sim.Kit().Count("/api/v1/whois/100%2525.com") != 1 {
		t.Errorf("sent %v, answer %v", sim.Kit().Counts(), r.Err)
	}
}

func TestUnknownInputsAreRefused(t *testing.T) {
	refused(t, "whois", in{"domain": "example.com", "missing_okay": true}, "/missing_okay", "did you mean `missing_ok`?")
}

func TestDomainProblemsFindWhatAPathCannotCarry(t *testing.T) {
	property := func(name string) bool {
		sent, problems := plainDomain(name), domainProblems(name)
		return problems != nil || sent != "" && sent != "." && sent != ".." && len(sent) <= maxName && !strings.ContainsAny(sent, "/?#: \t\r\n")
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
}
