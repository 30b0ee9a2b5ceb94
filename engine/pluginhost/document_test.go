package pluginhost

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost/gate"
	"github.com/flowrun/flowrun/engine/runs"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// unlike are documents of a plugin without the SDK that readers would read
// differently, or not at all, with the words of the refusal.
var unlike = map[string]struct{ doc, says string }{
	"bytes that are no UTF-8":     {"{\"text\":\"Z\xfcrich\"}", "byte 10 (0xfc) is no UTF-8 at /text"},
	"in a list of objects":        {"{\"items\":[{\"n\":1},{\"n\":\"\xff\"}]}", "byte 24 (0xff) is no UTF-8 at /items/1/n"},
	"a name that is no UTF-8":     {"{\"\xc3\":1}", "byte 2 (0xc3) is no UTF-8"},
	"a name twice":                {`{"text":"a","text":"b"}`, "`text` stands twice"},
	"a name twice, deep":          {`{"x":[{"id":1,"\u0069d":2}]}`, "`id` stands twice at /x/0"},
	"a number that is Infinity":   {`{"n":1e2000000000}`, "the number 1e2000000000, which most readers turn into Infinity at /n"},
	"an integer that is Infinity": {`{"count":1e400}`, "1e400"},
	"1,001 digits":                {`{"n":` + strings.Repeat("7", 1001) + `}`, "a number of 1001 digits, more than 1000 at /n"},
	"too deep":                    {`{"x":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`, "more than 1000 deep"},
	"no JSON":                     {`{"text":NaN}`, "is no JSON"},
	"half a document":             {`{"text":"a`, "is no JSON"},
	"two documents":               {`{} {}`, "is no JSON"},
}

func inBase64(doc string) string {
	return fmt.Sprintf(`{"text":%q}`, base64.StdEncoding.EncodeToString([]byte(doc)))
}

// TestIssue12_12_OutputsThatReadersReadDifferently: a plugin without the SDK may send
// any bytes; what is no JSON that all read alike goes no further.
func TestIssue12_12_OutputsThatReadersReadDifferently(t *testing.T) {
	w := newWorld(t, "good", nil)
	for name, c := range unlike {
		answer := w.call("bytes", inBase64(c.doc))
		f := answer.Failed
		if f == nil || f.Kind != plan.KindUnexpectedResponse || f.Applied != runs.AppliedUnknown || !strings.Contains(f.Message, c.says) {
			t.Errorf("%s: %+v, %+v; want %q", name, answer.Completed, f, c.says)
			continue
		}
		if strings.Contains(f.Message, "invalid character") || !utf8.ValidString(f.Message) {
			t.Errorf("%s: the message is %q", name, f.Message)
		}
	}
	for _, doc := range []string{`{"text":"Zürich \ud83d\ude00","n":[1e308,-0.0,` + strings.Repeat("7", 1000) + `],"m":{"text":1}}`, "", `{}`} {
		if answer := w.call("bytes", inBase64(doc)); answer.Failed != nil || string(answer.Completed.Output) != doc && doc != "" {
			t.Errorf("%.40s: %+v", doc, answer.Failed)
		}
	}
}

