package tasks

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/tasks/taskssim"
)

// bothRanges are the two actions over completed tasks.
var bothRanges = []string{"completed_by_completion_date", "completed_by_due_date"}

func TestT34_ByCompletionDate(t *testing.T) {
	p, sim := open(t)
	out := output(t, p.Call("completed_by_completion_date", week(nil)))
	items := out["items"].([]any)
	if len(items) == 0 || sent(t, sim).Query != "since=2031-04-28T00%3A00%3A00Z&until=2031-05-05T00%3A00%3A00Z" {
		t.Errorf("%d items for %s", len(items), sent(t, sim).Query)
	}
	for _, item := range items {
		if at := item.(in)["completed_at"].(string); at < "2031-04-28" || at >= "2031-05-05" {
			t.Errorf("completed at %s", at)
		}
	}
}

func TestT35_ByDueDateTakesNoPublicKey(t *testing.T) {
	refused(t, "completed_by_due_date", week(in{"public_key": "key-of-a-project"}), "/public_key", "no field")
	p, sim := open(t)
	for _, item := range output(t, p.Call("completed_by_due_date", week(nil)))["items"].([]any) {
		if on := item.(in)["due"].(in)["date"].(string); on < "2031-04-28" || on >= "2031-05-05" {
			t.Errorf("due on %s", on)
		}
	}
	if !strings.HasSuffix(sent(t, sim).Path, "/tasks/completed/by_due_date") {
		t.Errorf("sent %s", sent(t, sim).Path)
	}
}

// notTimes are texts that are no point in time.
var notTimes = []string{"", "2031-04-28", "2031-04-28T00:00:00", "2031-02-30T00:00:00Z", "2031-04-28 00:00:00Z", "yesterday", "1745798400"}

func TestT36_Since(t *testing.T) {
	for _, action := range bothRanges {
		for _, text := range notTimes { // without an offset too: the UTC rule is given for another endpoint
			refused(t, action, in{"since": text, "until": "2031-05-05T00:00:00Z"}, "/since", "time")
		}
		refused(t, action, in{"until": "2031-05-05T00:00:00Z"}, "/since", "required")
		refused(t, action, in{"since": 7, "until": "2031-05-05T00:00:00Z"}, "/since", "text")
		p, sim := open(t)
		for _, text := range []string{"2031-05-01T00:00:00Z", "2031-05-01T00:00:00.5+02:00", "2031-05-01T00:00:00-11:30"} {
			output(t, p.Call(action, in{"since": text, "until": "2031-05-05T00:00:00Z"}))
			if got := queryOf(t, sim).Get("since"); got != text {
				t.Errorf("%s is sent as %s", text, got)
			}
		}
	}
}

func TestT37_Until(t *testing.T) {
	for _, action := range bothRanges {
		for _, text := range notTimes {
			refused(t, action, in{"since": "2031-05-05T00:00:00Z", "until": text}, "/until", "time")
		}
		refused(t, action, in{"since": "2031-05-05T00:00:00Z"}, "/until", "required")
		for _, text := range []string{"2031-05-05T00:00:00Z", "2031-05-05T02:00:00+02:00", "2031-05-04T23:59:59Z"} { // policy
			refused(t, action, in{"since": "2031-05-05T00:00:00Z", "until": text}, "/until", "later than")
		}
	}
}

func TestT37_WindowsTile(t *testing.T) { // since is inclusive, until exclusive
	p, _ := open(t)
	whole, _ := readAll(t, p, "completed_by_completion_date", week(nil))
	at := whole[len(whole)/2].(in)["completed_at"].(string) // a task was completed at this very moment
	first, _ := readAll(t, p, "completed_by_completion_date", week(in{"until": at}))
	second, _ := readAll(t, p, "completed_by_completion_date", week(in{"since": at}))
	if len(first)+len(second) != len(whole) || len(first) == 0 || second[len(second)-1].(in)["completed_at"] != at {
		t.Errorf("%d and %d of %d", len(first), len(second), len(whole))
	}
}

