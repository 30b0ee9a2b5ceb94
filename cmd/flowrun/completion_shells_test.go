//go:build linux

package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const completedWorkflow = `flowrun: v1
name: greet
description: says hello
inputs:
  site: {type: string, enum: [north, south], default: north}
  loud: {type: boolean, default: false}
triggers:
  daily: {cron: "0 9 * * *"}
state:
  seen: {type: integer, default: 0}
steps:
  - id: hello
    uses: core.log
    with: {text: "${{ inputs.site }}"}
outputs:
  reply: hi
`

const completedProject = `connections:
  work: {plugin: netinfo, config: {base_url: "${{ secrets.TOKEN }}"}}
workflows: [workflows]
`

// completedNouns are what is typed before the key, and what stands there behind it: one for
// each kind of noun.
var completedNouns = []struct{ noun, typed, want string }{
	{"a command", "flowrun runs sh", "flowrun runs show"},
	{"a word for a run", "flowrun runs show la", "flowrun runs show last"},
	{"a run", "flowrun runs show 0", "flowrun runs show $RUN"},
	{"a step of a run", "flowrun runs logs last he", "flowrun runs logs last hello"},
	{"an output of a run", "flowrun runs output -w greet re", "flowrun runs output -w greet reply"},
	{"a workflow", "flowrun runs list -w gr", "flowrun runs list -w greet"},
	{"a workflow file", "flowrun run workflows/gr", "flowrun run workflows/greet.yaml"},
	{"an input", "flowrun run workflows/greet.yaml -i si", "flowrun run workflows/greet.yaml -i site="},
	{"a value of an input", "flowrun run workflows/greet.yaml -i site=so", "flowrun run workflows/greet.yaml -i site=south"},
	{"an action", "flowrun call netinfo.wh", "flowrun call netinfo.whois"},
	{"a connection", "flowrun connections test wo", "flowrun connections test work"},
	{"a schedule", "flowrun schedules pause greet/d", "flowrun schedules pause greet/daily"},
	{"a secret", "flowrun secrets rm TOK", "flowrun secrets rm TOKEN"},
	{"a code", "flowrun explain FR200", "FR2004"},
	{"a value of the state", "flowrun state get greet se", "flowrun state get greet seen"},
	{"a plugin", "flowrun plugins show dict", "flowrun plugins show dictionary"},
	{"a format", "flowrun runs list -o js", "flowrun runs list -o json"},
	{"a status", "flowrun runs list --status timed", "flowrun runs list --status timed_out"},
	{"a setting", "flowrun config explain retention.k", "flowrun config explain retention.keep"},
}

// completedFolder is a project in which a run has ended, with the program in the folder bin.
func completedFolder(t *testing.T) (dir, run string) {
	t.Helper()
	binary, dir := buildBinary(t), t.TempDir()
	for _, folder := range []string{"bin", "workflows", "home"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(binary, filepath.Join(dir, "bin", "flowrun")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "flowrun.yaml", completedProject)
	write(t, dir, "workflows/greet.yaml", completedWorkflow)
	for _, args := range [][]string{{"plugins"}, {"run", "workflows/greet.yaml"}} {
		command := exec.Command(filepath.Join(dir, "bin", "flowrun"), args...)
		command.Dir = dir
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, output)
		} else if match := regexp.MustCompile(`run ([0-9a-z]{26})`).FindSubmatch(output); match != nil {
			run = string(match[1])
		}
	}
	return dir, run
}

// shellOf finds a shell; where this machine has none the test is skipped, and says so.
func shellOf(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("this machine has no %s: scripts/install-shells installs it", name)
	}
	return path
}

// typist types into a shell in a terminal and reads what it shows.
type typist struct {
	t      *testing.T
	master *os.File
	mu     sync.Mutex
	shown  bytes.Buffer
}

// typeInto starts a shell in the project's folder.
func typeInto(t *testing.T, dir, shell string, args ...string) *typist {
	t.Helper()
	master, slave := bareTerminal(t)
	command := exec.Command(shell, args...)
	command.Dir, command.Stdin, command.Stdout, command.Stderr = dir, slave, slave, slave
	command.Env = shellEnv(dir)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	p := &typist{t: t, master: master}
	go p.read()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = master.Close()
		_ = command.Wait()
	})
	return p
}

