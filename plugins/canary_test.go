package plugins

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/auth/authsim"
)

// haystack is everything that could show a secret, by where it is from. Safe for
// concurrent use.
type haystack struct {
	mu    sync.Mutex
	texts map[string][]byte
}

func (h *haystack) add(where string, text []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.texts[where] = append(append(h.texts[where], text...), '\n')
}

func (h *haystack) addJSON(t *testing.T, where string, value any) {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	h.add(where, encoded)
}

// Log takes a line of a call.
func (h *haystack) Log(l plan.Log) {
	encoded, _ := json.Marshal(l)
	h.add("log of a call", encoded)
}

// Progress takes the progress of a call.
func (h *haystack) Progress(p plan.Progress) {
	encoded, _ := json.Marshal(p)
	h.add("progress of a call", encoded)
}

// Prompt takes what a call asks of a person.
func (h *haystack) Prompt(p plan.Prompt) {
	encoded, _ := json.Marshal(p)
	h.add("prompt of a call", encoded)
}

// search returns where a secret stands, in any of its forms or with most of it.
func (h *haystack) search(secret string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []string
	for where, text := range h.texts {
		for form, needle := range formsOf(secret) {
			if strings.Contains(string(text), needle) {
				found = append(found, fmt.Sprintf("%s as %s: %q", where, form, around(string(text), needle)))
			}
		}
	}
	slices.Sort(found)
	return found
}

// formsOf are the forms in which a secret may show: whole, most of it, and
// encoded. In base64 only the characters that depend on the secret alone count,
// at each of the three places where it may begin.
func formsOf(secret string) map[string]string {
	quoted, _ := json.Marshal(secret)
	digits := hex.EncodeToString([]byte(secret))
	forms := map[string]string{
		"plain text": secret, "most of it": secret[:len(secret)*3/4], "JSON": strings.Trim(string(quoted), `"`),
		"a query": url.QueryEscape(secret), "a path": url.PathEscape(secret), "hex": digits, "upper hex": strings.ToUpper(digits),
	}
	for before, skip := range []int{0, 2, 3} {
		for name, encoding := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "URL base64": base64.RawURLEncoding} {
			encoded := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + secret))
			forms[name+" "+strconv.Itoa(before)] = encoded[skip : (before+len(secret))*8/6]
		}
	}
	return forms
}

// echo is an answer that repeats everything that the client sent, in every form:
// what a careless service or a proxy's error page does.
func echo(status int, contentType string, padding int) *http.HandlerFunc {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		parts := []string{r.Header.Get("Authorization"), r.Header.Get("X-Key"), string(body), r.URL.RawQuery, r.URL.EscapedPath(), r.URL.Path}
		for _, values := range r.URL.Query() {
			parts = append(parts, values...)
		}
		if form, err := url.ParseQuery(string(body)); err == nil && strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www") {
			for _, values := range form {
				parts = append(parts, values...)
			}
		}
		if _, credential, found := strings.Cut(parts[0], " "); found {
			parts = append(parts, credential)
		}
		var all []string
		for _, part := range parts {
			all = append(all, part, base64.StdEncoding.EncodeToString([]byte(part)), base64.URLEncoding.EncodeToString([]byte(part)),
				url.QueryEscape(part), url.PathEscape(part), hex.EncodeToString([]byte(part)))
		}
		said := strings.Join(all, " ")
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("X-Request-Id", oneLine(parts[0]))
		w.Header().Set("X-RateLimit-Limit", oneLine(parts[0]))
		w.Header().Set("WWW-Authenticate", oneLine(parts[0]))
		if !strings.Contains(contentType, "json") {
			w.WriteHeader(status)
			fmt.Fprintf(w, "<html>%s%s</html>", strings.Repeat("x", padding), said)
			return
		}
		answer := map[string]any{ // all the forms of errors that plugins read
			"a_padding": strings.Repeat("x", padding), "error": said, "error_code": oneLine(parts[0]), "error_description": said,
			"message": said, "success": false, "code": status, "data": nil, "title": parts[0], "items": []string{said}, "next_cursor": "",
		}
		simkit.WriteJSON(w, status, answer)
	})
	return &handler
}

