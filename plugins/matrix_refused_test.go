package plugins

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/plugins/auth/authsim"
)

// refusal is an input that a V row of the requirements refuses before sending.
type refusal struct {
	row    string
	action string
	input  map[string]any
}

// in is short for an input.
type in = map[string]any

// with returns a copy of an input with changes; nil takes a name out.
func with(base, changes in) in {
	changed := maps.Clone(base)
	for name, value := range changes {
		if changed[name] = value; value == nil {
			delete(changed, name)
		}
	}
	return changed
}

// refusedInputs is the table: at least one input for every V row about inputs.
func refusedInputs() []refusal {
	return slices.Concat(refusedTasks(), refusedAuth(), refusedAnalytics(), refusedLookups())
}

func refusedTasks() []refusal {
	week := in{"since": "2026-01-05T00:00:00Z", "until": "2026-01-12T00:00:00Z"}
	const completion, due = "tasks.completed_by_completion_date", "tasks.completed_by_due_date"
	rows := []refusal{
		{"T-04", "tasks.invitation_accept", in{"invite_code": "tmp-0c1f"}},
		{"T-04", "tasks.invitation_reject", in{"invite_code": "tmp-0c1f"}},
		{"T-10", "tasks.invitation_accept", in{"invite_code": ""}},
		{"T-10", "tasks.invitation_accept", in{"invite_code": ".."}},
		{"T-10", "tasks.invitation_reject", in{"invite_code": "."}},
		{"T-03", "tasks.invitations_list", in{"workspace_id": "forty"}},
		{"T-22", "tasks.invitations_list", in{}},
		{"T-22", "tasks.invitations_list", in{"workspace_id": 1.5}},
		{"T-21", "tasks.invitation_delete", in{"body": "text"}},
		{"T-21", "tasks.invitation_delete", in{}},
		{"T-31", "tasks.users_invite", in{"workspace_id": 0, "body": in{}}},
		{"T-31", "tasks.users_invite", in{"workspace_id": 40317, "body": []string{"x"}}},
		{"T-31", "tasks.users_invite", in{"workspace_id": 40317}},
		{"T-32", "tasks.label_remove", in{"body": []string{}}},
		{"T-33", "tasks.label_rename", in{"body": 7}},
		{"T-52", "tasks.migrate_personal_token", in{"body": "text", "store_as": "main"}},
		{"T-52", "tasks.migrate_personal_token", in{"body": in{}}},
		{"T-53", "tasks.usage_top_up", in{"confirm": false}},
		{"T-53", "tasks.usage_top_up", in{}},
		{"T-58", "tasks.usage_summary", in{"since": "yesterday"}},
		{"T-58", "tasks.usage_summary", in{"until": "2026-02-30T00:00:00"}},
		{"T-57", "tasks.usage_summary", in{"category": ""}},
		{"T-61", "tasks.usage_history", in{"limit": 201}},
		{"T-61", "tasks.usage_history", in{"limit": 0}},
		{"T-18", "tasks.usage_history", in{"cursor": ""}},
		{"T-19", "tasks.usage_history", in{"cursor": "one-segment"}},
		{"T-36", completion, with(week, in{"since": nil})},
		{"T-36", due, with(week, in{"since": "2026-01-05T00:00:00"})},
		{"T-37", completion, with(week, in{"until": "2026-01-05T00:00:00Z"})},
		{"T-37", due, with(week, in{"until": "soon"})},
		{"T-38", completion, in{"since": "2025-11-30T00:00:00Z", "until": "2026-02-28T00:00:01Z"}},
		{"T-39", due, in{"since": "2026-01-01T00:00:00Z", "until": "2026-02-12T00:00:01Z"}},
		{"T-35", due, with(week, in{"public_key": "k"})},
	}
	for _, action := range []string{"tasks.projects_archived", "tasks.projects_active"} {
		rows = append(rows,
			refusal{"T-26", action, in{"workspace_id": -1}},
			refusal{"T-27", action, in{"workspace_id": 1, "limit": 501}},
			refusal{"T-27", action, in{"workspace_id": 1, "limit": 0}},
			refusal{"T-18", action, in{"workspace_id": 1, "cursor": ""}},
			refusal{"T-19", action, in{"workspace_id": 1, "cursor": "a.b.c"}})
	}
	for _, action := range []string{completion, due} {
		rows = append(rows,
			refusal{"T-19", action, with(week, in{"cursor": "a b.c"})},
			refusal{"T-40", action, with(week, in{"workspace_id": "x"})},
			refusal{"T-41", action, with(week, in{"project_id": "tmp-1"})},
			refusal{"T-42", action, with(week, in{"section_id": "tmp-1"})},
			refusal{"T-43", action, with(week, in{"parent_id": "tmp-1"})},
			refusal{"T-45", action, with(week, in{"filter_query": ""})},
			refusal{"T-45", action, with(week, in{"filter_query": strings.Repeat("ä", 1025)})},
			refusal{"T-47", action, with(week, in{"limit": 0})})
	}
	return rows
}

