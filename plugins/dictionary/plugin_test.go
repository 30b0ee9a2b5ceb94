package dictionary

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/dictionary/dictionarysim"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

var noon = time.Date(2031, 5, 7, 12, 0, 0, 0, time.UTC)

func frozen() time.Time { return noon }

// open returns the plugin with a connection to a simulator without a limit.
func open(t *testing.T) (*sdktest.Plugin, *dictionarysim.Sim) {
	t.Helper()
	return openSim(t, dictionarysim.Options{Requests: -1, Now: frozen}, nil)
}

func openSim(t *testing.T, o dictionarysim.Options, config in) (*sdktest.Plugin, *dictionarysim.Sim) {
	t.Helper()
	sim := dictionarysim.New(o)
	srv := httptest.NewServer(sim)
	t.Cleanup(srv.Close)
	settings := in{"base_url": srv.URL}
	for name, value := range config {
		settings[name] = value
	}
	return sdktest.Open(t, NewWith(Options{Now: frozen}), settings), sim
}

// answer makes the simulator answer the next request with what the test gives.
func answer(t *testing.T, sim *dictionarysim.Sim, f simkit.Fault) {
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
		if len(a.Examples) == 0 || len(a.Faults) < 5 || a.Doc == "" || a.Effect != "read" {
			t.Errorf("action %s lacks examples, faults, doc or the effect read", a.Name)
		}
	}
	if diff := cmp.Diff([]string{"word", "synonyms", "antonyms", "abbr", "letter", "stats", "search"}, names); diff != "" {
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
			if r := p.Call(a.Name, input); r.Err != nil {
				t.Errorf("%s, %s: %v", a.Name, e.Name, r.Err)
			}
		}
	}
}

func TestD01_PathsBelowBaseURL(t *testing.T) {
	p, sim := open(t)
	calls := []struct {
		action      string
		input       in
		path, query string
	}{
		{"word", in{"word": "happy"}, "/api/word/happy", ""},
		{"synonyms", in{"word": "happy"}, "/api/word/happy/synonyms", ""},
		{"antonyms", in{"word": "happy"}, "/api/word/happy/antonyms", ""},
		{"abbr", in{"id": 1}, "/api/abbr/1", ""},
		{"letter", in{"letter": "s"}, "/api/letter/S", ""},
		{"stats", in{}, "/api/stats", ""},
		{"search", in{"q": "app"}, "/api/search", "q=app&type=word"},
	}
	for i, c := range calls {
		output(t, p.Call(c.action, c.input))
		sent := sim.Kit().Requests()[i]
		if sent.Method != "GET" || sent.Path != c.path || sent.Query != c.query || sent.Length != 0 {
			t.Errorf("%s sent %+v", c.action, sent)
		}
	}
}

func TestD01_BaseURLIsChecked(t *testing.T) {
	p := sdktest.Serve(t, New())
	for _, base := range []string{"", "dictionary.example", "https://dictionary.example/api", "https://dictionary.example/api/", "https://dictionary.example?x=1"} {
		if problems := p.Connect("c", in{"base_url": base}); len(problems) == 0 || problems[0].Pointer != "/base_url" {
			t.Errorf("base_url %q: %v", base, problems)
		}
	}
	if problems := p.Connect("c", in{"base_url": "https://dictionary.example/"}); len(problems) != 0 {
		t.Errorf("a good base_url: %v", problems)
	}
}

func TestD18_LimiterIsDeclared(t *testing.T) {
	p, _ := open(t)
	limits := p.Describe().Limiters
	if len(limits) != 1 || limits[0].Requests != 60 || limits[0].Window != time.Minute || !limits[0].FixedWindow {
		t.Fatalf("limiters %v", limits)
	}
	for _, a := range p.Describe().Actions {
		if len(a.Limiters) != 1 || a.Limiters[0] != limits[0].Name {
			t.Errorf("action %s counts in %v", a.Name, a.Limiters)
		}
	}
}

func TestD19_HeadersAreSentOnlyWhereTheyAreSet(t *testing.T) {
	p, sim := open(t)
	output(t, p.Call("stats", in{}))
	for _, name := range []string{"authorization", "cookie", "x-key"} {
		if v, ok := sim.Kit().Requests()[0].Header[name]; ok {
			t.Errorf("%s: %s is sent without a setting", name, v)
		}
	}
	p, sim = openSim(t, dictionarysim.Options{}, in{"headers": in{"X-Key": "k1", "Authorization": "Token t"}})
	output(t, p.Call("stats", in{}))
	sent := sim.Kit().Requests()[0].Header
	if sent["x-key"] != "k1" || sent["authorization"] != "Token t" {
		t.Errorf("sent %v", sent)
	}
}

func TestD19_HeadersAreChecked(t *testing.T) {
	p := sdktest.Serve(t, New())
	for name, value := range map[string]string{"": "x", "X Key": "x", "X:Key": "x", "Cookie": "a=b", "X-Key": "a\nb", "a/b": "x"} {
		problems := p.Connect("c", in{"base_url": "https://dictionary.example", "headers": in{name: value}})
		if len(problems) != 1 || !strings.HasPrefix(problems[0].Pointer, "/headers/") {
			t.Errorf("header %q: %q is accepted: %v", name, value, problems)
		}
	}
}

func TestD19_HeaderValuesAreMasked(t *testing.T) {
	const secret = "very-secret-key"
	p, sim := openSim(t, dictionarysim.Options{}, in{"headers": in{"X-Key": secret}})
	answer(t, sim, simkit.Fault{Status: 500, Body: `{"code":500,"message":"key ` + secret + ` is bad"}`})
	r := p.Call("stats", in{})
	if r.Err == nil || strings.Contains(r.Err.Message, secret) {
		t.Errorf("the error shows the secret: %+v", r.Err)
	}
	if body, _ := r.Err.Details["body"].(string); strings.Contains(body, secret) {
		t.Errorf("the excerpt shows the secret: %s", body)
	}
}

func TestCheckConnection(t *testing.T) {
	p, sim := open(t)
	if account, err := p.CheckConnection(); err != nil || account != "" {
		t.Errorf("got %q and %v", account, err)
	}
	answer(t, sim, simkit.Fault{HTML: true})
	if _, err := p.CheckConnection(); err == nil || err.Code != sdk.CodeUnexpectedResponse {
		t.Errorf("got %v, want unexpected_response", err)
	}
}