func TestT38_ThreeMonths(t *testing.T) {
	for since, last := range map[string]string{
		"2030-11-30T00:00:00Z":      "2031-02-28T00:00:00Z", // clamped to the end of the month
		"2027-11-30T12:00:00Z":      "2028-02-29T12:00:00Z", // of a leap year
		"2031-01-31T00:00:00+05:30": "2031-04-30T00:00:00+05:30",
		"2031-02-01T00:00:00Z":      "2031-05-01T00:00:00Z", // the shortest 3 months: 89 days
		"2030-12-31T23:59:59.5Z":    "2031-03-31T23:59:59.5Z",
		"2031-01-30T23:00:00-02:00": "2031-04-30T23:00:00-02:00",
	} {
		end, err := time.Parse(time.RFC3339Nano, last)
		if err != nil {
			t.Fatal(err)
		}
		refused(t, "completed_by_completion_date", in{"since": since, "until": end.Add(time.Second).Format(time.RFC3339Nano)}, "/until", "paginate")
		p, sim := open(t)
		output(t, p.Call("completed_by_completion_date", in{"since": since, "until": last}))
		if sim.Kit().Count("") != 1 {
			t.Errorf("%s to %s was not sent", since, last)
		}
	}
	p, _ := open(t)
	problems := p.Validate("completed_by_completion_date", in{"since": "2030-11-30T00:00:00Z", "until": "2031-03-01T00:00:00Z"})
	if len(problems) != 1 || !strings.Contains(problems[0].Summary, "3 months") || !strings.Contains(problems[0].Summary, "2031-02-28T00:00:00Z") {
		t.Errorf("the refusal does not say how far the range may reach: %v", problems)
	}
	rng := p.Action("completed_by_completion_date").Range
	if rng.From != "since" || rng.To != "until" || rng.Max != 2136*time.Hour {
		t.Errorf("range %v", rng)
	}
}

func TestT39_SixWeeks(t *testing.T) {
	refused(t, "completed_by_due_date", in{"since": "2031-03-01T00:00:00Z", "until": "2031-04-12T00:00:01Z"}, "/until", "paginate")
	refused(t, "completed_by_due_date", in{"since": "2031-03-01T00:00:00Z", "until": "2031-04-11T23:00:01-01:00"}, "/until", "6 weeks")
	p, sim := open(t)
	output(t, p.Call("completed_by_due_date", in{"since": "2031-03-01T00:00:00Z", "until": "2031-04-12T00:00:00Z"}))
	output(t, p.Call("completed_by_due_date", in{"since": "2031-03-01T00:00:00+01:00", "until": "2031-04-11T23:00:00Z"}))
	if sim.Kit().Count("") != 2 {
		t.Error("42 days were not sent")
	}
	rng := p.Action("completed_by_due_date").Range
	if rng.From != "since" || rng.To != "until" || rng.Max != 42*24*time.Hour {
		t.Errorf("range %v", rng)
	}
}

func TestT40_WorkspaceFilter(t *testing.T) {
	for _, action := range bothRanges {
		refused(t, action, week(in{"workspace_id": "null"}), "/workspace_id", "integer")
		p, sim := open(t)
		output(t, p.Call(action, week(in{"workspace_id": nil})))
		if queryOf(t, sim).Has("workspace_id") {
			t.Errorf("null is sent: %s", sent(t, sim).Query)
		}
		for _, id := range []int64{-5, 0, taskssim.Brightwater} { // no bound is documented
			for _, item := range output(t, p.Call(action, week(in{"workspace_id": id})))["items"].([]any) {
				if item.(in)["workspace_id"] != float64(id) {
					t.Errorf("%d: got %v", id, item)
				}
			}
		}
	}
}

// filterBy checks that an id filter is sent and, given as null, is not.
func filterBy(t *testing.T, name string) {
	t.Helper()
	for _, action := range bothRanges {
		p, sim := open(t)
		output(t, p.Call(action, week(in{name: nil})))
		if queryOf(t, sim).Has(name) {
			t.Errorf("null is sent: %s", sent(t, sim).Query)
		}
		value := ""
		for _, item := range output(t, p.Call(action, week(nil)))["items"].([]any) {
			if text, ok := item.(in)[name].(string); ok {
				value = text
			}
		}
		if value == "" {
			t.Fatalf("%s: no task has a %s", action, name)
		}
		found := output(t, p.Call(action, week(in{name: value})))["items"].([]any)
		if queryOf(t, sim).Get(name) != value || len(found) == 0 {
			t.Errorf("%s: %d for %s", action, len(found), sent(t, sim).Query)
		}
		for _, item := range found {
			if item.(in)[name] != value {
				t.Errorf("%s: got %v", action, item)
			}
		}
		refused(t, action, week(in{name: "tmp-" + value}), "/"+name, "temp_id_mapping")
	}
}

