package dictionary

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/sdk"
)

// refused checks that an input is refused before any request, both when a
// workflow is checked and when the action is called.
func refused(t *testing.T, action string, input in, pointer, word string) {
	t.Helper()
	p, sim := open(t)
	problems := p.Validate(action, input)
	if len(problems) != 1 || problems[0].Pointer != pointer || !strings.Contains(problems[0].Summary+" "+problems[0].Detail, word) {
		t.Errorf("validate %v: %v, want one at %s with %q", input, problems, pointer, word)
	}
	r := p.Call(action, input)
	if r.Err == nil || r.Err.Code != sdk.CodeInvalid || r.Err.Pointer != pointer || r.Err.Applied != sdk.NotApplied {
		t.Errorf("call with %v: %+v, want invalid at %s", input, r.Err, pointer)
	}
	if n := sim.Kit().Count(""); n != 0 {
		t.Errorf("%d requests were sent for %v", n, input)
	}
}

func TestD06_WordIsEscaped(t *testing.T) {
	p, sim := open(t)
	for word, path := range map[string]string{
		"Happy":      "/api/word/Happy",
		"ice cream":  "/api/word/ice%20cream",
		" padded ":   "/api/word/%20padded%20",
		"and/or":     "/api/word/and%2For",
		"naïve":      "/api/word/na%C3%AFve",
		"50%":        "/api/word/50%25",
		"what?#":     "/api/word/what%3F%23",
		"...":        "/api/word/...",
		"快乐":         "/api/word/%E5%BF%AB%E4%B9%90",
		"a+b&c=d;e":  "/api/word/a+b&c=d%3Be",
		`back\slash`: "/api/word/back%5Cslash",
	} {
		p.Call("word", in{"word": word})
		if sim.Kit().Count(path) != 1 {
			t.Errorf("%q is sent as %v, want %s", word, sim.Kit().Counts(), path)
		}
	}
}

func TestD06_WordsThatAreRefused(t *testing.T) {
	for _, action := range []string{"word", "synonyms", "antonyms"} {
		refused(t, action, in{"word": ""}, "/word", "empty")
		refused(t, action, in{"word": "."}, "/word", "must not be")
		refused(t, action, in{"word": ".."}, "/word", "other resources")
		refused(t, action, in{}, "/word", "required")
	}
	p, _ := open(t)
	if problems := p.Validate("word", in{}, "/word"); len(problems) != 0 {
		t.Errorf("a word that is not known yet: %v", problems)
	}
}

