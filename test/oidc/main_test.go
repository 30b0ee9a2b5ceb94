package oidc

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience bounds everything that is waited for: it says "never", not "slow".
const patience = 3 * time.Minute

// What the tests share, made once: the program, and the address where servers are
// ordered. missing says why there are none.
var binary, control, missing string

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "16") // the tests wait for polls, most of the time
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if missing = lacking(); missing != "" {
		return m.Run() // every test says that it is skipped
	}
	folder, err := os.MkdirTemp("", "flowrun-oidc-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	if binary = os.Getenv("FLOWRUN_BINARY"); binary == "" {
		binary = filepath.Join(folder, "flowrun")
		build := exec.Command("go", "build", "-C", filepath.Join("..", ".."), "-o", binary, "./cmd/flowrun")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build flowrun: %v\n%s", err, out)
			return 1
		}
	}
	end, err := startNode()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer end()
	return m.Run()
}

// lacking tells what the tests need and do not find.
func lacking() string {
	if _, err := exec.LookPath("node"); err != nil {
		return "there is no node: install Node.js 20 or later, then `npm ci` in test/oidc"
	}
	if _, err := os.Stat(filepath.Join("node_modules", "oidc-provider", "package.json")); err != nil {
		return "the package oidc-provider is not installed: `npm ci` in test/oidc (make oidc does it)"
	}
	return ""
}

// startNode starts the process that holds the servers.
func startNode() (end func(), err error) {
	node := exec.Command("node", "server.mjs")
	stdin, err := node.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := node.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var warnings strings.Builder
	node.Stderr = &warnings
	if err := node.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("server.mjs does not start: %w", err), node.Wait(), errors.New(warnings.String()))
	}
	control = strings.TrimSpace(line)
	return func() {
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		_ = node.Wait()
	}, nil
}