func refusedAuth() []refusal {
	return []refusal{
		{"A-04", "auth.device_start", in{"scopes": []string{}}},
		{"A-04", "auth.device_start", in{}},
		{"A-06", "auth.device_start", in{"scopes": []string{"open id"}}},
		{"A-06", "auth.device_start", in{"scopes": []string{"openid", "e\nmail"}}},
		{"A-20", "auth.device_poll", in{"flow_id": ""}},
		{"A-20", "auth.device_poll", in{"flow_id": "never-started"}},
		{"A-17", "auth.device_wait", in{"flow_id": "never-started"}},
		{"A-17", "auth.device_wait", in{"flow_id": "f", "restart": -1}},
		{"A-29", "auth.token", in{"min_ttl_s": -1}},
		{"A-37", "auth.revoke", in{"which": "both"}},
		{"A-43", "auth.resource_get", in{"url": "https://elsewhere.example/me"}},
		{"A-43", "auth.resource_get", in{"url": "/resource/me"}},
		{"A-43", "auth.resource_get", in{"url": "https://127.0.0.1/me", "headers": in{"Authorization": "Bearer mine"}}},
		{"A-44", "auth.resource_get", in{"url": "https://127.0.0.1/me?access_token=x"}},
		{"A-44", "auth.resource_get", in{"url": "https://127.0.0.1/me", "token_in": "both"}},
		{"A-48", "auth.deployments_list", in{"credential": "bearer"}},
		{"A-50", "auth.scim_users_list", in{"scim_scheme": "basic"}},
		{"A-55", "auth.scim_users_list", in{"count": -1}},
		{"A-55", "auth.scim_users_list", in{"start_index": 0}},
		{"A-55", "auth.scim_users_list", in{"start_index": "first"}},
	}
}

