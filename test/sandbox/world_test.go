// Package sandbox_test holds that a sandbox sends nothing to a service that its user
// did not name: every way to a connection, through the built program, with a service
// on an address of its own that counts what it gets.
package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/testbuild"
	"github.com/flowrun/flowrun/internal/testparallel"
)

// TestMain builds the program and the plugins once.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "flowrun-sandbox-test-")
	if err != nil {
		panic(err)
	}
	built.dir = dir
	testparallel.AtLeast(8)
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// built are the programs, each made when it is first wanted.
var built struct {
	dir string
	mu  sync.Mutex
}

// program builds a program of this module, once for each name.
func program(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	built.mu.Lock()
	defer built.mu.Unlock()
	path := filepath.Join(built.dir, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	source := arguments[len(arguments)-1]
	if err := testbuild.Program(path, source, arguments[:len(arguments)-1]...); err != nil {
		t.Fatal(err)
	}
	return path
}

func flowrunProgram(t *testing.T) string {
	t.Helper()
	return program(t, "flowrun", "../../cmd/flowrun")
}

// service is a real service: it answers whatever it is asked, and counts.
type service struct {
	url      string
	bytes    atomic.Int64
	mu       sync.Mutex
	requests []string
}

// newService listens on an address of this machine that no simulator has.
func newService(t *testing.T, ip string) *service {
	t.Helper()
	listener, err := net.Listen("tcp", ip+":0")
	if err != nil {
		t.Skipf("there is no second loopback address here: %v", err)
	}
	s := &service{url: "http://" + listener.Addr().String()}
	server := &http.Server{Handler: http.HandlerFunc(s.answer), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(counting{listener, s}) }()
	t.Cleanup(func() { _ = server.Close() })
	return s
}

func (s *service) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": "1", "name": "real", "things": []any{map[string]any{"id": r.URL.Path, "name": "real"}}, "token": "real-token-of-the-owner", "key": "real-key-1",
		"flow_id": "f", "user_code": "C", "verification_url": "https://login.example", "expires_at": "2036-01-01T00:00:00Z", "state": "granted", "revoked": true,
	})
}

// asked returns the requests so far.
func (s *service) asked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.requests, "\n")
}

// counting counts the connections and the bytes that come in.
type counting struct {
	net.Listener
	service *service
}

func (c counting) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countedConn{conn, c.service}, nil
}

type countedConn struct {
	net.Conn
	service *service
}

func (c countedConn) Read(data []byte) (int, error) {
	n, err := c.Conn.Read(data)
	c.service.bytes.Add(int64(n))
	return n, err
}

// world is a project with a plugin whose service is real.
type world struct {
	t       *testing.T
	binary  string
	dir     string
	service *service
	control bool // the enforcement is out: exit codes are not held against it
	open    bool // nothing keeps the sandbox
	inVain  bool // what is waited for does not come
}

const projectFile = `plugins:
  things: {source: $THINGS}
connections:
  mine: {plugin: things, config: {base_url: "$URL", token: "real-token-123"}}
notify:
  ops: {webhook: "$URL/hook", on: [failed]}
  tool: {command: ["$CURL", "$URL/tool"]}
workflows: [workflows]
`

func newWorld(t *testing.T, binary string) *world {
	t.Helper()
	return newWorldAt(t, binary, newService(t, "127.0.0.2"))
}

func newWorldAt(t *testing.T, binary string, s *service) *world {
	t.Helper()
	w := &world{t: t, binary: binary, dir: t.TempDir(), service: s}
	w.write("flowrun.yaml", projectFile)
	w.describe()
	return w
}

// describe gives the project what a sandbox of it keeps of its plugins: they are
// described once for all worlds, by a command that reaches no service.
func (w *world) describe() {
	w.t.Helper()
	described.once.Do(func() {
		first := &world{t: w.t, binary: flowrunProgram(w.t), dir: filepath.Join(built.dir, "described"), service: newService(w.t, "127.0.0.2")}
		first.write("flowrun.yaml", projectFile)
		first.write("w.yaml", workflow("w", "steps:\n  - uses: things.list\n"))
		first.exits(3, "run", "--sandbox", "w.yaml")
		if n := first.service.bytes.Load(); n != 0 {
			w.t.Errorf("%d bytes reached the service while its plugin was described", n)
		}
		described.plugins = filepath.Join(first.dir, sandboxState, "plugins")
	})
	state := filepath.Join(w.dir, sandboxState)
	if err := os.MkdirAll(state, 0o700); err != nil {
		w.t.Fatal(err)
	}
	if output, err := exec.Command("cp", "-R", described.plugins, state).CombinedOutput(); err != nil {
		w.t.Fatalf("copy what is known of the plugins: %v\n%s", err, output)
	}
}

// sandboxState is where a sandbox of a project keeps its state.
const sandboxState = ".flowrun/state/sandbox"

// described is what the first sandbox has kept of the plugins.
var described struct {
	once    sync.Once
	plugins string
}

