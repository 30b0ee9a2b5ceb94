package sdk

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type lookup struct {
	Domain string   `json:"domain" min:"1" max:"8" pattern:"^[a-z.]+$"`
	Type   string   `json:"type" enum:"A,AAAA,MX" default:"A"`
	Limit  int      `json:"limit,omitempty" min:"1" max:"500" default:"20"`
	Small  int8     `json:"small,omitempty"`
	Ratio  float64  `json:"ratio,omitempty" max:"1.5"`
	Cursor *string  `json:"cursor" min:"1"`
	Since  string   `json:"since,omitempty" format:"date-time"`
	Tags   []string `json:"tags,omitempty" min:"1" max:"2"`
	Filter []filter `json:"filters,omitempty"`
	Body   Value    `json:"body,omitempty"`
	Key    string   `json:"key,omitempty" secret:"true" enum:"alpha,beta"`
	Where  place    `json:"where"`
}

type filter struct {
	Property string `json:"property"`
	Value    string `json:"value"`
}

type place struct {
	Zone string `json:"zone" default:"UTC"`
}

func lookupSchema(t testing.TB) *schema {
	t.Helper()
	s, err := reflectSchema(reflect.TypeFor[lookup](), closedObjects)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct{ input, pointer, summary, detail string }{
		"no JSON":              {`{`, "", "is no JSON", ""},
		"two documents":        {`{} {}`, "", "more than one JSON document", ""},
		"no object":            {`[]`, "", "must be an object, is a list", ""},
		"a missing field":      {`{"where":{}}`, "/domain", "`domain` is required", ""},
		"an unknown field":     {`{"domain":"a","where":{},"typ":"A"}`, "/typ", "there is no field `typ`", "did you mean `type`?"},
		"another case":         {`{"Domain":"a","domain":"a","where":{}}`, "/Domain", "there is no field `Domain`", "did you mean `domain`?"},
		"empty text":           {`{"domain":"","where":{}}`, "/domain", "must not be empty", ""},
		"long text":            {`{"domain":"aaaaaaaaa","where":{}}`, "/domain", "must have at most 8 characters, has 9", ""},
		"another pattern":      {`{"domain":"A","where":{}}`, "/domain", "must match ^[a-z.]+$", ""},
		"not in the enum":      {`{"domain":"a","where":{},"type":"AAA"}`, "/type", "must be one of `A`, `AAAA`, `MX`; got \"AAA\"", "did you mean `AAAA`?"},
		"another type":         {`{"domain":1,"where":{}}`, "/domain", "must be text, is 1", `quote it: "1"`},
		"null":                 {`{"domain":null,"where":{}}`, "/domain", "must be text, is null", ""},
		"too small":            {`{"domain":"a","where":{},"limit":0}`, "/limit", "must be at least 1, is 0", ""},
		"too large":            {`{"domain":"a","where":{},"limit":501}`, "/limit", "must be at most 500, is 501", ""},
		"a fraction":           {`{"domain":"a","where":{},"limit":1.5}`, "/limit", "must be an integer, is 1.5", ""},
		"an exponent":          {`{"domain":"a","where":{},"limit":1e2}`, "/limit", "must be an integer, is 1e2", ""},
		"a number as text":     {`{"domain":"a","where":{},"limit":"5"}`, "/limit", "must be an integer, is the text \"5\"", ""},
		"a large fraction":     {`{"domain":"a","where":{},"ratio":1.50001}`, "/ratio", "must be at most 1.5, is 1.50001", ""},
		"outside of int8":      {`{"domain":"a","where":{},"small":300}`, "/small", "does not fit into int8", ""},
		"outside of int64":     {`{"domain":"a","where":{},"small":99999999999999999999}`, "/small", "does not fit into int8", ""},
		"an empty cursor":      {`{"domain":"a","where":{},"cursor":""}`, "/cursor", "must not be empty", ""},
		"no time":              {`{"domain":"a","where":{},"since":"2026-13-01T00:00:00Z"}`, "/since", "must be a time such as", ""},
		"an empty list":        {`{"domain":"a","where":{},"tags":[]}`, "/tags", "must have at least 1 element, has 0", ""},
		"a long list":          {`{"domain":"a","where":{},"tags":["a","b","c"]}`, "/tags", "must have at most 2 elements, has 3", ""},
		"a wrong element":      {`{"domain":"a","where":{},"tags":["a",2]}`, "/tags/1", "must be text, is 2", `quote it: "2"`},
		"deep inside":          {`{"domain":"a","where":{},"filters":[{"property":"x","value":404}]}`, "/filters/0/value", "must be text, is 404", `quote it: "404"`},
		"unknown deep inside":  {`{"domain":"a","where":{},"filters":[{"property":"x","value":"y","vlue":1}]}`, "/filters/0/vlue", "there is no field", "did you mean `value`?"},
		"an escaped pointer":   {`{"domain":"a","where":{},"a/b~c":1}`, "/a~1b~0c", "there is no field `a/b~c`", ""},
		"control characters":   {"{\"domain\":\"a\",\"where\":{},\"x\\u001b[31m\\u202e\":1}", "/x\x1b[31m\u202e", "there is no field `x[31m`", ""},
		"a secret is not said": {`{"domain":"a","where":{},"key":"hunter2"}`, "/key", "must be one of `alpha`, `beta`; got other text", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := decodeInto([]byte(c.input), lookupSchema(t), reflect.TypeFor[lookup](), nil)
			if len(problems) != 1 {
				t.Fatalf("problems: %+v, want one", problems)
			}
			got := problems[0]
			if got.Pointer != c.pointer || !strings.Contains(got.Summary, c.summary) || got.Detail != c.detail {
				t.Errorf("got %+v, want %+v", got, c)
			}
			refused := firstError(problems)
			if refused.Code != CodeInvalid || refused.Applied != NotApplied || refused.Pointer != c.pointer {
				t.Errorf("refusal: %+v", refused)
			}
		})
	}
}

