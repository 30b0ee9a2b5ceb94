package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// farCommands are typed one after the other; each sees what those before have left.
var farCommands = []string{
	"runs", "runs list -o json", "run greet.yaml", "run greet.yaml -i name=Ada", "runs show last", "run greet.yaml -i name=Ada -i nobody=1",
	"run greet.yaml -i name=Eve -o json", "run missing.yaml", "run broken.yaml", "run bad.yaml", "run greet.yaml -i name=Bob -o jsonl",
	"run asks.yaml --no-wait",
	"runs list -w greet -n 1", "runs list --query 'status == \"failed\"'", "runs list --query 'error.kind'", "runs list --label team=web -o json",
	"runs show -w greet", "runs show -w greet made", "runs show -w greet -o json", "runs show 0000", "runs show @failed", "runs logs -w greet", "runs logs -w bad", "runs logs -w bad --failed", "runs logs -w greet --tail 1 -o jsonl", "runs list --all -n 3",
	"runs steps -w greet", "runs output -w greet text", "runs output -w greet none", "runs cancel -w greet", "runs resume -w greet", "runs rerun -w greet", "runs rerun -w greet -i name=Zoe -o json",
	"runs show @waiting", "runs reject @waiting --comment no", "runs approve @waiting --form limit=x", "runs approve @waiting --form limit=2 --comment fine", "runs approve @waiting",
	"runs watch -w asks", "runs logs -f -w asks", "runs diff -w greet", "runs export -w nowhere",
	"schedules", "schedules list -o json", "schedules pause daily/morning", "schedules", "schedules resume daily/morning", "schedules pause nothing/at-all", "schedules trigger daily/morning --detach",
	"secrets list", "secrets set TOKEN --from-file value.txt", "secrets list", "secrets rm TOKEN", "secrets rm TOKEN",
	"state counts", "state set counts n 5", "state get counts n", "state reset counts n", "state get nobody n",
	"connections", "connections test nobody", "call core.log", "call nobody.does", "runs rm -w bad --yes", "runs show -w bad",
	"run greet.yaml -i name=Ada --detach", "workflows", "workflows show daily", "workflows show nobody", "workflows disable daily --reason test", "workflows enable daily",
	"run daily", "eval --run @failed 'run.status'", "tokens rm nobody",
}

// farNeedsServer reports whether a command says something else where no process owns the
// store: nobody drives runs, serves schedules or finds workflows then.
func farNeedsServer(line string) bool {
	for _, begin := range []string{"schedules", "state", "workflows", "run daily", "eval", "runs list --all"} {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	return strings.Contains(line, "--detach") || strings.Contains(line, "asks") || strings.Contains(line, "@waiting")
}

var farFiles = map[string]string{
	"flowrun.yaml":          "workflows: [workflows]\n",
	"workflows/daily.yaml":  "flowrun: v1\nname: daily\ntriggers:\n  morning: {cron: \"0 9 1 1 *\", timezone: UTC}\nsteps:\n  - uses: core.log\n    with: {text: good morning}\n",
	"workflows/counts.yaml": "flowrun: v1\nname: counts\nstate:\n  n: {type: integer, default: 1}\nsteps:\n  - uses: core.log\n    with: {text: \"${{ string(state.n) }}\"}\n",
	"greet.yaml": "flowrun: v1\nname: greet\nlabels: {team: web}\ninputs:\n  name: {type: string, minLength: 1}\nsteps:\n  - id: made\n    let: {text: \"hello ${{ inputs.name }}\"}\n" +
		"  - uses: core.log\n    with: {text: \"${{ steps.made.outputs.text }}\"}\noutputs:\n  text: ${{ steps.made.outputs.text }}\n",
	"broken.yaml": "flowrun: v1\nname: broken\nsteps:\n  - uses: core.lag\n",
	"bad.yaml":    "flowrun: v1\nname: bad\nsteps:\n  - uses: core.fail\n    with: {message: not today}\n",
	"asks.yaml":   "flowrun: v1\nname: asks\nsteps:\n  - id: ask\n    uses: core.approve\n    with:\n      message: go on?\n      form: {limit: {type: integer, minimum: 1}}\n",
	"value.txt":   "a-value-that-is-long-enough\n",
}

// farWords replaces what differs from one run of the same commands to the next: ids,
// times, lengths of time, addresses, who acted.
var farWords = []struct {
	of   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b01[0-9a-hjkmnp-tv-z]{24}\b`), "RUN"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "HASH"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( UTC|Z)?`), "TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "TIME"},
	{regexp.MustCompile(`\b\d+(\.\d+)?m?s( ago)?\b *`), "LONG "},
	{regexp.MustCompile(`"(duration_ms|at)": ?\d+`), `"$1":0`},
	{regexp.MustCompile(`token far from 127\.0\.0\.1|\w+ \(uid \d+, process \d+, [^)]+\) who says \\?"far\\?"`), "far"},
}