// write writes a file of the project, with the places of the world put in.
func (w *world) write(name, text string) {
	w.t.Helper()
	things := program(w.t, "things", "./testdata/things")
	text = strings.NewReplacer(
		"$THINGS", things, "$URL", w.service.url, "$CURL", program(w.t, "send", "./testdata/send"),
		"$SIM", program(w.t, "things-sim", "./testdata/things-sim"), "$DIR", w.dir,
	).Replace(text)
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// placeholder is the address that is written over in a program with one of its own:
// it is as long as every real one.
const placeholder = "http://127.0.0.2:00000"

// addressed returns a plugin of that name that knows the address of the world's
// service by itself.
func (w *world) addressed(name string) string {
	w.t.Helper()
	image, err := os.ReadFile(program(w.t, name+"-anywhere", "-ldflags=-s -w -X main.name="+name+" -X main.baseURL="+placeholder, "./testdata/things"))
	if err != nil {
		w.t.Fatal(err)
	}
	host, port, _ := strings.Cut(strings.TrimPrefix(w.service.url, "http://"), ":")
	address := "http://" + host + ":" + strings.Repeat("0", 5-len(port)) + port
	if len(address) != len(placeholder) || !bytes.Contains(image, []byte(placeholder)) {
		w.t.Fatalf("%s can't be written into the program", address)
	}
	written, path := filepath.Join(w.dir, name+".written"), filepath.Join(w.dir, name)
	if err := os.WriteFile(written, bytes.ReplaceAll(image, []byte(placeholder), []byte(address)), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := testbuild.Copy(path, written); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// command is a flowrun of the project.
func (w *world) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, w.binary, args...)
	c.Dir = w.dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "USER=ann", "TZ=UTC", "FLOWRUN_SECRET_TOKEN=real-secret-of-the-environment", "FLOWRUN_SECRET_HOOK=real-hook-secret", "FLOWRUN_SANDBOX_SECRET_HOOK=hook-secret-of-the-sandbox"}
	if w.open {
		c.Env = append(c.Env, openVariable)
	}
	return c
}

// run runs a command to its end and returns what it prints and its exit code.
func (w *world) run(args ...string) (output string, code int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	printed, err := w.command(ctx, args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatalf("flowrun %s: %v", strings.Join(args, " "), err)
	}
	if ctx.Err() != nil {
		w.t.Fatalf("flowrun %s does not end:\n%s", strings.Join(args, " "), printed)
	}
	if exit != nil {
		code = exit.ExitCode()
	}
	return string(printed), code
}

// exits runs a command that must end with a code.
func (w *world) exits(want int, args ...string) string {
	w.t.Helper()
	output, code := w.run(args...)
	if code != want && !w.control {
		w.t.Errorf("flowrun %s: exit code %d, want %d\n%s", strings.Join(args, " "), code, want, output)
	}
	return output
}

// refused runs a command that must be refused with the three ways out.
func (w *world) refused(args ...string) {
	w.t.Helper()
	output := w.exits(3, args...)
	for _, part := range []string{"mine", "--live mine", "--mocks", "sandbox: {mine: {command:"} {
		if !strings.Contains(output, part) && !w.control {
			w.t.Errorf("flowrun %s does not say %q:\n%s", strings.Join(args, " "), part, output)
		}
	}
}

// newest is the newest run of the sandbox.
func (w *world) newest() string {
	w.t.Helper()
	output := w.exits(0, "runs", "list", "--sandbox", "--limit", "1", "-o", "json")
	var page struct{ Items []struct{ ID string } }
	if err := json.Unmarshal([]byte(output), &page); err != nil || len(page.Items) == 0 {
		w.t.Fatalf("no run: %v\n%s", err, output)
	}
	return page.Items[0].ID
}

// server is a `flowrun serve` of the project.
type server struct {
	w       *world
	command *exec.Cmd
	output  *lockedBuffer
	URL     string
	ended   chan struct{}
}

// lockedBuffer is a buffer that a process writes to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(data)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// serve starts a server of the sandbox and waits until it answers; nil when it ended
// before.
func (w *world) serve(args ...string) *server {
	w.t.Helper()
	s := &server{w: w, output: &lockedBuffer{}, ended: make(chan struct{})}
	s.command = w.command(context.Background(), append([]string{"serve", "--sandbox", "--listen", "127.0.0.1:0"}, args...)...)
	s.command.Stdout, s.command.Stderr = s.output, s.output
	if err := s.command.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		_ = s.command.Wait() // its exit code tells
		close(s.ended)
	}()
	w.t.Cleanup(s.end)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		select {
		case <-s.ended:
			return nil
		default:
		}
		var owner struct{ URL string }
		data, err := os.ReadFile(filepath.Join(w.dir, sandboxState, "owner.json"))
		if err == nil && json.Unmarshal(data, &owner) == nil && owner.URL != "" && strings.Contains(s.output.String(), "log in, once") {
			s.URL = owner.URL
			return s
		}
	}
	w.t.Fatalf("the server is not there:\n%s", s.output)
	return nil
}

// end ends the server.
func (s *server) end() {
	_ = s.command.Process.Signal(os.Interrupt)
	select {
	case <-s.ended:
	case <-time.After(30 * time.Second):
		_ = s.command.Process.Kill()
		<-s.ended
	}
}

// hook sends a request to a webhook, with the secret of its senders.
func (s *server) hook(path, secret string) (status int) {
	s.w.t.Helper()
	status, _ = s.send(path, secret, "{}")
	return status
}

// post asks the server's API with a token of its own.
func (s *server) post(path, body string) (status int, answer string) {
	s.w.t.Helper()
	lines := strings.Fields(s.w.exits(0, "tokens", "create", "--sandbox", "--scope", "admin"))
	return s.send(path, tokenIn(lines), body)
}

func (s *server) send(path, token, body string) (status int, answer string) {
	s.w.t.Helper()
	request, err := http.NewRequest(http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.w.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.w.t.Fatal(err)
	}
	defer response.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(response.Body); err != nil {
		s.w.t.Fatal(err)
	}
	return response.StatusCode, text.String()
}

// tokenIn finds the token in what `tokens create` prints beside its notes.
func tokenIn(words []string) string {
	for _, word := range words {
		if len(word) > 30 && !strings.Contains(word, ".") {
			return word
		}
	}
	return ""
}
