package http

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// total is how many items the services of these tests have.
const total = 7

// itemsFrom are at most n items from an index on.
func itemsFrom(index, n int) []int {
	list := []int{}
	for i := index; i < min(index+n, total); i++ {
		list = append(list, i)
	}
	return list
}

// readAll reads page by page, as the engine does.
func readAll(t *testing.T, p *sdktest.Plugin, input in) (items []any, requests int) {
	t.Helper()
	cursor := ""
	for range 20 {
		r := p.Call("get", input, sdktest.Page(cursor), sdktest.AllPages())
		out := outputOfCall(t, r)
		requests++
		items = append(items, out["items"].([]any)...)
		if out["body"] != nil {
			t.Errorf("the page is kept besides its items: %v", out["body"])
		}
		if shown, _ := out["next_cursor"].(string); shown != r.Next {
			t.Errorf("next_cursor shows %q, and the engine gets %q", shown, r.Next)
		}
		if cursor = r.Next; cursor == "" {
			return items, requests
		}
	}
	t.Fatal("the pages do not end")
	return nil, 0
}

func TestPages(t *testing.T) {
	var s *service
	write := func(w http.ResponseWriter, v any) { says(200, "application/json", string(sdk.JSON(v)))(w, nil) }
	number := func(r *http.Request, name string, otherwise int) int {
		if n, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil {
			return n
		}
		return otherwise
	}
	for name, c := range map[string]struct {
		answer   func(w http.ResponseWriter, r *http.Request)
		pages    in
		requests int
	}{
		"a link in a header": {func(w http.ResponseWriter, r *http.Request) {
			at := number(r, "at", 0)
			if at+3 < total {
				w.Header().Add("Link", `</first>; rel="first", <?at=`+strconv.Itoa(at+3)+`&q=1>; rel="next"`)
			}
			write(w, itemsFrom(at, 3))
		}, in{"by": "link"}, 3},
		"a link in the body": {func(w http.ResponseWriter, r *http.Request) {
			at, next := number(r, "at", 0), any(nil)
			if at+3 < total {
				next = s.URL + "/list?at=" + strconv.Itoa(at+3)
			}
			write(w, in{"data": in{"list": itemsFrom(at, 3)}, "links": in{"next": next}})
		}, in{"by": "link", "items": "/data/list", "next": "/links/next"}, 3},
		"a cursor": {func(w http.ResponseWriter, r *http.Request) {
			at := number(r, "after", 0)
			answer := in{"items": itemsFrom(at, 3), "next": ""}
			if at+3 < total {
				answer["next"] = strconv.Itoa(at + 3)
			}
			write(w, answer)
		}, in{"by": "cursor", "items": "/items", "next": "/next", "query": "after"}, 3},
		"a cursor that is a number": {func(w http.ResponseWriter, r *http.Request) {
			at := number(r, "after", 0)
			answer := in{"items": itemsFrom(at, 3)}
			if at+3 < total {
				answer["next"] = at + 3
			}
			write(w, answer)
		}, in{"by": "cursor", "items": "/items", "next": "/next", "query": "after"}, 3},
		"more beside a cursor that stays": {func(w http.ResponseWriter, r *http.Request) {
			at := number(r, "after", 0)
			write(w, in{"items": itemsFrom(at, 3), "next": at + 3, "has_more": at+3 < total})
		}, in{"by": "cursor", "items": "/items", "next": "/next", "query": "after", "more": "/has_more"}, 3},
		"an index": {func(w http.ResponseWriter, r *http.Request) {
			write(w, itemsFrom(number(r, "offset", 0), 3))
		}, in{"by": "offset", "query": "offset"}, 4},
		"an index with a total": {func(w http.ResponseWriter, r *http.Request) {
			write(w, in{"items": itemsFrom(number(r, "offset", 0), 3), "total": total})
		}, in{"by": "offset", "query": "offset", "items": "/items", "total": "/total"}, 3},
		"an index from 1, of short pages": {func(w http.ResponseWriter, r *http.Request) {
			write(w, in{"items": itemsFrom(number(r, "start", 1)-1, 2), "total": total})
		}, in{"by": "offset", "query": "start", "items": "/items", "total": "/total", "first": 1, "size": 100, "size_query": "count"}, 4},
		"a number": {func(w http.ResponseWriter, r *http.Request) {
			write(w, itemsFrom((number(r, "page", 0)-1)*3, 3))
		}, in{"by": "page", "query": "page"}, 4},
		"a number from 0, to a status": {func(w http.ResponseWriter, r *http.Request) {
			list := itemsFrom(number(r, "page", 9)*number(r, "size", 9), 3)
			if len(list) == 0 {
				says(404, "text/plain", "no such page")(w, r)
				return
			}
			write(w, list)
		}, in{"by": "page", "query": "page", "first": 0, "size": 3, "size_query": "size"}, 4},
		"a number with a total": {func(w http.ResponseWriter, r *http.Request) {
			write(w, in{"items": itemsFrom((number(r, "page", 1)-1)*number(r, "size", 0), 3), "total": "7"})
		}, in{"by": "page", "query": "page", "size": 3, "size_query": "size", "items": "/items", "total": "/total"}, 3},
	} {
		s = serve(t, c.answer)
		input := in{"path": "/list", "query": in{"q": 1}, "pages": c.pages}
		if strings.Contains(name, "status") {
			input["expect"] = []any{404}
		}
		items, requests := readAll(t, open(t, s, nil), input)
		want := []any{0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0}
		if diff := cmp.Diff(want, items); diff != "" || requests != c.requests {
			t.Errorf("%s: %d requests, want %d; items (-want +got):\n%s", name, requests, c.requests, diff)
		}
	}
}

