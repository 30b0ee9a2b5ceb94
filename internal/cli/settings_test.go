package cli

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// explain returns the winner of a setting.
func explain(t *testing.T, dir string, environ []string, key string, args ...string) settingItem {
	t.Helper()
	got := runIn(t, dir, environ, append([]string{"config", "explain", key, "-o", "json"}, args...)...)
	var item settingItem
	if err := json.Unmarshal([]byte(got.stdout), &item); err != nil {
		t.Fatalf("explain %s: %v in %q; %s", key, err, got.stdout, got.stderr)
	}
	return item
}

func TestSettingsComeFromTheFlagThenTheEnvironmentThenTheFiles(t *testing.T) {
	dir := t.TempDir()
	user := filepath.Join(dir, "user")
	environ := []string{"XDG_CONFIG_HOME=" + user}
	check := func(item settingItem, value, source string) {
		t.Helper()
		if item.Value != value || item.Source != source {
			t.Errorf("%s is %q from %q, want %q from %q", item.Key, item.Value, item.Source, value, source)
		}
	}
	check(explain(t, dir, environ, "color"), "auto", "default")
	file := filepath.Join(user, "flowrun", "config.yaml")
	write(t, file, "utc: true\ncolor: always\n")
	check(explain(t, dir, environ, "color"), "always", file+":2")
	environ = append(environ, "FLOWRUN_COLOR=never")
	check(explain(t, dir, environ, "color"), "never", "FLOWRUN_COLOR")
	check(explain(t, dir, environ, "color", "--color", "auto"), "auto", "--color")
	if others := explain(t, dir, environ, "color", "--color", "auto").Others; len(others) != 3 {
		t.Errorf("the others are %v, want three", others)
	}
}

func TestProjectSettingsNameTheirLineAndHideSecrets(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "flowrun.yaml"), "limits: {max_active_runs: 7}\nconnections:\n  work:\n    plugin: tasks\n    config: {token: clear-text}\n"+
		"  play:\n    plugin: tasks\n    config: {token: \"${{ secrets.T }}\"}\n")
	limit := explain(t, dir, nil, "limits.max_active_runs")
	if limit.Value != "7" || limit.Source != "flowrun.yaml:1" || len(limit.Others) != 1 {
		t.Errorf("the limit is %+v", limit)
	}
	if token := explain(t, dir, nil, "connections.work.config.token"); token.Value != "[redacted]" {
		t.Errorf("the token is shown as %q", token.Value)
	}
	if token := explain(t, dir, nil, "connections.play.config.token"); token.Value != "${{ secrets.T }}" {
		t.Errorf("the reference is shown as %q", token.Value)
	}
	if got := runIn(t, dir, nil, "config", "explain", "limits.max_active_run"); got.code != exitNotFound {
		t.Errorf("an unknown setting: exit %d", got.code)
	}
}

func TestStateFolderInItsOrder(t *testing.T) {
	dir := t.TempDir()
	state := func(environ []string, args ...string) string {
		t.Helper()
		got := runIn(t, dir, environ, append([]string{"config", "paths", "-o", "json"}, args...)...)
		var paths map[string]string
		if err := json.Unmarshal([]byte(got.stdout), &paths); err != nil {
			t.Fatalf("%v in %q; %s", err, got.stdout, got.stderr)
		}
		return paths["state"]
	}
	check := func(got string, want ...string) {
		t.Helper()
		if want := filepath.Join(append([]string{dir}, want...)...); got != want {
			t.Errorf("state is %s, want %s", got, want)
		}
	}
	check(state(nil), "home", ".local", "state", "flowrun")
	check(state([]string{"XDG_STATE_HOME=" + filepath.Join(dir, "xdg")}), "xdg", "flowrun")
	write(t, filepath.Join(dir, "flowrun.yaml"), "")
	check(state([]string{"XDG_STATE_HOME=" + filepath.Join(dir, "xdg")}), ".flowrun", "state")
	systemd := []string{"STATE_DIRECTORY=" + filepath.Join(dir, "one") + ":" + filepath.Join(dir, "two")}
	check(state(systemd), "one")
	named := append(systemd, "FLOWRUN_STATE=named")
	check(state(named), "named")
	check(state(named, "--state", "flag"), "flag")
	check(state(named, "--state", "flag", "--sandbox"), "flag", "sandbox")
}

func TestWrongSettingsAreRefused(t *testing.T) {
	if got := runIn(t, t.TempDir(), []string{"FLOWRUN_UTC=perhaps"}, "version"); got.code != exitUsage {
		t.Errorf("exit %d, %q", got.code, got.stderr)
	}
}
