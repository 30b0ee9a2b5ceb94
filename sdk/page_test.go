package sdk_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

type listIn struct {
	Cursor *string `json:"cursor,omitempty"`
	Page   *int64  `json:"page,omitempty"`
	Size   int64   `json:"size,omitempty"`
	List   string  `json:"list,omitempty"`
}

// lists has one action for each way to find the next page.
func lists() *sdk.Plugin {
	read := func(c *sdk.Call[sdk.HTTPSettings], shape sdk.PageShape, in listIn) (sdk.Page, error) {
		query := url.Values{}
		if at := c.PageCursor(); at != "" {
			query.Set("at", at)
		}
		response, err := c.HTTP().Get("/list", query)
		if err != nil {
			return sdk.Page{}, c.CursorRefused(err)
		}
		shape.List, shape.ListInput, shape.NotItems = in.List, "/list", []string{"schemas"}
		return c.ReadPage(response, shape)
	}
	paged := sdk.Paged("cursor", "items", "next_cursor")
	return sdk.New("lists", "1.0.0", "lists",
		sdk.Read("by_cursor", "a", func(c *sdk.Call[sdk.HTTPSettings], in listIn) (sdk.Page, error) {
			return read(c, sdk.PageShape{Next: sdk.ByCursor("next_cursor")}, in)
		}, paged),
		sdk.Read("by_number", "a", func(c *sdk.Call[sdk.HTTPSettings], in listIn) (sdk.Page, error) {
			at, err := c.PageNumber(in.Page, 1, "/page")
			if err != nil {
				return sdk.Page{}, err
			}
			return read(c, sdk.PageShape{Next: sdk.ByNumber{At: at, From: 1, Size: in.Size}}, in)
		}, paged),
		sdk.Read("by_index", "a", func(c *sdk.Call[sdk.HTTPSettings], in listIn) (sdk.Page, error) {
			at, err := c.PageNumber(in.Page, 0, "/page")
			if err != nil {
				return sdk.Page{}, err
			}
			return read(c, sdk.PageShape{Next: sdk.ByIndex{Asked: at, Start: "start", Total: "total"}}, in)
		}, paged),
		sdk.Read("by_link", "a", func(c *sdk.Call[sdk.HTTPSettings], in listIn) (sdk.Page, error) {
			return read(c, sdk.PageShape{Next: sdk.ByLink("")}, in)
		}, paged),
		sdk.Read("by_link_field", "a", func(c *sdk.Call[sdk.HTTPSettings], in listIn) (sdk.Page, error) {
			return read(c, sdk.PageShape{Next: sdk.ByLink("next")}, in)
		}, paged),
	)
}

// answering opens the plugin at a server that gives one answer.
func answering(t testing.TB, body *string, header http.Header) (*sdktest.Plugin, string) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range header {
			w.Header()[name] = values
		}
		_, _ = io.WriteString(w, *body)
	}))
	t.Cleanup(srv.Close)
	return sdktest.Open(t, lists(), map[string]any{"base_url": srv.URL}), srv.URL
}

