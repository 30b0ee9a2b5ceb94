package recipe_test

import (
	"mime"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

func TestBodies(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		body        recipe.Body
		input       string
		kind, wants string
	}{
		{"JSON as it is written", recipe.Body{Input: "body", Kind: recipe.BodyJSON}, `{"body":{"b":1.10,"a":"é"}}`, "application/json", `{"b":1.10,"a":"é"}`},
		{"JSON of a media type", recipe.Body{Input: "body", Kind: recipe.BodyJSON, Media: "application/merge-patch+json"}, `{"body":null}`, "application/merge-patch+json", `null`},
		{"none", recipe.Body{Input: "body", Kind: recipe.BodyJSON}, `{}`, "", ``},
		{"members", recipe.Body{Kind: recipe.BodyJSON, Members: []string{"b", "a", "none"}}, `{"a":1,"b":[],"c":2}`, "application/json", `{"b":[],"a":1}`},
		{"a text", recipe.Body{Input: "body", Kind: recipe.BodyText}, `{"body":"a\né"}`, "text/plain; charset=utf-8", "a\né"},
		{"bytes", recipe.Body{Input: "body", Kind: recipe.BodyBytes}, `{"body":"AAH/"}`, "application/octet-stream", "\x00\x01\xff"},
		{"a form", recipe.Body{Input: "body", Kind: recipe.BodyForm}, `{"body":{"a":"x y","b":[1,2],"c":null,"d":{"e":true}}}`, "application/x-www-form-urlencoded", "a=x+y&b=1&b=2&d%5Be%5D=true"},
		{"a form with a style", recipe.Body{Input: "body", Kind: recipe.BodyForm, Parts: map[string]recipe.PartKind{"b": {Style: "pipeDelimited"}}}, `{"body":{"b":[1,2]}}`, "application/x-www-form-urlencoded", "b=1%7C2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := setUp(t, &recipe.Recipe{Method: "POST", Path: "/b", Body: &test.body}, nil, nil)
			gives(t, g.plugin.Call("do", raw(test.input), sdktest.Key("k")), `{}`)
			got := g.last(t)
			if diff := cmp.Diff([]string{test.kind, test.wants}, []string{got.header.Get("Content-Type"), got.body}); diff != "" {
				t.Errorf("type and body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestABodyOfParts(t *testing.T) {
	t.Parallel()
	body := &recipe.Body{Input: "body", Kind: recipe.BodyMultipart, Parts: map[string]recipe.PartKind{"file": {File: true, Media: "text/csv"}, "meta": {}}}
	g := setUp(t, &recipe.Recipe{Method: "POST", Path: "/b", Body: body}, nil, nil)
	input := raw(`{"body":{"name":"ann","tags":["a","b"],"meta":{"n":1},"none":null,"file":[{"name":"a\"b.csv","text":"x;y"},{"base64":"AAE=","type":"image/png"}]}}`)
	gives(t, g.plugin.Call("do", input, sdktest.Key("k")), `{}`)
	first := g.last(t)
	_, params, err := mime.ParseMediaType(first.header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	form, err := multipart.NewReader(strings.NewReader(first.body), params["boundary"]).ReadForm(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{"name": {"ann"}, "tags": {"a", "b"}, "meta": {`{"n":1}`}}, form.Value); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	var files []string
	for _, f := range form.File["file"] {
		files = append(files, f.Filename+" "+f.Header.Get("Content-Type"))
	}
	if diff := cmp.Diff([]string{`a"b.csv text/csv`, "file image/png"}, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	// the same input makes the same bytes, so that a repeated request is the same request
	gives(t, g.plugin.Call("do", input, sdktest.Key("k")), `{}`)
	if g.last(t).body != first.body {
		t.Error("the second body is another")
	}
}

func TestBodiesThatCannotBeMade(t *testing.T) {
	t.Parallel()
	files := map[string]recipe.PartKind{"f": {File: true}}
	for _, test := range []struct {
		name           string
		body           recipe.Body
		input, pointer string
	}{
		{"no Base64", recipe.Body{Input: "body", Kind: recipe.BodyBytes}, `{"body":"é"}`, "/body"},
		{"a form of a list", recipe.Body{Input: "body", Kind: recipe.BodyForm}, `{"body":[1]}`, "/body"},
		{"parts of a text", recipe.Body{Input: "body", Kind: recipe.BodyMultipart}, `{"body":"x"}`, "/body"},
		{"a file that is a text", recipe.Body{Input: "body", Kind: recipe.BodyMultipart, Parts: files}, `{"body":{"f":"x"}}`, "/body/f"},
		{"a file without content", recipe.Body{Input: "body", Kind: recipe.BodyMultipart, Parts: files}, `{"body":{"f":{"name":"x"}}}`, "/body/f"},
		{"a file with two", recipe.Body{Input: "body", Kind: recipe.BodyMultipart, Parts: files}, `{"body":{"f":[{"text":"x"},{"text":"x","base64":"AA=="}]}}`, "/body/f/1"},
		{"a file with a bad type", recipe.Body{Input: "body", Kind: recipe.BodyMultipart, Parts: files}, `{"body":{"f":{"text":"x","type":"a\r\nb"}}}`, "/body/f"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := setUp(t, &recipe.Recipe{Method: "POST", Path: "/b", Body: &test.body}, nil, nil)
			failure := fails(t, g.plugin.Call("do", raw(test.input), sdktest.Key("k")), sdk.CodeInvalid)
			if failure.Pointer != test.pointer || failure.Applied != sdk.NotApplied || g.count() != 0 {
				t.Errorf("%+v after %d requests, want it at %s", failure, g.count(), test.pointer)
			}
		})
	}
}
