package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

func hookTarget() string {
	workflow, trigger, _ := strings.Cut(scheduleKnown, "/")
	return "/hooks/" + url.PathEscape(workflow) + "/" + url.PathEscape(trigger)
}

func TestAWebhookReachesItsTriggerAsItCame(t *testing.T) {
	a := newAlwaysOn(t)
	a.hooks.answer = trigger.HookAnswer{Run: knownRun}
	handler := a.remote(guard.Caller{})
	w := send(handler, "POST", hookTarget()+"?x=1&x=2", `not even "JSON`, "X-Signature", "abc")
	if w.Code != http.StatusAccepted || strings.TrimSpace(w.Body.String()) != `{"run":"`+knownRun+`"}` {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	got := a.hooks.requests[0]
	if got.Method != "POST" || string(got.Body) != `not even "JSON` || got.Header.Get("X-Signature") != "abc" || len(got.Query["x"]) != 2 || got.Remote == "" {
		t.Errorf("request %+v", got)
	}
	a.hooks.answer.Repeated = true
	if w := send(handler, "POST", hookTarget(), "{}"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"repeated":true`) {
		t.Errorf("the same again: %d %s", w.Code, w.Body)
	}
}

func TestWebhooksThatAreNotTaken(t *testing.T) {
	for name, test := range map[string]struct {
		method, target, body string
		err                  error
		status               int
		code                 wire.Code
	}{
		"a wrong signature":    {"POST", hookTarget(), "{}", &trigger.HookRefusedError{Status: 401, Message: "wrong"}, 401, wire.CodeUnauthorized},
		"a wrong type":         {"POST", hookTarget(), "{}", &trigger.HookRefusedError{Status: 415, Message: "wrong"}, 415, wire.CodeMediaType},
		"a body that misfits":  {"POST", hookTarget(), "{}", &trigger.HookRefusedError{Status: 422, Message: "wrong"}, 422, wire.CodeInvalidInput},
		"a busy server":        {"POST", hookTarget(), "{}", &trigger.HookRefusedError{Status: 503, Message: "busy"}, 503, wire.CodeUnavailable},
		"a status of its own":  {"POST", hookTarget(), "{}", &trigger.HookRefusedError{Status: 418, Message: "tea"}, 400, wire.CodeBadRequest},
		"a full store":         {"POST", hookTarget(), "{}", &fault.StoreError{Fault: fault.StoreFull, Err: errors.New("x")}, 507, wire.CodeStoreFull},
		"a webhook of nobody":  {"POST", "/hooks/other/hook", "{}", nil, 404, wire.CodeNotFound},
		"a body of 1 MiB more": {"POST", hookTarget(), strings.Repeat("a", bodyCap+1), nil, 413, wire.CodeTooLarge},
		"a name of many bytes": {"POST", "/hooks/" + strings.Repeat("a", 2000) + "/hook", "{}", nil, 404, wire.CodeNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAlwaysOn(t)
			a.hooks.err = test.err
			w := send(NewSocketHandler(a.options()), test.method, test.target, test.body)
			if got := problemCode(t, w); got != test.code || w.Code != test.status {
				t.Errorf("%d %s: %s", w.Code, got, w.Body)
			}
			if strings.Contains(w.Body.String(), "secret things") || strings.Contains(w.Body.String(), "did you mean") {
				t.Errorf("a stranger hears of other names: %s", w.Body)
			}
		})
	}
	a := newAlwaysOn(t)
	if w := send(NewSocketHandler(a.options()), "GET", hookTarget(), ""); problemCode(t, w) != wire.CodeMethod {
		t.Errorf("a GET: %s", w.Body)
	}
}