func refusedAnalytics() []refusal {
	const action = "analytics.aggregate"
	views := in{"entity": "pageview", "entity_id": "ABCDEFGH", "aggregates": []string{"visits"}}
	filter := func(property, operator string, value any) in {
		return with(views, in{"filters": []in{{"property": property, "operator": operator, "value": value}}})
	}
	return []refusal{
		{"N-05", action, with(views, in{"entity": "session"})},
		{"N-06", action, with(views, in{"entity_id": nil})},
		{"N-06", action, with(views, in{"entity_id": nil, "site_id": "ABCDEFGH"})},
		{"N-08", action, in{"entity": "event", "site_id": "ABCDEFGH", "aggregates": []string{"value"}}},
		{"N-08", action, in{"entity": "event", "entity_name": "purchase", "aggregates": []string{"value"}}},
		{"N-08", action, in{"entity": "event", "entity_id": "X", "site_id": "Y", "entity_name": "Z", "aggregates": []string{"value"}}},
		{"N-09", action, with(views, in{"aggregates": []string{}})},
		{"N-09", action, with(views, in{"aggregates": []string{"visits", "visits"}})},
		{"N-10", action, with(views, in{"aggregates": []string{"value"}})},
		{"N-11", action, in{"entity": "event", "entity_id": "X", "aggregates": []string{"visits"}}},
		{"N-15", action, with(views, in{"date_grouping": "week"})},
		{"N-16", action, with(views, in{"date_grouping": "hour", "date_from": "2026-03-01 00:00:00", "date_to": "2026-03-09 00:00:00"})},
		{"N-16", action, with(views, in{"date_grouping": "hour"})},
		{"N-17", action, with(views, in{"field_grouping": []string{"nope"}})},
		{"N-18", action, with(views, in{"field_grouping": []string{"domain"}})},
		{"N-19", action, filter("keyword", "is", "x")},
		{"N-21", action, with(views, in{"sort_by": "visits"})},
		{"N-21", action, with(views, in{"sort_by": "conversions:desc"})},
		{"N-22", action, with(views, in{"sort_by": "timestamp:asc"})},
		{"N-23", action, with(views, in{"date_from": "2026-02-30 00:00:00"})},
		{"N-23", action, with(views, in{"date_from": "2026-03-01T00:00:00Z"})},
		{"N-23", action, with(views, in{"date_from": "2026-03-02 00:00:00", "date_to": "2026-03-01 00:00:00"})},
		{"N-26", action, with(views, in{"limit": 0})},
		{"N-29", action, with(views, in{"filters": []in{{"property": "pathname", "operator": "is"}}})},
		{"N-29", action, with(views, in{"filters": []in{{"property": "pathname", "operator": "is", "value": "x", "more": "y"}}})},
		{"N-30", action, filter("pathname", "equals", "x")},
		{"N-31", action, filter("colour", "is", "x")},
		{"N-32", action, filter("country_code", "is like", "D*")},
		{"N-25", action, with(views, in{"timezone": "Europe/Berlin"})},
		{"N-38", "analytics.current_visitors", in{}},
		{"N-38", "analytics.current_visitors", in{"site_id": ""}},
		{"N-39", "analytics.current_visitors", in{"site_id": "ABCDEFGH", "detailed": "perhaps"}},
	}
}

func refusedLookups() []refusal {
	rows := []refusal{
		{"I-12", "netinfo.dns", in{"domain": "example.com", "type": "ANY"}},
		{"I-02", "netinfo.my_ip", in{"token": "x"}},
		{"I-02", "netinfo.headers", in{"authorization": "x"}},
		{"", "http.get", in{}},
		{"", "http.get", in{"path": "things"}},
		{"", "http.get", in{"path": "/a/../b"}},
		{"", "http.get", in{"path": "/a/%2e%2e/b"}},
		{"", "http.get", in{"path": "/a?b=c"}},
		{"", "http.get", in{"path": "/things/{id}"}},
		{"", "http.get", in{"path": "/things/{id}", "params": in{"id": ".."}}},
		{"", "http.get", in{"path": "/things", "url": "http://127.0.0.1/"}},
		{"", "http.get", in{"url": "http://user:word@127.0.0.1/"}},
		{"", "http.get", in{"path": "/things", "headers": in{"Cookie": "a=b"}}},
		{"", "http.get", in{"path": "/things", "headers": in{"X-A": "a\nHost: elsewhere"}}},
		{"", "http.get", in{"path": "/things", "cursor": "2"}},
		{"", "http.head", in{"path": "/things", "headers": in{"Host": "elsewhere"}}},
		{"", "http.put", in{"path": "/things/1", "text": "a", "base64": "YQ=="}},
		{"", "http.delete", in{"path": "/things/1", "expect": []string{"9xx"}}},
		{"", "http.post", in{"path": "/orders", "base64": "%%%"}},
		{"", "http.patch", in{"path": "/things/1", "text": "a", "content_type": "a\nb"}},
		{"", "http.post_keyed", in{"path": "/orders", "key_header": "a b"}},
		{"D-10", "dictionary.abbr", in{"id": 0}},
		{"D-10", "dictionary.abbr", in{"id": "UN"}},
		{"D-12", "dictionary.letter", in{"letter": "ss"}},
		{"D-12", "dictionary.letter", in{"letter": "1"}},
		{"D-13", "dictionary.letter", in{"letter": "s", "page": 0}},
		{"D-14", "dictionary.letter", in{"letter": "s", "per_page": 101}},
		{"D-14", "dictionary.letter", in{"letter": "s", "per_page": 0}},
		{"D-17", "dictionary.search", in{"q": ""}},
		{"D-17", "dictionary.search", in{"q": "x", "type": "abbr"}},
		{"D-16", "dictionary.stats", in{"q": "x"}},
	}
	for _, address := range []string{"", "example.com", "fe80::1%eth0", "192.0.2.0/24", "192.0.2.1:80"} {
		rows = append(rows, refusal{"I-09", "netinfo.ip_lookup", in{"address": address}})
	}
	for _, name := range []string{"", "a/b", "a?b", "a b", "https://example.com", strings.Repeat("a", 64) + ".com", strings.Repeat("a.", 130) + "com"} {
		rows = append(rows, refusal{"I-11", "netinfo.dns", in{"domain": name}}, refusal{"I-11", "netinfo.whois", in{"domain": name}})
	}
	for _, action := range []string{"dictionary.word", "dictionary.synonyms", "dictionary.antonyms"} {
		for _, word := range []string{"", ".", ".."} {
			rows = append(rows, refusal{"D-06", action, in{"word": word}})
		}
	}
	return rows
}

