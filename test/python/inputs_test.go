package python

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// TestIssue15_5_BothSDKsSayTheSameOfInputs: the same words at the same pointers when a
// workflow is checked, and the same refusal before anything is sent.
func TestIssue15_5_BothSDKsSayTheSameOfInputs(t *testing.T) {
	t.Parallel()
	both := twins(t)
	for _, w := range both {
		if problems := w.connect(`{"base_url":"http://127.0.0.1:1"}`); problems != nil {
			t.Fatal(problems)
		}
	}
	seen := map[string]bool{}
	type words struct {
		input   string
		unknown []string
	}
	tries := map[string][]words{"graph": { // its schema is one of references
		{`{"name":"a","size":1,"all":["b"],"next":{"name":"c"}}`, nil}, {`{"name":"a"}`, nil}, {`{"name":"long"}`, nil}, {`{}`, nil}, {`[]`, nil},
		{`{"name":"a","size":"1"}`, nil}, {`{"name":"a","all":["b",1]}`, nil}, {`{"name":"a","nam":1}`, nil}, {`{"name":"a","next":"b"}`, nil}, {`{}`, []string{"/name"}},
	}, "echo": {
		{`{"text":"Bonn"}`, nil}, {`{}`, nil}, {``, nil}, {`null`, nil}, {`[]`, nil}, {`"x"`, nil}, {`{`, nil},
		{`{"text":""}`, nil}, {`{"text":"Bonn123"}`, nil}, {`{"text":"Bonnbonnbonn"}`, nil}, {`{"text":"Zürich"}`, nil}, {`{"text":"Bonn\n"}`, nil},
		{`{"text":5}`, nil}, {`{"text":true}`, nil}, {`{"text":null}`, nil}, {`{"text":["a"]}`, nil}, {`{"text":{"a":1}}`, nil}, {`{"text":1.50}`, nil},
		{`{"text":"Bonn","tekst":1,"zz":2}`, nil}, {`{"text":"Bonn","kinds":"A"}`, nil}, {`{"text":"Bonn","kind":"AAA"}`, nil}, {`{"text":"Bonn","kind":"a"}`, nil}, {`{"text":"Bonn","kind":"XYZW"}`, nil}, {`{"text":"Bonn","kind":null}`, nil},
		{`{"text":"Bonn","level":2}`, nil}, {`{"text":"Bonn","level":4}`, nil}, {`{"text":"Bonn","level":null}`, nil}, {`{"text":"Bonn","level":"2"}`, nil}, {`{"text":"Bonn","level":2.0}`, nil}, {`{"text":"Bonn","level":2.5}`, nil},
		{`{"text":"Bonn","limit":0}`, nil}, {`{"text":"Bonn","limit":9007199254740993}`, nil}, {`{"text":"Bonn","limit":9007199254740994}`, nil}, {`{"text":"Bonn","limit":1e2}`, nil},
		{`{"text":"Bonn","ratio":1.5}`, nil}, {`{"text":"Bonn","ratio":1.51}`, nil}, {`{"text":"Bonn","ratio":-1}`, nil}, {`{"text":"Bonn","ratio":"1"}`, nil},
		{`{"text":"Bonn","active":"yes"}`, nil}, {`{"text":"Bonn","active":0}`, nil},
		{`{"text":"Bonn","since":"2026-01-31T09:00:00Z"}`, nil}, {`{"text":"Bonn","since":"2026-02-30T09:00:00Z"}`, nil}, {`{"text":"Bonn","since":"2026-01-31"}`, nil}, {`{"text":"Bonn","since":"2026-01-31T09:00:00.123456789+02:00"}`, nil}, {`{"text":"Bonn","since":"2026-01-31T24:00:00Z"}`, nil},
		{`{"text":"Bonn","day":"2026-02-29"}`, nil}, {`{"text":"Bonn","day":"2024-02-29"}`, nil},
		{`{"text":"Bonn","site":"example.com"}`, nil}, {`{"text":"Bonn","site":"https://example.com/a?b=c"}`, nil}, {`{"text":"Bonn","site":"https://exa mple.com"}`, nil}, {`{"text":"Bonn","site":"mailto:a@b.c"}`, nil}, {`{"text":"Bonn","site":"https://a:b:c/"}`, nil},
		{`{"text":"Bonn","address":"1.2.3"}`, nil}, {`{"text":"Bonn","address":"::1"}`, nil}, {`{"text":"Bonn","address":"1.2.3.4"}`, nil}, {`{"text":"Bonn","address":"01.2.3.4"}`, nil},
		{`{"text":"Bonn","id":"123e4567-e89b-12d3-a456-426614174000"}`, nil}, {`{"text":"Bonn","id":"123e4567"}`, nil},
		{`{"text":"Bonn","every":"30s"}`, nil}, {`{"text":"Bonn","every":"PT20M"}`, nil}, {`{"text":"Bonn","every":"P"}`, nil}, {`{"text":"Bonn","every":"soon"}`, nil},
		{`{"text":"Bonn","tags":[]}`, nil}, {`{"text":"Bonn","tags":["red","blue"]}`, nil}, {`{"text":"Bonn","tags":["red","red","red","red"]}`, nil}, {`{"text":"Bonn","tags":"red"}`, nil}, {`{"text":"Bonn","tags":[1]}`, nil},
		{`{"text":"Bonn","texts":{"a":1}}`, nil}, {`{"text":"Bonn","texts":{"a/b~c":null}}`, nil},
		{`{"text":"Bonn","inner":{}}`, nil}, {`{"text":"Bonn","inner":{"name":"","value":"x","more":1}}`, nil}, {`{"text":"Bonn","inners":[{"name":"a"},{"nam":"b"}]}`, nil},
		{`{"text":"Bonn","password":"short"}`, nil}, {`{"text":"Bonn","password":5}`, nil}, {`{"text":"Bonn","password":["secret-in-a-list"]}`, nil},
		{`{"text":"Bonn","from":5}`, nil}, {`{"text":"Bonn","from_":"x"}`, nil}, {`{"text":"\u001b[31mBonn\u202e"}`, nil}, {`{"text":"say \"hi\" \\ \u00a0"}`, nil},
		{`{"text":"same"}`, nil}, {`{"text":"same","kind":"MX"}`, nil}, {`{"text":"Bonn","kind":"MX"}`, nil}, {`{"text":"Bonn","text":"Ulm"}`, nil},
		{`{"text":"${{ x }}"}`, []string{"/text"}}, {`{}`, []string{"/text"}}, {`{}`, []string{"text"}}, {`{"text":"Bonn","kind":"MX"}`, []string{"/kind"}},
		{`{"text":"Bonn","inner":{"value":1}}`, []string{"/inner/name"}}, {`{"text":"Bonn","inners":[null,{"name":""}]}`, []string{"/inners/0"}}, {`{"text":"Bonn","tags":["x","y"]}`, []string{"/tags/1"}}, {`{"limit":0}`, []string{"/text", "/level"}},
	}}
	for action, list := range tries {
		for _, c := range list {
			answers := map[string]*pluginv1.ValidateResponse{}
			ends := map[string]*pluginv1.ExecuteEvent{}
			for name, w := range both {
				ctx, cancel := w.context(20 * time.Second)
				answer, err := w.client.Validate(ctx, &pluginv1.ValidateRequest{Action: action, Input: &pluginv1.Value{Json: []byte(c.input)}, Unknown: c.unknown})
				cancel()
				if err != nil {
					t.Fatalf("%s: %s %s: %v", name, action, c.input, err)
				}
				for _, d := range answer.GetDiagnostics() {
					d.Summary = ownWords(d.GetSummary())
					seen[d.GetSummary()] = true
				}
				answers[name] = answer
				if c.unknown == nil {
					ends[name] = w.do(action, c.input).end
					clearOwnWords(ends[name])
				}
			}
			if diff := cmp.Diff(answers["go"], answers["python"], protocmp.Transform()); diff != "" {
				t.Errorf("%s %s %v (-go +python):\n%s", action, c.input, c.unknown, diff)
			}
			if diff := cmp.Diff(shape(ends["go"]), shape(ends["python"])); diff != "" {
				t.Errorf("execute %s %s (-go +python):\n%s", action, c.input, diff)
			}
		}
	}
	if len(seen) < 30 {
		t.Errorf("the inputs found %d problems only", len(seen))
	}
}

