package tasks

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/tasks/taskssim"
	"github.com/flowrun/flowrun/sdk"
)

func TestT53_TopUpNeedsConfirm(t *testing.T) {
	refused(t, "usage_top_up", in{}, "/confirm", "required")
	refused(t, "usage_top_up", in{"confirm": false}, "/confirm", "true")
	refused(t, "usage_top_up", in{"confirm": nil}, "/confirm", "true")
	refused(t, "usage_top_up", in{"confirm": "true"}, "/confirm", "true")
	refused(t, "usage_top_up", in{"confirm": false, "body": in{}}, "/confirm", "true")
	p, sim := open(t)
	for _, input := range []in{{"confirm": true}, {"confirm": true, "body": nil}} {
		output(t, p.Call("usage_top_up", input))
		if r := sent(t, sim); r.Method != "POST" || r.Length != 0 || r.Header["content-type"] != "" || r.Query != "" {
			t.Errorf("sent %+v", r)
		}
	}
	output(t, p.Call("usage_top_up", in{"confirm": true, "body": in{"amount": 20}}))
	if bodies := sim.Bodies(); len(bodies) != 1 || bodies[0].Body != `{"amount":20}` {
		t.Errorf("bodies %v", bodies)
	}
}

func TestT53_TopUpIsSentOnce(t *testing.T) {
	p, sim := open(t)
	if got := p.Action("usage_top_up").Effect; got != "once" {
		t.Errorf("effect %s", got)
	}
	for i, f := range []simkit.Fault{{Status: 503}, {Drop: simkit.DropBefore}, {Drop: simkit.DropAfter}, {HTML: true}} {
		answer(t, sim, f)
		r := p.Call("usage_top_up", in{"confirm": true})
		if r.Err == nil || r.Err.Applied != sdk.AppliedUnknown || sim.Kit().Count("") != i+1 {
			t.Errorf("%+v: %+v after %d requests", f, r.Err, sim.Kit().Count(""))
		}
	}
}

// TestIssue12_16_AnEmptySuccessOfAWriteIsApplied: a whole answer without a body
// says that a write was done, where no shape is documented; one that was cut does
// not, nor does a read's.
func TestIssue12_16_AnEmptySuccessOfAWriteIsApplied(t *testing.T) {
	writes := map[string]string{
		"invitation_delete": "response", "invitation_accept": "invitation", "invitation_reject": "invitation", "users_invite": "response",
		"label_remove": "response", "label_rename": "response", "usage_top_up": "response", "migrate_personal_token": "response",
	}
	for _, c := range everyCall() {
		field, isWrite := writes[c.action]
		for _, status := range []int{200, 201, 202, 204} {
			p, sim := open(t)
			answer(t, sim, simkit.Fault{Status: status, Empty: true})
			r := p.Call(c.action, c.input)
			if !isWrite {
				failed(t, sim, r, sdk.CodeUnexpectedResponse, "empty")
				continue
			}
			if out := output(t, r); out[field] != nil {
				t.Errorf("%s, %d: %v", c.action, status, out)
			}
		}
		if isWrite {
			p, sim := open(t)
			answer(t, sim, simkit.Fault{Truncate: 1, Cut: true})
			if e := failed(t, sim, p.Call(c.action, c.input), sdk.CodeUnexpectedResponse, "cut short"); e.Applied != sdk.AppliedUnknown {
				t.Errorf("%s: a cut answer is %s", c.action, e.Applied)
			}
		}
	}
}

func TestT54_TopUpNeedsASubscription(t *testing.T) {
	p, sim := openSim(t, taskssim.Options{Token: canary, NoSubscription: true}, in{"token": canary})
	if e := failed(t, sim, p.Call("usage_top_up", in{"confirm": true}), sdk.CodeForbidden, "subscription"); e.Hint != hintTopUp {
		t.Errorf("hint %q", e.Hint)
	}
	answer(t, sim, simkit.Fault{Status: 400})
	if e := failed(t, sim, p.Call("usage_top_up", in{"confirm": true}), sdk.CodeInvalid, ""); e.Hint != hintTopUp {
		t.Errorf("hint %q", e.Hint)
	}
	p, _ = open(t)
	url, _ := output(t, p.Call("usage_top_up", in{"confirm": true}))["response"].(in)["checkout_url"].(string)
	if !strings.HasPrefix(url, "https://checkout.example/pay/") {
		t.Errorf("the answer's URL is %q", url)
	}
}

