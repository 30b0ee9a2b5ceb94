package tasks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/tasks/taskssim"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// pagedCalls are well-behaved calls of the paginated actions.
func pagedCalls() []call {
	return []call{
		{"projects_archived", in{"workspace_id": taskssim.Brightwater, "limit": 50}},
		{"projects_active", in{"workspace_id": taskssim.Brightwater, "limit": 5}},
		{"completed_by_completion_date", in{"since": "2031-02-10T00:00:00Z", "until": "2031-05-08T00:00:00Z"}},
		{"completed_by_due_date", in{"since": "2031-03-28T00:00:00Z", "until": "2031-05-08T00:00:00Z", "limit": 20}},
		{"usage_history", in{}},
	}
}

// with is an input with one more field.
func with(input in, name string, value any) in {
	more := in{name: value}
	for n, v := range input {
		if n != name {
			more[n] = v
		}
	}
	return more
}

// readAll reads pages as the engine does.
func readAll(t *testing.T, p *sdktest.Plugin, action string, input in, options ...sdktest.Option) (items []any, pages int) {
	t.Helper()
	for cursor := ""; ; {
		r := p.Call(action, input, append(options, sdktest.Page(cursor))...)
		out := output(t, r)
		pages++
		items = append(items, out["items"].([]any)...)
		shown, _ := out["next_cursor"].(string)
		if shown != r.Next {
			t.Fatalf("page %d shows the cursor %q and gives %q", pages, shown, r.Next)
		}
		if cursor = r.Next; cursor == "" {
			return items, pages
		}
	}
}

func TestPagingIsDeclared(t *testing.T) {
	p, _ := open(t)
	paged := map[string]bool{}
	for _, c := range pagedCalls() {
		paged[c.action] = true
	}
	for _, a := range p.Describe().Actions {
		paging := a.Paging
		if (paging != nil) != paged[a.Name] {
			t.Errorf("%s: paging %v", a.Name, paging)
		}
		if paging != nil && (paging.Cursor != "cursor" || paging.Items != "items" || paging.Next != "next_cursor") {
			t.Errorf("%s: paging %v", a.Name, paging)
		}
	}
}

func TestT12_EndsOfAReading(t *testing.T) {
	for _, c := range pagedCalls() {
		for _, page := range []string{`{"rows":[1]}`, `{"rows":[1],"next_cursor":null}`, `{"rows":[1],"next_cursor":""}`} {
			p, sim := open(t)
			answer(t, sim, simkit.Fault{Body: page})
			r := p.Call(c.action, c.input)
			if out := output(t, r); r.Next != "" || out["next_cursor"] != nil {
				t.Errorf("%s, %s: next %q, output %v", c.action, page, r.Next, out)
			}
		}
	}
	p, sim := open(t)
	answer(t, sim, simkit.Fault{Body: `{"rows":[1],"next_cursor":"of any form"}`}) // the service's own is not judged
	if r := p.Call("usage_history", in{}); r.Next != "of any form" {
		t.Errorf("got %q %v", r.Next, r.Err)
	}
	answer(t, sim, simkit.Fault{Body: `{"rows":[1],"next_cursor":7}`})
	failed(t, sim, p.Call("usage_history", in{}), sdk.CodeUnexpectedResponse, "`next_cursor`")
}

func TestT18_CursorIsOptional(t *testing.T) {
	for _, c := range pagedCalls() {
		refused(t, c.action, with(c.input, "cursor", ""), "/cursor", "empty")
		refused(t, c.action, with(c.input, "cursor", 7), "/cursor", "text")
		p, sim := open(t)
		for _, input := range []in{c.input, with(c.input, "cursor", nil)} {
			output(t, p.Call(c.action, input))
			if queryOf(t, sim).Has("cursor") {
				t.Errorf("%s sent %s", c.action, sent(t, sim).Query)
			}
		}
	}
}

func TestT19_CursorGrammar(t *testing.T) {
	for _, c := range pagedCalls() {
		for _, cursor := range []string{"a", "a.", ".b", "a.b.c", "a b.c", "a.b=", "a+b.c", "ä.b", "a.b\n", "a/b.c"} {
			refused(t, c.action, with(c.input, "cursor", cursor), "/cursor", "must match")
		}
		p, sim := open(t)
		const good = "aZ09_-.-_90Za"
		failed(t, sim, p.Call(c.action, with(c.input, "cursor", good)), sdk.CodeInvalid, "not valid") // nobody signed it
		if got := queryOf(t, sim).Get("cursor"); got != good {
			t.Errorf("%s sent %q", c.action, got)
		}
	}
}

