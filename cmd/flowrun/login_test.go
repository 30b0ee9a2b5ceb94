//go:build linux

package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowrun/flowrun/internal/testcommand"
)

// loginProject makes a project with one connection of the plugin fakeauth and
// returns its folder and that of the service.
func loginProject(t *testing.T) (dir, service string) {
	t.Helper()
	dir = t.TempDir()
	service = filepath.Join(dir, "svc")
	if err := os.Mkdir(service, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "flowrun.yaml", fmt.Sprintf(`plugins: {fakeauth: {source: %s, grants: {paths: [%s]}}}
connections:
  work: {plugin: fakeauth, config: {folder: %s, client_secret: "${{ secrets.CLIENT_SECRET }}"}}
`, buildFakeAuth(t), service, service))
	return dir, service
}

// terminal is a pseudo terminal with what was written on it.
type terminal struct {
	master, slave *os.File
	mu            sync.Mutex
	shown         bytes.Buffer
	read          sync.WaitGroup
}

func openTerminal(t *testing.T, width, height uint16) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width})
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{master: master, slave: slave}
	term.read.Go(func() {
		buffer := make([]byte, 4096)
		for {
			n, err := master.Read(buffer)
			term.mu.Lock()
			term.shown.Write(buffer[:n])
			term.mu.Unlock()
			if err != nil {
				return // closed on the other side
			}
		}
	})
	t.Cleanup(func() {
		_ = slave.Close() // closed already where the test came to its end
		term.read.Wait()
		_ = master.Close() // nothing is read any more
	})
	return term
}

func (term *terminal) text() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.shown.String()
}

// await waits until the pattern was shown.
func (term *terminal) await(t *testing.T, pattern string) {
	t.Helper()
	sought := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(2 * time.Minute); !sought.MatchString(term.text()); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			text := term.text()
			t.Fatalf("%s was not shown:\n%q", pattern, text[max(len(text)-800, 0):])
		}
	}
}

// start runs flowrun on the terminal, which is its controlling one: Ctrl-C is a
// signal.
func (term *terminal) start(t *testing.T, binary, dir string, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.Command(binary, args...)
	command.Dir, command.Stdin, command.Stdout, command.Stderr = dir, term.slave, term.slave, term.slave
	command.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1", "XDG_STATE_HOME="+dir, "FLOWRUN_SECRET_CLIENT_SECRET=client-canary-4711")
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() }) // has ended unless the test failed
	return command
}

func exitOf(err error) int {
	var (
		exit   *exec.ExitError
		failed failedWith
	)
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case errors.As(err, &failed):
		return int(failed)
	}
	return 0
}

func polls(t *testing.T, service string) (starts, polls int) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(service, "requests"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "start"), strings.Count(string(data), "poll")
}

