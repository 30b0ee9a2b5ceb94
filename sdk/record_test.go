package sdk_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

type cityInput struct {
	Name string `json:"name"`
}

// city is a record of the service; others of its fields are kept.
type city struct {
	Name  string  `json:"name" doc:"Name."`
	Mayor *string `json:"mayor,omitempty" doc:"Mayor."`
}

// cities is a plugin of a service whose answers are envelopes.
func cities() *sdk.Plugin {
	type config struct{ sdk.HTTPSettings }
	get := func(c *sdk.Call[config], in cityInput) (sdk.Value, error) {
		response, err := c.HTTP().Get("/cities/"+in.Name, nil)
		if err != nil {
			return nil, err
		}
		var envelope struct {
			Data sdk.Value `json:"data"`
		}
		if err := response.Envelope(&envelope, "ok"); err != nil {
			return nil, err
		}
		_, err = sdk.Record[city](response, envelope.Data, "name")
		return envelope.Data, err
	}
	return sdk.New("cities", "1.0.0", "Cities.", sdk.PathPrefix("/v1"),
		sdk.Read("get", "One city.", get, sdk.OutputOf[city](), sdk.ValidateField("/name", func(in cityInput) []sdk.Problem {
			if in.Name == "Atlantis" {
				return []sdk.Problem{sdk.Problemf("/name", "is no city any more")}
			}
			return nil
		})))
}

func TestARecordIsPassedOnWithTheSchemaOfItsType(t *testing.T) {
	answer := `{"ok":true,"data":{"name":"Bonn","rivers":["Rhine"]}}`
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/cities/Bonn" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(service.Close)
	p := sdktest.Open(t, cities(), map[string]any{"base_url": service.URL})
	want := `{"type":"object","properties":{"name":{"type":"string","description":"Name."},"mayor":{"type":["string","null"],"description":"Mayor."}},"required":["name"]}`
	if got := string(p.Action("get").Output); got != want {
		t.Errorf("the output's schema is %s, want %s", got, want)
	}
	if r := p.Call("get", cityInput{"Bonn"}); string(r.Output) != `{"name":"Bonn","rivers":["Rhine"]}` {
		t.Errorf("the record came as %s, %v", r.Output, r.Err)
	}
	for _, answer = range []string{`{"data":{"name":"Bonn"}}`, `{"ok":null,"data":{"name":"Bonn"}}`, `[]`} {
		if r := p.Call("get", cityInput{"Bonn"}); r.Err == nil || r.Err.Code != sdk.CodeUnexpectedResponse || !strings.Contains(r.Err.Message, "has no `ok`") {
			t.Errorf("%s: %v", answer, r.Err)
		}
	}
}

func TestPathPrefixIsNoPartOfTheBaseURL(t *testing.T) {
	p := sdktest.Serve(t, cities())
	for base, refused := range map[string]bool{"https://api.example.com": false, "https://api.example.com/v1": true, "https://api.example.com/v1/": true} {
		problems := p.Connect("c", map[string]any{"base_url": base})
		if (len(problems) > 0) != refused {
			t.Errorf("%s: %v", base, problems)
		}
		for _, problem := range problems {
			if problem.Pointer != "/base_url" || problem.Summary != "must not end in /v1" || problem.Detail != "write it without /v1: the plugin adds it" {
				t.Errorf("%s: %+v", base, problem)
			}
		}
	}
}

func TestValidateFieldWaitsForItsInput(t *testing.T) {
	p := sdktest.Serve(t, cities())
	if problems := p.Validate("get", cityInput{"Atlantis"}); len(problems) != 1 || problems[0].Pointer != "/name" {
		t.Errorf("known: %v", problems)
	}
	if problems := p.Validate("get", cityInput{"Atlantis"}, "/name"); len(problems) != 0 {
		t.Errorf("not known yet: %v", problems)
	}
}

func TestPointersAndHeaders(t *testing.T) {
	if got := sdk.Pointer("headers", "a/b~c", 2); got != "/headers/a~1b~0c/2" {
		t.Errorf("the pointer is %s", got)
	}
	for name, ok := range map[string]bool{"X-Api-Key": true, "x!#$%&'*+-.^_`|~9": true, "": false, "a b": false, "a:b": false, "é": false, "a\x7f": false} {
		if sdk.IsHeaderName(name) != ok {
			t.Errorf("header name %q: %t", name, !ok)
		}
	}
	for value, ok := range map[string]bool{"": true, "a\tb c": true, "é": true, "a\nb": false, "a\r": false, "\x00": false, "\x7f": false} {
		if sdk.IsHeaderValue(value) != ok {
			t.Errorf("header value %q: %t", value, !ok)
		}
	}
	if refused := sdk.Refused(sdk.CodeUnsupported, "no %d", 1); refused.Applied != sdk.NotApplied || refused.Error() != "unsupported: no 1" {
		t.Errorf("%v, applied %s", refused, refused.Applied)
	}
}
