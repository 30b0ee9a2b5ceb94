package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/flowrun/flowrun/test/client/api"
)

// hello takes inputs, greets, and asks somebody when n is above 5.
const hello = `flowrun: v1
name: hello
description: says hello
labels: {team: docs}
inputs:
  who: {type: string, default: world}
  n: {type: integer, default: 1}
triggers:
  nightly: {cron: "0 3 * * *", timezone: Europe/Berlin}
  hook: {webhook: {auth: {token: "${{ secrets.HOOK }}"}}}
steps:
  - id: say
    uses: core.log
    with: {text: "hello ${{ inputs.who }}"}
  - id: ask
    if: inputs.n > 5
    uses: core.approve
    with: {message: "greet ${{ inputs.n }} times?", form: {why: {type: string}}}
outputs:
  text: "hello ${{ inputs.who }}"
`

// binary builds flowrun once.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("flowrun-client-test-%d", os.Getpid()))
	out, err := exec.Command("go", "build", "-C", filepath.Join("..", ".."), "-o", path, "./cmd/flowrun").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build flowrun: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		_ = os.Remove(path)
	}
	os.Exit(code)
}

// server is a running `flowrun serve` over a project of its own.
type server struct {
	program, dir, state string
	url                 string
}

// serve starts a server, which ends with the test.
func serve(t *testing.T) *server {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{program: program, dir: t.TempDir()}
	if s.state, err = os.MkdirTemp("", "frc"); err != nil { // short: a socket lies in it
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.state) })
	s.write(t, "flowrun.yaml", "workflows: [workflows]\nconnections:\n  net: {plugin: netinfo, config: {base_url: \"http://127.0.0.1:9\"}}\n")
	s.write(t, "workflows/hello.yaml", hello)
	ctx, cancel := context.WithCancel(context.Background())
	command := s.command(ctx, "serve", "--listen", "127.0.0.1:0")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	said, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = command.Wait() // 130: it was interrupted
	})
	lines := bufio.NewScanner(said)
	for s.url == "" && lines.Scan() {
		if _, after, found := strings.Cut(lines.Text(), "serves "); found {
			s.url, _, _ = strings.Cut(after, " ")
		}
	}
	if s.url == "" {
		t.Fatal("the server has not said where it is")
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	return s
}

func (s *server) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func (s *server) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, s.program, append(args, "--state", s.state)...)
	command.Dir = s.dir
	command.Env = append(os.Environ(), "FLOWRUN_SECRET_HOOK=knock-knock", "NO_COLOR=1")
	return command
}

// token makes a token of a scope.
func (s *server) token(t *testing.T, scope string) string {
	t.Helper()
	out, err := s.command(t.Context(), "tokens", "create", "test-"+scope, "--scope", scope).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// client is the generated client with a token. Every answer is compared with the
// document.
func (s *server) client(t *testing.T, scope string) *api.ClientWithResponses {
	t.Helper()
	token := s.token(t, scope)
	client, err := api.NewClientWithResponses(s.url,
		api.WithHTTPClient(&http.Client{Transport: newCheckedTransport(t)}),
		api.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+token)
			return nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func text(value any) string {
	data, _ := json.Marshal(value) // for messages
	return string(data)
}
