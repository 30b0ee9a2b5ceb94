package dictionary

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/dictionary/dictionarysim"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

func TestD12_Letter(t *testing.T) {
	for _, letter := range []string{"", "1", "ab", "é", "字", "-", "."} {
		refused(t, "letter", in{"letter": letter}, "/letter", "must match")
	}
	refused(t, "letter", in{}, "/letter", "required")
	p, sim := open(t)
	output(t, p.Call("letter", in{"letter": "s"}))
	output(t, p.Call("letter", in{"letter": "S"}))
	if sim.Kit().Count("/api/letter/S") != 2 {
		t.Errorf("sent %v", sim.Kit().Counts())
	}
}

func TestD13_Page(t *testing.T) {
	refused(t, "letter", in{"letter": "s", "page": 0}, "/page", "at least 1") // policy
	refused(t, "letter", in{"letter": "s", "page": "2"}, "/page", "integer")
}

func TestD14_PerPage(t *testing.T) {
	refused(t, "letter", in{"letter": "s", "per_page": 0}, "/per_page", "at least 1")
	refused(t, "letter", in{"letter": "s", "per_page": 101}, "/per_page", "at most 100")
	p, sim := open(t)
	for _, input := range []in{
		{"letter": "s"}, {"letter": "s", "page": nil, "per_page": nil}, {"letter": "s", "page": 2}, {"letter": "s", "per_page": 100}, {"letter": "s", "page": 3, "per_page": 1},
	} {
		output(t, p.Call("letter", input))
	}
	var queries []string
	for _, r := range sim.Kit().Requests() {
		queries = append(queries, r.Query)
	}
	// what is absent is not sent: the service has its own defaults
	if diff := cmp.Diff([]string{"", "", "page=2", "per_page=100", "page=3&per_page=1"}, queries); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

func TestD15_PagingIsDeclared(t *testing.T) {
	p, _ := open(t)
	paging := p.Action("letter").Paging
	got := []string{paging.Cursor, paging.Items, paging.Next}
	if diff := cmp.Diff([]string{"page", "items", "next_cursor"}, got); diff != "" {
		t.Errorf("paging (-want +got):\n%s", diff)
	}
}

// readAll reads pages as the engine does.
func readAll(t *testing.T, p *sdktest.Plugin, input in) (items []any, pages int) {
	t.Helper()
	for cursor := ""; ; {
		r := p.Call("letter", input, sdktest.Page(cursor))
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

func TestD15_AllPages(t *testing.T) {
	tests := map[string]struct {
		input        in
		items, pages int
	}{
		"default length":                  {in{"letter": "S"}, 33, 2},
		"a full page is followed by more": {in{"letter": "S", "per_page": 11}, 33, 4}, // the fourth is empty
		"one page":                        {in{"letter": "S", "per_page": 100}, 33, 1},
		"from the second on":              {in{"letter": "S", "page": 2}, 13, 1},
		"a letter with one word":          {in{"letter": "x"}, 1, 1},
		"a named list":                    {in{"letter": "S", "items_field": "words"}, 33, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, _ := open(t)
			items, pages := readAll(t, p, tt.input)
			if len(items) != tt.items || pages != tt.pages {
				t.Errorf("%d items on %d pages, want %d on %d", len(items), pages, tt.items, tt.pages)
			}
		})
	}
}

func TestD15_NotFoundBehindAFullPageIsTheEnd(t *testing.T) {
	for _, always := range []bool{false, true} {
		p, sim := openSim(t, dictionarysim.Options{AlwaysOK: always, Requests: -1}, nil)
		status := 404
		if always {
			status = 200
		}
		answer(t, sim, simkit.Fault{Nth: 4, Status: status, Body: `{"code":404,"message":"no such page","data":null}`})
		if items, pages := readAll(t, p, in{"letter": "S", "per_page": 11}); len(items) != 33 || pages != 4 {
			t.Errorf("%d items on %d pages", len(items), pages)
		}
	}
	p, sim := open(t)
	answer(t, sim, simkit.Fault{Status: 404, Body: `{"code":404,"message":"no such letter","data":null}`})
	if r := p.Call("letter", in{"letter": "S", "page": 7}); r.Err == nil || r.Err.Code != sdk.CodeNotFound {
		t.Errorf("a page that the user asked for: %v, want not_found", r.Err)
	}
}

func TestD15_ItemsOfAnyShape(t *testing.T) {
	tests := map[string]struct {
		data, field string
		items, hint string
	}{
		"the only list":            {`{"total":2,"list":[1.10,null]}`, "", `[1.10,null]`, ""},
		"a bare list":              {`["a","b"]`, "", `["a","b"]`, ""},
		"an empty list":            {`{"list":[]}`, "", `[]`, ""},
		"several, one is named":    {`{"a":[1],"b":[2]}`, "b", `[2]`, ""},
		"several, none is named":   {`{"b":[2],"a":[1]}`, "", "null", "the lists a, b"},
		"no list":                  {`{"total":0}`, "", "null", "no list"},
		"a list further in":        {`{"page":{"words":[1]}}`, "", "null", "no list"},
		"a text":                   {`"words"`, "", "null", "no list"},
		"a named one is not there": {`{"a":[1]}`, "b", "", "the lists a"},
		"a named one is no list":   {`{"b":7}`, "b", "", "no list"},
		"a bare list has no names": {`[1]`, "b", "", "no list"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, sim := open(t)
			answer(t, sim, simkit.Fault{Body: `{"code":200,"message":"success","data":` + tt.data + `}`})
			input := in{"letter": "S"}
			if tt.field != "" {
				input["items_field"] = tt.field
			}
			r := p.Call("letter", input)
			if tt.items == "" {
				if r.Err == nil || r.Err.Code != sdk.CodeUnexpectedResponse || r.Err.Pointer != "/items_field" || !strings.Contains(r.Err.Hint, tt.hint) {
					t.Errorf("got %+v, want a hint with %q", r.Err, tt.hint)
				}
				return
			}
			want := `{"items":` + tt.items + `,"next_cursor":null,"data":` + tt.data + `}`
			if string(r.Output) != want { // data is unchanged, byte for byte
				t.Errorf("got %s (%v), want %s", r.Output, r.Err, want)
			}
			if warned := len(r.Logs) == 1 && strings.Contains(r.Logs[0].Message, tt.hint); warned != (tt.items == "null") {
				t.Errorf("logs %v", r.Logs)
			}
		})
	}
}

// Where all pages are read a page must have its items for certain (issue 12, 4).
func TestIssue12_04_ItemsThatAreNotCertain(t *testing.T) {
	for name, tt := range map[string]struct {
		data, note string
		items      string // "" = the reading fails
		hint       string
	}{
		"two lists":                            {`{"words":["a"],"tags":[]}`, "", "", "the lists tags, words: name one with items_field"},
		"no list":                              {`{"total":0}`, "", "", "no list"},
		"a text":                               {`"words"`, "", "", "no list"},
		"null on the first page":               {`{"words":null}`, "", "", "no list"},
		"null behind a page that told it":      {`{"words":null,"tags":null}`, `{"list":"words"}`, `[]`, ""},
		"two lists behind one that told it":    {`{"tags":["x"],"words":["b"]}`, `{"list":"words"}`, `["b"]`, ""},
		"another list behind one that told it": {`{"tags":["x"]}`, `{"list":"words"}`, "", "the lists tags"},
		"the only list":                        {`{"words":["a"]}`, "", `["a"]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, sim := open(t)
			answer(t, sim, simkit.Fault{Body: `{"code":200,"message":"success","data":` + tt.data + `}`})
			r := p.Call("letter", in{"letter": "S"}, sdktest.AllPages(), sdktest.Note([]byte(tt.note)))
			if tt.items == "" {
				if r.Err == nil || r.Err.Code != sdk.CodeUnexpectedResponse || !strings.Contains(r.Err.Hint, tt.hint) {
					t.Errorf("got %s %+v, want a hint with %q", r.Output, r.Err, tt.hint)
				}
				return
			}
			// the items are what is kept: the page would be them once more (issue 12, 16)
			if want := `{"items":` + tt.items + `,"next_cursor":null,"data":null}`; string(r.Output) != want {
				t.Errorf("got %s (%v), want %s", r.Output, r.Err, want)
			}
		})
	}
}

func TestD15_CursorThatIsNoPage(t *testing.T) {
	p, sim := open(t)
	for _, cursor := range []string{"abc", "0", "-1", "1.5", "99999999999999999999"} {
		r := p.Call("letter", in{"letter": "S"}, sdktest.Page(cursor))
		if r.Err == nil || r.Err.Code != sdk.CodeInvalid || r.Err.Pointer != "/page" {
			t.Errorf("cursor %q: %v", cursor, r.Err)
		}
	}
	if n := sim.Kit().Count(""); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
