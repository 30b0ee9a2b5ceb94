package plugins

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
)

// row is what the requirements' tables of actions (section 2) say of one action.
type row struct {
	action      string
	effect      plan.Effect
	inputs      string // names; ! marks those that are required
	outputs     string // names at the top of the output
	paging      *plan.Paging
	rangeMax    time.Duration
	incremental bool
	limiter     string
}

const (
	pageIn  = " cursor limit items_field"
	pageOut = "items next_cursor page"
	day     = 24 * time.Hour

	// of the plugin http
	request  = "path url params query lists headers secrets expect"
	answer   = " as answer csv digest max_body"
	content  = " json form multipart text base64 content_type blob"
	answered = "status ok kind headers repeated body error_body blob url"
)

// documented is the table, in the order of the plugins' names.
func documented() []row {
	const read, idempotent, once = plan.EffectRead, plan.EffectIdempotent, plan.EffectOnce
	cursor := &plan.Paging{CursorField: "cursor", ItemsField: "items", NextField: "next_cursor", Identity: "*"}
	completed := "since! until! workspace_id project_id section_id parent_id filter_query filter_lang" + pageIn
	return []row{
		{action: "analytics.aggregate", effect: read, outputs: "rows count",
			inputs: "entity! entity_id site_id entity_name aggregates! date_grouping field_grouping sort_by date_from date_to date_zone limit filters numeric"},
		{action: "analytics.current_visitors", effect: read, inputs: "site_id! detailed",
			outputs: "total content referrers content_truncated referrers_truncated"},

		{action: "auth.device_start", effect: idempotent, inputs: "scopes!",
			outputs: "flow_id user_code verification_url verification_url_display expires_at interval_s"},
		{action: "auth.device_poll", effect: idempotent, inputs: "flow_id!", outputs: "state wait_s scopes missing_scopes"},
		{action: "auth.device_wait", effect: idempotent, inputs: "flow_id! restart", outputs: "state scopes missing_scopes expires_at"},
		{action: "auth.token", effect: read, inputs: "min_ttl_s", outputs: "token token_type expires_at scopes refreshed"},
		{action: "auth.refresh", effect: idempotent, outputs: "expires_at scopes"},
		{action: "auth.revoke", effect: idempotent, inputs: "which forget", outputs: "revoked"},
		{action: "auth.status", effect: read, outputs: "state renewable expires_at refresh_expires_at scopes"},
		{action: "auth.resource_get", effect: read, inputs: "url! token_in headers", outputs: "status headers body"},
		{action: "auth.deployments_list", effect: read, inputs: "credential", outputs: "response"},
		{action: "auth.scim_users_list", effect: read, inputs: "count start_index scim_scheme", outputs: "users total next_cursor response",
			paging: &plan.Paging{CursorField: "start_index", ItemsField: "users", NextField: "next_cursor", Identity: "id"}},

		{action: "dictionary.word", effect: read, inputs: "word!", outputs: "id word british american cx jbjs url", limiter: "60/1m0s"},
		{action: "dictionary.synonyms", effect: read, inputs: "word!", outputs: "word synonyms count", limiter: "60/1m0s"},
		{action: "dictionary.antonyms", effect: read, inputs: "word!", outputs: "word antonyms count", limiter: "60/1m0s"},
		{action: "dictionary.abbr", effect: read, inputs: "id!", outputs: "id abbr full prc meaning category_id url", limiter: "60/1m0s"},
		{action: "dictionary.letter", effect: read, inputs: "letter! page per_page items_field", outputs: "items next_cursor data", limiter: "60/1m0s",
			paging: &plan.Paging{CursorField: "page", ItemsField: "items", NextField: "next_cursor", Identity: "id"}},
		{action: "dictionary.stats", effect: read, outputs: "word_count abbr_count scene_count cat_word_count", limiter: "60/1m0s"},
		{action: "dictionary.search", effect: read, inputs: "q!", outputs: "words", limiter: "60/1m0s"},

		{action: "http.get", effect: read, limiter: "open", paging: cursor, inputs: request + answer + " redirects pages cursor", outputs: answered + " items next_cursor"},
		{action: "http.head", effect: read, limiter: "open", inputs: request + " redirects", outputs: answered},
		{action: "http.put", effect: idempotent, limiter: "open", inputs: request + answer + content, outputs: answered},
		{action: "http.delete", effect: idempotent, limiter: "open", inputs: request + answer + content, outputs: answered},
		{action: "http.post", effect: once, limiter: "open", inputs: request + answer + content, outputs: answered},
		{action: "http.patch", effect: once, limiter: "open", inputs: request + answer + content, outputs: answered},
		{action: "http.post_keyed", effect: plan.EffectKeyed, limiter: "open", inputs: request + answer + content + " key_header", outputs: answered},

		{action: "netinfo.my_ip", effect: read, outputs: "ip location network privacy ipv6", limiter: "60/1m0s"},
		{action: "netinfo.ip_lookup", effect: read, inputs: "address!", outputs: "ip location network", limiter: "60/1m0s"},
		{action: "netinfo.dns", effect: read, inputs: "domain! type", outputs: "domain type records authority", limiter: "60/1m0s"},
		{action: "netinfo.headers", effect: read, outputs: "method url headers ip", limiter: "60/1m0s"},
		{action: "netinfo.whois", effect: read, inputs: "domain! missing_ok", limiter: "60/1m0s",
			outputs: "domain registrar creation_date expiration_date last_updated name_servers status rdap_link days_to_expiry found"},

		{action: "tasks.invitation_delete", effect: once, inputs: "body!", outputs: "response"},
		{action: "tasks.invitations_list", effect: read, inputs: "workspace_id!", outputs: "invitations"},
		{action: "tasks.invitation_accept", effect: idempotent, inputs: "invite_code!", outputs: "invitation"},
		{action: "tasks.invitation_reject", effect: idempotent, inputs: "invite_code!", outputs: "invitation"},
		{action: "tasks.projects_archived", effect: read, inputs: "workspace_id!" + pageIn, outputs: pageOut, paging: cursor},
		{action: "tasks.projects_active", effect: read, inputs: "workspace_id!" + pageIn, outputs: pageOut, paging: cursor},
		{action: "tasks.users_invite", effect: once, inputs: "workspace_id! body!", outputs: "response"},
		{action: "tasks.label_remove", effect: once, inputs: "body!", outputs: "response"},
		{action: "tasks.label_rename", effect: once, inputs: "body!", outputs: "response"},
		{action: "tasks.completed_by_completion_date", effect: read, inputs: completed + " public_key", outputs: pageOut, paging: cursor, rangeMax: 89 * day},
		{action: "tasks.completed_by_due_date", effect: read, inputs: completed, outputs: pageOut, paging: cursor, rangeMax: 42 * day},
		{action: "tasks.stats", effect: read, outputs: "stats"},
		{action: "tasks.migrate_personal_token", effect: once, inputs: "body! store_as!", outputs: "stored response"},
		{action: "tasks.usage_top_up", effect: once, inputs: "confirm! body", outputs: "response"},
		{action: "tasks.usage_summary", effect: read, inputs: "product category since until", outputs: "summary"},
		{action: "tasks.usage_history", effect: read, inputs: "product" + pageIn, outputs: pageOut, paging: cursor, incremental: true},
	}
}