// TestALoginEndsAtOnceByKeyAndSignal: the box counts down; q, Esc and Ctrl-C end
// the login, and nothing is sent afterwards. The terminal is given back as it was.
func TestALoginEndsAtOnceByKeyAndSignal(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	for name, test := range map[string]struct {
		typed string
		exit  int
	}{"q": {"q", 6}, "escape": {"\x1b", 6}, "Ctrl-C": {"\x03", 130}} {
		t.Run(name, func(t *testing.T) {
			dir, service := loginProject(t)
			term := openTerminal(t, 80, 24)
			before, err := unix.IoctlGetTermios(int(term.slave.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			login := term.start(t, binary, dir, "connections", "login", "work")
			term.await(t, `│ code   WDJB-MJHT`)
			term.await(t, `09:5[0-8] left \(until [0-9:]{8}\) · q cancels`)
			if _, err := term.master.WriteString("\x1b[A" + "x"); err != nil { // an arrow and another key mean nothing
				t.Fatal(err)
			}
			time.Sleep(300 * time.Millisecond) // keys that come together are one read: these must not be the cancel's
			if _, err := term.master.WriteString(test.typed); err != nil {
				t.Fatal(err)
			}
			typed := time.Now()
			if got := exitOf(login.Wait()); got != test.exit {
				t.Errorf("exit code %d, want %d\n%q", got, test.exit, term.text())
			}
			if took := time.Since(typed); took > 60*time.Second { // the code is good for ten minutes
				t.Errorf("it ended %s after the key", took)
			}
			_, sent := polls(t, service)
			time.Sleep(500 * time.Millisecond)
			if _, later := polls(t, service); later != sent || sent == 0 {
				t.Errorf("%d polls, then %d", sent, later)
			}
			after, err := unix.IoctlGetTermios(int(term.slave.Fd()), unix.TCGETS)
			if err != nil || *after != *before {
				t.Errorf("the terminal is left as %+v, was %+v (%v)", after, before, err)
			}
			term.await(t, "nothing more is sent")
		})
	}
}

// TestAKilledLoginGoesOnWithItsCode: started again, it polls the same flow.
func TestAKilledLoginGoesOnWithItsCode(t *testing.T) {
	binary := buildBinary(t)
	dir, service := loginProject(t)
	term := openTerminal(t, 80, 24)
	login := term.start(t, binary, dir, "connections", "login", "work")
	term.await(t, `│ code   WDJB-MJHT`)
	if err := login.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = login.Wait() // killed
	write(t, service, "decision", "granted")
	t.Setenv("FLOWRUN_SECRET_CLIENT_SECRET", "client-canary-4711")
	stdout, stderr, err := flowrun(t, binary, dir, "connections", "login", "work", "-o", "json")
	if err != nil || !strings.Contains(stdout, `"state":"granted"`) {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	if starts, _ := polls(t, service); starts != 1 {
		t.Errorf("%d codes were asked for, want 1", starts)
	}
}

// TestALoginOutlivesTheOwnerOfTheStore: when the process that polls for it is
// killed, the command takes the store and goes on with the same code.
func TestALoginOutlivesTheOwnerOfTheStore(t *testing.T) {
	binary := buildBinary(t)
	dir, service := loginProject(t)
	t.Setenv("FLOWRUN_SECRET_CLIENT_SECRET", "client-canary-4711")
	write(t, dir, "slow.yaml", "flowrun: v1\nname: slow\nsteps:\n  - {uses: core.sleep, with: {for: 60s}}\n")
	owner := exec.Command(binary, "run", "slow.yaml")
	owner.Dir = dir
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Process.Kill() }) // killed already unless the test failed
	socket := filepath.Join(dir, ".flowrun", "state", "owner.json")
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(socket); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	term := openTerminal(t, 80, 24)
	login := term.start(t, binary, dir, "connections", "login", "work")
	term.await(t, `│ code   WDJB-MJHT`)
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // killed
	write(t, service, "decision", "granted")
	if err := login.Wait(); err != nil {
		t.Errorf("%v\n%q", err, term.text())
	}
	if starts, _ := polls(t, service); starts != 1 {
		t.Errorf("%d codes were asked for, want 1", starts)
	}
}

// TestASecretIsNowhereInClear puts canaries into the store and through a
// prompt: neither output nor any file below the state folder holds them.
func TestASecretIsNowhereInClear(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	dir, service := loginProject(t)
	const canary = "store-canary-4711-öä"
	var said strings.Builder
	run := func(stdin string, args ...string) {
		t.Helper()
		environ := append(os.Environ(), "FLOWRUN_LOG=debug")
		code, output, err := testcommand.Command{Dir: dir, Executable: binary, Environ: environ, Stdin: strings.NewReader(stdin)}.Combined(args...)
		if said.WriteString(output); err != nil || code != 0 {
			t.Fatalf("%v: exit code %d, %v\n%s", args, code, err, output)
		}
	}
	run(canary+"\n", "secrets", "set", "CLIENT_SECRET")
	term := openTerminal(t, 80, 24)
	ask := term.start(t, binary, dir, "secrets", "set", "TYPED")
	for _, question := range []string{`not shown\): `, `once more: `} {
		term.await(t, question)
		if _, err := term.master.WriteString("typed-" + canary + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := ask.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, term.text())
	}
	run("", "secrets", "list", "-o", "json")
	write(t, service, "decision", "granted")
	run("", "connections", "login", "work")
	run("", "connections", "list", "-o", "json")
	run("", "connections", "test", "-o", "json")
	said.WriteString(term.text())
	if strings.Contains(said.String(), "level=WARN") {
		t.Errorf("a call outside of a run warns of something:\n%s", said.String())
	}
	if strings.Contains(said.String(), "canary-4711") || !strings.Contains(said.String(), "TYPED") {
		t.Errorf("the output holds a secret:\n%s", said.String())
	}
	err := filepath.WalkDir(filepath.Join(dir, ".flowrun"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("canary-4711")) {
			t.Errorf("%s holds a secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestARunShowsALoginsPromptAndNoKey: in a run the box counts down, and no key
// ends it.
func TestARunShowsALoginsPromptAndNoKey(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	dir, service := loginProject(t)
	write(t, dir, "login.yaml", `flowrun: v1
name: login
steps:
  - {id: start, uses: fakeauth.begin, connection: work, with: {scopes: [a]}}
  - {id: wait, uses: fakeauth.confirm, connection: work, with: {flow_id: "${{ steps.start.outputs.flow_id }}"}}
`)
	term := openTerminal(t, 80, 24)
	run := term.start(t, binary, dir, "run", "login.yaml")
	term.await(t, `│ code   WDJB-MJHT`)
	term.await(t, `09:5[0-8] left \(until [0-9:]{8}\) +│`)
	if _, err := term.master.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	write(t, service, "decision", "granted")
	if err := run.Wait(); err != nil {
		t.Errorf("%v\n%q", err, term.text())
	}
	term.await(t, "succeeded")
}

// TestALoginAgainstTheSimulator: the bundled plugin logs in, a person confirms
// on the simulator's page, and logs out.
func TestALoginAgainstTheSimulator(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	config := startSandbox(t, binary, dir)
	login := exec.Command(binary, "connections", "login", "auth", "--config", config, "-o", "json")
	var said, problems lockedText
	login.Dir, login.Stdout, login.Stderr = dir, &said, &problems
	if err := login.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = login.Process.Kill() }) // has ended unless the test failed
	prompt := regexp.MustCompile(`open (http://\S+) and enter the code (\S+),`)
	var found []string
	for deadline := time.Now().Add(2 * time.Minute); found == nil; time.Sleep(10 * time.Millisecond) {
		if found = prompt.FindStringSubmatch(problems.String()); time.Now().After(deadline) {
			t.Fatalf("no prompt:\n%s", problems.String())
		}
	}
	response, err := http.PostForm(found[1], url.Values{"user_code": {found[2]}, "decision": {"approve"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("the page answered %s (%v)", response.Status, err)
	}
	if err := login.Wait(); err != nil || !strings.Contains(said.String(), `"state":"granted"`) {
		t.Fatalf("%v\n%s%s", err, said.String(), problems.String())
	}
	for _, step := range []struct{ args, want string }{
		{"connections list -o json", `"name":"auth",.*"login":\{"state":"valid",`},
		{"connections test auth", `✓ auth`},
		{"connections logout auth -o json", `^\{"connection":"auth","revoked":true,"forgotten":true\}`},
		{"connections logout auth -o json", `^\{"connection":"auth","revoked":false,"forgotten":true\}`},
		{"connections list", `auth .* not logged in`},
	} {
		stdout, stderr, err := flowrun(t, binary, dir, append(strings.Fields(step.args), "--config", config)...)
		if err != nil || !regexp.MustCompile(step.want).MatchString(stdout) {
			t.Errorf("%s: %v\n%s%s", step.args, err, stdout, stderr)
		}
	}
}

// lockedText is output that is read while it is written.
type lockedText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedText) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
