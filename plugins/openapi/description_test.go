package openapi_test

import (
	"strings"
	"testing"

	"github.com/flowrun/flowrun/plugins/openapi"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// What the words of a description do when an action is called.
func TestWordsOfADescription(t *testing.T) {
	t.Parallel()
	s := serve(t, says(200, "application/json", `{"code":200,"data":{"id":1,"word":"cat","notes":null}}`))
	p := open(t, s, openapi.Settings{}, document(t, "words.yaml"), nil)
	gives(t, p.Call("look_up", object(`{"word":"CAT","site":"example.com.","missing_ok":true}`)), `{"id":1,"word":"cat","notes":[]}`)
	s.wants(t, "GET", "/words/cat?format=full&site=example.com")

	failure := fails(t, p.Call("look_up", object(`{"word":".cat"}`)), sdk.CodeInvalid)
	if failure.Pointer != "/word" || !strings.Contains(failure.Message, "must not begin with a dot") || failure.Applied != sdk.NotApplied || s.count() != 1 {
		t.Errorf("%+v after %d requests", failure, s.count())
	}
	if problems := p.Validate("look_up", object(`{"word":".cat"}`)); len(problems) != 1 || problems[0].Detail != `write "." elsewhere` {
		t.Errorf("validate gives %v", problems)
	}
	if problems := p.Validate("look_up", object(`{}`), "/word"); len(problems) != 0 {
		t.Errorf("a word that is not known yet: %v", problems)
	}
}

func TestADescriptionNamesWhatTriesAConnection(t *testing.T) {
	t.Parallel()
	s := serve(t, says(200, "application/json", `{"code":200,"data":{"who":"ann","tags":{"a":["1","2"]},"more":1}}`))
	p := open(t, s, openapi.Settings{}, document(t, "words.yaml"), nil)
	if account, err := p.CheckConnection(); account != "ann" || err != nil {
		t.Errorf("it is of %q, %v", account, err)
	}
	gives(t, p.Call("count", object(`{}`)), `{"who":"ann","seen":0,"tags":{"a":"1, 2"}}`)
}

func TestPagesOfADescriptionAreWrapped(t *testing.T) {
	t.Parallel()
	s := serve(t, says(200, "application/json", `{"code":200,"data":{"words":[],"more":[]}}`))
	p := open(t, s, openapi.Settings{}, document(t, "words.yaml"), nil)
	gives(t, p.Call("list", object(`{"list":"more","size":5}`)), `{"items":[],"next_cursor":null,"page":{"words":[],"more":[]}}`)
	fails(t, p.Call("list", object(`{}`), sdktest.AllPages()), sdk.CodeUnexpectedResponse)
}

func TestMistakesInWordsOfADescription(t *testing.T) {
	t.Parallel()
	for text, word := range map[string]string{
		"refuse: {id: [{if: '(', say: no}]}":       "missing closing",
		"faults: [{doc: what}]":                    "neither a status nor a code",
		"examples: {one: {input: {}, outputs: 1}}": "outputs",
		"refused: {}": "did you mean refuse",
	} {
		description := "api: 1\ntitle: T\nbase_url: https://t.example.com\nactions:\n  one:\n    get: /a\n    " + text + "\n"
		read, err := openapi.Read(openapi.Settings{}, openapi.Files{Document: []byte(description)})
		if err == nil {
			_, err = read.Compile()
		}
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v, want %q", text, err, word)
		}
	}
}