// TestRefusedInputsAreNeverSent gives every refused input to a call, to a run
// with the value in the file, and to a run that gets the value from its inputs.
// Nothing may reach the service.
func TestRefusedInputsAreNeverSent(t *testing.T) {
	t.Parallel()
	lines := map[string]*line{}
	var all []*line
	for _, plugin := range products() {
		lines[plugin] = newLine(t, plugin, plugin, authsim.Options{})
		all = append(all, lines[plugin])
	}
	b := openBench(t, all, lineSecrets())
	b.login(t, lines["auth"])
	for i, r := range refusedInputs() {
		plugin, _, _ := strings.Cut(r.action, ".")
		t.Run(fmt.Sprintf("%s %s %d", r.row, r.action, i), func(t *testing.T) {
			before := lines[plugin].kit.Count("")
			checkRefusal(t, b.call(t, r.action, plugin, r.input).Error)
			literal := step{r.action, plugin, r.input, nil}.source(t)
			b.refusedRun(t, literal, nil)
			source, inputs := throughInputs(t, r, plugin)
			b.refusedRun(t, source, inputs)
			for _, request := range lines[plugin].since(before) {
				t.Errorf("the service got %s %s?%s", request.Method, request.Path, request.Query)
			}
		})
	}
	t.Run("there are refused inputs for every action that takes one", func(t *testing.T) {
		for _, row := range documented() {
			takes := strings.TrimSpace(row.inputs) != ""
			tested := slices.ContainsFunc(refusedInputs(), func(r refusal) bool { return r.action == row.action })
			if takes && !tested {
				t.Errorf("%s has none", row.action)
			}
		}
	})
	t.Run("a good input is sent", func(t *testing.T) { // or the journals above would show nothing
		for plugin, action := range map[string]string{"tasks": "tasks.stats", "netinfo": "netinfo.my_ip", "dictionary": "dictionary.stats", "auth": "auth.deployments_list"} {
			before := lines[plugin].kit.Count("")
			if result := b.call(t, action, plugin, in{}); result.Error != nil || lines[plugin].kit.Count("") == before {
				t.Errorf("%s: %v, %d requests", action, result.Error, lines[plugin].kit.Count("")-before)
			}
		}
	})
}

func checkRefusal(t *testing.T, failure *runs.Error) {
	t.Helper()
	switch {
	case failure == nil:
		t.Error("the call succeeded")
	case failure.Kind != plan.KindInvalid || failure.Applied != runs.NotApplied || failure.Message == "":
		t.Errorf("the call failed with %+v, want invalid and not applied", *failure)
	}
}

