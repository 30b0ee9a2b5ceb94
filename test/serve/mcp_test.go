package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/engine/runs"
)

// speaker sends messages of MCP as bytes.
type speaker struct {
	*connection
	token, session string
	headers        []string
	calls          int // an id is used once
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

func newSpeaker(t *testing.T, address, token string) *speaker {
	t.Helper()
	s := &speaker{connection: &connection{t: t, address: address}, token: token}
	t.Cleanup(s.close)
	return s
}

// open opens a session.
func (s *speaker) open() {
	s.t.Helper()
	status, header, body := s.say("POST", hello)
	if s.session = header.Get("Mcp-Session-Id"); status != http.StatusOK || s.session == "" {
		s.t.Fatalf("no session: %d %s", status, body)
	}
	if status, _, body := s.say("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`); status != http.StatusAccepted {
		s.t.Fatalf("the session does not begin: %d %s", status, body)
	}
}

func (s *speaker) say(method, message string) (status int, header http.Header, body []byte) {
	s.t.Helper()
	headers := append([]string{"Authorization: Bearer " + s.token, "Accept: application/json, text/event-stream"}, s.headers...)
	if message != "" {
		headers = append(headers, "Content-Type: application/json")
	}
	if s.session != "" {
		headers = append(headers, "Mcp-Session-Id: "+s.session)
	}
	return s.send(raw(method, "/mcp", s.address, message, headers...))
}

// call calls a tool and returns what comes.
func (s *speaker) call(tool string, arguments any) (status int, body string) {
	s.t.Helper()
	s.calls++
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": fmt.Sprint("call ", s.calls), "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments}})
	if err != nil {
		s.t.Fatal(err)
	}
	status, _, answer := s.say("POST", string(data))
	return status, string(answer)
}

// runs counts what has begun.
func (p *product) runs() int {
	p.t.Helper()
	list, _, err := p.engine.List(p.t.Context(), runs.Filter{Limit: 10})
	if err != nil {
		p.t.Fatal(err)
	}
	return len(list)
}

// TestASessionIsOfItsToken: the id of another token's session is worth nothing, for
// whatever scope; the session goes on.
func TestASessionIsOfItsToken(t *testing.T) {
	p := newProduct(t)
	_, address := p.listen()
	owner := newSpeaker(t, address, p.token(access.NewToken{Name: "owner", Scope: "viewer"}))
	owner.open()
	for _, scope := range []string{"viewer", "operator", "admin"} {
		thief := newSpeaker(t, address, p.token(access.NewToken{Name: "thief-" + scope, Scope: scope}))
		thief.session = owner.session
		for _, method := range []string{"POST", "GET", "DELETE"} {
			message := ""
			if method == "POST" {
				message = `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`
			}
			if status, _, body := thief.say(method, message); status != http.StatusForbidden {
				t.Fatalf("%s of %s: %d %s", method, scope, status, body) // a stolen stream would have no end
			}
		}
	}
	if status, body := owner.call("workflows", map[string]any{}); status != http.StatusOK || !strings.Contains(body, "hello.yaml") {
		t.Errorf("the session is gone: %d %s", status, body)
	}
	guessed := newSpeaker(t, address, owner.token)
	guessed.session = strings.Repeat("A", 32)
	if status, _, body := guessed.say("POST", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`); status != http.StatusNotFound {
		t.Errorf("a session that is none: %d %s", status, body)
	}
	if status, _, _ := owner.say("DELETE", ""); status != http.StatusNoContent {
		t.Errorf("the owner ends it: %d", status)
	}
	if status, body := owner.call("workflows", map[string]any{}); status != http.StatusNotFound {
		t.Errorf("a session that has ended: %d %s", status, body)
	}
}

// TestASessionEndsWithItsToken: the next message of it is refused, and nothing begins.
func TestASessionEndsWithItsToken(t *testing.T) {
	p := newProduct(t)
	server, address := p.listen()
	s := newSpeaker(t, address, p.token(access.NewToken{Name: "short", Scope: "operator"}))
	s.open()
	if _, err := p.engine.RemoveAccessToken(t.Context(), "short"); err != nil {
		t.Fatal(err)
	}
	server.Recheck(t.Context())
	if status, body := s.call("run", map[string]any{"workflow": "hello"}); status != http.StatusUnauthorized {
		t.Errorf("%d %s", status, body)
	}
	if n := p.runs(); n != 0 {
		t.Errorf("%d runs began", n)
	}
}

// TestWhatAViewerMayNotDoOverMCP: no spelling of a call starts anything.
func TestWhatAViewerMayNotDoOverMCP(t *testing.T) {
	p := newProduct(t)
	_, address := p.listen()
	s := newSpeaker(t, address, p.token(access.NewToken{Name: "eyes", Scope: "viewer"}))
	s.open()
	call := func(id int, name string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"workflow":"hello"},"inputResponses":{},"_meta":{"progressToken":1}}}`, id, name)
	}
	for name, message := range map[string]string{
		"a call": call(2, "run"), "a batch": "[" + call(2, "run") + "," + call(3, "run") + "]", "other letters": call(2, "RUN"), "a space": call(2, "run "), "a zero": call(2, "run\x00"),
		"a name twice": strings.Replace(call(2, "plan"), `"name":"plan"`, `"name":"plan","name":"run"`, 1), "a field in a case": strings.Replace(call(2, "plan"), `"name":"plan"`, `"name":"plan","Name":"run"`, 1),
	} {
		status, _, body := s.say("POST", message)
		if status >= 500 || strings.Contains(string(body), `"status":"succeeded"`) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if n := p.runs(); n != 0 {
		t.Fatalf("a viewer has begun %d runs", n)
	}
	// The control: an operator's same message begins one.
	operator := newSpeaker(t, address, p.token(access.NewToken{Name: "hands", Scope: "operator"}))
	operator.open()
	if status, _, body := operator.say("POST", call(2, "run")); status != http.StatusOK || p.runs() != 1 {
		t.Errorf("an operator begins %d runs: %d %s", p.runs(), status, body)
	}
}