// TestTheSameCommandsSayTheSameFarAway types the same commands in three projects: where
// each command owns the store itself, at the socket of a server, and, from a folder
// without a project, at a server over TLS. Output and exit code are the same.
func TestTheSameCommandsSayTheSameFarAway(t *testing.T) {
	t.Parallel()
	if len(farCommands) < 40 {
		t.Fatalf("%d commands", len(farCommands))
	}
	binary := buildBinary(t)
	local, socket, far := farProject(t, farFiles), farProject(t, farFiles), farProject(t, farFiles)
	serveFar(t, binary, socket, "")
	url := serveFar(t, binary, far, "tls")
	token, err := farCommand(binary, far, "tokens", "create", "far", "--scope", "admin").Output()
	if err != nil {
		t.Fatal(err)
	}
	client := farProject(t, map[string]string{})
	for name, text := range farFiles {
		if !strings.HasPrefix(name, "workflows/") && name != "flowrun.yaml" {
			write(t, client, name, text)
		}
	}
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, token, 0o600); err != nil {
		t.Fatal(err)
	}
	remote := []string{"FLOWRUN_SERVER=" + url, "FLOWRUN_TOKEN_FILE=" + tokenFile, "FLOWRUN_CA_FILE=" + filepath.Join(far, "cert.pem")}
	write(t, client, "calls.yaml", "flowrun: v1\nname: calls\nsteps:\n  - uses: ./workflows/daily.yaml\n")
	if said := typed(t, binary, client, "run calls.yaml", remote...); !strings.Contains(said, "calls.yaml:4: the workflow calls the file ./workflows/daily.yaml, which is not sent with it") || !strings.HasSuffix(said, "=> 2\n") {
		t.Errorf("a file that calls another one of the server:\n%s", said)
	}
	for line, want := range map[string]string{"db stats": "needs the machine", "--server " + url + " init": "looks at files of this machine", "validate greet.yaml": "=> 0", "run nobody": "there is no workflow `nobody`", "runs --sandbox": "exclude each other"} {
		if said := typed(t, binary, client, line, remote...); !strings.Contains(said, want) {
			t.Errorf("flowrun %s:\n%s", line, said)
		}
	}
	for _, line := range farCommands {
		at := typed(t, binary, socket, line)
		away := typed(t, binary, client, line, remote...)
		if alone := typed(t, binary, local, line); !farNeedsServer(line) && alone != at {
			t.Errorf("flowrun %s\nin its own store:\n%s\nat the socket:\n%s", line, alone, at)
		}
		if at != away {
			t.Errorf("flowrun %s\nat the socket:\n%s\nfar away:\n%s", line, at, away)
		}
	}
}

// typed is what a command says: stdout, stderr and its exit code.
func typed(t *testing.T, binary, dir, line string, environ ...string) string {
	t.Helper()
	command := exec.Command("sh", "-c", `exec "$0" `+line, binary)
	command.Dir, command.Env = dir, append(farEnviron(dir), environ...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	said := fmt.Sprintf("%s--\n%s=> %d\n", stdout.String(), stderr.String(), command.ProcessState.ExitCode())
	for _, word := range farWords {
		said = word.of.ReplaceAllString(said, word.with)
	}
	return said
}

func farEnviron(dir string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "USER=far", "TZ=UTC", "TMPDIR=" + os.TempDir()}
}

func farCommand(binary, dir string, args ...string) *exec.Cmd {
	command := exec.Command(binary, args...)
	command.Dir, command.Env = dir, farEnviron(dir)
	return command
}

func farProject(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, text)
	}
	return dir
}

// serveFar starts a server of a project and returns its address once it answers.
func serveFar(t *testing.T, binary, dir, secure string) string {
	t.Helper()
	if secure != "" {
		made := farCommand(certificateProgram(t), dir, "localhost")
		if out, err := made.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		write(t, dir, "flowrun.yaml", farFiles["flowrun.yaml"]+"server: {tls_cert: cert.pem, tls_key: key.pem}\n")
	}
	url, _ := startFar(t, binary, dir, "127.0.0.1:0")
	return url
}

// startFar starts a server that listens there, and returns its address once it answers.
func startFar(t *testing.T, binary, dir, listen string) (string, *exec.Cmd) {
	t.Helper()
	server := farCommand(binary, dir, "serve", "--listen", listen)
	var log bytes.Buffer
	server.Stderr = &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		_ = server.Wait() // 143
		if t.Failed() {
			t.Logf("the server says:\n%s", log.String())
		}
	})
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if farCommand(binary, dir, "ready").Run() == nil {
			break
		}
	}
	var owner struct{ URL string }
	data, err := os.ReadFile(filepath.Join(dir, ".flowrun", "state", "owner.json"))
	if err == nil {
		err = json.Unmarshal(data, &owner)
	}
	if err != nil || owner.URL == "" {
		t.Fatalf("no server: %v", err)
	}
	return owner.URL, server
}

// certificateProgram is the program of the scripts that makes a certificate.
func certificateProgram(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "certificate")
	if err := os.Symlink(testExecutable(t), path); err != nil {
		t.Fatal(err)
	}
	return path
}

func testExecutable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