func TestReadPage(t *testing.T) {
	for name, c := range map[string]struct {
		action  string
		in      map[string]any
		options []sdktest.Option
		body    string
		items   string
		next    string
		problem string // of message or hint; "" = none
	}{
		"the only list":                   {"by_cursor", nil, nil, `{"a":{"b":[1]},"rows":[{"id":1}],"schemas":["x"]}`, `[{"id":1}]`, "", ""},
		"a bare list":                     {"by_cursor", nil, nil, `[1,2]`, `[1,2]`, "", ""},
		"a named one of two":              {"by_cursor", map[string]any{"list": "b"}, nil, `{"a":[1],"b":[2]}`, `[2]`, "", ""},
		"a named one that is null":        {"by_cursor", map[string]any{"list": "b"}, nil, `{"a":[1],"b":null}`, `[]`, "", ""},
		"a named one that is absent":      {"by_cursor", map[string]any{"list": "c"}, nil, `{"a":[1],"b":[2]}`, "", "", "no list `c`| the lists a, b: name one with list"},
		"two lists":                       {"by_cursor", nil, nil, `{"b":[2],"a":[1]}`, "", "", "is not known| the lists a, b: name one with list"},
		"no list":                         {"by_cursor", nil, nil, `{"a":null,"b":{}}`, "", "", "is not known|no list at its top level"},
		"a number":                        {"by_cursor", nil, nil, `7`, "", "", "the page is a number"},
		"a bare list where one is named":  {"by_cursor", map[string]any{"list": "a"}, nil, `[1]`, "", "", "is a list and has no list `a`"},
		"a cursor":                        {"by_cursor", nil, nil, `{"a":[1],"next_cursor":"x y"}`, `[1]`, "x y", ""},
		"no cursor: null":                 {"by_cursor", nil, nil, `{"a":[1],"next_cursor":null}`, `[1]`, "", ""},
		"no cursor: empty":                {"by_cursor", nil, nil, `{"a":[1],"next_cursor":""}`, `[1]`, "", ""},
		"a cursor that is a number":       {"by_cursor", nil, nil, `{"a":[1],"next_cursor":7}`, "", "", "`next_cursor` of the page is a number where text is due"},
		"a later page whose list is null": {"by_cursor", nil, []sdktest.Option{sdktest.Page("x"), sdktest.Note([]byte(`{"list":"a"}`))}, `{"a":null,"b":null}`, `[]`, "", ""},
		"a later page with a second list": {"by_cursor", nil, []sdktest.Option{sdktest.Page("x"), sdktest.Note([]byte(`{"list":"a"}`))}, `{"a":[1],"b":[2]}`, `[1]`, "", ""},
		"a later page with another list":  {"by_cursor", nil, []sdktest.Option{sdktest.Page("x"), sdktest.Note([]byte(`{"list":"a"}`))}, `{"b":[2]}`, "", "", "no list `a`| the lists b"},
		"a later page, list becomes text": {"by_cursor", nil, []sdktest.Option{sdktest.Page("x"), sdktest.Note([]byte(`{"list":"a"}`))}, `{"a":"none"}`, "", "", "no list `a`"},
		"an odd note counts as none":      {"by_cursor", nil, []sdktest.Option{sdktest.Page("x"), sdktest.Note([]byte("\xff"))}, `{"b":[2]}`, `[2]`, "", ""},

		"a full page":                {"by_number", map[string]any{"size": 2}, nil, `{"a":[1,2]}`, `[1,2]`, "2", ""},
		"a full page, later":         {"by_number", map[string]any{"size": 2, "page": 1}, []sdktest.Option{sdktest.Page("7")}, `{"a":[1,2]}`, `[1,2]`, "8", ""},
		"a short page":               {"by_number", map[string]any{"size": 3}, nil, `{"a":[1,2]}`, `[1,2]`, "", ""},
		"a size that is not known":   {"by_number", nil, nil, `{"a":[1]}`, `[1]`, "2", ""},
		"an empty page":              {"by_number", nil, nil, `{"a":[]}`, `[]`, "", ""},
		"a cursor that is no number": {"by_number", nil, []sdktest.Option{sdktest.Page("1.5")}, `{"a":[]}`, "", "", "no number of a page"},

		"the first of several":     {"by_index", nil, nil, `{"a":[1,2],"total":5}`, `[1,2]`, "2", ""},
		"the last, up to a total":  {"by_index", nil, []sdktest.Option{sdktest.Page("3")}, `{"a":[4,5],"start":3,"total":5}`, `[4,5]`, "", ""},
		"no total":                 {"by_index", nil, []sdktest.Option{sdktest.Page("3")}, `{"a":[4,5]}`, `[4,5]`, "5", ""},
		"an empty one":             {"by_index", nil, []sdktest.Option{sdktest.Page("9")}, `{"a":[],"total":50}`, `[]`, "", ""},
		"another start":            {"by_index", nil, []sdktest.Option{sdktest.Page("3")}, `{"a":[1],"start":0,"total":5}`, "", "", "starts at 0, asked for was 3"},
		"past the total":           {"by_index", nil, []sdktest.Option{sdktest.Page("3")}, `{"a":[1,2,3],"start":3,"total":5}`, "", "", "holds 3 items from 3 on, and there are 5 in all"},
		"past the total, no start": {"by_index", nil, []sdktest.Option{sdktest.Page("5")}, `{"a":[1],"total":5}`, "", "", "goes past its total"},
		"a total of text":          {"by_index", nil, nil, `{"a":[1],"total":"5"}`, "", "", "`total` of the page has another shape: it is text where an integer is due"},
		"a total with a point":     {"by_index", nil, nil, `{"a":[1],"total":1.0}`, `[1]`, "", ""},

		"a link":                   {"by_link_field", nil, nil, `{"a":[1],"next":"/list?at=2#x"}`, `[1]`, "{url}/list?at=2", ""},
		"a whole link":             {"by_link_field", nil, nil, `{"a":[1],"next":"{url}/list?at=2"}`, `[1]`, "{url}/list?at=2", ""},
		"no link":                  {"by_link_field", nil, nil, `{"a":[1],"next":null}`, `[1]`, "", ""},
		"a link to another host":   {"by_link_field", nil, nil, `{"a":[1],"next":"https://evil.example/list"}`, "", "", "leads to https://evil.example,"},
		"a link to another port":   {"by_link_field", nil, nil, `{"a":[1],"next":"http://127.0.0.1:1/list"}`, "", "", "leads to http://127.0.0.1:1"},
		"a link to another scheme": {"by_link_field", nil, nil, `{"a":[1],"next":"{https}/list"}`, "", "", "leads to https://127.0.0.1"},
		"a link with a user":       {"by_link_field", nil, nil, `{"a":[1],"next":"{user}/list"}`, "", "", "can't be read"},
		"a link of another kind":   {"by_link_field", nil, nil, `{"a":[1],"next":"javascript:x"}`, "", "", "can't be read"},
		"a link that is a list":    {"by_link_field", nil, nil, `{"a":[1],"next":{}}`, "", "", "`next` of the page is an object where text is due"},
	} {
		t.Run(name, func(t *testing.T) {
			body := ""
			p, address := answering(t, &body, nil)
			body = strings.NewReplacer("{url}", address, "{https}", strings.Replace(address, "http", "https", 1), "{user}", strings.Replace(address, "//", "//u:p@", 1)).Replace(c.body)
			in := map[string]any{}
			maps.Copy(in, c.in)
			r := p.Call(c.action, in, c.options...)
			if c.problem != "" {
				for _, part := range strings.Split(c.problem, "|") {
					if r.Err == nil || !strings.Contains(r.Err.Message+r.Err.Hint, part) {
						t.Fatalf("got %s %v, want %s", r.Output, r.Err, part)
					}
				}
				return
			}
			var out struct {
				Items json.RawMessage `json:"items"`
				Next  *string         `json:"next_cursor"`
				Page  json.RawMessage `json:"page"`
			}
			r.Decode(t, &out)
			next := strings.ReplaceAll(c.next, "{url}", address)
			if string(out.Items) != c.items || r.Next != next || (out.Next == nil) != (next == "") || string(out.Page) != body {
				t.Errorf("items %s, next %q, page %s; want %s, %q, %s", out.Items, r.Next, out.Page, c.items, next, body)
			}
		})
	}
}