// TestOtherPagesAndNamesAtMCP: a page of another site, and a name that leads to this
// machine, reach nothing, with a right token.
func TestOtherPagesAndNamesAtMCP(t *testing.T) {
	p := newProduct(t)
	reached := map[string]bool{}
	_, address := p.listen(probe(reached))
	token := "Authorization: Bearer " + p.token(access.NewToken{Name: "all", Scope: "admin"})
	for name, request := range map[string][]byte{
		"another page":   raw("POST", "/mcp", address, hello, token, "Content-Type: application/json", "Origin: http://evil.example"),
		"no origin":      raw("POST", "/mcp", address, hello, token, "Content-Type: application/json", "Origin: null"),
		"another site":   raw("POST", "/mcp", address, hello, token, "Content-Type: application/json", "Sec-Fetch-Site: cross-site"),
		"another name":   raw("POST", "/mcp", "rebound.example:80", hello, token, "Content-Type: application/json"),
		"a cookie alone": raw("POST", "/mcp", address, hello, "Cookie: flowrun=x", "Content-Type: application/json"),
		"a preflight":    raw("OPTIONS", "/mcp", address, "", "Origin: http://evil.example", "Access-Control-Request-Method: POST"),
	} {
		c := &connection{t: t, address: address}
		status, header, body := c.send(request)
		c.close()
		if status < 400 || header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	for _, method := range []string{"POST", "GET", "DELETE"} {
		if reached[method+" /mcp"] && method != "POST" {
			t.Errorf("reached %s /mcp", method)
		}
	}
}

// TestHostileMessagesOfMCP: what is no message, is too large or names what nobody has is
// refused, with a short answer, and the session goes on.
func TestHostileMessagesOfMCP(t *testing.T) {
	p := newProduct(t)
	_, address := p.listen()
	s := newSpeaker(t, address, p.token(access.NewToken{Name: "loud", Scope: "operator"}))
	s.open()
	long := strings.Repeat("x", 10_000)
	for name, message := range map[string]string{
		"nothing of JSON": "garbage", "half": `{"jsonrpc":"2.0","id":`, "another protocol": `{"id":1}`, "a number": "17", "two": hello + hello, "no bytes of UTF-8": "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
		"deep": strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000), "an empty batch": "[]", "a method of 10,000 letters": `{"jsonrpc":"2.0","id":1,"method":"` + long + `"}`,
		"an answer to nothing": `{"jsonrpc":"2.0","id":99,"result":{}}`, "a cancel of nothing": `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}`,
		"an id of 10,000 letters": `{"jsonrpc":"2.0","id":"` + long + `","method":"ping"}`,
		"many calls":              "[" + strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"tools/list"},`, 2000) + `{"jsonrpc":"2.0","id":2,"method":"ping"}]`,
		"2 MiB":                   `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 2<<20) + `"}}`,
	} {
		if status, _, body := s.say("POST", message); status >= 500 || len(body) > 100_000 {
			t.Errorf("%s: %d and %d bytes: %.300s", name, status, len(body), body)
		}
		if status, body := s.call("workflows", map[string]any{}); status != http.StatusOK || !strings.Contains(body, "hello.yaml") {
			t.Errorf("the session is gone after %s: %d %s", name, status, body)
		}
	}
	for _, value := range []string{long, "", "\x00", "../../etc/passwd", "%2e%2e", "\U0001F4A9", `"`, "frt_x", "${{ secrets.X }}", "<script>"} {
		for tool, arguments := range map[string]map[string]any{
			"validate": {"text": value, "file": value}, "plan": {"workflow": value}, "explain": {"topic": value}, "actions_search": {"query": value, "plugin": value}, "workflows": {"name": value},
			"run": {"workflow": value, "key": value}, "run_show": {"run": value, "step": value}, "run_logs": {"run": value, "step": value, "cursor": value, "text": value},
			"approve": {"run": value, "step": value, "decision": "approve"}, "test": {"workflow": value, "case": value}, value: {"x": value},
		} {
			status, body := s.call(tool, arguments)
			if status != http.StatusOK || !strings.Contains(body, "jsonrpc") || len(body) > 100_000 || strings.Contains(body, "panic") || strings.Contains(body, "root:") || strings.Contains(body, p.root) {
				t.Errorf("%.30s with %.30q: %d and %d bytes: %.500s", tool, value, status, len(body), body)
			}
		}
		for _, uri := range []string{value, "flowrun://docs/" + value, "flowrun://docs/codes/" + value, "flowrun://docs/jobs/" + value, "flowrun://schemas/actions/" + value, "flowrun://runs/" + value, "file:///etc/passwd"} {
			data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": "read " + uri, "method": "resources/read", "params": map[string]any{"uri": uri}})
			if err != nil {
				t.Fatal(err)
			}
			if status, _, body := s.say("POST", string(data)); status >= 500 || len(body) > 100_000 || strings.Contains(string(body), "root:") {
				t.Errorf("%.60q: %d and %d bytes: %.300s", uri, status, len(body), body)
			}
		}
	}
	for _, header := range []string{"Mcp-Session-Id: " + long, "Mcp-Protocol-Version: " + long, "Mcp-Protocol-Version: 1999-01-01", "Last-Event-ID: " + long, "Last-Event-ID: a_1"} {
		other := newSpeaker(t, address, s.token)
		other.session, other.headers = s.session, []string{header}
		if status, _, body := other.say("POST", `{"jsonrpc":"2.0","id":4,"method":"ping"}`); status >= 500 || len(body) > 100_000 {
			t.Errorf("%.40s: %d and %d bytes: %.300s", header, status, len(body), body)
		}
	}
	if n := p.runs(); n != 0 {
		t.Errorf("%d runs began", n)
	}
	if status, body := s.call("workflows", map[string]any{}); status != http.StatusOK || !strings.Contains(body, "hello.yaml") {
		t.Errorf("the session is gone: %d %s", status, body)
	}
}