func TestT41_ProjectFilter(t *testing.T) { filterBy(t, "project_id") }

func TestT42_SectionFilter(t *testing.T) { filterBy(t, "section_id") }

func TestT43_ParentFilter(t *testing.T) { filterBy(t, "parent_id") }

func TestT44_BothActionsSendAllFilters(t *testing.T) {
	more := in{"workspace_id": 1, "project_id": "p", "section_id": "s", "parent_id": "q", "filter_query": "@x", "filter_lang": "en", "limit": 9}
	for _, action := range bothRanges {
		p, sim := open(t)
		output(t, p.Call(action, week(more)))
		const want = "filter_lang=en&filter_query=%40x&limit=9&parent_id=q&project_id=p&section_id=s&since=2031-04-28T00%3A00%3A00Z&until=2031-05-05T00%3A00%3A00Z&workspace_id=1"
		if diff := cmp.Diff(want, sent(t, sim).Query); diff != "" {
			t.Errorf("%s (-want +got):\n%s", action, diff)
		}
	}
}

func TestT45_FilterQuery(t *testing.T) {
	long := strings.Repeat("字", 1024) // counted in characters, before they are encoded
	for _, action := range bothRanges {
		refused(t, action, week(in{"filter_query": ""}), "/filter_query", "empty")
		refused(t, action, week(in{"filter_query": long + "x"}), "/filter_query", "1024")
		p, sim := open(t)
		output(t, p.Call(action, week(in{"filter_query": long})))
		if got := queryOf(t, sim).Get("filter_query"); got != long {
			t.Errorf("sent %d bytes", len(got))
		}
		output(t, p.Call(action, week(in{"filter_query": nil})))
		if queryOf(t, sim).Has("filter_query") {
			t.Error("null is sent")
		}
		for _, item := range output(t, p.Call(action, week(in{"filter_query": "@client-x & !#Website"})))["items"].([]any) {
			if !cmp.Equal(item.(in)["labels"].([]any)[0], any("client-x")) {
				t.Errorf("got %v", item)
			}
		}
	}
}

func TestT46_FilterLang(t *testing.T) {
	for _, action := range bothRanges {
		p, sim := open(t)
		problems := p.Validate(action, week(in{"filter_lang": "de"}))
		if len(problems) != 1 || !problems[0].Warning || problems[0].Pointer != "/filter_lang" {
			t.Errorf("without filter_query: %v", problems)
		}
		r := p.Call(action, week(in{"filter_lang": "de"})) // warned of, and sent
		output(t, r)
		if queryOf(t, sim).Get("filter_lang") != "de" || len(r.Logs) != 1 || r.Logs[0].Level != "WARN" {
			t.Errorf("sent %s, logged %v", sent(t, sim).Query, r.Logs)
		}
		for _, lang := range []string{"de", "tlh", "any text"} { // no enumeration
			if problems := p.Validate(action, week(in{"filter_lang": lang, "filter_query": "@x"})); len(problems) != 0 {
				t.Errorf("%s: %v", lang, problems)
			}
		}
	}
}

func TestT47_Limit(t *testing.T) {
	for _, action := range bothRanges {
		refused(t, action, week(in{"limit": 0}), "/limit", "at least 1")
		refused(t, action, week(in{"limit": -1}), "/limit", "at least 1")
		refused(t, action, week(in{"limit": 2.5}), "/limit", "integer")
		p, sim := open(t)
		output(t, p.Call(action, week(nil)))
		if queryOf(t, sim).Has("limit") {
			t.Error("a limit is sent that nobody gave")
		}
		output(t, p.Call(action, week(in{"limit": 1000000}))) // no maximum is documented: not capped
		if got := queryOf(t, sim).Get("limit"); got != "1000000" {
			t.Errorf("sent the limit %s", got)
		}
	}
	p, _ := open(t)
	r := p.Call("completed_by_completion_date", in{"since": "2031-02-10T00:00:00Z", "until": "2031-05-08T00:00:00Z", "limit": 1000})
	if out := output(t, r); len(out["items"].([]any)) != 200 || r.Next == "" { // the simulator's own maximum
		t.Errorf("a page shorter than asked for: %d items, next %q", len(out["items"].([]any)), r.Next)
	}
}

const publicKey = "public-Brightwater/Site-77"

