package netinfo

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/netinfo/netinfosim"
	"github.com/flowrun/flowrun/sdk"
)

func TestI03_SuccessNeedsTheEnvelope(t *testing.T) {
	tests := map[string]struct {
		fault simkit.Fault
		code  sdk.Code
		text  string
	}{
		"success is false with status 200": {simkit.Fault{Body: `{"success":false,"error":"Lookup is down."}`}, sdk.CodeUnexpectedResponse, "Lookup is down."},
		"success is true with status 500":  {simkit.Fault{Status: 500, Body: `{"success":true,"data":{}}`}, sdk.CodeUnavailable, "500"},
		"no success":                       {simkit.Fault{Body: `{"data":{}}`}, sdk.CodeUnexpectedResponse, "`success`"},
		"success is text":                  {simkit.Fault{Body: `{"success":"true","data":{}}`}, sdk.CodeUnexpectedResponse, "`success` is text where true or false is due"},
		"data is null":                     {simkit.Fault{Body: `{"success":true,"data":null}`}, sdk.CodeUnexpectedResponse, "`data`"},
		"data is a list":                   {simkit.Fault{Body: `{"success":true,"data":[]}`}, sdk.CodeUnexpectedResponse, "`data`"},
		"the answer is a list":             {simkit.Fault{Body: `[]`}, sdk.CodeUnexpectedResponse, "`success`"},
		"the answer is null":               {simkit.Fault{Body: `null`}, sdk.CodeUnexpectedResponse, "`success`"},
		"the record lacks the address":     {simkit.Fault{Body: `{"success":true,"data":{"location":{},"network":{},"privacy":{}}}`}, sdk.CodeUnexpectedResponse, "`ip`"},
		"a field of another type":          {simkit.Fault{Body: `{"success":true,"data":{"ip":"::1","location":{"latitude":"52.5"},"network":{},"privacy":{}}}`}, sdk.CodeUnexpectedResponse, "latitude"},
		"a number with a fraction":         {simkit.Fault{Body: `{"success":true,"data":{"ip":"::1","location":{},"network":{"asn":1.5},"privacy":{}}}`}, sdk.CodeUnexpectedResponse, "asn"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { failsWith(t, tt.fault, tt.code, tt.text) })
	}
}

// failsWith calls my_ip against an answer and checks the error.
func failsWith(t *testing.T, f simkit.Fault, code sdk.Code, text string) *sdk.Error {
	t.Helper()
	p, sim := open(t)
	answer(t, sim, f)
	r := p.Call("my_ip", in{})
	if r.Err == nil || r.Err.Code != code || !strings.Contains(r.Err.Message, text) {
		t.Fatalf("got %v, want %s with %q", r.Err, code, text)
	}
	if body, _ := r.Err.Details["body"].(string); len(body) > 512 {
		t.Errorf("the excerpt has %d bytes", len(body))
	}
	if n := sim.Kit().Count(""); n != 1 {
		t.Errorf("%d requests were sent: a plugin never repeats one", n)
	}
	return r.Err
}

func TestI04_ErrorTextIsShownAsItIs(t *testing.T) {
	const text = "Domäne „x“ <unknown> & gone – sorry."
	p, sim := open(t)
	answer(t, sim, simkit.Fault{Status: 404, Body: `{"success":false,"error":"` + text + `"}`})
	r := p.Call("whois", in{"domain": "example.com"})
	if r.Err == nil || r.Err.Message != text || r.Err.HTTPStatus != 404 {
		t.Errorf("got %+v", r.Err)
	}
	answer(t, sim, simkit.Fault{Status: 400, Body: `{"success":false,"error":"a\u001b[31m\nb` + strings.Repeat("x", 4000) + `"}`})
	r = p.Call("whois", in{"domain": "example.com"})
	if r.Err == nil || len(r.Err.Message) > maxMessage+8 || strings.ContainsAny(r.Err.Message, "\n\x1b") {
		t.Errorf("a long text with control characters: %q", r.Err.Message)
	}
}

func TestI10_ServiceRefusesTheAddress(t *testing.T) {
	p, sim := open(t)
	answer(t, sim, simkit.Fault{Status: 400, Body: `{"success":false,"error":"Please provide a valid IPv4 or IPv6 address."}`})
	r := p.Call("ip_lookup", in{"address": "192.0.2.1"})
	want := &sdk.Error{Code: sdk.CodeInvalid, Message: "Please provide a valid IPv4 or IPv6 address.", HTTPStatus: 400, Pointer: "/address", Applied: sdk.NotApplied}
	if r.Err == nil || r.Err.Code != want.Code || r.Err.Message != want.Message || r.Err.Pointer != want.Pointer || r.Err.Applied != want.Applied || r.Err.HTTPStatus != 400 {
		t.Errorf("got %+v", r.Err)
	}
}

