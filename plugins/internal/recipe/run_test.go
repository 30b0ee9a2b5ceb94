package recipe_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// asked is a request as it came to the service.
type asked struct {
	method, uri, body string
	header            http.Header
}

// rig is a service, and a plugin with one action that runs a recipe against it.
type rig struct {
	plugin *sdktest.Plugin
	mu     sync.Mutex
	asked  []asked
	url    string
}

type config struct {
	sdk.HTTPSettings
	Secret string `json:"secret,omitempty" secret:"true"`
}

// says answers with a status, headers as pairs, and a body.
func says(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// setUp starts a service and opens the plugin. with is called for each call.
func setUp(t *testing.T, r *recipe.Recipe, with func(base string) recipe.With, answer http.HandlerFunc) *rig {
	t.Helper()
	g := &rig{}
	if answer == nil {
		answer = says(200, `{}`)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			t.Error(err)
		}
		g.mu.Lock()
		g.asked = append(g.asked, asked{request.Method, request.RequestURI, string(body), request.Header})
		g.mu.Unlock()
		answer(w, request)
	}))
	t.Cleanup(server.Close)
	g.url = server.URL
	encoded, err := r.Encode() // what runs has gone through its codec
	if err != nil {
		t.Fatal(err)
	}
	run := func(c *sdk.Call[config], input sdk.Value) (sdk.Value, error) {
		read, err := recipe.Decode(encoded)
		if err != nil {
			return nil, err
		}
		told := recipe.With{BaseURL: c.Config.BaseURL}
		if with != nil {
			told = with(c.Config.BaseURL)
		}
		return recipe.Do(c, read, told, input)
	}
	options := []sdk.ActionOption{sdk.Input(sdk.Value(`{"type":"object","properties":{"page":{}}}`)), sdk.Output(sdk.Value(`{}`))}
	if r.Page != nil {
		options = append(options, sdk.Paged("page", r.Page.Items, ""))
	}
	plugin := sdk.New("service", "1.0.0", "A service", sdk.Keyed("do", "Do it", run, options...), sdk.Read("read", "Read it", run, options...))
	g.plugin = sdktest.Open(t, plugin, map[string]any{"base_url": server.URL, "secret": "s-1"})
	return g
}

// last is the last request.
func (g *rig) last(t *testing.T) asked {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.asked) == 0 {
		t.Fatal("nothing was sent")
	}
	return g.asked[len(g.asked)-1]
}

func (g *rig) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.asked)
}

// gives fails a test in which a call does not give an output.
func gives(t *testing.T, r sdktest.Result, want string) {
	t.Helper()
	if r.Err != nil || string(r.Output) != want {
		t.Errorf("got %s and %v, want %s", r.Output, r.Err, want)
	}
}

// fails fails a test in which a call does not fail with a code.
func fails(t *testing.T, r sdktest.Result, code sdk.Code) *sdk.Error {
	t.Helper()
	if r.Err == nil || r.Err.Code != code {
		t.Fatalf("got %s and %v, want %s", r.Output, r.Err, code)
	}
	return r.Err
}

func raw(text string) sdk.Value { return sdk.Value(text) }
