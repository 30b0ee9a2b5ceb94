package openapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/flowrun/flowrun/plugins/openapi"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// service is an HTTP service that keeps what it was asked and answers as a test says.
type service struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []asked
	answer func(w http.ResponseWriter, r *http.Request)
}

// asked is a request as it came.
type asked struct {
	Method, URI, Body string
	Header            http.Header
}

// serve starts a service that answers with a function; nil = {}.
func serve(t *testing.T, answer http.HandlerFunc) *service {
	t.Helper()
	s := &service{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		s.asked = append(s.asked, asked{r.Method, r.RequestURI, string(body), r.Header})
		s.mu.Unlock()
		if s.answer == nil {
			writeJSON(w, 200, `{}`)
			return
		}
		s.answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// last is the last request.
func (s *service) last(t *testing.T) asked {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) == 0 {
		t.Fatal("nothing was asked")
	}
	return s.asked[len(s.asked)-1]
}

func (s *service) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

func writeJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

// document is the text of one of the small documents.
func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/documents/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// open opens a plugin that is told a document, with a connection to a service.
func open(t *testing.T, s *service, settings openapi.Settings, text string, config map[string]any) *sdktest.Plugin {
	t.Helper()
	if settings.Document == "" {
		settings.Document = "./document.yaml"
	}
	if config == nil {
		config = map[string]any{}
	}
	if config["base_url"] == nil {
		config["base_url"] = s.URL
	}
	return sdktest.OpenTold(t, openapi.New(), sdktest.Told{Name: "svc", Settings: settings, Files: map[string]string{"/document": text}}, config)
}

// object makes an input of JSON.
func object(text string) json.RawMessage { return json.RawMessage(text) }

// wants compares what was asked with a method and a request URI.
func (s *service) wants(t *testing.T, method, uri string) asked {
	t.Helper()
	got := s.last(t)
	if got.Method != method || got.URI != uri {
		t.Errorf("asked was %s %s\nwanted   %s %s", got.Method, got.URI, method, uri)
	}
	return got
}

func fails(t *testing.T, r sdktest.Result, code sdk.Code) *sdk.Error {
	t.Helper()
	if r.Err == nil {
		t.Fatalf("the call gave %s, wanted a failure %s", r.Output, code)
	}
	if r.Err.Code != code {
		t.Errorf("the call failed with %s (%s), wanted %s", r.Err.Code, r.Err.Message, code)
	}
	return r.Err
}

func gives(t *testing.T, r sdktest.Result, want string) {
	t.Helper()
	if r.Err != nil {
		t.Fatalf("the call failed: %s %s", r.Err.Code, r.Err.Message)
	}
	sdktest.Equal(t, r.Output, object(want))
}