func TestOnePageOfRows(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		says(200, "text/csv", map[string]string{"0": "id\n1\n2\n", "2": "id\n"}[r.URL.Query().Get("offset")])(w, r)
	})
	items, requests := readAll(t, open(t, s, nil), in{"path": "/list", "as": "csv", "answer": in{"properties": in{"id": in{"type": "integer"}}}, "pages": in{"by": "offset", "query": "offset"}})
	if diff := cmp.Diff([]any{in{"id": 1.0}, in{"id": 2.0}}, items); diff != "" || requests != 2 {
		t.Errorf("%d requests; items (-want +got):\n%s", requests, diff)
	}
}

func TestAPageByItself(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		says(200, "application/json", fmt.Sprintf(`{"list":[%q],"next":"c2"}`, r.URL.Query().Get("c")))(w, r)
	})
	p := open(t, s, nil)
	input := in{"path": "/list", "cursor": "c1", "pages": in{"by": "cursor", "items": "/list", "next": "/next", "query": "c"}}
	out := outputOfCall(t, p.Call("get", input))
	if diff := cmp.Diff([]any{[]any{"c1"}, "c2", in{"list": []any{"c1"}, "next": "c2"}}, []any{out["items"], out["next_cursor"], out["body"]}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out = outputOfCall(t, p.Call("get", in{"path": "/list"}))
	if _, there := out["items"]; there {
		t.Errorf("items without pages: %v", out)
	}
	fails(t, p.Call("get", in{"path": "/list"}, sdktest.AllPages()), sdk.CodeInvalid, "is needed to read page by page")
}