func TestT20_CursorOfOtherParametersIsRefused(t *testing.T) {
	p, sim := open(t)
	first := week(in{"limit": 3})
	cursor := p.Call("completed_by_completion_date", first).Next
	for name, input := range map[string]in{
		"no limit":      week(in{"cursor": cursor}),
		"other limit":   week(in{"cursor": cursor, "limit": 4}),
		"other filter":  week(in{"cursor": cursor, "limit": 3, "filter_query": "@review"}),
		"other project": week(in{"cursor": cursor, "limit": 3, "project_id": "A"}),
		"other range":   {"since": "2031-04-28T00:00:00Z", "until": "2031-05-04T00:00:00Z", "limit": 3, "cursor": cursor},
	} {
		r := p.Call("completed_by_completion_date", input)
		if r.Err == nil || r.Err.Code != sdk.CodeInvalid || r.Err.Pointer != "/cursor" || r.Err.Applied != sdk.NotApplied || !strings.Contains(r.Err.Hint, "same parameters") {
			t.Errorf("%s: %+v", name, r.Err)
		}
	}
	if r := p.Call("completed_by_due_date", with(first, "cursor", cursor)); r.Err == nil || r.Err.Pointer != "/cursor" {
		t.Errorf("on another action: %+v", r.Err)
	}
	if n := sim.Kit().Count(""); n != 1 {
		t.Errorf("%d requests were sent", n)
	}
	output(t, p.Call("completed_by_completion_date", with(first, "cursor", cursor)))
}

func TestT20_RawCursorIsPassed(t *testing.T) {
	first, _ := open(t)
	cursor := first.Call("usage_history", in{}).Next
	p, sim := open(t) // another process: the origin is not known
	out := output(t, p.Call("usage_history", in{"cursor": cursor}))
	if queryOf(t, sim).Get("cursor") != cursor || len(out["items"].([]any)) != 50 {
		t.Errorf("sent %s", sent(t, sim).Query)
	}
	// the service refuses it with others: an ordinary refusal, for nothing restarts
	failed(t, sim, p.Call("usage_history", in{"cursor": first.Call("usage_history", in{"limit": 9}).Next, "limit": 8}), sdk.CodeInvalid, "same parameters")
}

func TestT20_ParametersStayTheSame(t *testing.T) {
	for _, c := range pagedCalls() {
		p, sim := open(t)
		if _, pages := readAll(t, p, c.action, c.input); pages < 2 {
			t.Errorf("%s has %d page", c.action, pages)
		}
		var others []string
		for _, r := range sim.Kit().Requests() {
			if r.Status != 200 {
				t.Errorf("%s?%s: %d", r.Path, r.Query, r.Status)
			}
			rest := []string{}
			for _, pair := range strings.Split(r.Query, "&") {
				if !strings.HasPrefix(pair, "cursor=") && pair != "" {
					rest = append(rest, pair)
				}
			}
			others = append(others, strings.Join(rest, "&"))
		}
		for _, other := range others {
			if other != others[0] {
				t.Errorf("%s: parameters %q after %q", c.action, other, others[0])
			}
		}
	}
}

func TestT50_PagesFollowTheCursor(t *testing.T) {
	for _, c := range pagedCalls() {
		p, _ := open(t)
		items, pages := readAll(t, p, c.action, c.input)
		seen := map[string]bool{}
		for _, item := range items {
			seen[fmt.Sprint(item)] = true
		}
		if len(seen) != len(items) || pages < 2 {
			t.Errorf("%s: %d items, %d different, %d pages", c.action, len(items), len(seen), pages)
		}
	}
}

func TestT50_ExpiredCursorIsSaid(t *testing.T) {
	for _, c := range pagedCalls() {
		p, sim := open(t)
		next := p.Call(c.action, c.input).Next
		answer(t, sim, simkit.Fault{Status: 400, Body: `{"error":"CURSOR","message":"gone"}`})
		e := failed(t, sim, p.Call(c.action, c.input, sdktest.Page(next)), sdk.CodeCursorExpired, "gone")
		if e.Applied != sdk.NotApplied || e.HTTPStatus != 400 {
			t.Errorf("%s: %+v", c.action, e)
		}
		// other failures of a later page, and a 400 of the first, stay what they are
		answer(t, sim, simkit.Fault{Status: 403})
		failed(t, sim, p.Call(c.action, c.input, sdktest.Page(next)), sdk.CodeForbidden, "")
		answer(t, sim, simkit.Fault{Status: 400})
		failed(t, sim, p.Call(c.action, c.input), sdk.CodeInvalid, "")
		answer(t, sim, simkit.Fault{Status: 400})
		failed(t, sim, p.Call(c.action, with(c.input, "cursor", "aa.bb")), sdk.CodeInvalid, "")
	}
}

