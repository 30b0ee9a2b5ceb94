package recipe_test

import (
	"testing"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

func TestParametersOfThePath(t *testing.T) {
	t.Parallel()
	list, object := `{"p":["a b","c/d"]}`, `{"p":{"x":1,"y":"é"}}`
	for _, test := range []struct {
		name  string
		param recipe.Param
		input string
		want  string
	}{
		{"a text", recipe.Param{}, `{"p":"a/b c"}`, "/x/a%2Fb%20c/y"},
		{"a number", recipe.Param{}, `{"p":9007199254740993}`, "/x/9007199254740993/y"},
		{"a list", recipe.Param{}, list, "/x/a%20b%2Cc%2Fd/y"},
		{"an object", recipe.Param{}, object, "/x/x%2C1%2Cy%2C%C3%A9/y"},
		{"an object, exploded", recipe.Param{Explode: true}, object, "/x/x=1%2Cy=%C3%A9/y"},
		{"label", recipe.Param{Style: "label"}, list, "/x/.a%20b%2Cc%2Fd/y"},
		{"label, exploded", recipe.Param{Style: "label", Explode: true}, list, "/x/.a%20b.c%2Fd/y"},
		{"matrix", recipe.Param{Style: "matrix"}, list, "/x/;p=a%20b%2Cc%2Fd/y"},
		{"matrix, exploded", recipe.Param{Style: "matrix", Explode: true}, list, "/x/;p=a%20b;p=c%2Fd/y"},
		{"segments", recipe.Param{Segments: true}, `{"p":"/a/b c/"}`, "/x/a/b%20c/y"},
		{"JSON", recipe.Param{JSON: true}, `{"p":{"a":[1]}}`, "/x/%7B%22a%22:%5B1%5D%7D/y"},
		{"in capitals", recipe.Param{As: recipe.AsUpper}, `{"p":"mx/é"}`, "/x/MX%2F%C3%89/y"},
		{"in small letters", recipe.Param{As: recipe.AsLower}, `{"p":"ÄB"}`, "/x/%C3%A4b/y"},
		{"a host", recipe.Param{As: recipe.AsHost}, `{"p":"example.com."}`, "/x/example.com/y"},
		{"an address", recipe.Param{As: recipe.AsAddress}, `{"p":"2001:DB8:0:0::1"}`, "/x/2001:db8::1/y"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := test.param
			p.Input, p.Name, p.In = "p", "p", recipe.InPath
			g := setUp(t, &recipe.Recipe{Method: "GET", Path: "/x/{p}/y", Params: []recipe.Param{p}}, nil, nil)
			gives(t, g.plugin.Call("read", raw(test.input)), `{}`)
			if got := g.last(t); got.uri != test.want {
				t.Errorf("sent %s, want %s", got.uri, test.want)
			}
		})
	}
}