// effectOf returns the effect of an action by the table.
func effectOf(action string) plan.Effect {
	for _, row := range documented() {
		if row.action == action {
			return row.effect
		}
	}
	return ""
}

// described are the actions as the engine knows them.
func described(t *testing.T, b *bench) map[string]*plan.Action {
	t.Helper()
	all := map[string]*plan.Action{}
	for _, plugin := range products() {
		actions, err := b.engine.Project().Actions(t.Context(), plugin)
		if err != nil {
			t.Fatal(err)
		}
		for _, action := range actions {
			all[action.FullName()] = action
		}
	}
	return all
}

func TestThereAreTheDocumentedActions(t *testing.T) {
	b := openBench(t, nil, nil)
	got := slices.Sorted(maps.Keys(described(t, b)))
	want := actionNames()
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	if len(got) < 47 {
		t.Errorf("%d actions, want 40 of the five services, and those of the generic plugins", len(got))
	}
}

// TestIssue12_16_ExamplesHaveOutputs: every action has an example, and each says
// what it gives; sdk.New has checked both against the schemas.
func TestIssue12_16_ExamplesHaveOutputs(t *testing.T) {
	for name, action := range described(t, openBench(t, nil, nil)) {
		if len(action.Examples) == 0 {
			t.Errorf("%s has no example", name)
		}
		for _, example := range action.Examples {
			if len(example.Output) == 0 {
				t.Errorf("%s: the example %s has no output", name, example.Name)
			}
		}
	}
}

func TestActionsAreDeclaredAsDocumented(t *testing.T) {
	b := openBench(t, nil, nil)
	all := described(t, b)
	for _, row := range documented() {
		t.Run(row.action, func(t *testing.T) {
			action := all[row.action]
			if action == nil {
				t.Fatal("there is no such action")
			}
			if action.Effect != row.effect {
				t.Errorf("effect %s, want %s", action.Effect, row.effect)
			}
			if diff := cmp.Diff(row.paging, action.Paging); diff != "" {
				t.Errorf("paging (-want +got):\n%s", diff)
			}
			var wantRange *plan.Range
			if row.rangeMax > 0 {
				wantRange = &plan.Range{FromField: "since", ToField: "until", Max: row.rangeMax}
			}
			if diff := cmp.Diff(wantRange, action.Range); diff != "" {
				t.Errorf("range (-want +got):\n%s", diff)
			}
			if action.Incremental != row.incremental {
				t.Errorf("incremental %t, want %t", action.Incremental, row.incremental)
			}
			checkLimiters(t, row.limiter, action.Limiters)
			checkNames(t, "inputs", row.inputs, action.Input, true)
			checkNames(t, "outputs", row.outputs, action.Output, false)
			if action.Doc == "" || action.DefaultTimeout <= 0 {
				t.Errorf("doc %q, timeout %s", action.Doc, action.DefaultTimeout)
			}
			checkFaults(t, action.Faults)
		})
	}
}

