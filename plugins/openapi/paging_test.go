package openapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/plugins/openapi"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

func TestPagesOfTheDocument(t *testing.T) {
	t.Parallel()
	text := document(t, "paging.yaml")
	for _, test := range []struct {
		action, input string
		answer        func(s *service) http.HandlerFunc
		uri, next     string
		again         string // request of the next page
	}{
		{
			"by_link", `{}`, func(s *service) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					if r.URL.RawQuery == "" {
						w.Header().Set("Link", fmt.Sprintf(`<%s/link?after=7>; rel="next"`, s.URL))
					}
					writeJSON(w, 200, `[{"id":1}]`)
				}
			}, "/link", "URL/link?after=7", "/link?after=7",
		},
		{
			"by_cursor", `{}`, func(*service) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					next := `"c&1"`
					if r.URL.Query().Get("cursor") != "" {
						next = "null"
					}
					writeJSON(w, 200, `{"next_cursor":`+next+`,"data":[{"id":1}]}`)
				}
			}, "/cursor", "c&1", "/cursor?cursor=c%261",
		},
		{
			"by_number", `{"page":3,"per_page":2}`, func(*service) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Query().Get("page") == "4" {
						writeJSON(w, 200, `[{"id":3}]`)
						return
					}
					writeJSON(w, 200, `[{"id":1},{"id":2}]`)
				}
			}, "/number?page=3&per_page=2", "4", "/number?page=4&per_page=2",
		},
		{
			"by_offset", `{"limit":2}`, func(*service) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Query().Get("offset") == "2" {
						writeJSON(w, 200, `{"results":[]}`)
						return
					}
					writeJSON(w, 200, `{"results":[{"id":1},{"id":2}]}`)
				}
			}, "/offset?limit=2", "2", "/offset?limit=2&offset=2",
		},
	} {
		t.Run(test.action, func(t *testing.T) {
			t.Parallel()
			s := serve(t, nil)
			s.answer = test.answer(s)
			p := open(t, s, openapi.Settings{}, text, nil)
			first := p.Call(test.action, object(test.input))
			s.wants(t, "GET", test.uri)
			if want := strings.ReplaceAll(test.next, "URL", s.URL); first.Err != nil || first.Next != want {
				t.Fatalf("the next page is %q (%v), wanted %q", first.Next, first.Err, want)
			}
			last := p.Call(test.action, object(test.input), sdktest.Page(first.Next))
			s.wants(t, "GET", test.again)
			if last.Err != nil || last.Next != "" {
				t.Errorf("behind the last page is %q (%v)", last.Next, last.Err)
			}
		})
	}
}

func TestPagesOfAListAmongSeveralAreNotGuessed(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	p := open(t, s, openapi.Settings{}, document(t, "paging.yaml"), nil)
	if paging := p.Action("two_lists").Paging; paging != nil {
		t.Errorf("the pages are %+v", paging)
	}
	rule := openapi.Rule{For: []string{"twoLists"}}
	rule.Paging = &openapi.PagingRule{Next: "number", Input: "page", Items: "b"}
	p = open(t, s, openapi.Settings{Rules: []openapi.Rule{rule}}, document(t, "paging.yaml"), nil)
	if paging := p.Action("two_lists").Paging; paging == nil || paging.Items != "b" {
		t.Errorf("with a rule the pages are %+v", paging)
	}
}

func TestALinkToAnotherOriginIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", `<https://elsewhere.example.com/link>; rel="next"`)
		writeJSON(w, 200, `[]`)
	})
	p := open(t, s, openapi.Settings{}, document(t, "paging.yaml"), map[string]any{"token": "t-1"})
	fails(t, p.Call("by_link", object(`{}`)), sdk.CodeUnexpectedResponse)
	// nor is one taken from a workflow, with the credential
	failure := p.Call("by_link", object(`{"page_link":"https://elsewhere.example.com/link"}`))
	fails(t, failure, sdk.CodeInvalid)
	if s.count() != 1 {
		t.Errorf("%d requests were sent", s.count())
	}

	// nor without one: asking for pages is no way to ask other services
	other := serve(t, nil)
	p = open(t, s, openapi.Settings{}, document(t, "paging.yaml"), nil)
	for _, link := range []string{other.URL + "/link", "http://user@" + strings.TrimPrefix(s.URL, "http://") + "/link"} {
		refused := fails(t, p.Call("by_link", map[string]any{"page_link": link}), sdk.CodeInvalid)
		if refused.Pointer != "/page_link" {
			t.Errorf("%s is refused at %q", link, refused.Pointer)
		}
	}
	if other.count() != 0 {
		t.Error("another service was asked")
	}
}
