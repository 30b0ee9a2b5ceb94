package client

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/flowrun/flowrun/test/client/downgrade"
)

// checkedTransport fails the test for an answer that the document does not allow.
type checkedTransport struct {
	t      *testing.T
	router routers.Router
	next   http.RoundTripper
}

func newCheckedTransport(t *testing.T) *checkedTransport {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "..", "docs", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	older, err := downgrade.Document(source)
	if err != nil {
		t.Fatal(err)
	}
	document, err := openapi3.NewLoader().LoadFromData(older)
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Validate(t.Context()); err != nil {
		t.Fatalf("the document is no OpenAPI: %v", err)
	}
	document.Servers = nil // every address
	router, err := gorillamux.NewRouter(document)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &checkedTransport{t: t, router: router, next: transport}
}

// RoundTrip sends a request and compares its answer.
func (c *checkedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	if err != nil || !strings.Contains(response.Header.Get("Content-Type"), "json") {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	_ = response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	if err := c.check(r, response, body); err != nil {
		c.t.Errorf("%s %s: %v\n%s", r.Method, r.URL, err, body)
	}
	return response, nil
}

func (c *checkedTransport) check(r *http.Request, response *http.Response, body []byte) error {
	route, params, err := c.router.FindRoute(r)
	if err != nil {
		return err
	}
	input := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route}
	answer := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: response.StatusCode, Header: response.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	answer.SetBodyBytes(body)
	return openapi3filter.ValidateResponse(r.Context(), answer)
}