func checkLimiters(t *testing.T, want string, got []plan.Limiter) {
	t.Helper()
	switch {
	case want == "" && len(got) == 0:
	case want == "open" && len(got) == 1 && got[0].Requests == 0 && got[0].MaxConcurrent > 0: // its rate is the connection's
	case want == "" || len(got) != 1:
		t.Errorf("limiters %+v, want %q", got, want)
	case got[0].Requests != 60 || got[0].Window != time.Minute || !got[0].FixedWindow || !slices.Equal(got[0].Scope, []string{"base_url"}):
		t.Errorf("limiter %+v, want 60 in a fixed window of a minute for each base_url", got[0])
	}
}

func checkFaults(t *testing.T, faults []plan.Fault) {
	t.Helper()
	kinds := map[plan.ErrorKind]bool{}
	for _, fault := range faults {
		kinds[fault.Kind] = true
		if fault.Doc == "" || !slices.Contains(plan.ErrorKinds(), fault.Kind) {
			t.Errorf("fault %+v", fault)
		}
	}
	if len(kinds) < 3 {
		t.Errorf("%d kinds of faults, want at least 3: %v", len(kinds), faults)
	}
}

// checkNames compares the fields of a schema with the table's.
func checkNames(t *testing.T, what, want string, raw json.RawMessage, marks bool) {
	t.Helper()
	var document struct {
		Type       any                        `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional any                        `json:"additionalProperties"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatalf("%s: the schema is no object: %v\n%s", what, err, raw)
	}
	if _, err := schema.FromJSON(raw); err != nil {
		t.Errorf("%s: the schema can't be read: %v", what, err)
	}
	if document.Type != "object" {
		t.Errorf("%s: the schema is of type %v", what, document.Type)
	}
	if marks && document.Additional != false {
		t.Errorf("%s: unknown names are not refused", what)
	}
	got := []string{}
	for name := range document.Properties {
		if marks && slices.Contains(document.Required, name) {
			name += "!"
		}
		got = append(got, name)
	}
	wanted := strings.Fields(want)
	slices.Sort(got)
	slices.Sort(wanted)
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestEveryExampleIsValid sends each example through the check of a whole
// workflow, which asks the plugin's Validate.
func TestEveryExampleIsValid(t *testing.T) {
	b := openBench(t, nil, lineSecrets())
	for name, action := range described(t, b) {
		t.Run(name, func(t *testing.T) {
			if len(action.Examples) == 0 {
				t.Fatal("there is no example")
			}
			for _, example := range action.Examples {
				source := step{action: name, connection: action.Plugin, input: exampleInput(t, action, example)}.source(t)
				checked, problems := b.engine.Project().Check(t.Context(), "example.yaml", []byte(source))
				if checked == nil || problems.HasErrors() {
					t.Errorf("example %q: %v\n%s", example.Name, problems, source)
				}
				if len(problems) > 0 {
					t.Errorf("example %q makes somebody wonder: %v", example.Name, problems)
				}
			}
		})
	}
}

// TestAnExampleThatIsWrongIsFound keeps the check above honest.
func TestAnExampleThatIsWrongIsFound(t *testing.T) {
	b := openBench(t, nil, nil)
	for action, input := range map[string]map[string]any{
		"netinfo.dns":                        {"domain": "no domain"},
		"analytics.aggregate":                {"entity": "pageview", "site_id": "ABCDEFGH", "aggregates": []string{"visits"}},
		"tasks.completed_by_completion_date": {"since": "2026-01-05T00:00:00Z", "until": "2026-08-05T00:00:00Z"},
		"auth.resource_get":                  {"url": "http://api.example.com/me"},
		"dictionary.letter":                  {"letter": "ß"},
	} {
		plugin, _, _ := strings.Cut(action, ".")
		source := step{action: action, connection: plugin, input: input}.source(t)
		if checked, problems := b.engine.Project().Check(t.Context(), "example.yaml", []byte(source)); !problems.HasErrors() {
			t.Errorf("%s with %v is accepted: %v", action, input, checked)
		}
	}
}

// exampleInput is an example's input as a workflow writes it: a secret field
// takes a reference.
func exampleInput(t *testing.T, action *plan.Action, example plan.Example) map[string]any {
	t.Helper()
	var input map[string]any
	decoder := json.NewDecoder(strings.NewReader(string(example.Input)))
	decoder.UseNumber()
	if err := decoder.Decode(&input); err != nil {
		t.Fatalf("example %q: %v", example.Name, err)
	}
	fields, err := schema.FromJSON(action.Input)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range input {
		field, known := fields.Field(name)
		if _, text := value.(string); known && field.Secret && text {
			input[name] = secretRef("INVITE_CODE")
		}
	}
	return input
}
