package plugins

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/auth/authsim"
)

// goodCalls are inputs with which the actions work, beyond the examples and
// goodInput: one for each documented form of a request.
func goodCalls(l *line) []refusal {
	return []refusal{
		{"A-43", "auth.resource_get", in{"url": l.url + "/resource/me", "headers": in{"X-Trace": "1"}}},
		{"A-44", "auth.resource_get", in{"url": l.url + "/resource/me", "token_in": "query"}},
		{"A-48", "auth.deployments_list", in{"credential": "oauth"}},
		{"A-47", "auth.deployments_list", in{"credential": "api_key"}},
		{"A-50", "auth.scim_users_list", in{"scim_scheme": "api-key", "count": 5}},
		{"A-55", "auth.scim_users_list", in{"count": 5, "start_index": 6}},
	}
}

// TestWellBehavedRunBreaksNoRule runs every action, with its examples where the
// simulators know what they name, and holds every request against the documented
// rules.
func TestWellBehavedRunBreaksNoRule(t *testing.T) {
	t.Parallel()
	lines := map[string]*line{}
	var all []*line
	for _, plugin := range products() {
		lines[plugin] = newLine(t, plugin, plugin, authsim.Options{})
		all = append(all, lines[plugin])
	}
	b := openBench(t, all, lineSecrets())
	b.login(t, lines["auth"])
	flow, err := b.startFlow(lines["auth"])
	if err != nil {
		t.Fatal(err)
	}
	actions := described(t, b)
	good := func(t *testing.T, action, plugin string, input map[string]any) {
		t.Helper()
		before := lines[plugin].kit.Count("")
		result := b.wait(t, b.start(t, step{action, plugin, input, nil}.source(t)))
		if result.Run.Status != runs.RunSucceeded {
			t.Errorf("%v: the run is %s: %s", input, result.Run.Status, errorText(result))
		}
		requests := lines[plugin].since(before)
		if len(requests) == 0 && !slices.Contains([]string{"auth.status", "auth.device_poll", "auth.token"}, action) { // a token that is good is no reason to ask
			t.Errorf("%v: nothing was sent", input)
		}
		for _, r := range requests {
			for _, broken := range brokenRules(plugin, r) {
				t.Errorf("%v: %s %s?%s: %s", input, r.Method, r.Path, r.Query, broken)
			}
		}
	}
	for _, name := range revokeLast(actionNames()) {
		plugin, _, _ := strings.Cut(name, ".")
		t.Run(name, func(t *testing.T) {
			if name == "auth.device_wait" { // device_poll may have brought the other one to its end
				if flow, err = b.startFlow(lines["auth"]); err != nil {
					t.Fatal(err)
				}
			}
			if input := goodInput(name, lines[plugin], flow); input != nil {
				if name == "tasks.invitation_reject" { // the other code is accepted already
					lines[plugin].tasks.Kit().Reset()
				}
				good(t, name, plugin, input)
				return
			}
			for _, example := range actions[name].Examples {
				good(t, name, plugin, exampleInput(t, actions[name], example))
				if name == "auth.revoke" {
					break // a second one has nothing to revoke
				}
			}
		})
		if name == "auth.scim_users_list" {
			for _, call := range goodCalls(lines["auth"]) {
				t.Run(call.row+" "+call.action, func(t *testing.T) { good(t, call.action, "auth", call.input) })
			}
		}
	}
}

// revokeLast moves the action that ends the login behind those that need it.
func revokeLast(names []string) []string {
	at := slices.Index(names, "auth.revoke")
	return append(slices.Delete(slices.Clone(names), at, at+1), "auth.revoke")
}