func TestDecodeFindsAllProblems(t *testing.T) {
	_, problems := decodeInto([]byte(`{"type":"X","limit":0,"extra":1,"where":{"zone":1}}`), lookupSchema(t), reflect.TypeFor[lookup](), nil)
	var pointers []string
	for _, p := range problems {
		pointers = append(pointers, p.Pointer)
	}
	if diff := cmp.Diff([]string{"/domain", "/type", "/limit", "/where/zone", "/extra"}, pointers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if details := firstError(problems).Details["problems"].([]map[string]any); len(details) != 5 {
		t.Errorf("the error has %d problems in its details", len(details))
	}
}

func TestDecodeFillsInDefaults(t *testing.T) {
	for name, c := range map[string]struct {
		input string
		want  lookup
	}{
		"absent":        {`{"domain":"a","where":{}}`, lookup{Domain: "a", Type: "A", Limit: 20, Where: place{"UTC"}}},
		"given":         {`{"domain":"a","type":"MX","limit":3,"where":{"zone":"CET"}}`, lookup{Domain: "a", Type: "MX", Limit: 3, Where: place{"CET"}}},
		"null":          {`{"domain":"a","limit":null,"cursor":null,"where":{}}`, lookup{Domain: "a", Type: "A", Limit: 20, Where: place{"UTC"}}},
		"body as it is": {`{"domain":"a","where":{},"body":{"n":1.10, "big":9007199254740993,"u":"\u00e9<"}}`, lookup{Domain: "a", Type: "A", Limit: 20, Where: place{"UTC"}, Body: Value(`{"n":1.10, "big":9007199254740993,"u":"\u00e9<"}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			got, problems := decodeInto([]byte(c.input), lookupSchema(t), reflect.TypeFor[lookup](), nil)
			if len(problems) > 0 {
				t.Fatalf("problems: %+v", problems)
			}
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeKeepsNumbersAsWritten(t *testing.T) {
	type free struct {
		Any    any            `json:"any"`
		Object map[string]any `json:"object"`
	}
	s, err := reflectSchema(reflect.TypeFor[free](), closedObjects)
	if err != nil {
		t.Fatal(err)
	}
	got, problems := decodeInto([]byte(`{"any":9007199254740993,"object":{"n":1.10}}`), s, reflect.TypeFor[free](), nil)
	want := &free{Any: json.Number("9007199254740993"), Object: map[string]any{"n": json.Number("1.10")}}
	if diff := cmp.Diff(want, got); diff != "" || len(problems) > 0 {
		t.Errorf("(-want +got):\n%s\n%+v", diff, problems)
	}
}

func TestDecodeSaysNothingOfUnknownParts(t *testing.T) {
	for name, c := range map[string]struct {
		input   string
		unknown []string
		left    []string // pointers of the problems that stay
	}{
		"a required field":           {`{"where":{}}`, []string{"/domain"}, nil},
		"by its name":                {`{"where":{}}`, []string{"domain"}, nil},
		"a placeholder":              {`{"domain":"${{ x }}","limit":"${{ y }}","where":{}}`, []string{"/domain", "/limit"}, nil},
		"a part of a required one":   {`{"domain":"a"}`, []string{"/where/zone"}, nil},
		"an element":                 {`{"domain":"a","where":{},"filters":[null,{"property":1,"value":"x"}]}`, []string{"/filters/0"}, []string{"/filters/1/property"}},
		"a field of an element":      {`{"domain":"a","where":{},"filters":[{"property":"p","value":"${{ v }}"}]}`, []string{"/filters/0/value"}, nil},
		"others are checked all the": {`{"where":{},"type":"X"}`, []string{"/domain"}, []string{"/type"}},
		"a name that starts alike":   {`{"where":{},"type":"X"}`, []string{"/domain", "/typ"}, []string{"/type"}},
		"everything":                 {`null`, []string{""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := decodeInto([]byte(c.input), lookupSchema(t), reflect.TypeFor[lookup](), c.unknown)
			var left []string
			for _, p := range problems {
				left = append(left, p.Pointer)
			}
			if diff := cmp.Diff(c.left, left); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Decoding never panics; what it takes without a problem is a value that
// encodes to an input that it takes again; every pointer leads somewhere or to
// a missing field.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"domain":"a","where":{}}`, `{}`, ``, `null`, `[]`, `{"domain":1e999,"limit":-0}`, `{"filters":[{"value":1}]}`,
		`{"domain":"a","where":{},"limit":99999999999999999999999}`, `{"a/~b":{"c":[[[]]]}}`, "{\"domain\":\"\xff\"}",
	} {
		f.Add([]byte(seed), "/domain")
		f.Add([]byte(seed), "filters/0")
	}
	s := lookupSchema(f)
	f.Fuzz(func(t *testing.T, raw []byte, unknown string) {
		_, _ = decodeInto(raw, s, reflect.TypeFor[lookup](), []string{unknown})
		got, problems := decodeInto(raw, s, reflect.TypeFor[lookup](), nil)
		for _, p := range problems {
			if p.Pointer != "" && !strings.HasPrefix(p.Pointer, "/") {
				t.Fatalf("pointer %q", p.Pointer)
			}
		}
		if len(problems) > 0 {
			return
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		if _, problems := decodeInto(again, s, reflect.TypeFor[lookup](), nil); len(problems) > 0 {
			t.Fatalf("%s was taken, %s is not: %+v", raw, again, problems)
		}
	})
}
