package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/suitesize"
)

const proxyPage = "<!DOCTYPE html><html><head><title>Blocked</title></head><body><h1>Access denied by policy</h1></body></html>"

// tokenFaults are answers of a token endpoint, or of what stands before it, that
// say nothing about the grant.
func tokenFaults() []rawAnswer {
	var faults []rawAnswer
	add := func(name, bytes string, end ending) { faults = append(faults, rawAnswer{name, bytes, end}) }
	for _, status := range []int{400, 401, 403, 404, 405, 407, 408, 413, 429, 451} {
		add(fmt.Sprintf("%d with a page", status), rawReply(status, "text/html", proxyPage), closed)
	}
	for _, status := range []int{400, 401, 403} {
		add(fmt.Sprintf("%d and nothing", status), rawReply(status, "text/plain", ""), closed)
	}
	for name, body := range map[string]string{
		"an object inside":    `{"error":{"code":"invalid_grant","message":"invalid_grant"}}`,
		"a list":              `["invalid_grant"]`,
		"a text":              `"invalid_grant"`,
		"another member":      `{"message":"invalid_grant"}`,
		"errors":              `{"errors":[{"message":"invalid_grant"}]}`,
		"error_code":          `{"error_code":"invalid_grant"}`,
		"a list of errors":    `{"error":["invalid_grant"]}`,
		"another word":        `{"error":"forbidden","error_description":"invalid_grant"}`,
		"a framework's error": `{"timestamp":1,"status":404,"error":"Not Found","path":"/token"}`,
		"a resource's word":   `{"error":"invalid_token"}`,
		"text before it":      `)]}'{"error":"invalid_grant"}`,
	} {
		add("400 with JSON: "+name, rawJSON(400, body), closed)
	}
	whole := rawJSON(400, `{"error":"invalid_grant"}`)
	add("400 cut on the wire", whole[:len(whole)-2], closed)
	add("400 cut", rawJSON(400, `{"error":"invalid_grant"`), closed)
	for _, status := range []int{500, 502, 503, 504} {
		add(fmt.Sprintf("%d with a page", status), rawReply(status, "text/html", proxyPage), closed)
	}
	add("500 with an OAuth error", rawJSON(500, `{"error":"invalid_grant"}`), closed)
	add("200 with a page", rawReply(200, "text/html", proxyPage), closed)
	add("200 and nothing", rawJSON(200, ""), closed)
	add("200 with JSON of another shape", rawJSON(200, `{"token":"x"}`), closed)
	fine := rawJSON(200, `{"access_token":"at-lost","token_type":"Bearer","expires_in":60}`)
	add("200 cut on the wire", fine[:len(fine)-9], closed)
	add("302 to a page", "HTTP/1.1 302 Found\r\nLocation: /sign-in\r\nContent-Length: 0\r\n\r\n", closed)
	add("no HTTP", "SSH-2.0-OpenSSH_9.9\r\n", closed)
	add("closed", "", closed)
	add("reset", "", reset)
	add("reset in the middle", fine[:len(fine)-9], reset)
	add("hung", "", hung)
	add("hung in the middle", fine[:len(fine)-9], hung)
	return faults
}

var refusedGrant = rawAnswer{name: "invalid_grant", bytes: rawJSON(400, `{"error":"invalid_grant","error_description":"Token has been revoked."}`)}

// tokenCell is a login whose refresh meets a fault.
type tokenCell struct {
	fault  rawAnswer
	server *rawAuth
	line   *line
	valid  bool // the access token is still good when the refresh fails
	wrong  []string
}

// newTokenCells makes a connection for each fault.
func newTokenCells(t *testing.T, plugin string, faults []rawAnswer, valid bool) (cells []*tokenCell, lines []*line) {
	t.Helper()
	for i, fault := range faults {
		server := newRawAuth(t)
		l := &line{name: fmt.Sprintf("l%d", i), plugin: plugin, url: server.url, config: map[string]any{
			"auth_url": server.url, "client_id": "device", "client_secret": secretRef("CLIENT_SECRET"), "allow_hosts": []string{"127.0.0.1"},
		}}
		cells = append(cells, &tokenCell{fault: fault, server: server, line: l, valid: valid})
		lines = append(lines, l)
	}
	return cells, lines
}