// TestEveryPageIsAskedForAsDocumented reads all pages of every paginated action.
func TestEveryPageIsAskedForAsDocumented(t *testing.T) {
	pages := map[string]in{
		"tasks.projects_archived":            {"workspace_id": 40317, "limit": 50},
		"tasks.projects_active":              {"workspace_id": 40317, "limit": 5},
		"tasks.usage_history":                {"limit": 40},
		"tasks.completed_by_completion_date": {"since": "2026-09-01T00:00:00Z", "until": "2026-11-01T00:00:00Z"},
		"tasks.completed_by_due_date":        {"since": "2026-08-01T00:00:00Z", "until": "2026-11-01T00:00:00Z"},
		"dictionary.letter":                  {"letter": "s", "per_page": 10},
		"auth.scim_users_list":               {"count": 10},
		"http.get":                           {"path": "/things", "query": in{"limit": 10}, "pages": in{"by": "cursor", "items": "/things", "next": "/next", "query": "after"}},
	}
	lines := map[string]*line{}
	var all []*line
	for _, plugin := range []string{"auth", "dictionary", "http", "tasks"} {
		lines[plugin] = newLine(t, plugin, plugin, authsim.Options{})
		all = append(all, lines[plugin])
	}
	b := openBench(t, all, lineSecrets())
	for _, row := range documented() {
		if row.paging == nil {
			continue
		}
		t.Run(row.action, func(t *testing.T) {
			plugin, _, _ := strings.Cut(row.action, ".")
			before := lines[plugin].kit.Count("")
			source := step{row.action, plugin, pages[row.action], map[string]any{"paginate": in{"max_pages": 100}}}.source(t)
			result := b.wait(t, b.start(t, source))
			if result.Run.Status != runs.RunSucceeded {
				t.Fatalf("the run is %s: %s", result.Run.Status, errorText(result))
			}
			requests := lines[plugin].since(before)
			if len(requests) < 2 {
				t.Errorf("%d requests, want several pages", len(requests))
			}
			for _, r := range requests {
				for _, broken := range brokenRules(plugin, r) {
					t.Errorf("%s %s?%s: %s", r.Method, r.Path, r.Query, broken)
				}
			}
			var out struct {
				Items []json.RawMessage `json:"items"`
			}
			if err := json.Unmarshal(result.Steps["it"].Outputs, &out); err != nil || len(out.Items) < 11 && row.action != "tasks.projects_active" {
				t.Errorf("%d items, %v", len(out.Items), err)
			}
			seen := map[string]bool{}
			for _, item := range out.Items {
				if seen[string(item)] {
					t.Errorf("an item came twice: %s", item)
				}
				seen[string(item)] = true
			}
		})
	}
}

// brokenRules holds a request against what the documents say of all requests to
// a service.
func brokenRules(plugin string, r simkit.Request) []string {
	var broken []string
	rule := func(holds bool, text string) {
		if !holds {
			broken = append(broken, text)
		}
	}
	query, err := url.ParseQuery(r.Query)
	rule(err == nil, "the query can't be read")
	rule(r.Status >= 200 && r.Status < 300 || plugin == "auth" && r.Path == "/token" && r.Status == http.StatusPreconditionRequired, "it was refused")
	rule(r.Header["cookie"] == "", "it has a cookie")
	for name, values := range query {
		rule(len(values) == 1 && values[0] != "" && values[0] != "null", "parameter "+name+" is empty, null or repeated")
	}
	authorization := r.Header["authorization"]
	switch plugin {
	case "netinfo":
		rule(r.Method == http.MethodGet && strings.HasPrefix(r.Path, "/api/v1/"), "not a documented request (I-01)")
		rule(authorization == "" && r.Header["proxy-authorization"] == "", "it has a credential (I-02)")
	case "dictionary":
		rule(r.Method == http.MethodGet && strings.HasPrefix(r.Path, "/api/"), "not a documented request (D-01)")
		rule(authorization == "", "it has a credential (D-19)")
	case "analytics":
		rule(r.Method == http.MethodGet && strings.HasPrefix(r.Path, "/v1/"), "not a documented request (N-01)")
		rule(authorization == "Bearer "+analyticsToken, "it lacks the credential (N-02)")
		rule(r.Header["accept"] == "application/json", "Accept is not application/json (N-03)")
		rule(!query.Has("timezone") && !query.Has("date_zone") && !query.Has("numeric"), "it has a parameter that is never sent (N-25)")
	case "tasks":
		rule(strings.HasPrefix(r.Path, "/api/v1/") && !strings.Contains(r.Path, "sync"), "not a documented request (T-01, T-02)")
		rule(authorization == "Bearer "+tasksToken, "it lacks the credential (T-65)")
		rule((r.Header["content-type"] == "application/json") == (r.Length > 0) && (r.Length > 0 || r.Header["content-type"] == ""), "Content-Type is there without a body or the other way round (T-16)")
	case "auth":
		broken = append(broken, brokenAuthRules(r, query)...)
	}
	return broken
}