// refusedRun starts a run that must be refused before it begins, or fail.
func (b *bench) refusedRun(t *testing.T, source string, inputs map[string]workspace.Input) {
	t.Helper()
	row, problems, err := b.engine.Start(t.Context(), engine.StartRequest{File: "refused.yaml", Source: []byte(source), Inputs: inputs})
	switch {
	case err != nil:
		t.Errorf("start: %v\n%s", err, source)
	case row == nil && !problems.HasErrors():
		t.Errorf("neither a run nor a problem\n%s", source)
	case row == nil:
		return
	default:
		result := b.wait(t, row.ID)
		if result.Run.Status != runs.RunFailed {
			t.Errorf("the run is %s\n%s", result.Run.Status, source)
			return
		}
		checkRefusal(t, errorOf(result))
	}
}

// throughInputs writes a workflow whose step gets every value from the run's
// inputs, so that the checker knows none of them.
func throughInputs(t *testing.T, r refusal, connection string) (string, map[string]workspace.Input) {
	t.Helper()
	schemas, given, values := in{}, in{}, map[string]workspace.Input{}
	for name, value := range r.input {
		typ := inputType(value)
		if typ == nil {
			given[name] = value
			continue
		}
		schemas[name], given[name] = typ, "${{ inputs."+name+" }}"
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		values[name] = workspace.Input{JSON: encoded}
	}
	document := in{"flowrun": "v1", "name": "refused", "steps": []any{in{"id": "it", "uses": r.action, "connection": connection, "with": given}}}
	if len(schemas) > 0 {
		document["inputs"] = schemas
	}
	source, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(source), values
}

// inputType is the schema of a workflow's input for a value; nil = none.
func inputType(value any) in {
	switch value := value.(type) {
	case string:
		return in{"type": "string"}
	case bool:
		return in{"type": "boolean"}
	case int:
		return in{"type": "integer"}
	case []string:
		return in{"type": "array", "items": in{"type": "string"}}
	case in:
		for _, inner := range value {
			if _, text := inner.(string); !text {
				return nil
			}
		}
		return in{"type": "object", "additionalProperties": in{"type": "string"}}
	}
	return nil
}

// TestRefusedSettingsAreNeverUsed opens connections whose settings a V row
// refuses; nothing may reach the service.
func TestRefusedSettingsAreNeverUsed(t *testing.T) {
	tests := []struct {
		row, action string
		change      func(*line)
	}{
		{"T-01", "tasks.stats", func(l *line) { l.config["base_url"] = l.url + "/api/v1" }},
		{"T-01", "tasks.stats", func(l *line) { l.config["base_url"] = l.url + "?x=y" }},
		{"T-01", "tasks.stats", func(l *line) { l.config["base_url"] = strings.TrimPrefix(l.url, "http://") }},
		{"T-65", "tasks.stats", func(l *line) { delete(l.config, "token") }},
		{"T-24", "tasks.invitation_accept", func(l *line) { delete(l.config, "token") }},
		{"N-01", "analytics.current_visitors", func(l *line) { l.config["base_url"] = l.url + "/v1/" }},
		{"N-02", "analytics.current_visitors", func(l *line) { delete(l.config, "token") }},
		{"I-01", "netinfo.my_ip", func(l *line) { l.config["base_url"] = l.url + "/api/v1" }},
		{"I-02", "netinfo.my_ip", func(l *line) { l.config["token"] = secretRef("TASKS_TOKEN") }},
		{"D-01", "dictionary.stats", func(l *line) { l.config["base_url"] = l.url + "/api" }},
		{"A-46", "auth.deployments_list", func(l *line) { l.config["management_url"] = strings.Replace(l.url, "https", "http", 1) }},
		{"A-46", "auth.scim_users_list", func(l *line) { l.config["management_url"] = strings.Replace(l.url, "https", "http", 1) }},
		{"A-47", "auth.deployments_list", func(l *line) { delete(l.config, "management_url") }},
		{"A-51", "auth.scim_users_list", func(l *line) { delete(l.config, "scim_token") }},
		{"A-20", "auth.device_start", func(l *line) { delete(l.config, "client_secret") }},
		{"A-04", "auth.device_start", func(l *line) { delete(l.config, "client_id") }},
		{"A-01", "auth.device_start", func(l *line) { l.config["auth_url"] = "http://auth.example.com" }},
	}
	var lines []*line
	for i, tt := range tests {
		plugin, _, _ := strings.Cut(tt.action, ".")
		l := newLine(t, fmt.Sprintf("l%d", i), plugin, authsim.Options{})
		tt.change(l)
		lines = append(lines, l)
	}
	b := openBench(t, lines, lineSecrets())
	all := described(t, b)
	for i, tt := range tests {
		t.Run(fmt.Sprintf("%s %s %d", tt.row, tt.action, i), func(t *testing.T) {
			l := lines[i]
			input := goodInput(tt.action, l, "")
			if input == nil {
				input = exampleInput(t, all[tt.action], all[tt.action].Examples[0])
			}
			checkRefusal(t, b.call(t, tt.action, l.name, input).Error)
			b.refusedRun(t, step{tt.action, l.name, input, nil}.source(t), nil)
			for _, request := range l.kit.Requests() {
				t.Errorf("the service got %s %s", request.Method, request.Path)
			}
		})
	}
}