// ownWords keeps what both say of a text that is no JSON: the rest is the parser's.
func ownWords(summary string) string {
	if strings.HasPrefix(summary, "is no JSON: ") {
		return "is no JSON"
	}
	return summary
}

func clearOwnWords(end *pluginv1.ExecuteEvent) {
	if failed := end.GetFailed(); failed != nil {
		failed.Message = ownWords(failed.GetMessage())
	}
}

// TestIssue15_5_BothSDKsSayTheSameOfConfigs.
func TestIssue15_5_BothSDKsSayTheSameOfConfigs(t *testing.T) {
	t.Parallel()
	both := twins(t)
	for _, config := range []string{
		`{}`, `{"base_url":"https://x.example"}`, `{"base_url":"x.example"}`, `{"base_url":"ftp://x.example"}`, `{"base_url":"https://"}`, `{"base_url":"https://u:p@x.example"}`, `{"base_url":"https://x.example?a=b"}`, `{"base_url":"https://x.example#f"}`,
		`{"base_url":"https://x.example/../y"}`, `{"base_url":"https://x.example/%2e%2e/y"}`, `{"base_url":"https://x.example/a/"}`, `{"base_url":"https://nowhere.example//"}`, `{"base_url":"https://x.example:99999"}`, `{"base_url":"https://x.example/%zz"}`,
		`{"proxy":"proxy"}`, `{"proxy":"ftp://proxy:1"}`, `{"proxy":"http://proxy:3128"}`, `{"ca_file":"/nothing/here.pem"}`, `{"ca_file":"/etc/hostname"}`,
		`{"token":"a","token_from":{"connection":"x"}}`, `{"token_from":{"connection":""}}`, `{"token_from":{}}`, `{"region":"uk"}`, `{"api_key":5}`, `{"apikey":"x"}`, `{"user_agent":null}`,
	} {
		got := map[string][]*pluginv1.Diagnostic{}
		for name, w := range both {
			got[name] = w.connect(config)
		}
		if diff := cmp.Diff(got["go"], got["python"], protocmp.Transform()); diff != "" {
			t.Errorf("%s (-go +python):\n%s", config, diff)
		}
	}
}