func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '_'
		}
		return r
	}, text)
}

// noting passes requests on and keeps what the simulator says for the test:
// tokens and device codes are secrets too.
func noting(next http.Handler, note func(body string)) *http.HandlerFunc {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		note(answer.Body.String())
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()) // a client that went away notices it itself
	})
	return &handler
}

// issued collects the secrets that simulators give out. Safe for concurrent use.
type issued struct {
	mu      sync.Mutex
	secrets map[string]bool
}

func (i *issued) note(body string) {
	var fields map[string]any
	if json.Unmarshal([]byte(body), &fields) != nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, name := range []string{"access_token", "refresh_token", "device_code"} {
		if text, ok := fields[name].(string); ok {
			i.secrets[text] = true
		}
	}
}

// canaryCalls are the actions that carry a credential, with inputs in which
// secrets stand where they may.
func canaryCalls(auth *line, flow string) []refusal {
	week := in{"since": "2026-01-05T00:00:00Z", "until": "2026-01-12T00:00:00Z"}
	return []refusal{
		{"", "tasks.stats", nil},
		{"", "tasks.label_remove", in{"body": in{"name": "review"}}},
		{"", "tasks.invitation_accept", in{"invite_code": secretRef("INVITE_CODE")}},
		{"", "tasks.completed_by_completion_date", with(week, in{"public_key": secretRef("PUBLIC_KEY")})},
		{"", "tasks.migrate_personal_token", in{"body": in{"personal_token": secretRef("PERSONAL_TOKEN")}, "store_as": "main"}},
		{"", "analytics.current_visitors", in{"site_id": "ABCDEFGH"}},
		{"", "dictionary.stats", nil},
		{"", "auth.device_start", in{"scopes": []string{"openid"}}},
		{"", "auth.device_wait", in{"flow_id": flow}},
		{"", "auth.token", in{"min_ttl_s": 7200}},
		{"", "auth.refresh", nil},
		{"", "auth.status", nil},
		{"", "auth.resource_get", in{"url": auth.url + "/resource/me"}},
		{"", "auth.resource_get", in{"url": auth.url + "/resource/me", "token_in": "query"}},
		{"", "auth.deployments_list", in{"credential": "api_key"}},
		{"", "auth.deployments_list", in{"credential": "oauth"}},
		{"", "auth.scim_users_list", in{"count": 2}},
		{"", "auth.revoke", nil},
	}
}

// canaryBench are connections with a canary in every credential.
type canaryBench struct {
	*bench
	lines  map[string]*line
	hay    *haystack
	tokens *issued
}

func newCanaryBench(t *testing.T) *canaryBench {
	t.Helper()
	c := &canaryBench{lines: map[string]*line{}, hay: &haystack{texts: map[string][]byte{}}, tokens: &issued{secrets: map[string]bool{}}}
	var all []*line
	for _, plugin := range []string{"analytics", "auth", "dictionary", "tasks"} {
		l := newLine(t, plugin, plugin, authsim.Options{ExpiresIn: 20 * time.Second})
		c.lines[plugin], all = l, append(all, l)
	}
	//HDR
	basic := newLine(t, "basic", "auth", authsim.Options{Quirks: authsim.Quirks{BasicAuth: true}})
	basic.config["client_auth"] = "basic"
	c.lines["basic"], all = basic, append(all, basic)
	environ := lineSecrets()
	delete(environ, "TASKS_TOKEN") // sealed in the store instead
	delete(environ, "SCIM_TOKEN")
	c.bench = openBench(t, all, environ)
	for name, value := range map[string]string{"TASKS_TOKEN": tasksToken, "SCIM_TOKEN": scimToken} {
		if _, err := c.engine.SetSecret(t.Context(), name, value); err != nil {
			t.Fatal(err)
		}
	}
	c.behave(nil)
	return c
}

