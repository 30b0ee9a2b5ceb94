package tasks

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/tasks/taskssim"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// noon is a Thursday, so that the week at hand is neither empty nor over.
var noon = time.Date(2031, 5, 8, 12, 0, 0, 0, time.UTC)

func frozen() time.Time { return noon }

// canary is the credential of every test; nothing may show it.
const canary = "canary-Tok3n-9f8e7d6c5b4a"

// in is shorthand for an input.
type in = map[string]any

// open returns the plugin with a connection to a simulator.
func open(t *testing.T) (*sdktest.Plugin, *taskssim.Sim) {
	t.Helper()
	return openSim(t, taskssim.Options{Token: canary}, in{"token": canary})
}

// openSim is open with options and a config of the test's own.
func openSim(t *testing.T, o taskssim.Options, config in) (*sdktest.Plugin, *taskssim.Sim) {
	t.Helper()
	o.Now = frozen
	sim := taskssim.New(o)
	srv := httptest.NewServer(sim)
	t.Cleanup(srv.Close)
	settings := in{"base_url": srv.URL}
	for name, value := range config {
		settings[name] = value
	}
	return sdktest.Open(t, NewWith(Options{Now: frozen}), settings), sim
}

// answer makes the simulator spoil an answer.
func answer(t *testing.T, sim *taskssim.Sim, f simkit.Fault) {
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

// sent returns the last request that the simulator saw.
func sent(t *testing.T, sim *taskssim.Sim) simkit.Request {
	t.Helper()
	all := sim.Kit().Requests()
	if len(all) == 0 {
		t.Fatal("nothing was sent")
	}
	return all[len(all)-1]
}

// refused checks that an input is refused before any request, both when a
// workflow is checked and when the action is called.
func refused(t *testing.T, action string, input in, pointer, word string) {
	t.Helper()
	p, sim := open(t)
	problems := p.Validate(action, input)
	if len(problems) != 1 || problems[0].Warning || problems[0].Pointer != pointer || !strings.Contains(problems[0].Summary+" "+problems[0].Detail, word) {
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

// failed checks the kind of a failure and that one request was sent.
func failed(t *testing.T, sim *taskssim.Sim, r sdktest.Result, code sdk.Code, word string) *sdk.Error {
	t.Helper()
	if r.Err == nil || r.Err.Code != code || !strings.Contains(r.Err.Message+" "+r.Err.Hint, word) {
		t.Fatalf("got %+v, want %s with %q", r.Err, code, word)
	}
	return r.Err
}

// week is a range of the completed-task actions.
func week(more in) in {
	input := in{"since": "2031-04-28T00:00:00Z", "until": "2031-05-05T00:00:00Z"}
	for name, value := range more {
		input[name] = value
	}
	return input
}

// call is an action with an input that the service takes.
type call struct {
	action string
	input  in
}

// everyCall is one well-behaved call of each action.
func everyCall() []call {
	return []call{
		{"invitation_delete", in{"body": in{"email": "ana@example.com"}}},
		{"invitations_list", in{"workspace_id": taskssim.Brightwater}},
		{"invitation_accept", in{"invite_code": taskssim.LanternCode}},
		{"invitation_reject", in{"invite_code": taskssim.QuarryCode}},
		{"projects_archived", in{"workspace_id": taskssim.Brightwater}},
		{"projects_active", in{"workspace_id": taskssim.Northgate}},
		{"users_invite", in{"workspace_id": taskssim.Brightwater, "body": in{"emails": []string{"new@example.com"}}}},
		{"label_remove", in{"body": in{"name": "review"}}},
		{"label_rename", in{"body": in{"from": "wating", "to": "waiting"}}},
		{"completed_by_completion_date", week(nil)},
		{"completed_by_due_date", week(nil)},
		{"stats", in{}},
		{"migrate_personal_token", in{"body": in{"personal_token": "old-Personal-Tok3n"}, "store_as": "main"}},
		{"usage_top_up", in{"confirm": true}},
		{"usage_summary", in{}},
		{"usage_history", in{}},
	}
}

func TestPluginIsSound(t *testing.T) {
	if err := New().Err(); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{ // effect, inputs, outputs: section 2.1, names are a contract
		"invitation_delete":            {"ONCE", "body", "response"},
		"invitations_list":             {"READ", "workspace_id", "invitations"},
		"invitation_accept":            {"IDEMPOTENT", "invite_code", "invitation"},
		"invitation_reject":            {"IDEMPOTENT", "invite_code", "invitation"},
		"projects_archived":            {"READ", "cursor items_field limit workspace_id", "items next_cursor page"},
		"projects_active":              {"READ", "cursor items_field limit workspace_id", "items next_cursor page"},
		"users_invite":                 {"ONCE", "body workspace_id", "response"},
		"label_remove":                 {"ONCE", "body", "response"},
		"label_rename":                 {"ONCE", "body", "response"},
		"completed_by_completion_date": {"READ", "cursor filter_lang filter_query items_field limit parent_id project_id public_key section_id since until workspace_id", "items next_cursor page"},
		"completed_by_due_date":        {"READ", "cursor filter_lang filter_query items_field limit parent_id project_id section_id since until workspace_id", "items next_cursor page"},
		"stats":                        {"READ", "", "stats"},
		"migrate_personal_token":       {"ONCE", "body store_as", "response stored"},
		"usage_top_up":                 {"ONCE", "body confirm", "response"},
		"usage_summary":                {"READ", "category product since until", "summary"},
		"usage_history":                {"READ", "cursor items_field limit product", "items next_cursor page"},
	}
	got := map[string][]string{}
	for _, a := range sdktest.Serve(t, New()).Describe().Actions {
		var input, out struct {
			Properties map[string]any `json:"properties"`
		}
		if json.Unmarshal(a.Input, &input) != nil || json.Unmarshal(a.Output, &out) != nil {
			t.Fatalf("the schemas of %s can't be read", a.Name)
		}
		got[a.Name] = []string{
			strings.ToUpper(a.Effect), strings.Join(slices.Sorted(maps.Keys(input.Properties)), " "), strings.Join(slices.Sorted(maps.Keys(out.Properties)), " "),
		}
		if len(a.Examples) == 0 || len(a.Faults) < 3 || a.Doc == "" {
			t.Errorf("action %s lacks examples, faults or doc", a.Name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

func TestEveryActionWorksAndBreaksNoRule(t *testing.T) {
	p, sim := open(t)
	for _, c := range everyCall() {
		output(t, p.Call(c.action, c.input))
	}
	for _, r := range sim.Kit().Requests() {
		if r.Status != 200 {
			t.Errorf("%s %s was answered with %d", r.Method, r.Path, r.Status)
		}
	}
	if n := sim.Kit().Count(""); n != 16 {
		t.Errorf("%d requests for 16 calls", n)
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
			if problems := p.Validate(a.Name, input); len(problems) != 0 {
				t.Errorf("%s, %s: %v", a.Name, e.Name, problems)
			}
			// an empty body and a made-up code are refused by the service, not here
			if r := p.Call(a.Name, input); r.Err != nil && r.Err.HTTPStatus == 0 {
				t.Errorf("%s, %s: %v", a.Name, e.Name, r.Err)
			}
		}
	}
}

func TestT01_PathsBelowBaseURL(t *testing.T) {
	want := []string{
		"POST /api/v1/workspaces/invitations/delete", "GET /api/v1/workspaces/invitations/all",
		"PUT /api/v1/workspaces/invitations/Lantern_7Qd2xV-e41c/accept", "PUT /api/v1/workspaces/invitations/Quarry%2F9%20b+7%252F/reject",
		"GET /api/v1/workspaces/40317/projects/archived", "GET /api/v1/workspaces/9007199254741121/projects/active",
		"POST /api/v1/workspaces/40317/users/invite", "POST /api/v1/labels/shared/remove", "POST /api/v1/labels/shared/rename",
		"GET /api/v1/tasks/completed/by_completion_date", "GET /api/v1/tasks/completed/by_due_date", "GET /api/v1/tasks/completed/stats",
		"POST /api/v1/access_tokens/migrate_personal_token", "POST /api/v1/usage_billing/top_up", "GET /api/v1/usage_billing/usage_summary",
		"GET /api/v1/usage_billing/history",
	}
	p, sim := open(t)
	var got []string
	for _, c := range everyCall() {
		p.Call(c.action, c.input)
		got = append(got, sent(t, sim).Method+" "+sent(t, sim).Path)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestT01_BaseURLIsChecked(t *testing.T) {
	p := sdktest.Serve(t, New())
	for _, base := range []string{
		"", "tasks.example", "ftp://tasks.example", "https://tasks.example/api/v1", "https://tasks.example/api/v1/",
		"https://tasks.example?x=1", "https://tasks.example#x", "https://user:pass@tasks.example",
	} {
		if problems := p.Connect("c", in{"base_url": base, "token": canary}); len(problems) == 0 || problems[0].Pointer != "/base_url" {
			t.Errorf("base_url %q: %v", base, problems)
		}
	}
	for _, base := range []string{"https://tasks.example", "https://tasks.example/", "http://127.0.0.1:8080/below"} {
		if problems := p.Connect("c", in{"base_url": base, "token": canary}); len(problems) != 0 {
			t.Errorf("base_url %q: %v", base, problems)
		}
	}
}

func TestT02_SyncIsNeverCalled(t *testing.T) {
	p, sim := open(t)
	for _, a := range p.Describe().Actions {
		if strings.Contains(a.Name, "sync") {
			t.Errorf("there is an action %s", a.Name)
		}
	}
	for _, c := range everyCall() {
		p.Call(c.action, c.input)
	}
	for path := range sim.Kit().Counts() {
		if strings.Contains(path, "sync") || !strings.HasPrefix(path, "/api/v1/") {
			t.Errorf("%s was asked for", path)
		}
	}
}

func TestT67_NoTriggers(t *testing.T) {
	p, _ := open(t)
	for _, a := range p.Describe().Actions {
		for _, word := range []string{"webhook", "trigger", "event", "subscribe"} {
			if strings.Contains(a.Name, word) {
				t.Errorf("the action %s promises events, which are not documented", a.Name)
			}
		}
	}
}

func TestT69_NoLimiterIsDeclared(t *testing.T) {
	p, _ := open(t)
	if limits := p.Describe().Limiters; len(limits) != 0 {
		t.Errorf("limiters %v: rate limits are not documented", limits)
	}
	for _, a := range p.Describe().Actions {
		if len(a.Limiters) != 0 {
			t.Errorf("action %s counts in %v", a.Name, a.Limiters)
		}
	}
}

func TestT70_NoVersionHeader(t *testing.T) {
	p, sim := open(t)
	for _, c := range everyCall() {
		p.Call(c.action, c.input)
	}
	allowed := map[string]bool{"accept": true, "accept-encoding": true, "authorization": true, "content-length": true, "content-type": true, "user-agent": true}
	for _, r := range sim.Kit().Requests() {
		for name := range r.Header {
			if !allowed[name] {
				t.Errorf("%s %s carries the header %s", r.Method, r.Path, name)
			}
		}
		if r.Header["accept"] != "application/json" {
			t.Errorf("%s %s accepts %q", r.Method, r.Path, r.Header["accept"])
		}
	}
}
