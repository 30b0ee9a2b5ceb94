package main_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"testing"
)

// TestIssue12_31_OpenedIsNotAnswered: a connection whose plugin has no test is told as
// opened, whatever its service does. One whose plugin has a test answers, or fails.
func TestIssue12_31_OpenedIsNotAnswered(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	buildEvil(t, dir, "untested")
	buildThings(t, filepath.Join(dir, "things"))
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"things":[]}`)) }))
	defer up.Close()
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	write(t, dir, "flowrun.yaml", `plugins: {untested: {source: ./untested}, things: {source: ./things}}
connections:
  bare: {plugin: untested}
  up: {plugin: things, config: {base_url: "`+up.URL+`"}}
  down: {plugin: things, config: {base_url: "`+down.URL+`"}}
  site: {plugin: analytics, config: {base_url: "`+down.URL+`", token: a-token-for-tests}}
`)
	for _, c := range []struct {
		args []string
		code int
		want []string // that stand in the output, as expressions
		not  string
	}{
		{[]string{"connections", "test", "bare"}, 0, []string{`(?m)^\S+ bare  untested  opened; the plugin has no test · `}, `\bok\b`},
		{[]string{"connections", "test", "bare", "-o", "json"}, 0, []string{`"name":"bare","plugin":"untested","ok":true,"not_tried":true,"note":"the plugin has no test"`}, ""},
		{[]string{"connections", "test", "site"}, 0, []string{`opened; a token is configured, and no request can try it`}, `\bok\b`},
		{[]string{"connections", "test", "up"}, 0, []string{`up  things  ok · somebody · `}, "opened"},
		{[]string{"connections", "test", "up", "-o", "json"}, 0, []string{`"ok":true,"account":"somebody"`}, "not_tried"},
		{[]string{"connections", "test", "down"}, 5, []string{`down  things  unavailable: `}, "opened|ok ·"},
		{[]string{"doctor"}, 5, []string{
			`(?m)^ok +connection bare +untested: opened; the plugin has no test$`,
			`(?m)^ok +connection site +analytics: opened; a token is configured`,
			`(?m)^ok +connection up +things answers in \d+ ms, as somebody$`,
			`(?m)^fail +connection down +unavailable: `,
		}, "untested answers|analytics answers"},
	} {
		output, code := flowrunIn(t, binary, dir, c.args...)
		if code != c.code {
			t.Errorf("%v: exit code %d, want %d\n%s", c.args, code, c.code, output)
		}
		for _, want := range c.want {
			if !regexp.MustCompile(want).MatchString(output) {
				t.Errorf("%v lacks %s\n%s", c.args, want, output)
			}
		}
		if c.not != "" && regexp.MustCompile(c.not).MatchString(output) {
			t.Errorf("%v says %s\n%s", c.args, c.not, output)
		}
	}
}
