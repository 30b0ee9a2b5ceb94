package http

import (
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

func TestWhereARequestGoes(t *testing.T) {
	s := serve(t, says(200, "application/json", `{}`))
	p := open(t, s, in{"base_url": s.URL + "/root", "params": in{"hook": "T0/B0/x y", "key": "k/1"}})
	for want, input := range map[string]in{
		"/root/a/b":                         {"path": "/a/b"},
		"/root/things/7":                    {"path": "/things/{id}", "params": in{"id": 7}},
		"/root/things/a%2Fb%20%3Fc%23d":     {"path": "/things/{id}", "params": in{"id": "a/b ?c#d"}},
		"/root/things/%C3%BC/true":          {"path": "/things/{id}/{on}", "params": in{"id": "ü", "on": true}},
		"/root/services/T0/B0/x%20y":        {"path": "/services/{+hook}"},
		"/root/bot/k%2F1/send":              {"path": "/bot/{key}/send"},
		"/root/bot/s%2F2/send":              {"path": "/bot/{key}/send", "secrets": in{"params": in{"key": "s/2"}}},
		"/root/a%20b/%C3%A4":                {"path": "/a b/ä"},
		"/root/a%2Fb":                       {"path": "/a%2Fb"},
		"/root/q?a=1&b=x+y&b=z&c=1e400":     {"path": "/q", "query": in{"a": 1, "b": []any{"x y", "z"}, "c": sdk.Value("1e400"), "d": nil}},
		"/root/q?a=1%2C2":                   {"path": "/q", "query": in{"a": []int{1, 2}}, "lists": "comma"},
		"/root/q?a%5B%5D=1&a%5B%5D=2":       {"path": "/q", "query": in{"a": []int{1, 2}, "b": []int{}}, "lists": "brackets"},
		"/root/q?a=true&n=9007199254740993": {"path": "/q", "query": in{"a": true, "n": int64(9007199254740993)}},
		"/root/q?token=hidden":              {"path": "/q", "secrets": in{"query": in{"token": "hidden"}}},
	} {
		if strings.Contains(want, "1e400") { // no number of JSON is beyond the bounds of a float
			delete(input["query"].(in), "c")
			want = strings.TrimSuffix(want, "&c=1e400")
		}
		outputOfCall(t, p.Call("get", input))
		if sent, _ := s.last(t); sent.URL.RequestURI() != want {
			t.Errorf("%v: sent %s, want %s", input, sent.URL.RequestURI(), want)
		}
	}
	outputOfCall(t, p.Call("get", in{"url": s.URL + "/elsewhere?a=1", "query": in{"b": 2}}))
	if sent, _ := s.last(t); sent.URL.RequestURI() != "/elsewhere?a=1&b=2" {
		t.Errorf("an absolute URL: sent %s", sent.URL.RequestURI())
	}
}

func TestWrongInputsAreNotSent(t *testing.T) {
	s := serve(t, says(200, "application/json", `{}`))
	p := open(t, s, nil)
	for name, c := range map[string]struct {
		action  string
		input   in
		pointer string
	}{
		"neither path nor url":      {"get", in{}, ""},
		"both":                      {"get", in{"path": "/a", "url": s.URL}, "/url"},
		"a path that climbs":        {"get", in{"path": "/a/../b"}, "/path"},
		"escaped":                   {"get", in{"path": "/a/%2E%2e/b"}, "/path"},
		"a query in the path":       {"get", in{"path": "/a?b"}, "/path"},
		"a broken escape":           {"get", in{"path": "/a%zz"}, "/path"},
		"a lone brace":              {"get", in{"path": "/a/{id"}, "/path"},
		"a param that climbs":       {"get", in{"path": "/a/{id}", "params": in{"id": ".."}}, "/params/id"},
		"an empty param":            {"get", in{"path": "/a/{id}", "params": in{"id": ""}}, "/params/id"},
		"a list that climbs":        {"get", in{"path": "/a/{+id}", "params": in{"id": "x/../y"}}, "/params/id"},
		"a param too many":          {"get", in{"path": "/a", "params": in{"id": "x"}}, "/params/id"},
		"a user in the URL":         {"get", in{"url": strings.Replace(s.URL, "http://", "http://u:p@", 1)}, "/url"},
		"a fragment":                {"get", in{"url": s.URL + "/#a"}, "/url"},
		"a header that is taken":    {"get", in{"path": "/a", "headers": in{"Transfer-Encoding": "chunked"}}, "/headers/Transfer-Encoding"},
		"a header with a break":     {"get", in{"path": "/a", "headers": in{"X-A": "1\r\nX-B: 2"}}, "/headers/X-A"},
		"a header without a name":   {"get", in{"path": "/a", "headers": in{"X A": "1"}}, "/headers/X A"},
		"the simulator's header":    {"get", in{"path": "/a", "headers": in{"flowrun-answer": "1"}}, "/headers/flowrun-answer"},
		"a status out of range":     {"get", in{"path": "/a", "expect": []any{99}}, "/expect/0"},
		"a class of none":           {"get", in{"path": "/a", "expect": []any{404, "9xx"}}, "/expect/1"},
		"an answer of a text":       {"get", in{"path": "/a", "as": "text", "answer": in{"type": "string"}}, "/answer"},
		"an answer that is wrong":   {"get", in{"path": "/a", "answer": in{"properties": in{"a": in{"type": "strin"}}}}, "/answer/properties/a/type"},
		"a reference out of it":     {"get", in{"path": "/a", "answer": in{"items": in{"$ref": "https://example.com/x"}}}, "/answer/items/$ref"},
		"csv without as":            {"get", in{"path": "/a", "as": "json", "csv": in{}}, "/csv"},
		"pages without a parameter": {"get", in{"path": "/a", "pages": in{"by": "offset"}}, "/pages/query"},
		"pages without a cursor":    {"get", in{"path": "/a", "pages": in{"by": "cursor", "query": "c"}}, "/pages/next"},
		"pages of a text":           {"get", in{"path": "/a", "as": "text", "pages": in{"by": "link"}}, "/as"},
		"a cursor without pages":    {"get", in{"path": "/a", "cursor": "1"}, "/cursor"},
		"two bodies":                {"post", in{"path": "/a", "json": in{}, "text": "x"}, "/text"},
		"no base64":                 {"put", in{"path": "/a", "base64": "%"}, "/base64"},
		"a part without a value":    {"post", in{"path": "/a", "multipart": []any{in{"name": "x"}}}, "/multipart/0"},
		"a secret of another body":  {"post", in{"path": "/a", "text": "x", "secrets": in{"json": in{"/a": "s"}}}, "/secrets/json"},
		"a secret at no pointer":    {"post", in{"path": "/a", "secrets": in{"json": in{"a": "s"}}}, "/secrets/json/a"},
	} {
		found := false
		for _, problem := range p.Validate(c.action, c.input) {
			found = found || problem.Pointer == c.pointer
		}
		if !found {
			t.Errorf("%s: Validate says %v, want a problem at %q", name, p.Validate(c.action, c.input), c.pointer)
		}
		if r := p.Call(c.action, c.input); r.Err == nil || r.Err.Code != sdk.CodeInvalid || r.Err.Applied != sdk.NotApplied || r.Err.Pointer != c.pointer {
			t.Errorf("%s: Execute says %+v, want invalid at %q", name, r.Err, c.pointer)
		}
	}
	fails(t, p.Call("get", in{"path": "/a/{id}"}), sdk.CodeInvalid, "there is no value for {id}")
	if s.count() > 0 {
		t.Errorf("%d requests were sent", s.count())
	}
}

func TestUnknownPartsAreNotJudged(t *testing.T) {
	p := sdktest.Serve(t, New())
	for name, c := range map[string]struct {
		action  string
		input   in
		unknown []string
	}{
		"a path":      {"get", in{"path": ""}, []string{"/path"}},
		"a parameter": {"get", in{"path": "/a/{id}", "params": in{"id": ""}}, []string{"/params/id"}},
		"a header":    {"get", in{"path": "/a", "headers": in{"X-A": "\n"}}, []string{"/headers/X-A"}},
		"a part":      {"post", in{"path": "/a", "multipart": []any{in{"name": "x"}}}, []string{"/multipart/0/text"}},
		"a secret":    {"post", in{"path": "/a", "secrets": in{"json": in{}}}, []string{"/secrets/json/~1a"}},
		"an answer":   {"get", in{"path": "/a"}, []string{"/answer"}},
		"all of it":   {"get", in{}, []string{"/path", "/url", "/expect", "/pages"}},
	} {
		if problems := p.Validate(c.action, c.input, c.unknown...); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

func TestBodies(t *testing.T) {
	s := serve(t, says(200, "application/json", `{}`))
	p := open(t, s, nil)
	for name, c := range map[string]struct {
		input             in
		contentType, body string
	}{
		"JSON":               {in{"json": in{"a": sdk.Value("1.10"), "b": "ü"}}, "application/json", `{"a":1.10,"b":"ü"}`},
		"a list":             {in{"json": []int{1, 2}}, "application/json", `[1,2]`},
		"JSON of a type":     {in{"json": in{}, "content_type": "application/merge-patch+json"}, "application/merge-patch+json", `{}`},
		"secrets in JSON":    {in{"json": in{"user": in{"name": "ann"}}, "secrets": in{"json": in{"/user/password": "s3cret", "/keys/a": "b"}}}, "application/json", `{"user":{"name":"ann","password":"s3cret"},"keys":{"a":"b"}}`},
		"secrets alone":      {in{"secrets": in{"json": in{"/token": "s3cret"}}}, "application/json", `{"token":"s3cret"}`},
		"a secret in a list": {in{"json": in{"a": []any{1, in{}}}, "secrets": in{"json": in{"/a/1/b": "s"}}}, "application/json", `{"a":[1,{"b":"s"}]}`},
		"a form":             {in{"form": in{"a": "x y", "b": []int{1, 2}, "c": nil}}, "application/x-www-form-urlencoded", "a=x+y&b=1&b=2"},
		"a secret form":      {in{"form": in{"a": 1}, "secrets": in{"form": in{"pw": "s&t"}}}, "application/x-www-form-urlencoded", "a=1&pw=s%26t"},
		"text":               {in{"text": "grüße"}, "text/plain; charset=utf-8", "grüße"},
		"an empty text":      {in{"text": "", "content_type": "text/csv"}, "text/csv", ""},
		"bytes":              {in{"base64": "AAH/"}, "application/octet-stream", "\x00\x01\xff"},
		"nothing":            {in{}, "", ""},
	} {
		c.input["path"] = "/a"
		outputOfCall(t, p.Call("put", c.input))
		if sent, body := s.last(t); sent.Header.Get("Content-Type") != c.contentType || body != c.body {
			t.Errorf("%s: sent %q of type %q, want %q of %q", name, body, sent.Header.Get("Content-Type"), c.body, c.contentType)
		}
	}
}

func TestMultipart(t *testing.T) {
	s := serve(t, says(200, "application/json", `{}`))
	p := open(t, s, nil)
	input := in{"path": "/upload", "multipart": []any{
		in{"name": "note", "text": "hello"}, in{"name": "meta", "json": in{"a": 1}},
		in{"name": "file", "base64": base64.StdEncoding.EncodeToString([]byte("a\r\n--x\x00")), "filename": "a \"b\"\r\n.bin"},
		in{"name": "table", "text": "a,b\n", "filename": "t.csv", "content_type": "text/csv"},
	}}
	outputOfCall(t, p.Call("post", input))
	sent, first := s.last(t)
	_, parameters, err := mime.ParseMediaType(sent.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	reader := multipart.NewReader(strings.NewReader(first), parameters["boundary"])
	for _, want := range []struct{ name, filename, contentType, body string }{
		{"note", "", "", "hello"}, {"meta", "", "application/json", `{"a":1}`},
		{"file", "a %22b%22%0D%0A.bin", "application/octet-stream", "a\r\n--x\x00"}, {"table", "t.csv", "text/csv", "a,b\n"},
	} {
		part, err := reader.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(part)
		if err != nil || part.FormName() != want.name || part.FileName() != want.filename || part.Header.Get("Content-Type") != want.contentType || string(body) != want.body {
			t.Errorf("got %q %q %q %q (%v), want %q", part.FormName(), part.FileName(), part.Header.Get("Content-Type"), body, err, want)
		}
	}
	if _, err := reader.NextPart(); err != io.EOF {
		t.Errorf("behind the last part: %v", err)
	}
	outputOfCall(t, p.Call("post", input))
	if _, second := s.last(t); second != first {
		t.Error("the same parts are other bytes the second time")
	}
}

func TestIdempotencyKey(t *testing.T) {
	s := serve(t, says(200, "application/json", `{}`))
	for name, c := range map[string]struct {
		action       string
		config, more in
		header       string // "" = none
	}{
		"as usual":              {"post_keyed", nil, in{}, "Idempotency-Key"},
		"of the connection":     {"post_keyed", in{"key_header": "X-Request-Token"}, in{}, "X-Request-Token"},
		"of the step":           {"post_keyed", in{"key_header": "X-Request-Token"}, in{"key_header": "X-Idempotency-Key"}, "X-Idempotency-Key"},
		"none for post":         {"post", nil, in{}, ""},
		"none for put":          {"put", nil, in{}, ""},
		"one that a step gives": {"post", nil, in{"headers": in{"Idempotency-Key": "mine"}}, "mine"},
	} {
		input := in{"path": "/orders", "json": in{}}
		for k, v := range c.more {
			input[k] = v
		}
		outputOfCall(t, open(t, s, c.config).Call(c.action, input, sdktest.Key("key-1")))
		sent, _ := s.last(t)
		for _, header := range []string{"Idempotency-Key", "X-Request-Token", "X-Idempotency-Key"} {
			want := ""
			if header == c.header {
				want = "key-1"
			}
			if header == "Idempotency-Key" && c.header == "mine" {
				want = "mine"
			}
			if got := sent.Header.Get(header); got != want {
				t.Errorf("%s: header %s is %q, want %q", name, header, got, want)
			}
		}
	}
}

// A connection that dies before its answer is one request, whatever header the step gives:
// net/http repeats requests by itself when it sees an idempotency key.
func TestOneCallIsOneRequest(t *testing.T) {
	s := serve(t, nil)
	for _, header := range []string{"Idempotency-Key", "X-Idempotency-Key", "X-Other"} {
		s.answer = says(200, "application/json", `{}`)
		p := open(t, s, nil)
		outputOfCall(t, p.Call("get", in{"path": "/warm"})) // the next request goes over a connection that was used
		before := s.count()
		s.answer = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
		failure := fails(t, p.Call("post", in{"path": "/a", "json": in{}, "headers": in{header: "k"}}), sdk.CodeUnavailable, "")
		if s.count()-before != 1 || failure.Applied != sdk.AppliedUnknown {
			t.Errorf("with %s: %d requests, applied %v", header, s.count()-before, failure.Applied)
		}
	}
}

func TestSecretsAreMasked(t *testing.T) {
	const secret = "s3cret/of-step"
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		says(500, "text/plain", "trouble with "+r.URL.String()+" "+r.Header.Get("X-Key")+string(body)+secret)(w, r)
	})
	p := open(t, s, in{"params": in{"hook": secret}})
	for name, input := range map[string]in{
		"of the connection": {"path": "/h/{+hook}"},
		"in the path":       {"path": "/h/{k}", "secrets": in{"params": in{"k": secret}}},
		"in the query":      {"path": "/h", "secrets": in{"query": in{"k": secret}}},
		"in a header":       {"path": "/h", "secrets": in{"headers": in{"X-Key": secret}}},
		"in the body":       {"path": "/h", "secrets": in{"json": in{"/k": secret}}},
	} {
		r := p.Call("post", input)
		failure := fails(t, r, sdk.CodeUnavailable, "500")
		if all := failure.Message + failure.Hint + string(sdk.JSON(failure.Details)) + string(sdk.JSON(r.Meta)); strings.Contains(all, "s3cret") {
			t.Errorf("%s: the error shows it: %s", name, all)
		}
	}
}

// A simulator stands for every host, and for the params of the connection that it stands
// in for.
func TestSimulatedConnections(t *testing.T) {
	s := serve(t, says(200, "application/json", `{}`))
	p := open(t, s, in{"simulated": true})
	for want, input := range map[string]in{
		"/bot/simulated/send": {"path": "/bot/{token}/send"},
		"/v1/things?a=1&b=2":  {"url": "https://api.example.com/v1/things?a=1", "query": in{"b": 2}},
		"/":                   {"url": "https://api.example.com/"},
	} {
		outputOfCall(t, p.Call("get", input))
		if sent, _ := s.last(t); sent.URL.RequestURI() != want || sent.Header.Get("Flowrun-Answer") == "" {
			t.Errorf("sent %s %v, want %s", sent.URL.RequestURI(), sent.Header, want)
		}
	}
	outputOfCall(t, open(t, s, nil).Call("get", in{"path": "/a"}))
	if sent, _ := s.last(t); sent.Header.Get("Flowrun-Answer") != "" {
		t.Error("a real service is told how its answer will be read")
	}
}