// TestIssue12_12_WhatIsSaidIsCleaned: what a plugin says beside its output loses the
// bytes that are no text, not the rest, and stays a document that all read alike.
func TestIssue12_12_WhatIsSaidIsCleaned(t *testing.T) {
	w := newWorld(t, "good", nil)
	for name, c := range map[string]struct{ doc, want string }{
		"no UTF-8":    {"{\"city\":\"Z\xfcrich\",\"hint\":\"look \xff\"}", `{"city":"Z\ufffdrich"}`},
		"twice":       {`{"a":1,"a":2}`, `{"a":2}`},
		"endless":     {`{"n":1e999,"m":[-1e400]}`, `{"m":["-1e400"],"n":"1e999"}`},
		"many digits": {`{"n":` + strings.Repeat("7", 1001) + `}`, `{"n":"` + strings.Repeat("7", 1001) + `"}`},
		"fine":        {`{"b":1.50,"a":2}`, `{"b":1.50,"a":2}`},
		"no JSON":     {`{"a":`, ``},
	} {
		logs := &sinkOf{}
		answer := w.host.Call(context.Background(), runs.Request{Action: "evil.says", Input: json.RawMessage(inBase64(c.doc))}, Connection{Plugin: "evil"}, logs)
		f := answer.Failed
		if f == nil || f.Kind != plan.KindNotFound {
			t.Fatalf("%s: %+v", name, answer)
		}
		if got := withoutPlace(t, f.Details); !sameJSON(t, got, c.want) {
			t.Errorf("%s: details %s, want %s", name, got, c.want)
		}
		if name == "no UTF-8" && f.Hint.Text != "look \ufffd" {
			t.Errorf("the hint is %q", f.Hint.Text)
		}
		if len(logs.logs) != 1 || c.want != "" && len(logs.logs[0].Fields) == 0 || !json.Valid(orNull(logs.logs[0].Fields)) || !utf8.Valid(logs.logs[0].Fields) {
			t.Errorf("%s: the log has %q", name, logs.logs)
		}
	}
}

// TestIssue12_12_TextThatIsNoUTF8: the protocol's texts are UTF-8, and a call with
// another one ends with the plugin's fault, not with a crash.
func TestIssue12_12_TextThatIsNoUTF8(t *testing.T) {
	w := newWorld(t, "good", nil)
	f := w.call("text", `{}`).Failed
	if f == nil || f.Kind != plan.KindUnexpectedResponse || f.Applied != runs.AppliedUnknown || !strings.Contains(f.Message, "plugin evil sent text that is no UTF-8") {
		t.Errorf("failure = %+v", f)
	}
}

// TestIssue12_12_SchemasThatReadersReadDifferently: what a plugin says of itself is
// held to the same.
func TestIssue12_12_SchemasThatReadersReadDifferently(t *testing.T) {
	fine := func() *pluginv1.DescribeResponse {
		server := newEvilServer("good")
		response, err := server.Describe(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	u := &unit{source: Source{Name: "evil"}}
	if _, err := u.checked(descriptionOf(fine(), executable{})); err != nil {
		t.Fatal(err)
	}
	twice := []byte(`{"type":"object","type":"object"}`)
	for name, change := range map[string]func(*pluginv1.DescribeResponse){
		"config schema": func(r *pluginv1.DescribeResponse) { r.ConfigSchema = twice },
		"input schema":  func(r *pluginv1.DescribeResponse) { r.Actions[0].InputSchema = twice },
		"output schema": func(r *pluginv1.DescribeResponse) { r.Actions[0].OutputSchema = []byte("{\"description\":\"\xff\"}") },
		"example \"one\"": func(r *pluginv1.DescribeResponse) {
			r.Actions[0].Examples = []*pluginv1.Example{{Name: "one", Input: []byte(`{"text":"a","text":"b"}`)}}
		},
	} {
		response := fine()
		change(response)
		_, err := u.checked(descriptionOf(response, executable{}))
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "stands twice") && !strings.Contains(err.Error(), "no UTF-8") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// withoutPlace are details without what the host adds.
func withoutPlace(t *testing.T, details json.RawMessage) string {
	t.Helper()
	var fields map[string]json.RawMessage
	if len(details) == 0 {
		return ""
	}
	if err := json.Unmarshal(details, &fields); err != nil || !utf8.Valid(details) {
		t.Fatalf("details %q: %v", details, err)
	}
	delete(fields, "service")
	delete(fields, "action")
	if len(fields) == 0 {
		return ""
	}
	left, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(left)
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	if a == "" || b == "" {
		return a == b
	}
	var trees [2]any
	for i, text := range []string{a, b} {
		tree, err := gate.Tree([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		trees[i] = tree
	}
	return fmt.Sprintf("%#v", trees[0]) == fmt.Sprintf("%#v", trees[1])
}

func orNull(doc json.RawMessage) []byte {
	if len(doc) == 0 {
		return []byte("null")
	}
	return doc
}