func (c *tokenCell) errorf(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// tokenCall calls an action of a cell's connection.
func (b *bench) tokenCall(c *tokenCell, action string, input any) (map[string]any, *runs.Error) {
	encoded, err := json.Marshal(input)
	if err != nil {
		return nil, &runs.Error{Message: err.Error()}
	}
	result, err := b.engine.Call(context.Background(), calls.Request{
		Action: c.line.plugin + "." + action, Connection: c.line.name, Input: encoded,
	}, silent{})
	if err != nil {
		return nil, &runs.Error{Message: err.Error()}
	}
	var outputs map[string]any
	if result.Error == nil {
		err = json.Unmarshal(result.Outputs, &outputs)
	}
	if err != nil {
		return nil, &runs.Error{Message: err.Error()}
	}
	return outputs, result.Error
}

// login gets the first token.
func (c *tokenCell) login(b *bench) {
	started, failure := b.tokenCall(c, "device_start", in{"scopes": []string{"openid"}})
	if failure == nil {
		_, failure = b.tokenCall(c, "device_wait", in{"flow_id": started["flow_id"]})
	}
	if failure != nil {
		c.errorf("log in: %s", describe(failure))
	}
}

func describe(failure *runs.Error) string {
	if failure == nil {
		return "it worked"
	}
	return fmt.Sprintf("%s (reason %q): %s; hint: %s", failure.Kind, failure.Reason, failure.Message, failure.Hint.Text)
}

// passing are the kinds of a renewal that failed and left the grant as it is.
var passing = []plan.ErrorKind{plan.KindUnavailable, plan.KindUnexpectedResponse, plan.KindRateLimited}

// meet has three callers want a token while the refresh meets the fault.
func (c *tokenCell) meet(b *bench) {
	c.server.set(&c.fault)
	var callers sync.WaitGroup
	failures := make([]*runs.Error, 3)
	for i := range failures {
		callers.Go(func() { _, failures[i] = b.tokenCall(c, "token", in{"min_ttl_s": 3600}) })
	}
	callers.Wait()
	for _, failure := range failures {
		switch {
		case c.valid && failure != nil:
			c.errorf("the token is valid and is not given: %s", describe(failure))
		case !c.valid && (failure == nil || !slices.Contains(passing, failure.Kind)):
			c.errorf("the token has ended: %s", describe(failure))
		}
	}
	if _, refreshes, _, _ := c.server.seen(); refreshes == 0 {
		c.errorf("no refresh was tried")
	}
	if c.valid {
		if _, failure := b.tokenCall(c, "resource_get", in{"url": c.line.url + "/resource"}); failure != nil {
			c.errorf("read with the valid token: %s", describe(failure))
		}
		if _, _, used, _ := c.server.seen(); used != "at-canary-1" {
			c.errorf("read with the token %q", used)
		}
	}
	if c.fault.end == hung {
		return // one wait for an answer is enough
	}
	if _, failure := b.tokenCall(c, "refresh", in{}); failure == nil || !slices.Contains(passing, failure.Kind) {
		c.errorf("a refresh by name: %s", describe(failure))
	}
	if status, failure := b.tokenCall(c, "status", in{}); failure != nil || status["state"] == "none" || status["state"] == "auth_required" {
		c.errorf("the login is lost: status %v, %s", status, describe(failure))
	}
}

// recover has the endpoint work again: the login must be there.
func (c *tokenCell) recover(b *bench) {
	c.server.set(nil)
	_, before, _, _ := c.server.seen()
	if out, failure := b.tokenCall(c, "token", in{"min_ttl_s": 3600}); failure != nil || out["refreshed"] != true {
		c.errorf("the login is lost: afterwards %s, %v", describe(failure), out)
	}
	if _, after, _, wrong := c.server.seen(); after != before+1 || len(wrong) > 0 {
		c.errorf("afterwards %d refreshes, wrong tokens %q", after-before, wrong)
	}
}

// endGrant has the endpoint say that the grant is gone.
func (c *tokenCell) endGrant(b *bench) {
	c.server.set(&refusedGrant)
	for range 2 { // the second time without a request
		_, failure := b.tokenCall(c, "refresh", in{})
		if failure == nil || failure.Kind != plan.KindAuthRequired || failure.Reason != "invalid_grant" ||
			!strings.Contains(failure.Hint.Text, "flowrun connections login "+c.line.name) {
			c.errorf("the end of the grant: %s", describe(failure))
		}
	}
	if status, _ := b.tokenCall(c, "status", in{}); status["state"] != "auth_required" {
		c.errorf("after the end of the grant: status %v", status)
	}
}

// openTokenCells opens the engine of cells and returns what takes them all through
// their faults.
func openTokenCells(t *testing.T, cells []*tokenCell, lines []*line, shift time.Duration) (run func()) {
	t.Helper()
	var passed atomic.Int64
	b := openBenchAt(t, lines, lineSecrets(), func() time.Time { return time.Now().Add(time.Duration(passed.Load())) })
	all := func(act func(*tokenCell, *bench)) {
		var group sync.WaitGroup
		for _, c := range cells {
			group.Go(func() { act(c, b) })
		}
		group.Wait()
	}
	return func() {
		all((*tokenCell).login)
		passed.Store(int64(shift))
		all((*tokenCell).meet)
		all((*tokenCell).recover)
		all((*tokenCell).endGrant)
	}
}

// shifts are how far the clock goes on after the login: an access token of an
// hour has then less than half of its life left, or none.
var shifts = map[bool]time.Duration{true: 40 * time.Minute, false: 2 * time.Hour}

// TestIssue12_02_NoFaultOfTheTokenEndpointLosesALogin: whatever a proxy, the
// network or a broken server answers to a refresh, the grant stays, a valid
// access token goes on being used, and the next need tries again. The server's
// own invalid_grant ends the login, with the way out.
func TestIssue12_02_NoFaultOfTheTokenEndpointLosesALogin(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for requests that hang")
	}
	var all []*tokenCell
	var running sync.WaitGroup
	faults := tokenFaults()
	if len(faults) < 30 {
		t.Fatalf("%d faults", len(faults))
	}
	faults = suitesize.Part(t, faults)
	for valid, shift := range shifts {
		cells, lines := newTokenCells(t, "auth", faults, valid)
		running.Go(openTokenCells(t, cells, lines, shift))
		all = append(all, cells...)
	}
	running.Wait()
	for _, c := range all {
		for _, wrong := range c.wrong {
			t.Errorf("access token valid %t, %s: %s", c.valid, c.fault.name, wrong)
		}
	}
}