// behave makes every service answer so; nil is the simulators themselves.
func (c *canaryBench) behave(front *http.HandlerFunc) {
	for name, l := range c.lines {
		switch {
		case front != nil:
			l.front.Store(front)
		case l.auth != nil:
			l.front.Store(noting(l.auth, c.tokens.note))
		case name == "tasks":
			l.front.Store(noting(l.tasks, c.tokens.note))
		default:
			l.front.Store(nil)
		}
	}
}

// exercise runs every call as a run and as a call, and keeps all that they say.
func (c *canaryBench) exercise(t *testing.T, what string) {
	t.Helper()
	flow := "none"
	if what == "well" {
		started, err := c.startFlow(c.lines["auth"])
		if err != nil {
			t.Fatal(err)
		}
		flow = started
	}
	for _, call := range canaryCalls(c.lines["auth"], flow) {
		plugin, _, _ := strings.Cut(call.action, ".")
		more := in{"timeout": "5s", "within": "8s"}
		if effectOf(call.action) != plan.EffectOnce {
			more["retry"] = in{"attempts": 2, "delay": "10ms", "max_delay": "20ms"}
		}
		id := c.start(t, step{call.action, plugin, call.input, more}.source(t))
		updates, err := c.engine.Watch(t.Context(), id, 1)
		if err != nil {
			t.Fatal(err)
		}
		for update := range updates {
			c.hay.addJSON(t, "feed of a run", update)
		}
		result := c.wait(t, id)
		if what == "well" && result.Run.Status != plan.RunSucceeded {
			t.Errorf("%s is %s: %s", call.action, result.Run.Status, errorText(result))
		}
		c.hay.add("result, events and logs of "+call.action, []byte(c.texts(t, result)))
	}
	for _, call := range []struct{ action, connection string }{
		{"tasks.stats", "tasks"}, {"analytics.current_visitors", "analytics"}, {"dictionary.stats", "dictionary"},
		{"auth.device_start", "basic"}, {"auth.deployments_list", "auth"}, {"auth.scim_users_list", "auth"},
	} {
		input := json.RawMessage(map[string]string{"auth.device_start": `{"scopes":["openid"]}`, "analytics.current_visitors": `{"site_id":"ABCDEFGH"}`}[call.action])
		result, err := c.engine.Call(t.Context(), engine.CallRequest{Action: call.action, Connection: call.connection, Input: input}, c.hay)
		if err != nil {
			t.Fatal(err)
		}
		c.hay.addJSON(t, "result of a call of "+call.action, result)
	}
	for _, connection := range []string{"tasks", "analytics", "dictionary", "auth", "basic"} {
		test, err := c.engine.TestConnection(t.Context(), connection)
		if err != nil {
			t.Fatal(err)
		}
		c.hay.addJSON(t, "test of a connection", test)
	}
}

// collect adds what stands still: lists, logs, processes, and at the end files.
func (c *canaryBench) collect(t *testing.T) {
	t.Helper()
	secrets, err := c.engine.ListSecrets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.hay.addJSON(t, "list of secrets", secrets)
	c.hay.addJSON(t, "list of connections", c.engine.Project().Connections())
	rows, _, err := c.engine.List(t.Context(), engine.RunFilter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	c.hay.addJSON(t, "list of runs", rows)
	c.addProcesses(t)
	c.addFiles(t, "state of a running engine")
	c.close()
	c.addFiles(t, "state of a closed engine")
	c.hay.add("the engine's log", []byte(c.log.String()))
}

// addProcesses adds environment and arguments of the plugin processes.
func (c *canaryBench) addProcesses(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	count := 0
	statuses, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range statuses {
		status, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(status), fmt.Sprintf("PPid:\t%d\n", os.Getpid())) {
			continue // gone, or not ours
		}
		for _, name := range []string{"environ", "cmdline"} {
			data, err := os.ReadFile(filepath.Join(filepath.Dir(file), name))
			if err != nil {
				continue
			}
			c.hay.add(name+" of a plugin process", data)
		}
		count++
	}
	if count < 4 {
		t.Errorf("%d plugin processes found, want those of four plugins", count)
	}
}

