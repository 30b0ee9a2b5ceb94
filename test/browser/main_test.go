package browser

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// patience bounds everything that is waited for: it says "never", not "slow".
const patience = 90 * time.Second

// browserPath is the browser, "" where there is none. FLOWRUN_BROWSER names
// another one.
func browserPath() string {
	if path := os.Getenv("FLOWRUN_BROWSER"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// the binary under test, built once; FLOWRUN_BINARY names one that is built.
var binary string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if browserPath() == "" {
		return m.Run() // every test says that it is skipped
	}
	if binary = os.Getenv("FLOWRUN_BINARY"); binary == "" {
		folder, err := os.MkdirTemp("", "flowrun-browser-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(folder)
		binary = filepath.Join(folder, "flowrun")
		build := exec.Command("go", "build", "-o", binary, "./cmd/flowrun")
		build.Dir, build.Env = filepath.Join("..", ".."), append(os.Environ(), "GOWORK=off")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build flowrun: %v\n%s", err, out)
			return 1
		}
	}
	defer closeBrowser()
	return m.Run()
}

// server is a `flowrun serve --sandbox` over a project of its own.
type server struct {
	t       *testing.T
	project string
	url     string
}

// serve starts a server over the workflows of testdata, and shipped ones by the
// names of their files.
func serve(t *testing.T, shipped ...string) *server {
	t.Helper()
	return serveProject(t, func(folder string) {
		if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "project"))); err != nil {
			t.Fatal(err)
		}
		for _, name := range shipped {
			source, err := os.ReadFile(filepath.Join("..", "..", "workflows", name))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "workflows", name), source, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// serveProject starts a server over the project that a function writes, and ends it
// with the test.
func serveProject(t *testing.T, write func(folder string)) *server {
	t.Helper()
	if browserPath() == "" {
		t.Skip("there is no browser: install chromium, or name one with FLOWRUN_BROWSER")
	}
	s := &server{t: t, project: t.TempDir()}
	write(s.project)
	command := exec.Command(binary, "serve", "--sandbox", "--approve-after", "never", "--listen", "127.0.0.1:0")
	command.Dir, command.Env = s.project, append(os.Environ(), "TZ=Europe/Berlin", "HOME="+s.project)
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ready, lines, ended := make(chan string, 1), make(chan string, 1), make(chan error, 1)
	go func() {
		var log strings.Builder
		for scanner := bufio.NewScanner(stderr); scanner.Scan(); {
			fmt.Fprintln(&log, scanner.Text())
			if found := servesAt.FindStringSubmatch(scanner.Text()); found != nil {
				ready <- found[1]
			}
		}
		lines <- log.String()
		ended <- command.Wait()
	}()
	t.Cleanup(func() {
		if err := command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		log := <-lines
		if err := <-ended; err != nil && !strings.Contains(err.Error(), "143") && !strings.Contains(err.Error(), "terminated") {
			t.Errorf("serve ended with %v", err)
		}
		if t.Failed() {
			t.Logf("serve said:\n%s", log)
		}
		if strings.Contains(log, "page failed") || strings.Contains(log, "not rendered") || strings.Contains(log, "panic") {
			t.Errorf("the server had a fault:\n%s", log)
		}
	})
	select {
	case s.url = <-ready:
	case <-time.After(patience):
		t.Fatal("serve does not say where it listens")
	}
	return s
}

var servesAt = regexp.MustCompile(`flowrun serves (https?://\S+)`)

// flowrun runs a command against the server's store.
func (s *server) flowrun(args ...string) string {
	s.t.Helper()
	command := exec.Command(binary, append(args, "--sandbox")...)
	command.Dir, command.Env = s.project, append(os.Environ(), "HOME="+s.project)
	out, err := command.CombinedOutput()
	if err != nil {
		s.t.Fatalf("flowrun %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// loginLink makes a link that is good for one login.
func (s *server) loginLink() string {
	s.t.Helper()
	out := s.flowrun("tokens", "link")
	link := regexp.MustCompile(`https?://\S+`).FindString(out)
	if link == "" {
		s.t.Fatalf("flowrun tokens link: %s", out)
	}
	return link
}

// theBrowser is one browser for all tests, started by the first one; each opens tabs
// with cookies of their own in it.
var theBrowser struct {
	once  sync.Once
	ctx   context.Context
	err   error
	close []func()
}

// newBrowser is a tab with cookies of its own, closed with the test.
func newBrowser(t *testing.T) context.Context {
	t.Helper()
	theBrowser.once.Do(startBrowser)
	if theBrowser.err != nil {
		t.Fatalf("start %s: %v", browserPath(), theBrowser.err)
	}
	ctx, cancel := chromedp.NewContext(theBrowser.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	return ctx
}

func startBrowser() {
	profile, err := os.MkdirTemp("", "flowrun-profile-")
	if err != nil {
		theBrowser.err = err
		return
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.ExecPath(browserPath()), chromedp.UserDataDir(profile), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("lang", "en-US"))
	ctx, stop := chromedp.NewContext(ctx)
	theBrowser.close = []func(){stop, cancel, func() { _ = os.RemoveAll(profile) }}
	theBrowser.ctx, theBrowser.err = ctx, chromedp.Do(ctx) // it lives as long as the context of the first action
}

// closeBrowser ends the browser, if one was started.
func closeBrowser() {
	for _, end := range theBrowser.close {
		end()
	}
}
