package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestIssue18_UpgradeTellsOfANewerRelease: of a listing that really answers.
func TestIssue18_UpgradeTellsOfANewerRelease(t *testing.T) {
	cases := map[string]struct {
		listed, stdout, stderr string
		code                   int
	}{
		"newer":      {`[{"tag_name": "v0.1.0", "html_url": "https://example.com/notes"}]`, "v0.1.0 is newer; this is v0.0.9\nwhat is in it: https://example.com/notes\n", "", 0},
		"the newest": {`[{"tag_name": "v0.0.9"}]`, "this is the newest release, v0.0.9\n", "", 0},
		"older":      {`[{"tag_name": "v0.0.8"}]`, "this is newer, v0.0.9; the newest release is v0.0.8\n", "", 0},
		"none":       {`[]`, "nothing is released yet; this is v0.0.9\n", "", 0},
		"no listing": {`<html>`, "", "the answer is no list of releases", exitNoServer},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, c.listed) }))
			defer server.Close()
			got := runVersion(t, "v0.0.9", []string{releasesVariable + "=" + server.URL}, "upgrade", "--check")
			if got.stdout != c.stdout || got.code != c.code || !strings.Contains(got.stderr, c.stderr) {
				t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
			}
		})
	}
}

func TestIssue18_UpgradeHasJSON(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `[{"tag_name": "v1.0.0", "published_at": "2026-11-02T08:00:00Z"}]`)
	}))
	defer server.Close()
	for version, newer := range map[string]string{"v0.0.9": "true", "v1.0.0": "false", "dev": "null"} {
		got := runVersion(t, version, nil, "upgrade", "--check", "--releases", server.URL, "-o", "json")
		for _, part := range []string{`"current": "` + version + `"`, `"newest": "v1.0.0"`, `"newer": ` + newer, `"published": "2026-11-02T08:00:00Z"`, `"listing": "` + server.URL + `"`} {
			if got.code != 0 || !strings.Contains(got.stdout, part) && !strings.Contains(got.stdout, strings.Replace(part, ": ", ":", 1)) {
				t.Errorf("%s: exit code %d, no %s in %s%s", version, got.code, part, got.stdout, got.stderr)
			}
		}
	}
}

// TestIssue18_UpgradeWithoutANetworkSaysSo: nobody listens at the address.
func TestIssue18_UpgradeWithoutANetworkSaysSo(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	got := runVersion(t, "v0.0.9", nil, "upgrade", "--check", "--releases", server.URL)
	if got.code != exitNoServer || got.stdout != "" || !strings.Contains(got.stderr, "it is not known whether there is a newer release") || !strings.Contains(got.stderr, "connection refused") {
		t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	got = runVersion(t, "v0.0.9", nil, "upgrade", "--check", "--releases", "http://releases.example.com/")
	if got.code != exitUsage || !strings.Contains(got.stderr, "https is needed") {
		t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}

// TestIssue18_NothingElseAsksForReleases: neither other commands nor upgrade without --check.
func TestIssue18_NothingElseAsksForReleases(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	environ := []string{releasesVariable + "=" + server.URL, "HTTPS_PROXY=" + server.URL, "HTTP_PROXY=" + server.URL}
	for _, args := range [][]string{{"version"}, {"--version"}, {"doctor"}, {"init"}, {"runs"}, {"help"}, {"upgrade"}} {
		got := runVersion(t, "v0.0.9", environ, args...)
		if args[0] == "upgrade" && (got.code != exitUsage || !strings.Contains(got.stderr, "flowrun does not replace itself")) {
			t.Errorf("exit code %d\n%s", got.code, got.stderr)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("it was asked %d times", n)
	}
	if runVersion(t, "v0.0.9", environ, "upgrade", "--check"); asked.Load() == 0 {
		t.Error("the one that asks asked another one: the test shows nothing")
	}
}

// runVersion runs a command of a flowrun of a version in an empty folder.
func runVersion(t *testing.T, version string, environ []string, args ...string) result {
	t.Helper()
	return runOf(t, t.TempDir(), version, environ, args...)
}