func brokenAuthRules(r simkit.Request, query url.Values) []string {
	var broken []string
	rule := func(holds bool, text string) {
		if !holds {
			broken = append(broken, text)
		}
	}
	authorization := r.Header["authorization"]
	switch r.Path {
	case "/device/code", "/token":
		rule(r.Method == http.MethodPost && r.Header["content-type"] == "application/x-www-form-urlencoded" && r.Query == "", "not a form (A-03)")
		rule(authorization == "", "the client's secret goes into the form")
	case "/revoke":
		rule(r.Method == http.MethodPost && query.Get("token") != "" && len(query) == 1 && r.Length == 0, "the token goes into the query, the body is empty (A-37)")
	case "/resource/me":
		rule(strings.HasPrefix(authorization, "Bearer ") != query.Has("access_token"), "the token stands in exactly one place (A-43, A-44)")
	case "/api/v1/deployments":
		rule(r.Query == "", "it has a query (A-53)")
		rule(authorization == "Api-Key "+apiKey || strings.HasPrefix(authorization, "Bearer at-"), "the credential's kind fixes the scheme (A-47, A-48)")
	case "/api/scim/v2/Users":
		rule(authorization == "Bearer "+scimToken || authorization == "Api-Key "+scimToken, "it lacks the SCIM token (A-49, A-50)")
	default:
		rule(false, "not a documented request")
	}
	return broken
}

// TestBrokenRulesAreFound keeps the rules above honest.
func TestBrokenRulesAreFound(t *testing.T) {
	for name, tt := range map[string]struct {
		plugin  string
		request simkit.Request
	}{
		"a credential for netinfo":    {"netinfo", simkit.Request{Method: "GET", Path: "/api/v1/ip", Status: 200, Header: map[string]string{"authorization": "Bearer x"}}},
		"a refused request":           {"dictionary", simkit.Request{Method: "GET", Path: "/api/stats", Status: 400}},
		"a write to analytics":        {"analytics", simkit.Request{Method: "POST", Path: "/v1/aggregations", Status: 200, Header: map[string]string{"authorization": "Bearer " + analyticsToken, "accept": "application/json"}}},
		"a call of sync":              {"tasks", simkit.Request{Method: "POST", Path: "/api/v1/sync", Status: 200, Header: map[string]string{"authorization": "Bearer " + tasksToken}}},
		"an empty parameter":          {"tasks", simkit.Request{Method: "GET", Path: "/api/v1/tasks/completed/stats", Query: "cursor=", Status: 200, Header: map[string]string{"authorization": "Bearer " + tasksToken}}},
		"a token in the body":         {"auth", simkit.Request{Method: "POST", Path: "/revoke", Status: 200, Length: 9}},
		"an API key sent as Bearer":   {"auth", simkit.Request{Method: "GET", Path: "/api/v1/deployments", Status: 200, Header: map[string]string{"authorization": "Bearer " + apiKey}}},
		"a request that is not known": {"auth", simkit.Request{Method: "GET", Path: "/api/v2/x", Status: 200}},
	} {
		if got := brokenRules(tt.plugin, tt.request); len(got) == 0 {
			t.Errorf("%s breaks no rule", name)
		}
	}
}