func TestT55_SummaryOmitsWhatIsNotGiven(t *testing.T) {
	p, sim := open(t)
	var queries []string
	for _, input := range []in{
		{}, {"product": nil, "category": nil, "since": nil, "until": nil}, {"product": "automations"}, {"category": "ai_step"},
		{"since": "2031-04-01T00:00:00", "until": "2031-05-01T00:00:00Z"},
	} {
		output(t, p.Call("usage_summary", input))
		queries = append(queries, sent(t, sim).Query)
	}
	want := []string{"", "", "product=automations", "category=ai_step", "since=2031-04-01T00%3A00%3A00&until=2031-05-01T00%3A00%3A00Z"}
	if diff := cmp.Diff(want, queries); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

func TestT56_SettledUsageAlone(t *testing.T) {
	p, sim := open(t)
	runs := 0.0
	items, _ := readAll(t, p, "usage_history", in{"limit": 200})
	for _, item := range items {
		if item.(in)["kind"] == "settled_usage" {
			runs++
		}
	}
	before := sim.Kit().Count("")
	summary := output(t, p.Call("usage_summary", in{}))["summary"].(in)
	if summary["run_count"] != runs || runs == float64(len(items)) || sim.Kit().Count("") != before+1 {
		t.Errorf("summary %v, %v runs among %d entries", summary, runs, len(items))
	}
	if doc := p.Action("usage_summary").Doc; !strings.Contains(doc, "void, expiry and chargeback") {
		t.Errorf("the doc is %s", doc)
	}
}

func TestT57_Category(t *testing.T) {
	refused(t, "usage_summary", in{"category": ""}, "/category", "empty")
	p, _ := open(t)
	count := func(input in) float64 {
		return output(t, p.Call("usage_summary", input))["summary"].(in)["run_count"].(float64)
	}
	all, runs, steps := count(in{}), count(in{"category": "automation_run"}), count(in{"category": "ai_step"})
	if runs == 0 || steps == 0 || all != runs+steps {
		t.Errorf("%v of all, %v and %v of the categories", all, runs, steps)
	}
}

func TestT58_SummaryTimes(t *testing.T) {
	for _, text := range []string{"", "2031-04-01", "2031-04-01 00:00:00", "2031-02-30T00:00:00", "2031-04-01T25:00:00Z", "2031-04-01T00:00:00+2", "now"} {
		for _, name := range []string{"since", "until"} {
			problemAt(t, "usage_summary", in{name: text}, "/"+name)
		}
	}
	p, sim := open(t)
	for _, text := range []string{"2031-04-01T00:00:00", "2031-04-01T00:00:00Z", "2031-04-01T00:00:00.250", "2031-04-01T02:00:00+02:00"} {
		output(t, p.Call("usage_summary", in{"since": text}))
		if got := queryOf(t, sim).Get("since"); got != text { // the service reads it, not the plugin
			t.Errorf("%s is sent as %s", text, got)
		}
	}
}

// problemAt checks that an input is refused at a place, without a request.
func problemAt(t *testing.T, action string, input in, pointer string) {
	t.Helper()
	p, sim := open(t)
	if problems := p.Validate(action, input); len(problems) != 1 || problems[0].Pointer != pointer {
		t.Errorf("validate %v: %v", input, problems)
	}
	if r := p.Call(action, input); r.Err == nil || r.Err.Code != sdk.CodeInvalid || r.Err.Pointer != pointer || sim.Kit().Count("") != 0 {
		t.Errorf("call with %v: %+v", input, r.Err)
	}
}

func TestT59_OmittedTimesAreNotFilledIn(t *testing.T) {
	p, sim := open(t)
	output(t, p.Call("usage_summary", in{"until": "2031-05-01T00:00:00Z"}))
	if q := queryOf(t, sim); q.Has("since") || len(q) != 1 {
		t.Errorf("sent %v", q)
	}
	output(t, p.Call("usage_summary", in{"since": "2031-05-01T00:00:00Z"}))
	if q := queryOf(t, sim); q.Has("until") || len(q) != 1 {
		t.Errorf("sent %v", q)
	}
}

func TestT60_SummaryIsUnchanged(t *testing.T) {
	p, sim := open(t)
	r := p.Call("usage_summary", in{"since": "2031-05-01T00:00:00Z"})
	if out := string(r.Output); !strings.Contains(out, `"cost":`) || strings.Contains(out, "currency") || strings.Contains(out, "EUR") || strings.Contains(out, "USD") {
		t.Errorf("output %s", out)
	}
	answer(t, sim, simkit.Fault{Body: `{"cost":0.10,"runs":9007199254740993}`})
	if r := p.Call("usage_summary", in{}); string(r.Output) != `{"summary":{"cost":0.10,"runs":9007199254740993}}` {
		t.Errorf("output %s %v", r.Output, r.Err)
	}
}