// TestIssue12_02_NoFaultOfAPollEndsADeviceLogin: the first poll meets the fault,
// the next ones work.
func TestIssue12_02_NoFaultOfAPollEndsADeviceLogin(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for requests that hang")
	}
	// an OAuth error of a word of its own ends the polls (RFC 8628 3.5)
	faults := slices.DeleteFunc(tokenFaults(), func(f rawAnswer) bool {
		return slices.Contains([]string{"400 with JSON: another word", "400 with JSON: a resource's word", "400 with JSON: error_code"}, f.name)
	})
	cells, lines := newTokenCells(t, "auth", suitesize.Part(t, faults), true)
	b := openBench(t, lines, lineSecrets())
	var logins sync.WaitGroup
	for _, c := range cells {
		c.server.poll = &c.fault
		logins.Go(func() { c.login(b) })
	}
	logins.Wait()
	for _, c := range cells {
		if polls, _, _, _ := c.server.seen(); len(c.wrong) > 0 || polls != 2 {
			t.Errorf("%s: %d polls, %q", c.fault.name, polls, c.wrong)
		}
	}
}

// TestIssue12_02_APageInPlaceOfAResource: a 401 makes the host renew the token.
// When that meets a page too, or nothing can renew the token, the login is kept.
func TestIssue12_02_APageInPlaceOfAResource(t *testing.T) {
	t.Parallel()
	page := rawAnswer{bytes: rawReply(401, "text/html", proxyPage)}
	for _, alone := range []bool{false, true} {
		cells, lines := newTokenCells(t, "auth", []rawAnswer{page}, true)
		c, b := cells[0], openBench(t, lines, lineSecrets())
		c.server.alone = alone
		c.login(b)
		c.server.set(&page)
		c.server.setResource(&page)
		want := map[bool]plan.ErrorKind{false: plan.KindUnexpectedResponse, true: plan.KindAuthRequired}[alone]
		for range 2 {
			if _, failure := b.tokenCall(c, "resource_get", in{"url": c.line.url + "/resource"}); failure == nil || failure.Kind != want || failure.Applied != runs.NotApplied {
				t.Errorf("no refresh token %t: %s", alone, describe(failure))
			}
		}
		c.server.setResource(nil)
		if _, failure := b.tokenCall(c, "resource_get", in{"url": c.line.url + "/resource"}); failure != nil {
			t.Errorf("no refresh token %t: the login is lost: %s", alone, describe(failure))
		}
		if _, _, used, _ := c.server.seen(); used != "at-canary-1" || len(c.wrong) > 0 {
			t.Errorf("no refresh token %t: used %q, %q", alone, used, c.wrong)
		}
	}
}

// TestIssue12_02_ALostLoginIsNoticed is the negative control: a plugin that takes
// any 4xx for the end of the grant loses its login at the first page of a proxy.
func TestIssue12_02_ALostLoginIsNoticed(t *testing.T) {
	t.Parallel()
	faults := slices.DeleteFunc(tokenFaults(), func(f rawAnswer) bool {
		return f.name != "403 with a page" && f.name != "400 and nothing" && f.name != "503 with a page"
	})
	cells, lines := newTokenCells(t, "forgetful", faults, true)
	openTokenCells(t, cells, lines, shifts[true])()
	for _, c := range cells {
		lost := strings.Contains(strings.Join(c.wrong, "\n"), "the login is lost")
		if want := c.fault.name != "503 with a page"; lost != want {
			t.Errorf("%s: lost is %t, want %t: %q", c.fault.name, lost, want, c.wrong)
		}
	}
}