func TestPagesThatAreWrong(t *testing.T) {
	s := serve(t, nil)
	p := open(t, s, nil)
	cursor := in{"by": "cursor", "items": "/items", "next": "/next", "query": "c"}
	for name, c := range map[string]struct {
		status int
		header http.Header
		body   string
		pages  in
		code   sdk.Code
		text   string
		at     string
	}{
		"no list":                     {200, nil, `{"things":[]}`, cursor, sdk.CodeUnexpectedResponse, "no list at /items: there is nothing", ""},
		"no list, but an object":      {200, nil, `{"items":{}}`, cursor, sdk.CodeUnexpectedResponse, "no list at /items: there is something else", ""},
		"a cursor that is an object":  {200, nil, `{"items":[1],"next":{}}`, cursor, sdk.CodeUnexpectedResponse, "/next of the page is neither text nor an integer", ""},
		"a link to another host":      {200, http.Header{"Link": {`<http://127.0.0.1:1/x>; rel=next`}}, `[1]`, in{"by": "link"}, sdk.CodeUnexpectedResponse, "leads to http://127.0.0.1:1", ""},
		"a link with a user":          {200, http.Header{"Link": {`<http://u:p@127.0.0.1/x>; rel=next`}}, `[1]`, in{"by": "link"}, sdk.CodeUnexpectedResponse, "can't be read", ""},
		"a link to a file":            {200, nil, `{"l":[1],"n":"file:///etc/passwd"}`, in{"by": "link", "items": "/l", "next": "/n"}, sdk.CodeUnexpectedResponse, "can't be read", ""},
		"a total that is none":        {200, nil, `{"items":[1],"total":"many"}`, in{"by": "offset", "query": "o", "items": "/items", "total": "/total"}, sdk.CodeUnexpectedResponse, "/total of the page is no number", ""},
		"more that is a text":         {200, nil, `{"items":[1],"more":"yes"}`, in{"by": "offset", "query": "o", "items": "/items", "more": "/more"}, sdk.CodeUnexpectedResponse, "neither true nor false", ""},
		"a cursor that has died":      {400, nil, `{"error":"cursor"}`, cursor, sdk.CodeCursorExpired, "cursor", "c9"},
		"a refusal of the first page": {400, nil, `{"error":"no"}`, cursor, sdk.CodeInvalid, "no", ""},
		"a cursor that is no index":   {200, nil, `[]`, in{"by": "offset", "query": "o"}, sdk.CodeInvalid, "is no offset of a page", "x"},
		"a cursor before the first":   {200, nil, `[]`, in{"by": "page", "query": "p"}, sdk.CodeInvalid, "a number from 1 on", "0"},
	} {
		s.answer = func(w http.ResponseWriter, r *http.Request) {
			for name, values := range c.header {
				w.Header()[name] = values
			}
			says(c.status, "application/json", c.body)(w, r)
		}
		t.Run(name, func(t *testing.T) {
			fails(t, p.Call("get", in{"path": "/list", "pages": c.pages}, sdktest.Page(c.at)), c.code, c.text)
		})
	}
}