// TestManySessionsOfMCP: a token's oldest session makes room, and no other token's.
func TestManySessionsOfMCP(t *testing.T) {
	p := newProduct(t)
	_, address := p.listen()
	quiet := newSpeaker(t, address, p.token(access.NewToken{Name: "quiet", Scope: "viewer"}))
	quiet.open()
	token := p.token(access.NewToken{Name: "busy", Scope: "viewer"})
	var sessions []string
	for range 60 {
		s := newSpeaker(t, address, token)
		s.open()
		sessions = append(sessions, s.session)
		s.close()
	}
	there := func() (good int) {
		for _, id := range sessions {
			s := newSpeaker(t, address, token)
			s.session = id
			if status, _ := s.call("workflows", map[string]any{}); status == http.StatusOK {
				good++
			}
			s.close()
		}
		return good
	}
	good := there()
	for end := time.Now().Add(time.Minute); good > 16 && time.Now().Before(end); good = there() {
		time.Sleep(10 * time.Millisecond) // those that made room end beside
	}
	if last := newSpeaker(t, address, token); good != 16 {
		last.session = sessions[len(sessions)-1]
		status, body := last.call("workflows", map[string]any{})
		t.Errorf("%d of %d sessions are there; the last: %d %s", good, len(sessions), status, body)
	}
	if status, body := quiet.call("workflows", map[string]any{}); status != http.StatusOK {
		t.Errorf("another token's session is gone: %d %s", status, body)
	}
}