// TestNumberAsFilterValueIsNeverSent: a number in a call or of an expression is
// refused, while a plain scalar of a workflow is its text (N-29).
func TestNumberAsFilterValueIsNeverSent(t *testing.T) {
	l := newLine(t, "analytics", "analytics", authsim.Options{})
	b := openBench(t, []*line{l}, lineSecrets())
	input := func(value any) in {
		return in{"entity": "pageview", "entity_id": "ABCDEFGH", "aggregates": []string{"visits"}, "limit": 1,
			"date_from": "2026-01-01 00:00:00", "date_to": "2026-01-02 00:00:00",
			"filters": []in{{"property": "pathname", "operator": "is", "value": value}}}
	}
	checkRefusal(t, b.call(t, "analytics.aggregate", "analytics", input(404)).Error)
	source := step{"analytics.aggregate", "analytics", input("${{ 400 + 4 }}"), nil}.source(t)
	b.refusedRun(t, source, nil)
	if n := l.kit.Count(""); n > 0 {
		t.Errorf("the service got %d requests", n)
	}
	plain := b.wait(t, b.start(t, step{"analytics.aggregate", "analytics", input(404), nil}.source(t)))
	if plain.Run.Status != runs.RunSucceeded || !strings.Contains(l.kit.Requests()[0].Query, "%22404%22") {
		t.Errorf("a plain scalar: %s %s", plain.Run.Status, errorText(plain))
	}
}

// TestCursorOfOtherParametersIsNeverSent reads a page and asks for the next
// one of another workspace with its cursor.
func TestCursorOfOtherParametersIsNeverSent(t *testing.T) {
	l := newLine(t, "tasks", "tasks", authsim.Options{})
	b := openBench(t, []*line{l}, lineSecrets())
	first := b.call(t, "tasks.projects_archived", "tasks", in{"workspace_id": 40317, "limit": 10})
	var page struct {
		Next string `json:"next_cursor"`
	}
	if first.Error != nil || json.Unmarshal(first.Outputs, &page) != nil || page.Next == "" {
		t.Fatalf("first page: %v %s", first.Error, first.Outputs)
	}
	before := l.kit.Count("")
	checkRefusal(t, b.call(t, "tasks.projects_archived", "tasks", in{"workspace_id": 40317, "limit": 11, "cursor": page.Next}).Error)
	checkRefusal(t, b.call(t, "tasks.projects_archived", "tasks", in{"workspace_id": 40317, "cursor": page.Next}).Error)
	if n := l.kit.Count("") - before; n > 0 {
		t.Errorf("%d requests with a cursor of other parameters", n)
	}
	if same := b.call(t, "tasks.projects_archived", "tasks", in{"workspace_id": 40317, "limit": 10, "cursor": page.Next}); same.Error != nil {
		t.Errorf("the same parameters: %v", same.Error)
	}
}
