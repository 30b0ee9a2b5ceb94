package openapi_test

import (
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/plugins/openapi"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

func TestParametersInTheirStyles(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	p := open(t, s, openapi.Settings{}, document(t, "parameters.yaml"), nil)
	gives(t, p.Call("styles", object(`{"simple":["a b","c/d"],"label":["x","y"],"matrix":{"a":1},"rest":"one/two three",
		"query_simple":"q&r","pipe":[1,2],"deep":{"a":1,"b":{"c":"d"}},"json":{"k": [1]},"X-List":["u","v"],"session":"s;1","body":"b"}`)), `{}`)
	got := s.wants(t, "GET", "/x/a%20b%2Cc%2Fd/.x.y/;matrix=a%2C1/one/two%20three?body=b&deep%5Ba%5D=1&deep%5Bb%5D%5Bc%5D=d&json=%7B%22k%22%3A%5B1%5D%7D&pipe=1%7C2&simple=q%26r")
	if got.Header.Get("X-List") != "u,v" || got.Header.Get("Cookie") != "session=s%3B1" {
		t.Errorf("headers are %v", got.Header)
	}
}

func TestAPathThatWouldClimbIsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	p := open(t, s, openapi.Settings{}, document(t, "parameters.yaml"), nil)
	for _, rest := range []string{"..", "a/../b", "a//b", "."} {
		failure := fails(t, p.Call("styles", map[string]any{"simple": []string{"a"}, "label": []string{"a"}, "matrix": map[string]any{"a": 1}, "rest": rest}), sdk.CodeInvalid)
		if failure.Pointer != "/rest" || failure.Applied != sdk.NotApplied {
			t.Errorf("%q: the failure is at %q, applied %s", rest, failure.Pointer, failure.Applied)
		}
	}
	if s.count() != 0 {
		t.Errorf("%d requests were sent", s.count())
	}
	p.Call("styles", object(`{"simple":["a"],"label":["a"],"matrix":{"a":1},"rest":"..."}`)) // the control: three dots are a name
	if s.count() != 1 {
		t.Error("the control was not sent")
	}
}

func TestAParameterOfTheNameBodyStandsBesideTheBody(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	p := open(t, s, openapi.Settings{}, document(t, "parameters.yaml"), nil)
	gives(t, p.Call("with_body", object(`{"body":{"a":1},"query_body":"q"}`)), `{}`)
	got := s.wants(t, "POST", "/with-body?body=q")
	if got.Body != `{"a":1}` || got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("the body is %s of %s", got.Body, got.Header.Get("Content-Type"))
	}
}

func TestBodiesOfForms(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		_, _ = io.WriteString(w, "<done/>")
	})
	p := open(t, s, openapi.Settings{}, document(t, "multipart.yaml"), nil)
	gives(t, p.Call("form", object(`{"body":{"a":"x&y","list":[1,2]}}`)), `"<done/>"`)
	got := s.wants(t, "POST", "/form")
	if got.Body != "a=x%26y&list=1+2" || got.Header.Get("Content-Type") != "application/x-www-form-urlencoded" || got.Header.Get("Accept") != "application/xml" {
		t.Errorf("the body is %s, headers %v", got.Body, got.Header)
	}
}

func TestBodiesOfParts(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0, 1, 255}) })
	p := open(t, s, openapi.Settings{}, document(t, "multipart.yaml"), nil)
	input := object(`{"body":{"file":{"name":"a\"b.png","base64":"AAH/"},"more":[{"text":"one"},{"text":"two","type":"text/css"}],"meta":{"title":"t"},"note":"n"}}`)
	gives(t, p.Call("upload", input), `"AAH/"`)
	first := s.last(t)
	_, params, err := mime.ParseMediaType(first.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	reader := multipart.NewReader(strings.NewReader(first.Body), params["boundary"])
	for {
		part, err := reader.NextPart()
		if err != nil {
			break
		}
		content, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join([]string{part.FormName(), part.FileName(), part.Header.Get("Content-Type"), string(content)}, "|"))
	}
	want := []string{"file|a\"b.png|image/png|\x00\x01\xff", "more|more|application/octet-stream|one", "more|more|text/css|two", `meta||application/json|{"title":"t"}`, "note|||n"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the parts are\n%q\nwanted\n%q", got, want)
	}
	p.Call("upload", input)
	if again := s.last(t); again.Body != first.Body {
		t.Error("the same input makes other bytes")
	}
}

func TestAFileWithoutContentIsRefusedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	p := open(t, s, openapi.Settings{}, document(t, "multipart.yaml"), nil)
	for input, pointer := range map[string]string{
		`{"body":{"file":{"name":"x"}}}`:                                      "/body/file",
		`{"body":{"file":{"text":"x","base64":"eA=="}}}`:                      "/body/file",
		`{"body":{"file":{"text":"x"},"more":[{"text":"a"},{"base64":"%"}]}}`: "/body/more/1",
	} {
		if failure := fails(t, p.Call("upload", object(input)), sdk.CodeInvalid); failure.Pointer != pointer {
			t.Errorf("%s: the failure is at %q", input, failure.Pointer)
		}
	}
	if s.count() != 0 {
		t.Errorf("%d requests were sent", s.count())
	}
}

func TestBytesInAndOut(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })
	p := open(t, s, openapi.Settings{}, document(t, "multipart.yaml"), nil)
	gives(t, p.Call("raw", object(`{"body":"AAH/"}`)), `null`)
	if got := s.wants(t, "PUT", "/raw"); got.Body != "\x00\x01\xff" || got.Header.Get("Content-Type") != "image/png" {
		t.Errorf("sent was %q as %s", got.Body, got.Header.Get("Content-Type"))
	}
	fails(t, p.Call("raw", object(`{"body":"no Base64"}`)), sdk.CodeInvalid)
}

func TestKeysOfKeyedActions(t *testing.T) {
	t.Parallel()
	s := serve(t, nil)
	p := open(t, s, openapi.Settings{}, document(t, "extensions.yaml"), nil)
	gives(t, p.Call("pay", object(`{}`), sdktest.Key("key-1")), `{}`)
	if got := s.last(t); got.Header.Get("X-Request-Key") != "key-1" || got.Header.Get("Idempotency-Key") != "" {
		t.Errorf("headers are %v", got.Header)
	}
	gives(t, p.Call("search", object(`{}`), sdktest.Key("key-1")), `{}`)
	if got := s.last(t); got.Header.Get("X-Request-Key") != "" {
		t.Errorf("a read has the key: %v", got.Header)
	}
}

func TestServersOfOperations(t *testing.T) {
	t.Parallel()
	main, other := serve(t, nil), serve(t, nil)
	text := strings.NewReplacer("https://api.example.com/v1", main.URL+"/v1", "https://uploads.example.com", other.URL).Replace(document(t, "servers.yaml"))
	p := open(t, main, openapi.Settings{}, text, map[string]any{"base_url": main.URL + "/v1", "token": "t-1"})
	gives(t, p.Call("elsewhere", object(`{}`)), `{}`)
	if got := other.wants(t, "POST", "/uploads"); got.Header.Get("Authorization") != "Bearer t-1" {
		t.Errorf("headers are %v", got.Header)
	}
	gives(t, p.Call("old", object(`{}`)), `{}`)
	main.wants(t, "GET", "/v0/old")

	// a connection to another place, such as a simulator, never reaches the document's
	before := other.count()
	stand := serve(t, nil)
	p = open(t, stand, openapi.Settings{}, text, nil)
	gives(t, p.Call("elsewhere", object(`{}`)), `{}`)
	stand.wants(t, "POST", "/uploads")
	if other.count() != before {
		t.Error("the document's own server was asked")
	}
}