func shellEnv(dir string) []string {
	return []string{
		"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "TERM=xterm", "LC_ALL=C.UTF-8", "PS1=> ",
	}
}

func (p *typist) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := p.master.Read(buffer)
		p.mu.Lock()
		p.shown.Write(buffer[:n])
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

var terminalCodes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x07|\r|\x1b\\][^\x07]*")

// screen is what was shown since the last clear, without what moves the cursor.
func (p *typist) screen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return terminalCodes.ReplaceAllString(p.shown.String(), "")
}

func (p *typist) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown.Reset()
}

func (p *typist) types(text string) {
	if _, err := p.master.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// until waits for a text on the screen.
func (p *typist) until(what, text string) {
	p.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(p.screen(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: %q was not shown; the screen:\n%s", what, text, p.screen())
		}
	}
}

// noErrors looks for what a shell says of a script that goes wrong.
func (p *typist) noErrors() {
	p.t.Helper()
	for _, wrong := range []string{"not found", "error:", "syntax", "unbound", "panic"} {
		if strings.Contains(p.screen(), wrong) {
			p.t.Errorf("the shell shows %q:\n%s", wrong, p.screen())
		}
	}
}

// completes types each noun and the key.
func (p *typist) completes(run, kill string) {
	p.t.Helper()
	for _, c := range completedNouns {
		p.clear()
		key := "\t"
		if c.noun == "a code" {
			key = "\t\t" // several begin so: a list
		}
		p.types(c.typed + key)
		p.until(c.noun, strings.ReplaceAll(c.want, "$RUN", run))
		p.noErrors()
		p.types(kill)
	}
}

// TestBashCompletes: in a terminal, without the package bash-completion and with it.
func TestBashCompletes(t *testing.T) {
	t.Parallel()
	shell := shellOf(t, "bash")
	dir, run := completedFolder(t)
	p := typeInto(t, dir, shell, "--norc", "--noprofile", "-i")
	p.types("bind 'set enable-bracketed-paste off'; source <(flowrun completion bash); echo re''ady\n")
	p.until("the script", "ready")
	p.noErrors()
	p.completes(run, "\x15")
	p.clear()
	p.types("flowrun validate workfl\t")
	p.until("a folder or a file", "flowrun validate workflows/greet.yaml")
	p.noErrors()
}

// TestZshCompletes: by the file that `completion install` writes and the line that it tells.
func TestZshCompletes(t *testing.T) {
	t.Parallel()
	shell := shellOf(t, "zsh")
	dir, run := completedFolder(t)
	line := installedLine(t, dir, "zsh")
	p := typeInto(t, dir, shell, "-f", "-i")
	p.types(strings.Replace(line, "; compinit", "; compinit -u", 1) + "; echo re''ady\n")
	p.until("the script", "ready")
	p.completes(run, "\x15")
}

// installedLine installs the completion and returns the line for the shell's own file.
func installedLine(t *testing.T, dir, shell string) string {
	t.Helper()
	command := exec.Command(filepath.Join(dir, "bin", "flowrun"), "completion", "install", shell)
	command.Dir, command.Env = dir, shellEnv(dir)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for line := range strings.Lines(string(output)) {
		if text, ok := strings.CutPrefix(line, "    "); ok {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// TestFishCompletes: by the file that `completion install` writes.
func TestFishCompletes(t *testing.T) {
	t.Parallel()
	shell := shellOf(t, "fish")
	dir, run := completedFolder(t)
	if line := installedLine(t, dir, "fish"); line != "" {
		t.Errorf("fish needs no line, and is told %q", line)
	}
	for _, c := range completedNouns {
		command := exec.Command(shell, "-c", "complete -C "+"'"+c.typed+"'")
		command.Dir, command.Env = dir, shellEnv(dir)
		output, err := command.CombinedOutput()
		words := strings.Fields(strings.ReplaceAll(c.want, "$RUN", run))
		want := words[len(words)-1]
		if err != nil || !strings.Contains(string(output), want) {
			t.Errorf("%s: %v, %q is not in\n%s", c.noun, err, want, output)
		}
	}
}