func TestPagesOfAReadingLeaveTheirItemsAlone(t *testing.T) {
	body := `{"rows":[{"id":1}],"more":"` + strings.Repeat("x", 1000) + `"}`
	p, _ := answering(t, &body, nil)
	r := p.Call("by_cursor", nil, sdktest.AllPages())
	if want := `{"items":[{"id":1}],"next_cursor":null,"page":null}`; string(r.Output) != want {
		t.Errorf("got %s, want %s", r.Output, want)
	}
	if string(r.Note) != `{"list":"rows"}` {
		t.Errorf("the page leaves %q", r.Note)
	}
	for _, in := range []map[string]any{{"list": "rows"}} { // named by the input: there is nothing to remember
		if r := p.Call("by_cursor", in); len(r.Note) > 0 {
			t.Errorf("%v leaves %q", in, r.Note)
		}
	}
}

func TestLinkHeaders(t *testing.T) {
	for header, want := range map[string]string{
		`</list?at=2>; rel="next"`:                                      "/list?at=2",
		`</a>; rel="prev", </b?x=1,2>; rel=next`:                        "/b?x=1,2",
		`</a>; title="x, </c>; rel=next"; rel="last", </b>; rel="Next"`: "/b",
		`</b>; title="a \"; rel=x"; rel="first NEXT"`:                   "/b",
		`</b>; rel="nextish"`:                                           "",
		`</b>; rel=prev; rel=next`:                                      "",
		`</b>`:                                                          "",
		`<`:                                                             "",
		``:                                                              "",
	} {
		body := `{"a":[1]}`
		p, address := answering(t, &body, http.Header{"Link": {`</z>; rel="up"`, header}})
		if want != "" {
			want = address + want
		}
		if r := p.Call("by_link", nil); r.Err != nil || r.Next != want {
			t.Errorf("%s: %q %v, want %q", header, r.Next, r.Err, want)
		}
	}
	body := `{"a":[1]}`
	p, _ := answering(t, &body, http.Header{"Link": {`<https://evil.example/b>; rel="next"`}})
	if r := p.Call("by_link", nil); r.Err == nil || r.Err.Code != sdk.CodeUnexpectedResponse || !strings.Contains(r.Err.Message, "evil.example") {
		t.Errorf("got %q %v", r.Next, r.Err)
	}
}

