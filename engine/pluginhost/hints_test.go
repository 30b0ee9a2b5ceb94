package pluginhost

import (
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// Every failure that can reach a person says what to do; what was refused before
// it was sent says so in its message.
func TestEveryKindHasAHint(t *testing.T) {
	saysItself := map[plan.ErrorKind]bool{
		plan.KindAuthRequired: true, plan.KindDenied: true, plan.KindExpired: true, plan.KindCursorExpired: true,
		plan.KindUnsupported: true, plan.KindUnknownOutcome: true, plan.KindCanceled: true,
	}
	for _, kind := range plan.ErrorKinds() {
		hint := hintOf(&runs.Error{Kind: kind, HTTPStatus: 400}, "work")
		if hint == "" && !saysItself[kind] {
			t.Errorf("%s has no hint", kind)
		}
	}
	for want, f := range map[string]*runs.Error{
		"wait 7s, ":              {Kind: plan.KindRateLimited, RetryAfterS: 7},
		"of connection `work`":   {Kind: plan.KindUnavailable},
		"a problem of its own":   {Kind: plan.KindUnavailable, HTTPStatus: 503},
		"no proxy or login page": {Kind: plan.KindUnexpectedResponse, HTTPStatus: 200},
		"a longer `timeout`":     {Kind: plan.KindTimeout},
		"proxy":                  {Kind: plan.KindUnexpectedResponse, Details: []byte(`{"url":"https://x.example/a"}`)},
		"tell its author":        {Kind: plan.KindUnexpectedResponse, Details: []byte(`{"output_pointer":"/n"}`)},
	} {
		if got := hintOf(f, "work"); !strings.Contains(got, want) {
			t.Errorf("%s: %q lacks %q", f.Kind, got, want)
		}
	}
	if got := hintOf(&runs.Error{Kind: plan.KindInvalid}, "work"); got != "" {
		t.Errorf("a local refusal: %q", got)
	}
}

func TestDetailsNameServiceAndAction(t *testing.T) {
	for details, want := range map[string]string{
		``:                      `{"action":"stats","service":"tasks"}`,
		`{"body":"x"}`:          `{"action":"stats","body":"x","service":"tasks"}`,
		`{"action":"as_given"}`: `{"action":"as_given","service":"tasks"}`,
		`[1]`:                   `[1]`,
	} {
		if got := withPlace([]byte(details), "tasks.stats"); string(got) != want {
			t.Errorf("%s became %s", details, got)
		}
	}
	if got := withPlace(nil, ""); got != nil {
		t.Errorf("without an action: %s", got)
	}
}

func TestAHintIsAFieldOfTheWire(t *testing.T) {
	for name, c := range map[string]struct {
		error         *pluginv1.Error
		hint, details string
	}{
		"the field":            {&pluginv1.Error{Hint: "log in"}, "log in", ""},
		"an older plugin's":    {&pluginv1.Error{Details: []byte(`{"hint":"log in","a":1}`)}, "log in", `{"a":1}`},
		"the field goes first": {&pluginv1.Error{Hint: "log in", Details: []byte(`{"hint":"no"}`)}, "log in", ""},
		"none":                 {&pluginv1.Error{Details: []byte(`{"a":1}`)}, "", `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := errorOf(c.error, nil)
			if got.Hint.Text != c.hint || string(got.Details) != c.details {
				t.Errorf("hint %q, details %s", got.Hint.Text, got.Details)
			}
			sent := wireError(got)
			if back := errorOf(sent, nil); sent.GetHint() != c.hint || back.Hint.Text != c.hint || string(back.Details) != c.details {
				t.Errorf("sent %v, which is read as %+v", sent, back)
			}
		})
	}
}
