package main_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/flowrun/flowrun/engine/runs"
)

// hiddenField finds what a form sends besides what a person types.
var hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)

// TestADemoShowsRunsOfAllStatesAndLeavesNothing: the one link of `flowrun demo` logs a
// browser in, whose lists have a run of each status and the schedules. Ctrl-C ends it with
// all that it has made.
func TestADemoShowsRunsOfAllStatesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	temporary, elsewhere := t.TempDir(), t.TempDir()
	command := exec.Command(buildBinary(t), "demo")
	command.Dir = elsewhere
	command.Env = append(os.Environ(), "TMPDIR="+temporary, "HOME="+elsewhere)
	var notes strings.Builder
	command.Stderr = &notes
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() }) // it has ended where all went well
	printed := bufio.NewReader(stdout)
	line, err := printed.ReadString('\n')
	if err != nil {
		t.Fatalf("it prints no link: %v\n%s", err, notes.String())
	}
	browser := logIn(t, strings.TrimSpace(line))
	for _, status := range runs.Statuses() {
		page := browser.get(t, "/runs?status="+string(status))
		if !strings.Contains(page, `href="/runs/0`) {
			t.Errorf("the list of runs that are %s has none:\n%s", status, page)
		}
	}
	if page := browser.get(t, "/schedules"); !strings.Contains(page, "domain-report") || !strings.Contains(page, "heartbeat") {
		t.Errorf("the schedules are not on their page:\n%s", page)
	}
	if page := browser.get(t, "/runs?query="+url.QueryEscape(`trigger == "weekdays"`)); !strings.Contains(page, `href="/runs/0`) {
		t.Errorf("no run was started by its schedule:\n%s", page)
	}
	if found, err := filepath.Glob(filepath.Join(temporary, "flowrun-demo-*", ".flowrun", "state", "sandbox", "flowrun.db")); len(found) != 1 {
		t.Errorf("its store is not in a temporary folder: %v, %v", below(t, temporary), err)
	}
	if found := below(t, elsewhere); len(found) > 0 {
		t.Errorf("it makes %v outside of its folder", found)
	}
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(printed)
	if ended := command.Wait(); err != nil || ended != nil || len(rest) > 0 {
		t.Errorf("it ended with %v, and printed %q more (%v)\n%s", ended, rest, err, notes.String())
	}
	if found := append(below(t, temporary), below(t, elsewhere)...); len(found) > 0 {
		t.Errorf("%v is left of it", found)
	}
	if !strings.Contains(notes.String(), "is removed at the end") {
		t.Errorf("it does not say that its folder is removed:\n%s", notes.String())
	}
}

// TestADemoTakesNoFolderThatIsThere: it would be removed.
func TestADemoTakesNoFolderThatIsThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "mine"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "mine"), "letter.txt", "dear")
	command := exec.Command(buildBinary(t), "demo", "mine")
	command.Dir = dir
	var notes strings.Builder
	command.Stderr = &notes
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if link, _ := bufio.NewReader(stdout).ReadString('\n'); link != "" { // it ends without one
		t.Error("it begins in a folder that is there")
		_ = command.Process.Signal(syscall.SIGINT)
	}
	ended := command.Wait()
	if _, err := os.Stat(filepath.Join(dir, "mine", "letter.txt")); command.ProcessState.ExitCode() != 10 || err != nil || !strings.Contains(notes.String(), "mine is there already") {
		t.Errorf("it ended with %v, %v\n%s", ended, err, notes.String())
	}
}

// below names what stands in a folder.
func below(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// pageVisitor is a browser as far as the page needs one.
type pageVisitor struct {
	client *http.Client
	at     *url.URL
}

// logIn opens a login link and sends the form on it.
func logIn(t *testing.T, link string) *pageVisitor {
	t.Helper()
	at, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	visitor := &pageVisitor{&http.Client{Jar: jar}, at}
	form := url.Values{}
	for _, field := range hiddenField.FindAllStringSubmatch(visitor.get(t, at.RequestURI()), -1) {
		form.Set(field[1], field[2])
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at.Scheme+"://"+at.Host+"/login", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", at.Scheme+"://"+at.Host)
	visitor.body(t, request)
	return visitor
}

// get returns a page, which must be there.
func (v *pageVisitor) get(t *testing.T, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.at.Scheme+"://"+v.at.Host+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return v.body(t, request)
}

func (v *pageVisitor) body(t *testing.T, request *http.Request) string {
	t.Helper()
	response, err := v.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %v\n%s", request.Method, request.URL, response.Status, err, body)
	}
	return string(body)
}
