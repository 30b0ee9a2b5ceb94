package recipe_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// readAll reads pages as the engine does, and returns what was asked for each.
func readAll(t *testing.T, g *rig, input string, items string) (uris []string, all []string) {
	t.Helper()
	for cursor := ""; ; {
		r := g.plugin.Call("read", raw(input), sdktest.Page(cursor), sdktest.AllPages())
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		uris = append(uris, g.last(t).uri)
		list := r.Output
		if items != "" {
			fields, _ := sdk.ReadMembers(r.Output)
			list = fields.Get(items)
		}
		all = append(all, string(list))
		if cursor = r.Next; cursor == "" || len(uris) > 9 {
			return uris, all
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	page := recipe.Param{Input: "page", Name: "page", In: recipe.InQuery, Explode: true}
	size := recipe.Param{Input: "size", Name: "size", In: recipe.InQuery, Explode: true}
	for _, test := range []struct {
		name    string
		page    recipe.Page
		input   string
		answers []string // one behind the other; "Link: URL" before the body is a header
		uris    []string
		items   []string
	}{
		{
			"by number", recipe.Page{Kind: recipe.NextNumber, Input: "page", Items: "l", Full: 2, From: 1}, `{}`,
			[]string{`{"l":[1,2]}`, `{"l":[3,4]}`, `{"l":[5]}`}, []string{"/p", "/p?page=2", "/p?page=3"}, []string{"[1,2]", "[3,4]", "[5]"},
		},
		{
			"by number, from the one that is asked for and of a size", recipe.Page{Kind: recipe.NextNumber, Input: "page", Size: "size", Full: 9, From: 1}, `{"page":4,"size":1}`,
			[]string{`[1]`, `[]`}, []string{"/p?page=4&size=1", "/p?page=5&size=1"}, []string{"[1]", "[]"},
		},
		{
			"by number, from 0", recipe.Page{Kind: recipe.NextNumber, Input: "page"}, `{}`,
			[]string{`[1]`, `[2]`, `[]`}, []string{"/p", "/p?page=1", "/p?page=2"}, []string{"[1]", "[2]", "[]"},
		},
		{
			"by index", recipe.Page{Kind: recipe.NextOffset, Input: "page", Full: 2}, `{"page":10}`,
			[]string{`[1,2]`, `[3,4]`, `[5]`}, []string{"/p?page=10", "/p?page=12", "/p?page=14"}, []string{"[1,2]", "[3,4]", "[5]"},
		},
		{
			"by cursor", recipe.Page{Kind: recipe.NextCursor, Input: "page", Items: "l", Next: "/meta/next"}, `{}`,
			[]string{`{"l":[1],"meta":{"next":"a b"}}`, `{"l":[2],"meta":{"next":7}}`, `{"l":[3],"meta":{"next":null}}`}, []string{"/p", "/p?page=a+b", "/p?page=7"}, []string{"[1]", "[2]", "[3]"},
		},
		{
			"by the last item, while there is more", recipe.Page{Kind: recipe.NextCursor, Input: "page", Items: "l", More: "/more", Last: "id"}, `{}`,
			[]string{`{"l":[{"id":"x"}],"more":true}`, `{"l":[{"id":"y"}],"more":false}`}, []string{"/p", "/p?page=x"}, []string{`[{"id":"x"}]`, `[{"id":"y"}]`},
		},
		{
			"by the Link header", recipe.Page{Kind: recipe.NextLink, Input: "page"}, `{}`,
			[]string{"Link: </p?at=2>; rel=\"next\"\n[1]", `[2]`}, []string{"/p", "/p?at=2"}, []string{"[1]", "[2]"},
		},
		{
			"by a link in the answer", recipe.Page{Kind: recipe.NextLink, Input: "page", Items: "l", Next: "/next"}, `{}`,
			[]string{`{"l":[1],"next":"?at=2"}`, `{"l":[2],"next":false}`}, []string{"/p", "/p?at=2"}, []string{"[1]", "[2]"},
		},
		{
			"a status behind the last page", recipe.Page{Kind: recipe.NextNumber, Input: "page", Items: "l", Full: 1, From: 1, End: 404}, `{}`,
			[]string{`{"l":[1]}`, "404"}, []string{"/p", "/p?page=2"}, []string{"[1]", "[]"},
		},
		{
			"a status behind the last page, of a list", recipe.Page{Kind: recipe.NextNumber, Input: "page", Full: 1, From: 1, End: 404}, `{}`,
			[]string{`[1]`, "404"}, []string{"/p", "/p?page=2"}, []string{"[1]", "[]"},
		},
		{
			"wrapped", recipe.Page{Kind: recipe.NextNumber, Input: "page", Full: 1, From: 1, Wrap: "page", End: 404}, `{}`,
			[]string{`{"l":[1]}`, "404"}, []string{"/p", "/p?page=2"}, []string{"[1]", "[]"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			next := 0
			answer := func(w http.ResponseWriter, _ *http.Request) {
				body := test.answers[min(next, len(test.answers)-1)]
				next++
				if link, rest, ok := strings.Cut(strings.TrimPrefix(body, "Link: "), "\n"); ok {
					w.Header().Set("Link", link)
					body = rest
				}
				if body == "404" {
					w.WriteHeader(404)
					return
				}
				_, _ = io.WriteString(w, body)
			}
			g := setUp(t, &recipe.Recipe{Method: "GET", Path: "/p", Params: params(test.page, page, size), Page: &test.page}, nil, answer)
			list := test.page.Items
			if test.page.Wrap != "" {
				list = "items"
			}
			uris, items := readAll(t, g, test.input, list)
			if diff := cmp.Diff([][]string{test.uris, test.items}, [][]string{uris, items}); diff != "" {
				t.Errorf("requests and items (-want +got):\n%s", diff)
			}
		})
	}
}

// params are those of a recipe with pages: one whose pages are links has none for them.
func params(p recipe.Page, all ...recipe.Param) []recipe.Param {
	if p.Kind == recipe.NextLink {
		return nil
	}
	return all
}

// A status that ends a reading is a failure where nobody reads on.
func TestTheFirstPageMayBeMissed(t *testing.T) {
	t.Parallel()
	for kind, code := range map[string]sdk.Code{recipe.NextNumber: sdk.CodeNotFound, recipe.NextOffset: sdk.CodeNotFound} {
		g := setUp(t, &recipe.Recipe{Method: "GET", Path: "/p", Page: &recipe.Page{Kind: kind, Input: "page", End: 404}}, nil, says(404, `{}`))
		fails(t, g.plugin.Call("read", raw(`{"page":3}`)), code)
	}
}

func TestACursorThatIsRefusedStartsAnew(t *testing.T) {
	t.Parallel()
	for kind, code := range map[string]sdk.Code{recipe.NextCursor: sdk.CodeCursorExpired, recipe.NextNumber: sdk.CodeInvalid} {
		g := setUp(t, &recipe.Recipe{Method: "GET", Path: "/p", Page: &recipe.Page{Kind: kind, Input: "page"}}, nil, says(400, `{}`))
		fails(t, g.plugin.Call("read", raw(`{}`), sdktest.Page("7")), code)
		fails(t, g.plugin.Call("read", raw(`{}`)), sdk.CodeInvalid)
	}
}

func TestLinksOfPagesStayWithTheService(t *testing.T) {
	t.Parallel()
	other := setUp(t, &recipe.Recipe{Method: "GET", Path: "/"}, nil, nil)
	link := &recipe.Recipe{Method: "GET", Path: "/p", Page: &recipe.Page{Kind: recipe.NextLink, Input: "page"}}
	g := setUp(t, link, nil, says(200, `[]`))
	host := strings.TrimPrefix(g.url, "http://")
	for _, to := range []string{other.url + "/p", "https://" + host + "/p", "http://user@" + host + "/p", "//" + strings.TrimPrefix(other.url, "http://"), "file:///etc/passwd", "http://" + host + ".evil.example/", "%zz"} {
		for _, r := range []sdktest.Result{g.plugin.Call("read", raw(fmt.Sprintf(`{"page":%q}`, to))), g.plugin.Call("read", raw(`{}`), sdktest.Page(to))} {
			if failure := fails(t, r, sdk.CodeInvalid); failure.Pointer != "/page" {
				t.Errorf("%s: %+v", to, failure)
			}
		}
	}
	if g.count() != 0 || other.count() != 0 {
		t.Errorf("%d and %d requests were sent", g.count(), other.count())
	}
	gives(t, g.plugin.Call("read", raw(fmt.Sprintf(`{"page":%q}`, g.url+"/p?at=2"))), `[]`) // the control
	if got := g.last(t).uri; got != "/p?at=2" {
		t.Errorf("sent %s", got)
	}
}

func TestCursorsThatAreNoNumbers(t *testing.T) {
	t.Parallel()
	for kind, cursors := range map[string][]string{recipe.NextNumber: {"x", "-1", "0", "1.5", "99999999999999999999"}, recipe.NextOffset: {"x", "-1"}} {
		g := setUp(t, &recipe.Recipe{Method: "GET", Path: "/p", Page: &recipe.Page{Kind: kind, Input: "page", From: 1}}, nil, nil)
		for _, cursor := range cursors {
			if failure := fails(t, g.plugin.Call("read", raw(`{}`), sdktest.Page(cursor)), sdk.CodeInvalid); failure.Pointer != "/page" || g.count() != 0 {
				t.Errorf("%s %s: %+v", kind, cursor, failure)
			}
		}
	}
}

func TestWrappedPages(t *testing.T) {
	t.Parallel()
	r := &recipe.Recipe{
		Method: "GET", Path: "/p", Envelope: &recipe.Envelope{Data: "/d"},
		Page: &recipe.Page{Kind: recipe.NextCursor, Input: "page", Next: "/next", Wrap: "whole", ListInput: "list"},
	}
	for _, test := range []struct{ input, body, want string }{
		{`{}`, `{"d":{"n":1.10,"l":[1]},"next":"b"}`, `{"items":[1],"next_cursor":"b","whole":{"n":1.10,"l":[1]}}`},
		{`{}`, `{"d":[2]}`, `{"items":[2],"next_cursor":null,"whole":[2]}`},
		{`{"list":"b"}`, `{"d":{"a":[1],"b":[2]}}`, `{"items":[2],"next_cursor":null,"whole":{"a":[1],"b":[2]}}`},
		{`{}`, `{"d":{"a":[1],"b":[2]}}`, `{"items":null,"next_cursor":null,"whole":{"a":[1],"b":[2]}}`}, // which of them is not certain
	} {
		g := setUp(t, r, nil, says(200, test.body))
		result := g.plugin.Call("read", raw(test.input))
		gives(t, result, test.want)
		if warned := len(result.Logs) == 1; warned != strings.Contains(test.want, `"items":null`) {
			t.Errorf("%s: the log has %v", test.body, result.Logs)
		}
	}
	g := setUp(t, r, nil, says(200, `{"d":{"a":[1],"b":[2]}}`))
	if failure := fails(t, g.plugin.Call("read", raw(`{}`), sdktest.AllPages()), sdk.CodeUnexpectedResponse); !strings.Contains(failure.Hint, "name one with list") {
		t.Errorf("where all pages are read: %+v", failure)
	}
}
