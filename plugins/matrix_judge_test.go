package plugins

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/simkit"
)

// judge says what is wrong with the end of a run. It is all that the matrix
// asserts, so that the negative controls can show that it notices.
func judge(c *cell) []string {
	var wrong []string
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	e, run := c.expect, c.result.Run
	if run.Status != e.status || run.Paused != e.paused {
		complain("the run is %s %s, want %s %s", run.Status, run.Paused, e.status, e.paused)
	}
	if n := len(c.requests); n < e.requests[0] || n > e.requests[1] {
		complain("the service got %d requests, want %d to %d", n, e.requests[0], e.requests[1])
	}
	for _, r := range c.requests {
		if c.effect == plan.EffectRead && isWrite(r) && r.Path != "/token" {
			complain("a read sends %s %s", r.Method, r.Path)
		}
	}
	wrong = append(wrong, judgePace(c)...)
	for _, bad := range []string{"panic", "goroutine ", "runtime error", "nil pointer", ".go:"} {
		if strings.Contains(c.texts, bad) {
			complain("%q stands in what people read: %s", bad, around(c.texts, bad))
		}
	}
	for name, secret := range lineSecrets() {
		if strings.Contains(c.texts, secret) {
			complain("secret %s stands in what people read: %s", name, around(c.texts, secret))
		}
	}
	if e.status != runs.RunSucceeded {
		wrong = append(wrong, judgeError(c)...)
	}
	return wrong
}

// judgePace says which polls of a login came sooner after the one before than the
// service allows. It holds on a machine of any speed: a poll counts its
// interval from the answer to the one before.
func judgePace(c *cell) []string {
	if c.flow == "" {
		return nil
	}
	var wrong []string
	for i := 1; i < len(c.requests); i++ {
		if gap := c.requests[i].At.Sub(c.requests[i-1].At); gap < pollInterval {
			wrong = append(wrong, fmt.Sprintf("a poll %s after the one before", gap))
		}
	}
	return wrong
}

func isWrite(r simkit.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

// judgeError says what the error of a run lacks: every error names service,
// action, status and what to do.
func judgeError(c *cell) []string {
	failure := errorOf(c.result)
	if failure == nil {
		return []string{"there is no error"}
	}
	var wrong []string
	plugin, action, _ := strings.Cut(c.action, ".")
	var details struct {
		Service string `json:"service"`
		Action  string `json:"action"`
	}
	_ = json.Unmarshal(failure.Details, &details) // what is missing is complained about
	for _, check := range []struct {
		fine bool
		what string
	}{
		{slices.Contains(c.expect.kinds, failure.Kind), fmt.Sprintf("kind %s, want %v", failure.Kind, c.expect.kinds)},
		{failure.Action == c.action, fmt.Sprintf("action %q, want %s", failure.Action, c.action)},
		{len(failure.Details) == 0 || details.Service == plugin && details.Action == action, fmt.Sprintf("details %s name another service or action than %s", failure.Details, c.action)},
		{c.expect.http == anyStatus || failure.HTTPStatus == c.expect.http, fmt.Sprintf("HTTP status %d, want %d", failure.HTTPStatus, c.expect.http)},
		{failure.Message != "", "there is no message"},
		{failure.Hint.Text != "", "nothing says what to do"},
	} {
		if !check.fine {
			wrong = append(wrong, "the error: "+check.what)
		}
	}
	return wrong
}

// errorOf is the error that a person sees of a run: its own, or that of the step
// which it waits for.
func errorOf(result *runs.Result) *runs.Error {
	if result.Error != nil {
		return result.Error
	}
	return result.Steps["it"].Error
}

func errorText(result *runs.Result) string {
	encoded, _ := json.Marshal(errorOf(result))
	return string(encoded)
}

// around is a part of a text with its surroundings.
func around(text, part string) string {
	at := strings.Index(text, part)
	return text[max(at-80, 0):min(at+len(part)+80, len(text))]
}