func TestD07_WordRecordKeepsItsBytes(t *testing.T) {
	p, sim := open(t)
	const record = `{"id":9007199254740993,"word":"naïve","british":"[naɪˈiːv]","american":null,"cx":"adj.","jbjs":"adj. 天真的；幼稚的 <b>&amp;</b>  𠀀","url":"/word/na%C3%AFve","more":[1.10,{"a":null}]}`
	answer(t, sim, simkit.Fault{Body: `{"code":200,"message":"success","data":` + record + `}`})
	r := p.Call("word", in{"word": "naïve"})
	output(t, r)
	if diff := cmp.Diff(record, string(r.Output)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	out := output(t, p.Call("word", in{"word": "HAPPY"}))
	if out["british"] != "[ˈhæpi]" || out["jbjs"] != "adj. 快乐的；幸福的" || out["cx"] != "adj." {
		t.Errorf("got %v", out)
	}
}

func TestD07_WrongShapes(t *testing.T) {
	for body, word := range map[string]string{
		`{"id":"7","word":"x"}`: "`id` is text where an integer is due", `{"id":7}`: "no `word`", `{"id":1.5,"word":"x"}`: "`id`",
		`{"id":1,"word":"x","cx":["n."]}`: "`cx` is a list", `[]`: "a list", `"x"`: "is text", `7`: "a number", `{"id":7.0,"word":null}`: "`word` of the record is null",
	} {
		p, sim := open(t)
		answer(t, sim, simkit.Fault{Body: `{"code":200,"message":"success","data":` + body + `}`})
		r := p.Call("word", in{"word": "x"})
		if r.Err == nil || r.Err.Code != sdk.CodeUnexpectedResponse || !strings.Contains(r.Err.Message, word) {
			t.Errorf("data %s: %v, want %q", body, r.Err, word)
		}
	}
}

func TestD08_Synonyms(t *testing.T) {
	p, sim := open(t)
	out := output(t, p.Call("synonyms", in{"word": "happy"}))
	first := out["synonyms"].([]any)[0].(map[string]any)
	if out["word"] != "happy" || out["count"] != 3.0 || first["word"] != "glad" || first["cx"] != "adj." || first["id"].(float64) < 1 {
		t.Errorf("got %v", out)
	}
	if out := output(t, p.Call("synonyms", in{"word": "apple"})); len(out["synonyms"].([]any)) != 0 || out["count"] != 0.0 {
		t.Errorf("an empty list: %v", out)
	}
	answer(t, sim, simkit.Fault{Body: `{"code":200,"message":"success","data":{"word":"x","synonyms":null,"count":0}}`})
	if out := output(t, p.Call("synonyms", in{"word": "x"})); len(out["synonyms"].([]any)) != 0 {
		t.Errorf("a null list: %v", out)
	}
	answer(t, sim, simkit.Fault{Body: `{"code":200,"message":"success","data":{"word":"x","count":0}}`})
	if r := p.Call("synonyms", in{"word": "x"}); r.Err == nil || r.Err.Code != sdk.CodeUnexpectedResponse {
		t.Errorf("no list: %v", r.Err)
	}
}

func TestD09_Antonyms(t *testing.T) {
	p, _ := open(t)
	out := output(t, p.Call("antonyms", in{"word": "happy"}))
	first := out["antonyms"].([]any)[0].(map[string]any)
	if out["word"] != "happy" || out["count"] != 2.0 || first["word"] != "sad" {
		t.Errorf("got %v", out)
	}
	if _, ok := out["synonyms"]; ok {
		t.Errorf("antonyms has synonyms: %v", out)
	}
}

func TestD10_AbbrID(t *testing.T) {
	refused(t, "abbr", in{"id": 0}, "/id", "at least 1") // policy
	refused(t, "abbr", in{"id": -1}, "/id", "at least 1")
	refused(t, "abbr", in{"id": "1"}, "/id", "integer")
	refused(t, "abbr", in{"id": 1.5}, "/id", "integer")
	refused(t, "abbr", in{}, "/id", "required")
	p, sim := open(t)
	r := p.Call("abbr", in{"id": int64(9007199254740993)})
	if r.Err == nil || r.Err.Code != sdk.CodeNotFound || sim.Kit().Count("/api/abbr/9007199254740993") != 1 {
		t.Errorf("a large id: %v, sent %v", r.Err, sim.Kit().Counts())
	}
}

func TestD11_Abbreviation(t *testing.T) {
	p, _ := open(t)
	want := in{
		"id": 1.0, "abbr": "API", "full": "Application Programming Interface", "prc": "应用程序编程接口", "meaning": "software",
		"category_id": 3.0, "url": "/abbr/1",
	}
	if diff := cmp.Diff(want, output(t, p.Call("abbr", in{"id": 1}))); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestD16_Stats(t *testing.T) {
	p, sim := open(t)
	out := output(t, p.Call("stats", in{}))
	for _, name := range []string{"word_count", "abbr_count", "scene_count", "cat_word_count"} {
		if n, ok := out[name].(float64); !ok || n <= 0 {
			t.Errorf("%s is %v", name, out[name])
		}
	}
	answer(t, sim, simkit.Fault{Body: `{"code":200,"message":"success","data":{"word_count":1,"abbr_count":2,"scene_count":3}}`})
	if r := p.Call("stats", in{}); r.Err == nil || !strings.Contains(r.Err.Message, "cat_word_count") {
		t.Errorf("one is missing: %v", r.Err)
	}
}

func TestD17_Search(t *testing.T) {
	refused(t, "search", in{"q": ""}, "/q", "empty")
	refused(t, "search", in{"q": "x", "type": "abbr"}, "/type", "no field") // type is fixed
	p, sim := open(t)
	output(t, p.Call("search", in{"q": "a&b=快 乐"}))
	if got := sim.Kit().Requests()[0].Query; got != "q=a%26b%3D%E5%BF%AB+%E4%B9%90&type=word" {
		t.Errorf("query %s", got)
	}
	for _, words := range []string{`[{"id":1,"w":1.10}]`, `{"a":[]}`, `null`, `"text"`} {
		answer(t, sim, simkit.Fault{Body: `{"code":200,"message":"success","data":{"words":` + words + `,"total":1}}`})
		r := p.Call("search", in{"q": "x"})
		if want := `{"words":` + words + `}`; string(r.Output) != want {
			t.Errorf("got %s (%v), want %s", r.Output, r.Err, want)
		}
	}
	answer(t, sim, simkit.Fault{Body: `{"code":200,"message":"success","data":{"found":[]}}`})
	if r := p.Call("search", in{"q": "x"}); r.Err == nil || r.Err.Code != sdk.CodeUnexpectedResponse {
		t.Errorf("without words: %v", r.Err)
	}
}