// A service of n items in pages of any size gives each item once and in order,
// however it says where the next page is; pages that lie about their start never
// give an item twice or lose one without an error.
func TestReadingsAreWhole(t *testing.T) {
	var n, size, lie int
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := 0
		_, _ = fmt.Sscan(r.URL.Query().Get("at"), &at)
		from := max(at-lie, 0)
		items := []string{}
		for i := from; i < min(from+size, n); i++ {
			items = append(items, fmt.Sprintf(`{"id":%d}`, i))
		}
		next := ""
		if from+size < n {
			next = fmt.Sprint(from + size)
		}
		_, _ = fmt.Fprintf(w, `{"rows":[%s],"next_cursor":%q,"total":%d}`, strings.Join(items, ","), next, n)
	}))
	defer srv.Close()
	p := sdktest.Open(t, lists(), map[string]any{"base_url": srv.URL})
	for _, n = range []int{0, 1, 2, 3, 7, 12, 13, 40} {
		for size = 1; size <= 12; size++ {
			for _, lie = range []int{0, 1, 3} {
				for _, action := range []string{"by_cursor", "by_index"} {
					if t.Run(fmt.Sprintf("%d by %d, %d before, %s", n, size, lie, action), func(t *testing.T) { readWhole(t, p, action, n, lie == 0) }); t.Failed() {
						return
					}
				}
			}
		}
	}
}

// readWhole reads n items page by page. Where the service is honest each comes once and in
// order, else the reading may fail.
func readWhole(t *testing.T, p *sdktest.Plugin, action string, n int, honest bool) {
	t.Helper()
	var got []string
	seen, cursor, note := map[string]bool{}, "", []byte(nil)
	for page := 1; ; page++ {
		r := p.Call(action, nil, sdktest.Page(cursor), sdktest.Note(note), sdktest.AllPages())
		if r.Err != nil {
			if honest {
				t.Fatalf("page %d: %v", page, r.Err)
			}
			return
		}
		var out struct{ Items []json.RawMessage }
		if err := json.Unmarshal(r.Output, &out); err != nil {
			t.Fatal(err)
		}
		for _, item := range out.Items {
			if seen[string(item)] { // as the engine does
				if honest {
					t.Fatalf("%s twice", item)
				}
				return
			}
			seen[string(item)] = true
			got = append(got, string(item))
		}
		if cursor, note = r.Next, r.Note; cursor == "" {
			break
		}
		if page > 100 {
			t.Fatal("the pages never end")
		}
	}
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf(`{"id":%d}`, i))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

// Whatever a page says, reading it never panics, and what is taken is a page
// whose items are those of one of its lists.
func FuzzReadPage(f *testing.F) {
	for _, seed := range []string{`{"a":[1]}`, `[]`, `{"a":null}`, `{"a":[],"b":[]}`, `{"total":5,"start":-1,"a":[1]}`, `{"next":"//x","a":[1]}`, `{"next_cursor":[],"a":[]}`, `{"total":9223372036854775807,"a":[1],"start":9223372036854775807}`} {
		f.Add(seed, "3", []byte(`{"list":"a"}`))
		f.Add(seed, "", []byte(nil))
	}
	f.Fuzz(func(t *testing.T, text, cursor string, note []byte) {
		p, _ := answering(t, &text, nil)
		for _, action := range []string{"by_cursor", "by_number", "by_index", "by_link_field"} {
			r := p.Call(action, nil, sdktest.Page(strings.ToValidUTF8(cursor, "")), sdktest.Note(note))
			if r.Err != nil && r.Err.Code == sdk.CodeInternal {
				t.Fatalf("%s of %q: %v", action, text, r.Err)
			}
			if r.Err != nil {
				continue
			}
			var out struct{ Items []json.RawMessage }
			if err := json.Unmarshal(r.Output, &out); err != nil || out.Items == nil {
				t.Fatalf("%s of %q: %s %v", action, text, r.Output, err)
			}
		}
	})
}