func TestI13_DNSAnswerIsUnchanged(t *testing.T) {
	p, sim := open(t)
	answer(t, sim, simkit.Fault{Body: `{"success":true,"data":{"domain":"example.com","type":"TXT","records":[{"name":"example.com","type":16,"ttl":300,"data":"v=spf1 <a> \"ü\"","class":1}],"authority":[["odd",1.10],null]}}`})
	r := p.Call("dns", in{"domain": "example.com", "type": "TXT"})
	output(t, r)
	const want = `{"domain":"example.com","type":"TXT","records":[{"name":"example.com","type":16,"ttl":300,"data":"v=spf1 <a> \"ü\"","class":1}],"authority":[["odd",1.10],null]}`
	if diff := cmp.Diff(want, string(r.Output)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestI14_RecordTypeIsANumber(t *testing.T) {
	p, _ := open(t)
	out := output(t, p.Call("dns", in{"domain": "golang.org", "type": "MX"}))
	first := out["records"].([]any)[0].(map[string]any)
	if out["type"] != "MX" || first["type"] != 15.0 || first["ttl"].(float64) <= 0 || first["data"] == "" {
		t.Errorf("got %v", out)
	}
}

func TestI15_NoRecordsIsSuccess(t *testing.T) {
	p, sim := open(t)
	if out := output(t, p.Call("dns", in{"domain": "unregistered-x.com"})); len(out["records"].([]any)) != 0 {
		t.Errorf("got %v", out)
	}
	answer(t, sim, simkit.Fault{Body: `{"success":true,"data":{"domain":"example.com","type":"A","records":null}}`})
	r := p.Call("dns", in{"domain": "example.com"})
	output(t, r)
	if diff := cmp.Diff(`{"domain":"example.com","type":"A","records":[],"authority":[]}`, string(r.Output)); diff != "" {
		t.Errorf("null and missing lists (-want +got):\n%s", diff)
	}
}

func TestI16_Headers(t *testing.T) {
	p, _ := open(t)
	out := output(t, p.Call("headers", in{}))
	sent := out["headers"].(map[string]any)
	if out["method"] != "GET" || !strings.HasSuffix(out["url"].(string), "/api/v1/headers") || out["ip"] == "" || sent["user-agent"] != "flowrun-netinfo/"+Version {
		t.Errorf("got %v", out)
	}
}

func TestI21_RateLimited(t *testing.T) {
	p, _ := openSim(t, netinfosim.Options{Requests: 1, Now: frozen})
	output(t, p.Call("my_ip", in{}))
	r := p.Call("my_ip", in{})
	if r.Err == nil || r.Err.Code != sdk.CodeRateLimited || r.Err.RetryAfter != time.Minute || !strings.Contains(r.Err.Message, "1 requests per minute") {
		t.Errorf("got %+v", r.Err)
	}
}

func TestI21_RetryAfterForms(t *testing.T) {
	date := noon.Add(90 * time.Second).Format(http.TimeFormat)
	for form, want := range map[string]time.Duration{"7": 7 * time.Second, date: 90 * time.Second, "": 0, "soon": 0} {
		p, sim := open(t)
		answer(t, sim, simkit.Fault{Status: 429, RetryAfter: form, Header: map[string]string{"Date": noon.Format(http.TimeFormat)}})
		r := p.Call("my_ip", in{})
		if r.Err == nil || r.Err.Code != sdk.CodeRateLimited || r.Err.RetryAfter != want {
			t.Errorf("Retry-After %q: %+v, want %s", form, r.Err, want)
		}
	}
}

func TestI22_ContentTypeDoesNotMatter(t *testing.T) {
	p, sim := open(t)
	answer(t, sim, simkit.Fault{ContentType: "text/plain"})
	output(t, p.Call("my_ip", in{})) // JSON is JSON, whatever its label
}

func TestI23_OtherStatusesByTheirClass(t *testing.T) {
	tests := map[int]sdk.Code{
		401: sdk.CodeUnauthorized, 403: sdk.CodeForbidden, 404: sdk.CodeNotFound, 409: sdk.CodeConflict, 418: sdk.CodeInvalid,
		500: sdk.CodeUnavailable, 502: sdk.CodeUnavailable, 503: sdk.CodeUnavailable, 504: sdk.CodeUnavailable,
	}
	for status, code := range tests {
		for _, body := range []string{`{"success":false,"error":"Out of order."}`, "<html>gateway</html>"} {
			t.Run(fmt.Sprintf("%d %.9s", status, body), func(t *testing.T) {
				failsWith(t, simkit.Fault{Status: status, Body: body}, code, map[bool]string{true: "Out of order.", false: fmt.Sprint(status)}[body[0] == '{'])
			})
		}
	}
	failsWith(t, simkit.Fault{Status: 302, Header: map[string]string{"Location": "https://login.example/"}}, sdk.CodeUnexpectedResponse, "302")
}

func TestAnswersThatAreNone(t *testing.T) {
	tests := map[string]struct {
		fault simkit.Fault
		code  sdk.Code
		text  string
	}{
		"a page with status 200":    {simkit.Fault{HTML: true}, sdk.CodeUnexpectedResponse, "text/html"},
		"cut with a fitting length": {simkit.Fault{Truncate: 40}, sdk.CodeUnexpectedResponse, "no JSON"},
		"cut on the wire":           {simkit.Fault{Truncate: 40, Cut: true}, sdk.CodeUnexpectedResponse, "cut short"},
		"empty":                     {simkit.Fault{Empty: true}, sdk.CodeUnexpectedResponse, "empty"},
		"dropped before":            {simkit.Fault{Drop: simkit.DropBefore}, sdk.CodeUnavailable, ""},
		"dropped after":             {simkit.Fault{Drop: simkit.DropAfter}, sdk.CodeUnavailable, ""},
		"too large":                 {simkit.Fault{HugeBytes: 9 << 20}, sdk.CodeUnexpectedResponse, "larger than"},
		"a page with status 502":    {simkit.Fault{HTML: true, Status: 502}, sdk.CodeUnavailable, "502"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { failsWith(t, tt.fault, tt.code, tt.text) })
	}
}

// Small things that services do, each taken as it is meant (issue 12, 16).
func TestIssue12_16_LenientReading(t *testing.T) {
	for name, tt := range map[string]struct{ action, body, want string }{
		"a BOM": {"headers", "\ufeff" + `{"success":true,"data":{"method":"GET","url":"u","headers":{},"ip":"::1"}}`, `{"method":"GET","url":"u","headers":{},"ip":"::1"}`},
		"an integer with a point": {"my_ip", `{"success":true,"data":{"ip":"::1","location":{},"network":{"asn":3320.0},"privacy":{}}}`,
			`{"ip":"::1","location":{},"network":{"asn":3320.0},"privacy":{}}`},
		"an integer with an exponent": {"my_ip", `{"success":true,"data":{"ip":"::1","location":{},"network":{"asn":3.32e3},"privacy":{}}}`,
			`{"ip":"::1","location":{},"network":{"asn":3.32e3},"privacy":{}}`},
		"parts that are null": {"my_ip", `{"success":true,"data":{"ip":"::1","location":null,"network":null,"privacy":null,"ipv6":true}}`,
			`{"ip":"::1","location":{},"network":{},"privacy":{},"ipv6":true}`},
		"a header that was sent twice": {"headers", `{"success":true,"data":{"method":"GET","url":"u","headers":{"x-a":["1","<2>"],"x-b":"3","x-c":null},"ip":"::1"}}`,
			`{"method":"GET","url":"u","headers":{"x-a":"1, <2>","x-b":"3","x-c":null},"ip":"::1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			p, sim := open(t)
			answer(t, sim, simkit.Fault{Body: tt.body})
			r := p.Call(tt.action, in{})
			output(t, r)
			if diff := cmp.Diff(tt.want, string(r.Output)); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
	for body, text := range map[string]string{
		`{"method":"GET","url":"u","headers":{"x-a":[1]},"ip":"::1"}`:   "`headers.x-a` is neither text nor a list of texts",
		`{"method":"GET","url":"u","headers":{"x-a":{}},"ip":"::1"}`:    "`headers.x-a`",
		`{"method":"GET","url":"u","headers":["x-a"],"ip":"::1"}`:       "`headers` is a list where an object is due",
		`{"method":"GET","url":"u","headers":null,"ip":"::1"}`:          "`headers` of the record is null",
		`{"method":"GET","url":"u","headers":{},"ip":["::1"]}`:          "`ip` is a list where text is due",
		`{"method":"GET","url":"u","headers":{},"ip":"::1","ip":"::2"}`: "`ip` stands twice at /data",
	} {
		p, sim := open(t)
		answer(t, sim, simkit.Fault{Body: `{"success":true,"data":` + body + `}`})
		if r := p.Call("headers", in{}); r.Err == nil || r.Err.Code != sdk.CodeUnexpectedResponse || !strings.Contains(r.Err.Message, text) {
			t.Errorf("%s: %v, want %s", body, r.Err, text)
		}
	}
}

func TestI07_PrivacyIsPassedOn(t *testing.T) {
	p, sim := open(t)
	privacy := output(t, p.Call("my_ip", in{}))["privacy"].(map[string]any)
	kinds := map[any]string{"residential": "is_residential", "vpn": "is_vpn", "datacenter": "is_datacenter"}
	if score := privacy["score"].(float64); privacy[kinds[privacy["type"]]] != true || score < 0 || score > 100 {
		t.Errorf("got %v", privacy)
	}
	// enumerations and bounds are the service's own matter: an answer outside them passes
	answer(t, sim, simkit.Fault{Body: `{"success":true,"data":{"ip":"::1","location":{},"network":{},"privacy":{"type":"satellite","grade":"F","score":101.5,"is_vpn":null}}}`})
	privacy = output(t, p.Call("my_ip", in{}))["privacy"].(map[string]any)
	if diff := cmp.Diff(in{"type": "satellite", "grade": "F", "score": 101.5, "is_vpn": nil}, privacy); diff != "" {
		t.Errorf("privacy (-want +got):\n%s", diff)
	}
}