func TestT50_PageCursorGoesBeforeTheInputs(t *testing.T) {
	p, sim := open(t)
	first := p.Call("usage_history", in{"limit": 20}).Next
	second := p.Call("usage_history", in{"limit": 20, "cursor": first}).Next
	output(t, p.Call("usage_history", in{"limit": 20, "cursor": first}, sdktest.Page(second)))
	if got := queryOf(t, sim)["cursor"]; !cmp.Equal(got, []string{second}) {
		t.Errorf("sent %v", got)
	}
}

// A page of a reading holds its items once, and a list that is null behind a page
// that told its name is an empty one (issue 12, 4 and 16).
func TestIssue12_09_PagesOfAReading(t *testing.T) {
	for _, c := range pagedCalls() {
		p, sim := open(t)
		answer(t, sim, simkit.Fault{Body: `{"rows":[{"id":1}],"next_cursor":"a.b","more":[]}`})
		if r := p.Call(c.action, c.input, sdktest.AllPages()); r.Err == nil || !strings.Contains(r.Err.Hint, "more, rows") {
			t.Errorf("%s: two lists: %v", c.action, r.Err)
		}
		answer(t, sim, simkit.Fault{Body: `{"rows":[{"id":1}],"next_cursor":"a.b"}`})
		first := p.Call(c.action, c.input, sdktest.AllPages())
		if want := `{"items":[{"id":1}],"next_cursor":"a.b","page":null}`; string(first.Output) != want {
			t.Errorf("%s: got %s (%v), want %s", c.action, first.Output, first.Err, want)
		}
		for body, items := range map[string]string{
			`{"rows":null,"more":null,"next_cursor":null}`: `[]`, `{"more":[{"id":7}],"rows":[{"id":2}]}`: `[{"id":2}]`,
		} {
			answer(t, sim, simkit.Fault{Body: body})
			second := p.Call(c.action, c.input, sdktest.AllPages(), sdktest.Page(first.Next), sdktest.Note(first.Note))
			if want := `{"items":` + items + `,"next_cursor":null,"page":null}`; string(second.Output) != want {
				t.Errorf("%s: got %s (%v), want %s", c.action, second.Output, second.Err, want)
			}
		}
	}
}

func TestItemsOfAPage(t *testing.T) {
	const two = `{"b":[1],"a":[{"x":1}],"n":null,"next_cursor":null}`
	tests := map[string]struct {
		page  string
		field any
		want  string // JSON of items, or a word of the error
	}{
		"the only list":         {`{"x":{"y":[1]},"rows":[{"id":1}]}`, nil, `[{"id":1}]`},
		"an empty list":         {`{"rows":[]}`, nil, `[]`},
		"a bare list":           {`[1,2]`, nil, `[1,2]`},
		"named":                 {two, "a", `[{"x":1}]`},
		"named and null":        {two, "n", `[]`},
		"two lists":             {two, nil, "a, b"},
		"no list":               {`{"next_cursor":null}`, nil, "no list"},
		"a name that is absent": {two, "rows", "a, b"},
		"a name of no list":     {`{"rows":{"a":1}}`, "rows", "`rows`"},
		"no object":             {`7`, nil, "the page is a number"},
		"null":                  {`null`, nil, "the page is null"},
		"a bare list, named":    {`[1]`, "rows", "the page is a list and has no list `rows`"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, sim := open(t)
			answer(t, sim, simkit.Fault{Body: tt.page})
			r := p.Call("projects_active", in{"workspace_id": 1, "items_field": tt.field})
			if strings.HasPrefix(tt.want, "[") {
				if want := `{"items":` + tt.want + `,"next_cursor":null,"page":` + tt.page + `}`; string(r.Output) != want {
					t.Errorf("output %s %v, want %s", r.Output, r.Err, want)
				}
				return
			}
			failed(t, sim, r, sdk.CodeUnexpectedResponse, tt.want)
		})
	}
	refused(t, "usage_history", in{"items_field": ""}, "/items_field", "empty")
}
