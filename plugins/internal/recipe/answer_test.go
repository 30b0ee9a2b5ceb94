package recipe_test

import (
	"strings"
	"testing"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

func TestAnswersByTheirStatus(t *testing.T) {
	t.Parallel()
	several := []recipe.Answer{{Status: "200", Kind: recipe.AnswerText}, {Status: "202", Kind: recipe.AnswerNone}, {Status: "2XX", Kind: recipe.AnswerBytes}, {Status: "default", Kind: recipe.AnswerJSON}}
	anything := []recipe.Answer{{Status: "default", Kind: recipe.AnswerAny}}
	for _, test := range []struct {
		name    string
		answers []recipe.Answer
		status  int
		body    string
		want    string
	}{
		{"JSON as it is written", nil, 200, `{"b":1.10,"a":"<é>"}`, `{"b":1.10,"a":"<é>"}`},
		{"nothing is null", nil, 201, ``, `null`},
		{"a text", several, 200, "a\n\"b\"", `"a\n\"b\""`},
		{"nothing is wanted", several, 202, `{"a":1}`, `null`},
		{"bytes by the class", several, 203, "\x00\x01", `"AAE="`},
		{"any: JSON", anything, 200, `[1]`, `[1]`},
		{"any: a text", anything, 200, "hello", `"hello"`},
		{"any: nothing", anything, 200, " ", `null`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := setUp(t, &recipe.Recipe{Method: "GET", Path: "/", Answers: test.answers}, nil, says(test.status, test.body))
			gives(t, g.plugin.Call("read", raw(`{}`)), test.want)
		})
	}
	for name, test := range map[string]struct {
		answers []recipe.Answer
		body    string
	}{"no JSON": {nil, "<html>"}, "a name twice": {nil, `{"a":1,"a":2}`}, "no UTF-8": {several, "\xff"}, "any, and neither": {anything, "\xff\xfe"}} {
		g := setUp(t, &recipe.Recipe{Method: "GET", Path: "/", Answers: test.answers}, nil, says(200, test.body))
		if failure := fails(t, g.plugin.Call("read", raw(`{}`)), sdk.CodeUnexpectedResponse); failure.Message == "" {
			t.Errorf("%s: it says nothing", name)
		}
	}
}

func TestNamedFailures(t *testing.T) {
	t.Parallel()
	r := &recipe.Recipe{Method: "POST", Path: "/", Faults: []recipe.Fault{
		{Status: 402, Code: sdk.CodeConflict, Reason: "declined"}, {Status: 404, Code: sdk.CodeExpired}, {Code: sdk.CodeInvalid, Input: "name"}, {Status: 409, Code: sdk.CodeConflict, Input: "key"},
	}}
	for _, test := range []struct {
		status          int
		code            sdk.Code
		reason, pointer string
		applied         sdk.Applied
	}{
		{402, sdk.CodeConflict, "declined", "", sdk.NotApplied}, {404, sdk.CodeExpired, "", "", sdk.NotApplied}, {400, sdk.CodeInvalid, "", "/name", sdk.NotApplied},
		{409, sdk.CodeConflict, "", "/key", sdk.NotApplied}, {403, sdk.CodeForbidden, "", "", sdk.NotApplied}, {500, sdk.CodeUnavailable, "", "", sdk.AppliedUnknown},
	} {
		g := setUp(t, r, nil, says(test.status, `{"message":"no"}`))
		failure := fails(t, g.plugin.Call("do", raw(`{}`), sdktest.Key("k")), test.code)
		if failure.Reason != test.reason || failure.Pointer != test.pointer || failure.Applied != test.applied || failure.HTTPStatus != test.status {
			t.Errorf("%d: %+v", test.status, failure)
		}
	}
}

