package python

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// Both SDKs check an input against the config of its connection, narrow the output by it,
// and say what tells items apart, in the same words.
func TestBothSDKsLookAtTheConfigOfAConnection(t *testing.T) {
	t.Parallel()
	both := twins(t)
	asked, narrowed, refused, identities := 0, 0, 0, 0
	for _, c := range []struct {
		action, input, config string // config "" = it is not known
		unknown, missing      []string
	}{
		{action: "regional", input: `{"text":"Bonn","kind":"MX"}`},
		{action: "regional", input: `{"text":"Bonn","kind":"MX"}`, config: `{"region":"us"}`},
		{action: "regional", input: `{"text":"Bonn","kind":"A"}`, config: `{"region":"us"}`},
		{action: "regional", input: `{"text":"Bonn","kind":"MX"}`, config: `{}`},
		{action: "regional", input: `{"text":"Bonn","kind":"MX"}`, config: `{"region":"us"}`, unknown: []string{"/kind"}},
		{action: "regional", input: `{"text":"Bonn","kind":"A"}`, config: `{"region":"us"}`, missing: []string{"/api_key"}},
		{action: "regional", input: `{"text":"Bonn"}`, config: `{"region":"uk"}`},
		{action: "regional", input: `{"text":"Bonn"}`, config: `{"regoin":"us"}`},
		{action: "regional", input: `{"text":""}`, config: `{"region":"us"}`},
		{action: "echo", input: `{"text":"Bonn"}`, config: `{"region":"uk"}`},
		{action: "list", input: `{"by":"cursor","cursor":"repeating"}`},
		{action: "list", input: `{"by":"cursor"}`},
		{action: "list", input: `{"by":"cursor","cursor":"repeating"}`, unknown: []string{"/cursor"}},
		{action: "list", input: `{"by":"other","cursor":"repeating"}`},
	} {
		answers := map[string]*pluginv1.ValidateResponse{}
		for name, w := range both {
			request := &pluginv1.ValidateRequest{Action: c.action, Input: &pluginv1.Value{Json: []byte(c.input)}, Unknown: c.unknown, Connection: "shop", ConfigUnknown: c.missing}
			if c.config != "" {
				request.Config = &pluginv1.Value{Json: []byte(c.config)}
			}
			ctx, cancel := w.context(20 * time.Second)
			answer, err := w.client.Validate(ctx, request)
			cancel()
			if err != nil {
				t.Fatalf("%s: %s: %v", name, c.input, err)
			}
			answers[name] = answer
		}
		if diff := cmp.Diff(answers["go"], answers["python"], protocmp.Transform()); diff != "" {
			t.Errorf("%s %s on %s (-go +python):\n%s", c.action, c.input, c.config, diff)
		}
		asked++
		if len(answers["python"].GetOutputSchema()) > 0 {
			narrowed++
		}
		if len(answers["python"].GetDiagnostics()) > 0 {
			refused++
		}
		if answers["python"].GetPagingIdentity() != "" {
			identities++
		}
	}
	if narrowed != 3 || refused != 5 || identities != 1 {
		t.Errorf("of %d questions %d narrow the output, %d are refused, %d say what tells items apart", asked, narrowed, refused, identities)
	}
	for name, w := range both { // a call is checked by the config in force
		w.connect(`{"region":"us"}`)
		if end := w.do("regional", `{"text":"Bonn","kind":"MX"}`).end.GetFailed(); end.GetPointer() != "/kind" || end.GetCode() != pluginv1.Code_CODE_INVALID {
			t.Errorf("%s: a call ends with %v", name, end)
		}
		if end := w.do("regional", `{"text":"Bonn","kind":"A"}`).end; string(end.GetCompleted().GetOutput().GetJson()) != `{"value":"A"}` {
			t.Errorf("%s: a call ends with %v", name, end)
		}
	}
}
