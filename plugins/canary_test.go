package plugins

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/plugins/auth/authsim"
)

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
		{"", "http.get", in{"path": "/echo/{key}", "params": in{"key": "a"}, "query": in{"a": 1}, "as": "json"}},
		{"", "http.post_keyed", in{"path": "/echo/{k}", "secrets": in{"params": in{"k": secretRef("PUBLIC_KEY")}, "query": in{"q": secretRef("PUBLIC_KEY")},
			"headers": in{"X-Canary": secretRef("PUBLIC_KEY")}, "json": in{"/a/b": secretRef("PUBLIC_KEY")}}}},
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
	for _, plugin := range []string{"analytics", "auth", "dictionary", "http", "tasks"} {
		l := newLine(t, plugin, plugin, authsim.Options{ExpiresIn: 20 * time.Second})
		c.lines[plugin], all = l, append(all, l)
	}
	c.lines["dictionary"].config["headers"] = in{"X-Key": secretRef("HEADER_VALUE")}
	c.lines["http"].config["api_key"] = in{"in": "query", "name": "key", "value": secretRef("HEADER_VALUE")}
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
		if what == "well" && result.Run.Status != runs.RunSucceeded {
			t.Errorf("%s is %s: %s", call.action, result.Run.Status, errorText(result))
		}
		c.hay.add("result, events and logs of "+call.action, []byte(c.texts(t, result)))
	}
	for _, call := range []struct{ action, connection string }{
		{"tasks.stats", "tasks"}, {"analytics.current_visitors", "analytics"}, {"dictionary.stats", "dictionary"},
		{"auth.device_start", "basic"}, {"auth.deployments_list", "auth"}, {"auth.scim_users_list", "auth"},
	} {
		input := json.RawMessage(map[string]string{"auth.device_start": `{"scopes":["openid"]}`, "analytics.current_visitors": `{"site_id":"ABCDEFGH"}`}[call.action])
		result, err := c.engine.Call(t.Context(), calls.Request{Action: call.action, Connection: call.connection, Input: input}, c.hay)
		if err != nil {
			t.Fatal(err)
		}
		c.hay.addJSON(t, "result of a call of "+call.action, result)
	}
	for _, connection := range []string{"tasks", "analytics", "dictionary", "http", "auth", "basic"} {
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
	c.hay.addJSON(t, "list of connections", c.engine.ListConnections(t.Context()))
	rows, _, err := c.engine.List(t.Context(), runs.Filter{Limit: 1000})
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
		if entry.Name() == workspace.StoreFile {
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
	t.Parallel()
	ways := map[string]*http.HandlerFunc{
		"a refusal": echo(400, "application/json", 0), "a refused credential": echo(401, "application/json", 0),
		"trouble": echo(503, "text/html", 0), "trouble, cut in the middle of a secret": echo(500, "application/json", 480),
		"a page": echo(200, "text/html; charset=utf-8", 0), "another shape": echo(200, "application/json", 0),
	}
	for _, padding := range []int{0, 5, 11, 18, 26, 39} {
		ways[fmt.Sprintf("texts cut after %d", padding)] = echoToTheCut(padding)
	}
	if testing.Short() {
		ways = map[string]*http.HandlerFunc{"a refusal": ways["a refusal"], "texts cut after 5": ways["texts cut after 5"]}
	}
	const benches = 4 // beside each other: most of a way is waiting
	names := append([]string{"well"}, slices.Sorted(maps.Keys(ways))...)
	for i := range min(benches, len(names)) {
		t.Run(fmt.Sprint("bench ", i), func(t *testing.T) {
			t.Parallel()
			c := newCanaryBench(t)
			for j := i; j < len(names); j += benches {
				c.behave(nil) // the login before may have ended
				if err := c.tryLogin(c.lines["auth"]); err != nil {
					t.Fatalf("log in before %s: %v", names[j], err)
				}
				c.behave(ways[names[j]])
				c.exercise(t, names[j])
			}
			c.searchAll(t)
		})
	}
}

// searchAll looks for every credential, and every token that was given out, in all
// that was said and kept.
func (c *canaryBench) searchAll(t *testing.T) {
	t.Helper()
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
	for _, found := range c.hay.search(secrets) {
		t.Errorf("a secret in %s", found)
	}
}

// TestCanaryInAnOrdinaryInputIsFound is the negative control: what is no secret
// is kept and shown, and the search finds it in all these places.
func TestCanaryInAnOrdinaryInputIsFound(t *testing.T) {
	c := newCanaryBench(t)
	const planted = "ordinary-canary-41d7e0"
	result := c.wait(t, c.start(t, step{"tasks.label_remove", "tasks", in{"body": in{"name": planted}}, nil}.source(t)))
	c.hay.add("result, events and logs", []byte(c.texts(t, result)))
	refusal := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		simkit.WriteJSON(w, http.StatusForbidden, map[string]string{
			"message": base64.StdEncoding.EncodeToString([]byte(planted)) + " " + hex.EncodeToString([]byte(planted)),
		})
	})
	c.lines["analytics"].front.Store(&refusal)
	failed := c.wait(t, c.start(t, step{"analytics.current_visitors", "analytics", in{"site_id": planted}, nil}.source(t)))
	c.hay.add("an error", []byte(c.texts(t, failed)))
	c.wait(t, c.start(t, step{"dictionary.stats", "dictionary", nil, nil}.source(t)))
	if _, err := c.startFlow(c.lines["auth"]); err != nil {
		t.Fatal(err)
	}
	c.collect(t)
	found := strings.Join(c.hay.search(map[string]string{"the planted text": planted}), "\n")
	for _, where := range []string{"result, events and logs", "an error", "state of a closed engine: " + workspace.StoreFile} {
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