func TestEnvelopes(t *testing.T) {
	t.Parallel()
	said := recipe.Envelope{Mark: "ok", OK: "/ok", Data: "/result", Message: "/error/text", Reason: "/error/word"}
	counted := recipe.Envelope{Mark: "code", Status: "/code", Data: "/data", Message: "/message", Reason: "/code", Filled: true}
	words := recipe.Envelope{OK: "/state", Is: raw(`"fine"`), Data: "/a~1b"}
	for _, test := range []struct {
		name     string
		envelope recipe.Envelope
		status   int
		body     string
		want     string // the output, "" = it fails
		code     sdk.Code
		message  string
		reason   string
	}{
		{"a success", said, 200, `{"ok":true,"result":[1.10]}`, `[1.10]`, 0, "", ""},
		{"no result is null", said, 200, `{"ok":true}`, `null`, 0, "", ""},
		{"a refusal", said, 404, `{"ok":false,"error":{"text":"no such","word":"gone"}}`, "", sdk.CodeNotFound, "no such", "gone"},
		{"a refusal with a good status", said, 200, `{"ok":false,"error":{"text":"not today"}}`, "", sdk.CodeUnexpectedResponse, "not today", ""},
		{"a refusal without a word", said, 403, `{"ok":false}`, "", sdk.CodeForbidden, "gives no reason (403 Forbidden)", ""},
		{"a success with a bad status", said, 500, `{"ok":true,"result":1}`, "", sdk.CodeUnavailable, "500", ""},
		{"a text for true", said, 200, `{"ok":"true","result":1}`, "", sdk.CodeUnexpectedResponse, "`ok` is text where true or false is due", ""},
		{"no mark", said, 200, `{"result":1}`, "", sdk.CodeUnexpectedResponse, "no `ok`: it is not from this service", ""},
		{"a page of a proxy", said, 404, `<html>`, "", sdk.CodeNotFound, "404", ""},
		{"a page with a good status", said, 200, `<html>`, "", sdk.CodeUnexpectedResponse, "no JSON", ""},
		{"a message that is no text", said, 404, `{"ok":false,"error":{"text":{"a":1}}}`, "", sdk.CodeNotFound, "gives no reason", ""},
		{"a status in it", counted, 200, `{"code":200,"data":{"a":1}}`, `{"a":1}`, 0, "", ""},
		{"an integer however it is written", counted, 200, `{"code":2e2,"data":0}`, `0`, 0, "", ""},
		{"a status that refuses", counted, 200, `{"code":429,"message":"slower"}`, "", sdk.CodeRateLimited, "slower", "429"},
		{"it goes before HTTP's", counted, 503, `{"code":404,"message":"none"}`, "", sdk.CodeNotFound, "none", "404"},
		{"HTTP's where it is good", counted, 503, `{"code":200,"message":"success","data":1}`, "", sdk.CodeUnavailable, "success", "503"},
		{"one that nobody knows", counted, 200, `{"code":7}`, "", sdk.CodeUnexpectedResponse, "code 7 and no message", "7"},
		{"a status that is a text", counted, 200, `{"code":"200","data":1}`, "", sdk.CodeUnexpectedResponse, "`code` is text where an integer is due", ""},
		{"no data", counted, 200, `{"code":200,"data":null}`, "", sdk.CodeUnexpectedResponse, "`data` is empty", ""},
		{"a word for true", words, 200, `{"state":"fine","a/b":[]}`, `[]`, 0, "", ""},
		{"another word", words, 200, `{"state":"bad"}`, "", sdk.CodeUnexpectedResponse, "gives no reason", ""},
		{"no mark is asked for", words, 200, `nope`, "", sdk.CodeUnexpectedResponse, "no JSON", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := setUp(t, &recipe.Recipe{Method: "GET", Path: "/", Envelope: &test.envelope}, nil, says(test.status, test.body))
			r := g.plugin.Call("read", raw(`{}`))
			if test.want != "" {
				gives(t, r, test.want)
				return
			}
			failure := fails(t, r, test.code)
			if !strings.Contains(failure.Message, test.message) || failure.Reason != test.reason || failure.HTTPStatus != test.status {
				t.Errorf("got %q, reason %q, status %d", failure.Message, failure.Reason, failure.HTTPStatus)
			}
		})
	}
}

// What a refusal says of a write: a 4xx in the envelope was not applied, whatever HTTP says.
func TestARefusalInAnEnvelopeWasNotApplied(t *testing.T) {
	t.Parallel()
	r := &recipe.Recipe{Method: "POST", Path: "/", Envelope: &recipe.Envelope{Status: "/code", Message: "/m"}}
	for body, want := range map[string]sdk.Applied{`{"code":403}`: sdk.NotApplied, `{"code":408}`: sdk.AppliedUnknown, `{"code":500}`: sdk.AppliedUnknown} {
		g := setUp(t, r, nil, says(200, body))
		if failure := g.plugin.Call("do", raw(`{}`), sdktest.Key("k")).Err; failure == nil || failure.Applied != want {
			t.Errorf("%s: %+v, want %s", body, failure, want)
		}
	}
}

func TestShapesOfOutputs(t *testing.T) {
	t.Parallel()
	r := &recipe.Recipe{
		Method: "GET", Path: "/", Join: []string{"h"}, Only: []string{"a", "h", "l"},
		Fill: []recipe.Fill{{Member: "a", Value: raw(`{}`)}, {Member: "l", Value: raw(`[]`), Absent: true}},
	}
	for body, want := range map[string]string{
		`{"l":null,"z":1,"a":null,"h":{"x":["1","<2>"],"y":"3","n":null}}`: `{"a":{},"h":{"x":"1, <2>","y":"3","n":null},"l":[]}`,
		`{"a":{"k":1.10},"h":{}}`: `{"a":{"k":1.10},"h":{},"l":[]}`,
		`[null]`:                  `[null]`,
	} {
		gives(t, setUp(t, r, nil, says(200, body)).plugin.Call("read", raw(`{}`)), want)
	}
	for body, word := range map[string]string{`{"h":{}}`: "no `a`", `{"a":1,"h":{"x":[1]}}`: "`h.x` is neither text nor a list of texts"} {
		failure := fails(t, setUp(t, r, nil, says(200, body)).plugin.Call("read", raw(`{}`)), sdk.CodeUnexpectedResponse)
		if !strings.Contains(failure.Message, word) {
			t.Errorf("%s: %q", body, failure.Message)
		}
	}
	// the control: without them the answer keeps its bytes
	plain := &recipe.Recipe{Method: "GET", Path: "/"}
	gives(t, setUp(t, plain, nil, says(200, `{ "a": null }`)).plugin.Call("read", raw(`{}`)), `{"a":null}`)
}
