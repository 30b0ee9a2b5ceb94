package main_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/testbuild"
	"github.com/flowrun/flowrun/internal/testpage"
)

const debugPage = "../../docs/plugins/debug.md"

// TestIssue15_ThePageOfDebuggingIsTrue runs each command of docs/plugins/debug.md: each line
// of output that the page shows is printed.
func TestIssue15_ThePageOfDebuggingIsTrue(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(debugPage)
	if err != nil {
		t.Fatal(err)
	}
	p := &debugged{t: t, dir: t.TempDir(), addresses: map[string]string{}}
	p.prepare()
	commands := 0
	for _, b := range testpage.Read(text) {
		if b.File != "" {
			p.file(b.File, b.Text)
			continue
		}
		session := b.Session()
		if len(session) == 0 || strings.Contains(b.Text, "greeter") && !p.python {
			continue
		}
		commands++
		code := "0"
		if len(session) == 2 && session[1].Typed == "echo $?" {
			code = strings.TrimSpace(session[1].Shown)
		}
		if c := session[0]; strings.Contains(c.Shown, " waits for flowrun ") {
			p.background(c.Typed, c.Shown)
		} else {
			p.run(c.Typed, c.Shown, code)
		}
	}
	if commands < 5 {
		t.Errorf("only %d commands were found", commands)
	}
}

// debugged is the folder in which the page's commands run.
type debugged struct {
	t         *testing.T
	dir       string
	environ   []string
	python    bool
	addresses map[string]string // of the page, to those that were printed
}

func (p *debugged) prepare() {
	p.t.Helper()
	bin := filepath.Join(p.dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		p.t.Fatal(err)
	}
	sdk, err := filepath.Abs("../../sdk/python")
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.Symlink(buildBinary(p.t), filepath.Join(bin, "flowrun")); err != nil {
		p.t.Fatal(err)
	}
	if err := testbuild.Program(filepath.Join(p.dir, "greet"), "./testdata/greet"); err != nil {
		p.t.Fatal(err)
	}
	if p.python = python3() != ""; p.python {
		if err := os.Symlink(filepath.Join(python3(), "python3"), filepath.Join(bin, "python3")); err != nil {
			p.t.Fatal(err)
		}
	} else {
		p.t.Log("SKIPPED in part: there is no python3 with grpcio and protobuf (scripts/install-python)")
	}
	p.environ = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PYTHONPATH="+sdk, "TMPDIR="+p.t.TempDir(), "HOME="+p.dir,
		"FLOWRUN_SECRET_GREET_KEY=canary-of-greet-4711")
}

// file writes a file of the page; the source of the plugin is that of the built one.
func (p *debugged) file(name, content string) {
	p.t.Helper()
	if name == "main.go" {
		built, err := os.ReadFile("testdata/greet/main.go")
		if err != nil {
			p.t.Fatal(err)
		}
		if _, code, _ := strings.Cut(string(built), "package main"); code != strings.TrimPrefix(content, "package main") {
			p.t.Error("main.go of the page is not the file in testdata/greet")
		}
		return
	}
	write(p.t, p.dir, name, content)
}

func (p *debugged) command(ctx context.Context, line string) *exec.Cmd {
	for shown, real := range p.addresses {
		line = strings.ReplaceAll(line, shown, real)
	}
	c := exec.CommandContext(ctx, "sh", "-c", "exec "+line)
	c.Dir, c.Env = p.dir, p.environ
	return c
}

// run runs a command to its end.
func (p *debugged) run(line, shown, code string) {
	p.t.Helper()
	output, err := p.command(p.t.Context(), line).CombinedOutput()
	want := "exit status " + code
	if err == nil && code != "0" || err != nil && err.Error() != want {
		p.t.Errorf("%s: %v, want exit status %s\n%s", line, err, code, output)
	}
	p.compare(line, shown, string(output))
	if strings.Contains(string(output), "canary") {
		p.t.Errorf("%s shows the secret:\n%s", line, output)
	}
}

var socketOfPage = regexp.MustCompile(`/\S*flowrun-debug-[^/ ]+/plugin\.sock`)

// background starts a command that waits, until the end of the test.
func (p *debugged) background(line, shown string) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := p.command(ctx, line)
	var output lockedBuffer
	c.Stdout, c.Stderr = &output, &output
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		cancel()
		_ = c.Wait()
	})
	for end := time.Now().Add(2 * time.Minute); !strings.Contains(output.String(), "Ctrl-C ends it"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("%s prints no address:\n%s", line, output.String())
		}
	}
	p.compare(line, shown, output.String())
	p.addresses[socketOfPage.FindString(shown)] = socketOfPage.FindString(output.String())
}

// compare looks for the lines that the page shows: what plugins print comes beside the rest.
func (p *debugged) compare(line, shown, output string) {
	p.t.Helper()
	for real, alike := range map[string]string{`\(process \d+\)`: "(process N)", socketOfPage.String(): "ADDR"} {
		pattern := regexp.MustCompile(real)
		shown, output = pattern.ReplaceAllString(shown, alike), pattern.ReplaceAllString(output, alike)
	}
	for want := range strings.Lines(shown) {
		if want = strings.TrimSpace(want); !strings.Contains(output, want) {
			p.t.Errorf("%s: the page shows %q, which it does not print:\n%s", line, want, output)
		}
	}
}

// lockedBuffer is a buffer that may be read while a process writes it.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
