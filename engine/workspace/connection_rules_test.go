package workspace

import (
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/pluginhost"
)

// projectOf is a project of a file, with this program as the plugins feed and login.
func projectOf(t *testing.T, file string, sandbox *Sandbox) *Workspace {
	t.Helper()
	dir := t.TempDir()
	putFile(t, dir, "flowrun.yaml", file)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Load(t.Context(), Config{
		StateDir: filepath.Join(dir, "state"), Dir: dir, ProjectFile: filepath.Join(dir, "flowrun.yaml"), Executable: program,
		Bundled: []string{"feed", "login"}, Version: "test", Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler), Sandbox: sandbox,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// The gate where connections are opened lets a connection through that is live by
// its name, or that is the simulator's in every respect.
func TestTheGateOfASandboxComparesWhatIsOpened(t *testing.T) {
	simulated := json.RawMessage(`{"file":"simulated"}`)
	p := projectOf(t, "connections:\n  feed: {config: {file: a}}\n  other: {plugin: feed, config: {file: b}}\n", &Sandbox{
		Simulators: []Simulator{{Plugin: "feed", Connection: "feed", Config: simulated, By: "test"}}, Live: []string{"other"},
	})
	for name, c := range map[string]struct {
		plugin string
		conn   pluginhost.Connection
		opens  bool
	}{
		"the simulator":                         {"feed", pluginhost.Connection{Name: "feed", Plugin: "feed", Config: simulated}, true},
		"the simulator, by the plugin's name":   {"feed", pluginhost.Connection{Plugin: "feed", Config: simulated}, true},
		"a live one":                            {"feed", pluginhost.Connection{Name: "other", Plugin: "feed", Config: json.RawMessage(`{"file":"b"}`)}, true},
		"the service in the simulator's place":  {"feed", pluginhost.Connection{Name: "feed", Plugin: "feed", Config: json.RawMessage(`{"file":"a"}`)}, false},
		"the simulator with somebody's token":   {"feed", pluginhost.Connection{Name: "feed", Plugin: "feed", Config: simulated, TokenFrom: &pluginhost.Connection{Name: "other"}}, false},
		"a connection that nothing stands for":  {"feed", pluginhost.Connection{Name: "third", Plugin: "feed", Config: simulated}, false},
		"the simulator's config, other plugin":  {"login", pluginhost.Connection{Name: "feed", Plugin: "login", Config: simulated}, false},
		"no name of a plugin without simulator": {"login", pluginhost.Connection{Plugin: "login"}, false},
	} {
		failure := p.Admit(c.plugin, c.conn)
		if opens := failure == nil; opens != c.opens {
			t.Errorf("%s is opened: %v (%v)", name, opens, failure)
		}
		if failure != nil && failure.Reason != "sandbox" {
			t.Errorf("%s is refused with %+v", name, failure)
		}
	}
}

// A token comes from a connection that has a login itself.
func TestTheOwnerOfATokenHasALogin(t *testing.T) {
	p := projectOf(t, `connections:
  feed: {config: {file: a}}
  login: {config: {}}
  second: {plugin: login, config: {token_from: {connection: login}}}
`, nil)
	for owner, want := range map[string]string{
		"login": "", "feed": "gives no tokens", "second": "has a token_from itself", "logni": "did you mean `login`?",
	} {
		conn, err := p.tokenOwner("work", owner)
		if want == "" && (err != nil || conn.Name != owner || conn.Plugin != "login") {
			t.Errorf("the token of %s: %+v, %v", owner, conn, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("the token of %s: %v, want an error with %q", owner, err, want)
		}
	}
}