func TestT48_PublicKeyWithoutACredential(t *testing.T) {
	p, sim := openSim(t, taskssim.Options{Token: canary, PublicKey: publicKey}, nil)
	input := in{"since": "2031-03-01T00:00:00Z", "until": "2031-05-08T00:00:00Z", "public_key": publicKey}
	out := output(t, p.Call("completed_by_completion_date", input))
	r := sent(t, sim)
	if _, there := r.Header["authorization"]; there || queryOf(t, sim).Get("public_key") != publicKey || len(out["items"].([]any)) == 0 {
		t.Errorf("sent %+v", r)
	}
	p, sim = openSim(t, taskssim.Options{Token: canary, PublicKey: publicKey}, in{"token": canary})
	output(t, p.Call("completed_by_completion_date", input)) // with a credential too
	if got := sent(t, sim).Header["authorization"]; got != "Bearer "+canary {
		t.Errorf("sent %q", got)
	}
	output(t, p.Call("completed_by_completion_date", with(input, "public_key", nil)))
	if queryOf(t, sim).Has("public_key") {
		t.Error("null is sent")
	}
	refused(t, "completed_by_completion_date", with(input, "public_key", ""), "/public_key", "empty")
}

func TestT48_PublicKeyIsShownNowhere(t *testing.T) {
	for _, key := range []string{publicKey, "k3y"} { // a short one is masked in URLs as well
		p, sim := open(t)
		for _, f := range []simkit.Fault{{Status: 403}, {Status: 500, HTML: true}, {Drop: simkit.DropBefore}, {Truncate: 9, Cut: true}, {HTML: true}} {
			answer(t, sim, f)
			r := p.Call("completed_by_completion_date", week(in{"public_key": key}))
			if r.Err == nil {
				t.Fatal("no failure")
			}
			if shown := everything(t, r); strings.Contains(shown, key) || strings.Contains(shown, "Site-77") {
				t.Errorf("the key is in %s", shown)
			}
		}
	}
	p, _ := open(t)
	if schema := string(p.Action("completed_by_completion_date").Input); !strings.Contains(schema, `"writeOnly":true`) {
		t.Errorf("the key is no secret in %s", schema)
	}
}

func TestT49_ScopesHaveNoExtraRules(t *testing.T) {
	p, sim := open(t)
	for _, action := range bothRanges {
		for _, more := range []in{nil, {"workspace_id": 1}, {"filter_query": "@x"}, {"workspace_id": 1, "filter_query": "@x"}, {"section_id": "s"}, {"parent_id": "p"}} {
			output(t, p.Call(action, week(more)))
		}
		doc := p.Action(action).Doc
		if !strings.Contains(doc, "by completion date") && !strings.Contains(doc, "all own projects") {
			t.Errorf("%s does not say what it looks through: %s", action, doc)
		}
	}
	if sim.Kit().Count("") != 12 {
		t.Errorf("%d requests", sim.Kit().Count(""))
	}
}

func TestT51_Stats(t *testing.T) {
	refused(t, "stats", in{"workspace_id": 1}, "/workspace_id", "no field")
	p, sim := open(t)
	output(t, p.Call("stats", in{}))
	if r := sent(t, sim); r.Method != "GET" || r.Path != "/api/v1/tasks/completed/stats" || r.Query != "" || r.Length != 0 {
		t.Errorf("sent %+v", r)
	}
}

func TestT13_StatsAreUnchanged(t *testing.T) {
	p, sim := open(t)
	stats := output(t, p.Call("stats", in{}))["stats"].(in)
	for _, name := range []string{"days_items", "week_items", "completed_count", "karma", "karma_trend", "karma_graph_data", "karma_update_reasons", "goals", "streaks", "project_colors"} {
		if stats[name] == nil {
			t.Errorf("the simulator's statistics lack %s", name)
		}
	}
	if len(stats["days_items"].([]any)) != 7 || len(stats["week_items"].([]any)) != 4 {
		t.Errorf("%d days and %d weeks", len(stats["days_items"].([]any)), len(stats["week_items"].([]any)))
	}
	for _, body := range []string{`{"karma":1.10,"other":[9007199254740993]}`, `[]`, `null`} {
		answer(t, sim, simkit.Fault{Body: body})
		if r := p.Call("stats", in{}); string(r.Output) != `{"stats":`+body+`}` {
			t.Errorf("%s gives %s %v", body, r.Output, r.Err)
		}
	}
	if schema := string(p.Action("stats").Output); strings.Contains(schema, "karma\"") {
		t.Errorf("fields are invented: %s", schema)
	}
}