// The schema of an answer becomes that of the items, and an output fits what it is
// narrowed to.
func TestNarrowedSchemas(t *testing.T) {
	p := sdktest.Serve(t, New())
	thing := in{"type": "object", "properties": in{"id": in{"type": "integer"}}}
	list := in{"type": "object", "properties": in{"data": in{"$ref": "#/$defs/list"}}, "$defs": in{"list": in{"type": "array", "items": in{"$ref": "#/$defs/thing"}}, "thing": thing}}
	for name, c := range map[string]struct {
		action       string
		input        in
		unknown      []string
		body, items  string // JSON, "" = not there
		definition   string
		nothingKnown bool
	}{
		"nothing":            {action: "get", input: in{"path": "/a"}, body: `{"default": null, "description": "Body of the answer, as it was asked for; null where it is empty or the answer is not ok."}`},
		"a document":         {action: "get", input: in{"path": "/a", "answer": thing}, body: `{"$ref":"#/$defs/answer"}`, definition: `{"properties":{"id":{"type":"integer"}},"type":"object"}`},
		"a status besides":   {action: "post", input: in{"path": "/a", "answer": thing, "expect": []any{404}}, body: `{"default": null, "anyOf":[{"$ref":"#/$defs/answer"},{"type":"null"}]}`},
		"a status of 2xx":    {action: "post", input: in{"path": "/a", "answer": thing, "expect": []any{204}}, body: `{"$ref":"#/$defs/answer"}`},
		"text":               {action: "post", input: in{"path": "/a", "as": "text"}, body: `{"type":"string"}`},
		"nothing kept":       {action: "delete", input: in{"path": "/a", "as": "none"}, body: `{"type":"null","default":null}`},
		"rows":               {action: "get", input: in{"path": "/a", "as": "csv", "answer": thing}, body: `{"type":"array","items":{"$ref":"#/$defs/answer"}}`},
		"rows of texts":      {action: "get", input: in{"path": "/a", "as": "csv"}, body: `{"type":"array","items":{"type":"object","additionalProperties":{"type":"string"}}}`},
		"an unknown answer":  {action: "get", input: in{"path": "/a"}, unknown: []string{"/answer/type"}, body: `{"default": null, "description": "Body of the answer, as it was asked for; null where it is empty or the answer is not ok."}`},
		"an unknown as":      {action: "get", input: in{"path": "/a", "answer": thing}, unknown: []string{"/as"}, body: `{"default": null, "description": "Body of the answer, as it was asked for; null where it is empty or the answer is not ok."}`},
		"pages":              {action: "get", input: in{"path": "/a", "answer": list, "pages": in{"by": "link", "items": "/data"}}, body: `{"default": null, "anyOf":[{"$ref":"#/$defs/answer"},{"type":"null"}]}`, items: `{"type":"array","items":{"$ref":"#/$defs/answer/$defs/list/items"}}`},
		"pages at the top":   {action: "get", input: in{"path": "/a", "answer": in{"type": "array", "items": thing}, "pages": in{"by": "link"}}, body: `{"default": null, "anyOf":[{"$ref":"#/$defs/answer"},{"type":"null"}]}`, items: `{"type":"array","items":{"$ref":"#/$defs/answer/items"}}`},
		"pages without type": {action: "get", input: in{"path": "/a", "pages": in{"by": "link"}}, body: `{"default": null, "description": "Body of the answer, as it was asked for; null where it is empty or the answer is not ok."}`, items: `{"type":"array","description":"Items of the page, with pages alone."}`},
		"unknown pages":      {action: "get", input: in{"path": "/a"}, unknown: []string{"/pages"}, nothingKnown: true},
	} {
		problems, raw := p.ValidateNarrow(c.action, c.input, c.unknown...)
		if len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
		if c.nothingKnown {
			if raw != nil {
				t.Errorf("%s: narrowed to %s", name, raw)
			}
			continue
		}
		var got struct {
			Properties map[string]json.RawMessage `json:"properties"`
			Defs       map[string]json.RawMessage `json:"$defs"`
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, raw)
		}
		for what, pair := range map[string][2]string{"body": {c.body, string(got.Properties["body"])}, "items": {c.items, string(got.Properties["items"])}} {
			if pair[0] == "" && pair[1] == "" {
				continue
			}
			if diff := cmp.Diff(parsed(t, pair[0]), parsed(t, pair[1])); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", name, what, diff)
			}
		}
		if c.definition != "" && cmp.Diff(parsed(t, c.definition), parsed(t, string(got.Defs["answer"]))) != "" {
			t.Errorf("%s: definition %s", name, got.Defs["answer"])
		}
	}
}

func parsed(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// References of a schema lead to the same place when the schema stands in another one, and
// what only looks like a schema stays.
func TestReferencesMoveWithTheirSchema(t *testing.T) {
	given := `{"$schema":"https://json-schema.org/draft/2020-12/schema","$ref":"#/$defs/a b","$defs":{"a b":{"$ref":"#"},"$ref":{"type":"string"}},
		"properties":{"$ref":{"enum":[{"$ref":"#/x"}],"const":{"$ref":"#"}}},"anyOf":[{"items":{"$ref":"#/$defs/c"}},true],"default":{"$ref":"#"},"items":[{"$ref":"#"}]}`
	want := `{"$ref":"#/$defs/answer/$defs/a b","$defs":{"a b":{"$ref":"#/$defs/answer"},"$ref":{"type":"string"}},
		"properties":{"$ref":{"enum":[{"$ref":"#/x"}],"const":{"$ref":"#"}}},"anyOf":[{"items":{"$ref":"#/$defs/answer/$defs/c"}},true],"default":{"$ref":"#"},"items":[{"$ref":"#/$defs/answer"}]}`
	if diff := cmp.Diff(parsed(t, want), parsed(t, string(rooted(sdk.Value(given))))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