// addFiles adds every file of the project's folder but the sealing key.
func (c *canaryBench) addFiles(t *testing.T, what string) {
	t.Helper()
	stores := 0
	err := filepath.WalkDir(c.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || entry.Name() == "key" {
			return err
		}
		data, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil
		}
		if entry.Name() == engine.StoreFile {
			stores++
		}
		c.hay.add(what+": "+entry.Name(), data)
		return err
	})
	if err != nil || stores != 1 {
		t.Fatalf("%d stores, %v", stores, err)
	}
}

// TestCanarySecretsAreSeenNowhere puts a secret into every credential, lets
// actions succeed and fail in all ways that repeat it, and searches everything
// that flowrun says and keeps.
func TestCanarySecretsAreSeenNowhere(t *testing.T) {
	c := newCanaryBench(t)
	c.login(t, c.lines["auth"])
	c.exercise(t, "well")
	ways := map[string]*http.HandlerFunc{
		"a refusal": echo(400, "application/json", 0), "a refused credential": echo(401, "application/json", 0),
		"trouble": echo(503, "text/html", 0), "trouble, cut in the middle of a secret": echo(500, "application/json", 480),
		"a page": echo(200, "text/html; charset=utf-8", 0), "another shape": echo(200, "application/json", 0),
	}
	if testing.Short() {
		ways = map[string]*http.HandlerFunc{"a refusal": ways["a refusal"], "a page": ways["a page"]}
	}
	for name, front := range ways {
		c.behave(nil) // the login before may have ended
		if err := c.tryLogin(c.lines["auth"]); err != nil {
			t.Fatalf("log in before %s: %v", name, err)
		}
		c.behave(front)
		c.exercise(t, name)
	}
	c.collect(t)
	secrets := lineSecrets()
	c.tokens.mu.Lock()
	for token := range c.tokens.secrets {
		secrets["token "+token[:3]+strconv.Itoa(len(secrets))] = token
	}
	c.tokens.mu.Unlock()
	if len(secrets) < len(lineSecrets())+6 {
		t.Errorf("only %d tokens were given out", len(secrets)-len(lineSecrets()))
	}
	for name, secret := range secrets {
		for _, found := range c.hay.search(secret) {
			t.Errorf("secret %s: %s", name, found)
		}
	}
}

// TestCanaryInAnOrdinaryInputIsFound is the negative control: what is no secret
// is kept and shown, and the search finds it in all these places.
func TestCanaryInAnOrdinaryInputIsFound(t *testing.T) {
	c := newCanaryBench(t)
	const planted = "ordinary-canary-41d7e0"
	result := c.wait(t, c.start(t, step{"tasks.label_remove", "tasks", in{"body": in{"name": planted}}, nil}.source(t)))
	c.hay.add("result, events and logs", []byte(c.texts(t, result)))
	c.lines["analytics"].front.Store(echo(403, "application/json", 0))
	failed := c.wait(t, c.start(t, step{"analytics.current_visitors", "analytics", in{"site_id": planted}, nil}.source(t)))
	c.hay.addJSON(t, "an error", failed.Error)
	c.wait(t, c.start(t, step{"dictionary.stats", "dictionary", nil, nil}.source(t)))
	if _, err := c.startFlow(c.lines["auth"]); err != nil {
		t.Fatal(err)
	}
	c.collect(t)
	found := strings.Join(c.hay.search(planted), "\n")
	for _, where := range []string{"result, events and logs", "an error", "state of a closed engine: " + engine.StoreFile} {
		if !strings.Contains(found, where) {
			t.Errorf("the planted text is not found in %s; it is found in:\n%s", where, found)
		}
	}
	for _, form := range []string{"plain text", "base64 0", "hex"} {
		if !strings.Contains(found, form) {
			t.Errorf("the planted text is not found as %s", form)
		}
	}
}
