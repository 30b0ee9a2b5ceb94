//go:build linux

package main_test

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

const loginWorkflow = `flowrun: v1
name: login
steps:
  - id: start
    uses: auth.device_start
    with: {scopes: [openid, email]}
  - id: wait
    uses: auth.device_wait
    with: {flow_id: "${{ steps.start.outputs.flow_id }}"}
    within: 10m
  - id: token
    uses: auth.token
  - id: status
    uses: auth.status
outputs:
  state: ${{ steps.wait.outputs.state }}
  status: ${{ steps.status.outputs.state }}
`

var authURL = regexp.MustCompile(`"auth_url":"(https://[^"]+)"`)

// loginRequests asks the simulator of auth when it was polled, and how many
// logins were started.
func loginRequests(t *testing.T, config string) (polls []time.Time, starts int) {
	t.Helper()
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	match := authURL.FindStringSubmatch(string(text))
	if match == nil {
		t.Fatalf("no auth_url in %s", text)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // a throw-away certificate
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get(match[1] + "/_sim/requests")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var journal struct {
		Requests []struct {
			Path string
			At   time.Time
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&journal); err != nil {
		t.Fatal(err)
	}
	for _, request := range journal.Requests {
		switch request.Path {
		case "/device/code":
			starts++
		case "/token":
			polls = append(polls, request.At)
		}
	}
	return polls, starts
}

var shownPrompt = regexp.MustCompile(`open (http://\S+) and enter the code (\S+?),? `)

// readPrompt reads what a run without a terminal prints until it shows where to
// enter which code.
func readPrompt(t *testing.T, output io.Reader) (page, code string) {
	t.Helper()
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if match := shownPrompt.FindStringSubmatch(lines.Text()); match != nil {
			return match[1], match[2]
		}
	}
	t.Fatal("the run ended without a prompt")
	return "", ""
}

// TestAKilledRunGoesOnWithTheSameLogin kills the engine while a person has not
// decided yet. The resumed run must not start another login, and must not poll
// faster than the server allows.
func TestAKilledRunGoesOnWithTheSameLogin(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for three polls of 5 s")
	}
	binary, dir := buildBinary(t), t.TempDir()
	config := startSandbox(t, binary, dir)
	write(t, dir, "login.yaml", loginWorkflow)

	run := exec.Command(binary, "run", "login.yaml", "--config", config)
	run.Dir = dir
	output, err := run.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	page, code := readPrompt(t, output)
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if polls, _ := loginRequests(t, config); len(polls) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no poll was sent")
		}
	}
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait() // killed: its error is expected

	runs, _, err := flowrun(t, binary, dir, "runs", "list", "--config", config, "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	resume := exec.Command(binary, "runs", "resume", firstID(runs), "--config", config, "-o", "json")
	resume.Dir = dir
	said, err := resume.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var answer strings.Builder
	resume.Stdout = &answer
	if err := resume.Start(); err != nil {
		t.Fatal(err)
	}
	if _, again := readPrompt(t, said); again != code {
		t.Errorf("the code is %q now, was %q", again, code)
	}
	response, err := http.PostForm(page, url.Values{"user_code": {code}, "decision": {"approve"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("the page answered %s (%v)", response.Status, err)
	}
	_, _ = io.Copy(io.Discard, said)
	if err := resume.Wait(); err != nil {
		t.Fatalf("resume: %v\n%s", err, answer.String())
	}
	if !strings.Contains(answer.String(), `"state":"granted"`) || !strings.Contains(answer.String(), `"status":"valid"`) {
		t.Errorf("result %s", answer.String())
	}
	polls, starts := loginRequests(t, config)
	if starts != 1 || len(polls) < 2 {
		t.Errorf("%d logins were started, %d polls sent", starts, len(polls))
	}
	for i := 1; i < len(polls); i++ {
		if pause := polls[i].Sub(polls[i-1]); pause < 5*time.Second {
			t.Errorf("poll %d came %s after the one before; the server allows one every 5 s", i+1, pause)
		}
	}
}