func TestParametersThatNoPathCarries(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		param recipe.Param
		input string
	}{
		{"none", recipe.Param{}, `{}`}, {"null", recipe.Param{}, `{"p":null}`}, {"empty", recipe.Param{}, `{"p":""}`}, {"a dot", recipe.Param{}, `{"p":"."}`},
		{"two dots", recipe.Param{}, `{"p":".."}`}, {"two dots in segments", recipe.Param{Segments: true}, `{"p":"a/../b"}`},
		{"no address", recipe.Param{As: recipe.AsAddress}, `{"p":"example.com"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := test.param
			p.Input, p.Name, p.In = "p", "p", recipe.InPath
			g := setUp(t, &recipe.Recipe{Method: "GET", Path: "/x/{p}", Params: []recipe.Param{p}}, nil, nil)
			failure := fails(t, g.plugin.Call("do", raw(test.input), sdktest.Key("k")), sdk.CodeInvalid)
			if failure.Pointer != "/p" || failure.Applied != sdk.NotApplied || g.count() != 0 {
				t.Errorf("%+v after %d requests", failure, g.count())
			}
		})
	}
}

func TestParametersOfTheQuery(t *testing.T) {
	t.Parallel()
	list, object := `{"p":["a b",1,null]}`, `{"p":{"x":1,"y":{"z":[true,"é"]},"n":null}}`
	for _, test := range []struct {
		name  string
		param recipe.Param
		input string
		want  string
	}{
		{"a text", recipe.Param{}, `{"p":"a&b=c d"}`, "/q?p=a%26b%3Dc+d"},
		{"null is not sent", recipe.Param{}, `{"p":null}`, "/q"},
		{"none is not sent", recipe.Param{}, `{}`, "/q"},
		{"false is sent", recipe.Param{}, `{"p":false}`, "/q?p=false"},
		{"a list", recipe.Param{Explode: true}, list, "/q?p=a+b&p=1&p=null"},
		{"a list in one", recipe.Param{}, list, "/q?p=a+b%2C1%2Cnull"},
		{"an empty list in one", recipe.Param{}, `{"p":[]}`, "/q"},
		{"spaces", recipe.Param{Style: "spaceDelimited"}, list, "/q?p=a+b+1+null"},
		{"pipes", recipe.Param{Style: "pipeDelimited"}, list, "/q?p=a+b%7C1%7Cnull"},
		{"an object", recipe.Param{Explode: true}, `{"p":{"x":1,"y":"b"}}`, "/q?x=1&y=b"},
		{"an object in one", recipe.Param{}, `{"p":{"x":1,"y":"b"}}`, "/q?p=x%2C1%2Cy%2Cb"},
		{"deep", recipe.Param{Style: "deepObject", Explode: true}, object, "/q?p%5Bx%5D=1&p%5By%5D%5Bz%5D=true&p%5By%5D%5Bz%5D=%C3%A9"},
		{"JSON", recipe.Param{JSON: true}, `{"p":{"a":[1.10]}}`, "/q?p=%7B%22a%22%3A%5B1.10%5D%7D"},
		{"fixed", recipe.Param{Input: "-", Fixed: raw(`"word"`)}, `{"p":"x"}`, "/q?p=word"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := test.param
			p.Name, p.In = "p", recipe.InQuery
			if p.Input = "p"; p.Fixed != nil {
				p.Input = ""
			}
			g := setUp(t, &recipe.Recipe{Method: "GET", Path: "/q", Params: []recipe.Param{p}}, nil, nil)
			gives(t, g.plugin.Call("read", raw(test.input)), `{}`)
			if got := g.last(t); got.uri != test.want {
				t.Errorf("sent %s, want %s", got.uri, test.want)
			}
		})
	}
}

func TestHeadersCookiesAndTheKey(t *testing.T) {
	t.Parallel()
	r := &recipe.Recipe{Method: "POST", Path: "/h", Accept: "text/csv", Key: "X-Key", Answers: []recipe.Answer{{Status: "2XX", Kind: recipe.AnswerAny}}, Params: []recipe.Param{
		{Input: "tags", Name: "X-Tags", In: recipe.InHeader}, {Input: "at", Name: "X-At", In: recipe.InHeader, Explode: true}, {Input: "who", Name: "who", In: recipe.InCookie},
	}}
	with := func(base string) recipe.With {
		return recipe.With{BaseURL: base, Headers: map[string]string{"X-Version": "7"}}
	}
	g := setUp(t, r, with, nil)
	gives(t, g.plugin.Call("do", raw(`{"tags":["a",2],"at":{"x":1,"y":2},"who":"ann; b"}`), sdktest.Key("key-1")), `{}`)
	got := g.last(t)
	for name, want := range map[string]string{"X-Tags": "a,2", "X-At": "x=1,y=2", "Cookie": "who=ann%3B+b", "X-Key": "key-1", "Accept": "text/csv", "X-Version": "7"} {
		if got.header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.header.Get(name), want)
		}
	}
	failure := fails(t, g.plugin.Call("do", raw(`{"tags":"a\r\nX-Evil: 1"}`), sdktest.Key("key-2")), sdk.CodeInvalid)
	if failure.Pointer != "/tags" || g.count() != 1 {
		t.Errorf("%+v after %d requests", failure, g.count())
	}
}

// A server of one operation counts while the connection has the document's own base_url.
func TestTheRootOfOneOperation(t *testing.T) {
	t.Parallel()
	there := setUp(t, &recipe.Recipe{Method: "GET", Path: "/"}, nil, nil)
	for name, test := range map[string]struct {
		same        bool
		here, other int
	}{"the document's": {true, 0, 1}, "another": {false, 1, 0}} {
		r := &recipe.Recipe{Method: "GET", Path: "/up", Base: &recipe.Base{URL: there.url, Of: "https://api.example.com"}}
		with := func(base string) recipe.With {
			if test.same {
				base = "https://api.example.com/"
			}
			return recipe.With{BaseURL: base}
		}
		before := there.count()
		g := setUp(t, r, with, nil)
		gives(t, g.plugin.Call("read", raw(`{}`)), `{}`)
		if g.count() != test.here || there.count()-before != test.other {
			t.Errorf("%s base_url: %d requests here, %d there", name, g.count(), there.count()-before)
		}
	}
}
