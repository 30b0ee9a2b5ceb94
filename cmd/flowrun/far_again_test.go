package main_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const farPausing = "flowrun: v1\nname: pausing\nsteps:\n  - id: before\n    uses: core.log\n    with: {text: a line before}\n  - id: ask\n    uses: core.approve\n    with: {message: go on}\n" +
	"  - id: after\n    uses: core.log\n    with: {text: a line after}\n"

// follows is a command that follows a run, and the lines that it has said on both streams.
type follows struct {
	t       *testing.T
	command *exec.Cmd
	lines   chan string
	said    []string
}

func followFar(t *testing.T, binary, client string, environ []string, args ...string) *follows {
	t.Helper()
	command := farCommand(binary, client, args...)
	command.Env = append(command.Env, environ...)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = writer, writer
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	f := &follows{t: t, command: command, lines: make(chan string, 1000)}
	go func() {
		defer close(f.lines)
		for scanner := bufio.NewScanner(reader); scanner.Scan(); {
			f.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() { _ = command.Process.Kill(); _ = reader.Close() })
	return f
}

// until reads lines until one holds text.
func (f *follows) until(text string) {
	f.t.Helper()
	for line := range f.lines {
		f.said = append(f.said, line)
		if strings.Contains(line, text) {
			return
		}
	}
	f.t.Fatalf("%v never says %q:\n%s", f.command.Args[1:], text, strings.Join(f.said, "\n"))
}

// end reads the other lines and returns the exit code.
func (f *follows) end() int {
	for line := range f.lines {
		f.said = append(f.said, line)
	}
	_ = f.command.Wait() // the exit code says it
	return f.command.ProcessState.ExitCode()
}

func (f *follows) count(text string) (n int) {
	for _, line := range f.said {
		n += strings.Count(line, text)
	}
	return n
}

// TestWhatIsFollowedFarAwayOutlivesTheServer: `runs watch` and `runs logs -f` say that the
// server is gone, and go on with the one that comes in its place, without a line twice.
func TestWhatIsFollowedFarAwayOutlivesTheServer(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	dir, client := farProject(t, farFiles), farProject(t, map[string]string{"pausing.yaml": farPausing})
	made := farCommand(certificateProgram(t), dir, "localhost")
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	write(t, dir, "flowrun.yaml", farFiles["flowrun.yaml"]+"server: {tls_cert: cert.pem, tls_key: key.pem}\n")
	url, server := startFar(t, binary, dir, "127.0.0.1:0")
	token, err := farCommand(binary, dir, "tokens", "create", "far", "--scope", "admin").Output()
	if err != nil {
		t.Fatal(err)
	}
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, token, 0o600); err != nil {
		t.Fatal(err)
	}
	remote := []string{"FLOWRUN_SERVER=" + url, "FLOWRUN_TOKEN_FILE=" + tokenFile, "FLOWRUN_CA_FILE=" + filepath.Join(dir, "cert.pem")}
	if said := typed(t, binary, client, "run pausing.yaml --detach", remote...); !strings.HasSuffix(said, "=> 0\n") {
		t.Fatal(said)
	}
	logs := followFar(t, binary, client, remote, "runs", "logs", "-f", "-w", "pausing")
	watch := followFar(t, binary, client, remote, "runs", "watch", "-w", "pausing")
	logs.until("a line before")
	watch.until("a line before")
	if err := server.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
	for _, follows := range []*follows{logs, watch} {
		follows.until("the server " + url + " can't be reached; trying again for a minute")
	}
	if again, _ := startFar(t, binary, dir, strings.TrimPrefix(url, "https://")); again != url {
		t.Fatalf("the server is at %s now", again)
	}
	if said := typed(t, binary, client, "runs approve -w pausing", remote...); !strings.HasSuffix(said, "=> 0\n") {
		t.Fatal(said)
	}
	for _, follows := range []*follows{logs, watch} {
		code := follows.end()
		if code != 0 || follows.count("a line before") != 1 || follows.count("a line after") != 1 {
			t.Errorf("%v => %d\n%s", follows.command.Args[1:], code, strings.Join(follows.said, "\n"))
		}
	}
}
