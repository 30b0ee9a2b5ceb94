package netinfo

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/sdk"
)

func TestI17_Whois(t *testing.T) {
	p, sim := open(t)
	answer(t, sim, simkit.Fault{Body: `{"success":true,"data":{"domain":"example.com","registrar":"A & B","creation_date":"1995-08-14T04:00:00Z","expiration_date":"2031-06-01T12:00:00+02:00","last_updated":null,"name_servers":["ns1.example.com"],"status":["client hold"],"rdap_link":"https://rdap.example/x?a=1&b=2","more":1.0}}`})
	r := p.Call("whois", in{"domain": "Example.com."})
	output(t, r)
	// timestamps stay the service's text; days_to_expiry and found are ours
	const want = `{"domain":"example.com","registrar":"A & B","creation_date":"1995-08-14T04:00:00Z","expiration_date":"2031-06-01T12:00:00+02:00","last_updated":null,"name_servers":["ns1.example.com"],"status":["client hold"],"rdap_link":"https://rdap.example/x?a=1&b=2","more":1.0,"days_to_expiry":24,"found":true}`
	if diff := cmp.Diff(want, string(r.Output)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestI17_DaysToExpiry(t *testing.T) {
	day := func(n int64) *int64 { return &n }
	tests := map[string]*int64{
		"2031-05-07T12:00:00Z":      day(0),
		"2031-05-08T11:59:59Z":      day(0),
		"2031-05-08T12:00:00Z":      day(1),
		"2031-05-07T11:59:59Z":      day(-1),
		"2031-05-08T00:00:00-12:00": day(1),
		"2031-05-08T12:00:00":       day(1), // no offset: UTC, our choice
		"2031-05-08 12:00:00":       day(1),
		"2031-05-08":                day(1), // a date without a time counts to its end
		"2031-05-07":                day(0), // Issue12_16: today
		"2031-05-06":                day(-1),
		"2031-06-06T12:00:00.5Z":    day(30),
		"2031-06-06T12:00:00+0000":  day(30),
		"2131-05-07T12:00:00Z":      day(36524),
		"":                          nil,
		"next spring":               nil,
	}
	for text, want := range tests {
		got, problem := daysUntil(&text, noon)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
		if (problem != "") != (text == "next spring") {
			t.Errorf("%q: problem %q", text, problem)
		}
	}
	if got, _ := daysUntil(nil, noon); got != nil {
		t.Errorf("without a date: %d", *got)
	}
}

func TestI17_UnreadableDateIsNotAFailure(t *testing.T) {
	p, sim := open(t)
	answer(t, sim, simkit.Fault{Body: `{"success":true,"data":{"domain":"example.com","expiration_date":"next spring"}}`})
	r := p.Call("whois", in{"domain": "example.com"})
	if out := output(t, r); out["days_to_expiry"] != nil || out["expiration_date"] != "next spring" || out["found"] != true {
		t.Errorf("got %v", out)
	}
	if len(r.Logs) != 1 || r.Logs[0].Level != "WARN" || !strings.Contains(r.Logs[0].Message, "expiration_date") {
		t.Errorf("logs %v", r.Logs)
	}
}

func TestI18_MissingRegistration(t *testing.T) {
	p, sim := open(t)
	r := p.Call("whois", in{"domain": "unregistered-name.com"})
	if r.Err == nil || r.Err.Code != sdk.CodeNotFound || !strings.Contains(r.Err.Message, "not found") || sim.Kit().Count("") != 1 {
		t.Errorf("got %v after %d requests", r.Err, sim.Kit().Count(""))
	}
	r = p.Call("whois", in{"domain": "unregistered-name.com", "missing_ok": true})
	out := output(t, r)
	want := in{
		"domain": "unregistered-name.com", "found": false, "registrar": nil, "creation_date": nil, "expiration_date": nil, "last_updated": nil,
		"name_servers": nil, "status": nil, "rdap_link": nil, "days_to_expiry": nil,
	}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestI18_AForeign404IsNoMissingDomain(t *testing.T) {
	for name, f := range map[string]simkit.Fault{
		"a page": {Status: 404, HTML: true}, "another JSON": {Status: 404, Body: `{"message":"no such route"}`}, "nothing": {Status: 404, Empty: true},
	} {
		t.Run(name, func(t *testing.T) {
			p, sim := open(t)
			answer(t, sim, f)
			r := p.Call("whois", in{"domain": "example.com", "missing_ok": true})
			if r.Err == nil || r.Err.Code != sdk.CodeNotFound {
				t.Errorf("got %s and %v: a proxy's 404 must not make a domain look lost", r.Output, r.Err)
			}
		})
	}
}

func TestI18_MissingOKHidesNothingElse(t *testing.T) {
	p, sim := open(t)
	for status, code := range map[int]sdk.Code{400: sdk.CodeInvalid, 429: sdk.CodeRateLimited, 500: sdk.CodeUnavailable} {
		answer(t, sim, simkit.Fault{Status: status, Body: `{"success":false,"error":"no"}`})
		if r := p.Call("whois", in{"domain": "example.com", "missing_ok": true}); r.Err == nil || r.Err.Code != code {
			t.Errorf("status %d: %v", status, r.Err)
		}
	}
}

func TestWhoisUsesTheClockOfTheAnswer(t *testing.T) {
	p, _ := open(t)
	out := output(t, p.Call("whois", in{"domain": "expiring-lease.org"}))
	end, err := time.Parse(time.RFC3339, out["expiration_date"].(string))
	if err != nil {
		t.Fatal(err)
	}
	if days := out["days_to_expiry"].(float64); days < 0 || days >= 30 || int(days) != int(end.Sub(noon).Hours()/24) {
		t.Errorf("got %v for %v", days, end)
	}
}
