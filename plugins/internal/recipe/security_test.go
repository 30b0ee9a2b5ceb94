package recipe_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/sdk"
)

func TestCredentials(t *testing.T) {
	t.Parallel()
	token := func() (string, error) { return "t-1", nil }
	bearer, basic := recipe.Scheme{Kind: recipe.Bearer}, recipe.Scheme{Kind: recipe.Basic}
	key := func(in, key string) recipe.Scheme {
		return recipe.Scheme{Kind: recipe.APIKey, Name: "x-key-" + key, In: in, Key: key}
	}
	for _, test := range []struct {
		name   string
		has    recipe.Credentials
		wanted []recipe.Requirement
		header string // "" = none is sent
		uri    string
		cookie string
		key    string
	}{
		{"whatever there is: a token", recipe.Credentials{Token: token, Username: "ann"}, nil, "Bearer t-1", "/", "", ""},
		{"whatever there is: a name", recipe.Credentials{Username: "ann", Password: "p:1"}, nil, "Basic YW5uOnA6MQ==", "/", "", ""},
		{"whatever there is: nothing", recipe.Credentials{}, nil, "", "/", "", ""},
		{"the first that is there", recipe.Credentials{Username: "ann", Password: "p:1"}, []recipe.Requirement{{bearer}, {basic}}, "Basic YW5uOnA6MQ==", "/", "", ""},
		{"none where none is wanted", recipe.Credentials{Token: token}, []recipe.Requirement{{}}, "", "/", "", ""},
		{"none where it is optional and there is none", recipe.Credentials{}, []recipe.Requirement{{bearer}, {}}, "", "/", "", ""},
		{"several together", recipe.Credentials{Token: token, Keys: map[string]string{"a": "k a", "b": "k-b"}}, []recipe.Requirement{{bearer, key(recipe.InQuery, "a"), key(recipe.InCookie, "b")}}, "Bearer t-1", "/?x-key-a=k+a", "x-key-b=k-b", ""},
		{"not all of several", recipe.Credentials{Token: token, Keys: map[string]string{"a": "k"}}, []recipe.Requirement{{bearer, key(recipe.InHeader, "b")}, {key(recipe.InHeader, "a")}}, "", "/", "", "k"},
		{"the only key", recipe.Credentials{Only: "k-o"}, []recipe.Requirement{{key(recipe.InHeader, "a")}}, "", "/", "", "k-o"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			with := func(base string) recipe.With { return recipe.With{BaseURL: base, Credentials: test.has} }
			g := setUp(t, &recipe.Recipe{Method: "GET", Path: "/", Security: test.wanted}, with, nil)
			gives(t, g.plugin.Call("read", raw(`{}`)), `{}`)
			got := g.last(t)
			if got.header.Get("Authorization") != test.header || got.uri != test.uri || got.header.Get("Cookie") != test.cookie || got.header.Get("X-Key-A") != test.key {
				t.Errorf("sent %s with %v", got.uri, got.header)
			}
		})
	}
}

func TestACredentialThatIsMissing(t *testing.T) {
	t.Parallel()
	with := func(base string) recipe.With {
		return recipe.With{BaseURL: base, Credentials: recipe.Credentials{Names: map[string]string{recipe.Bearer: "token", recipe.APIKey + "/a": "api_keys.a"}}}
	}
	wanted := []recipe.Requirement{{{Kind: recipe.Bearer}}, {{Kind: recipe.APIKey, Key: "a", Name: "X-A"}, {Kind: recipe.Basic}}}
	g := setUp(t, &recipe.Recipe{Method: "GET", Path: "/", Security: wanted}, with, nil)
	failure := fails(t, g.plugin.Call("read", raw(`{}`)), sdk.CodeInvalid)
	if !strings.Contains(failure.Message, "`token`, or `api_keys.a` and `basic`") || failure.Applied != sdk.NotApplied || g.count() != 0 {
		t.Errorf("%+v after %d requests", failure, g.count())
	}
}

// A key in the query is a secret there: a failure's text does not repeat it.
func TestAKeyOfTheQueryIsNotShown(t *testing.T) {
	t.Parallel()
	with := func(base string) recipe.With {
		return recipe.With{BaseURL: base, Credentials: recipe.Credentials{Only: "very-secret"}}
	}
	wanted := []recipe.Requirement{{{Kind: recipe.APIKey, Name: "key", In: recipe.InQuery}}}
	drop := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	g := setUp(t, &recipe.Recipe{Method: "GET", Path: "/", Security: wanted}, with, drop)
	failure := fails(t, g.plugin.Call("read", raw(`{}`)), sdk.CodeUnavailable)
	if g.count() == 0 || !strings.Contains(g.last(t).uri, "very-secret") {
		t.Error("the key was not sent: the test shows nothing")
	}
	if strings.Contains(failure.Message+failure.Hint, "very-secret") {
		t.Errorf("%+v", failure)
	}
}

func TestHeadersOfAConnection(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"": "x", "X Key": "x", "Cookie": "a=b", "Host": "x", "Content-Length": "1", "X-Key": "a\nb", "a/b": "x"} {
		if problems := recipe.CheckHeaders(map[string]string{name: value}); len(problems) != 1 || problems[0].Pointer != sdk.Pointer("headers", name) {
			t.Errorf("header %q: %q gives %v", name, value, problems)
		}
	}
	if problems := recipe.CheckHeaders(map[string]string{"Authorization": "Token t", "Accept": "a/b", "X-Key": "ä"}); len(problems) != 0 {
		t.Errorf("good ones: %v", problems)
	}
}
