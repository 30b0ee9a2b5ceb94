package bench_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/testbuild"
)

// What the store of the server's benchmarks holds. FLOWRUN_BENCH_RUNS changes the
// number of runs.
const (
	benchSchedules = 1000
	benchRuns      = 10_000
)

// served is a `flowrun serve` of a project with many schedules and runs.
type served struct {
	b       *testing.B
	binary  string
	dir     string
	command *exec.Cmd
	stderr  *output
	client  *http.Client
	url     string
	token   string
	run     string // one with steps, for its pages
}

// output is written by a process while it is read.
type output struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.Write(data)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.String()
}

func buildFlowrun(b *testing.B) string {
	b.Helper()
	binary := filepath.Join(b.TempDir(), "flowrun")
	if err := testbuild.Program(binary, "../cmd/flowrun"); err != nil {
		b.Fatal(err)
	}
	return binary
}

// project writes flowrun.yaml and as many workflows with a schedule each. None of
// them fires while it is measured.
func writeProject(b *testing.B, dir string, schedules int) {
	b.Helper()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	write("flowrun.yaml", "workflows: [workflows]\nretention: {max_runs: 1000000}\n")
	for i := range schedules {
		write(fmt.Sprintf("workflows/w%04d.yaml", i), workflowText(i))
	}
}

func workflowText(i int) string {
	return fmt.Sprintf("flowrun: v1\nname: w%04d\ntriggers:\n  yearly: {cron: \"%d %d 1 1 *\"}\nsteps:\n"+
		"  - {id: one, let: {n: 1}}\n  - {id: two, let: {n: \"${{ steps.one.outputs.n + 1 }}\"}}\n  - {id: say, uses: core.log, with: {text: \"n is ${{ steps.two.outputs.n }}\"}}\n",
		i, i%60, i%24)
}

// fill stores as many ended runs: every twentieth of them failed.
func fill(b *testing.B, dir string, runs int) {
	b.Helper()
	ctx := context.Background()
	project, err := engine.LoadProject(ctx, workspace.Config{
		StateDir: filepath.Join(dir, "state"), Dir: dir, ProjectFile: filepath.Join(dir, "flowrun.yaml"), Environ: os.Environ(),
		Executable: "/nonexistent", Version: "bench", Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	e, err := engine.Open(ctx, project)
	if err != nil {
		b.Fatal(err)
	}
	const atATime = 64
	next := make(chan int, runs)
	for i := range runs {
		next <- i
	}
	close(next)
	var workers sync.WaitGroup
	for range atATime {
		workers.Go(func() {
			for i := range next {
				source := workflowText(i % benchSchedules)
				if i%20 == 7 {
					source += "  - {id: stop, uses: core.fail, with: {message: no more today}}\n"
				}
				row, problems, err := e.Start(ctx, engine.StartRequest{File: "w.yaml", Source: []byte(source)})
				if err != nil || row == nil {
					b.Error(err, problems)
					return
				}
				if _, err := e.Wait(ctx, row.ID); err != nil {
					b.Error(err)
				}
			}
		})
	}
	workers.Wait()
	if err := e.Close(ctx); err != nil {
		b.Fatal(err)
	}
}

var (
	serverURL = regexp.MustCompile(`flowrun serves (http://\S+)`)
	loginLink = regexp.MustCompile(`(http://\S+/login\?code=\S+)`)
	runIDs    = regexp.MustCompile(`"id":"([0-9a-z]{26})"`)
)

// serve starts the server and logs in.
func serve(b *testing.B, binary, dir string) *served {
	b.Helper()
	s := &served{b: b, binary: binary, dir: dir, stderr: &output{}}
	s.command = exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--state", "state", "--log-level", "error")
	s.command.Dir, s.command.Stderr = dir, s.stderr
	if err := s.command.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = s.command.Process.Signal(syscall.SIGTERM)
		_ = s.command.Wait() // 143
	})
	var link string
	for deadline := time.Now().Add(2 * time.Minute); link == ""; time.Sleep(20 * time.Millisecond) {
		if found := loginLink.FindString(s.stderr.String()); found != "" {
			link, s.url = found, serverURL.FindStringSubmatch(s.stderr.String())[1]
		} else if time.Now().After(deadline) {
			b.Fatalf("the server did not start:\n%s", s.stderr)
		}
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		b.Fatal(err)
	}
	s.client = &http.Client{Jar: jar}
	s.logIn(link)
	s.token = strings.TrimSpace(s.flowrun("tokens", "create", "bench", "--scope", "admin"))
	if ids := runIDs.FindStringSubmatch(s.fetch(s.url+"/api/v1/runs?limit=1", s.token)); ids != nil {
		s.run = ids[1]
	}
	return s
}

// flowrun runs a command beside the server.
func (s *served) flowrun(args ...string) string {
	s.b.Helper()
	command := exec.Command(s.binary, append(args, "--state", "state")...)
	command.Dir = s.dir
	out, err := command.Output()
	if err != nil {
		s.b.Fatalf("%v: %v\n%s", args, err, s.stderr)
	}
	return string(out)
}

// logIn presses the button of a login link's page.
func (s *served) logIn(link string) {
	s.b.Helper()
	at, code, _ := strings.Cut(link, "?code=")
	answer, err := s.client.PostForm(at, url.Values{"code": {code}})
	if err != nil {
		s.b.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		s.b.Fatalf("log in: status %d", answer.StatusCode)
	}
}

// fetch gets a page by the session, or with a token.
func (s *served) fetch(url, token string) string {
	s.b.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		s.b.Fatal(err)
	}
	client := s.client
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
		client = http.DefaultClient
	}
	answer, err := client.Do(request)
	if err != nil {
		s.b.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		s.b.Fatalf("GET %s: status %d, %v\n%s", url, answer.StatusCode, err, body)
	}
	return string(body)
}

// anonymous returns the RssAnon of the server in MiB.
func (s *served) anonymous() float64 {
	s.b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.command.Process.Pid))
	if err != nil {
		s.b.Skip("no /proc: ", err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, "RssAnon:"); found {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			if err != nil {
				s.b.Fatal(err)
			}
			return kib / 1024
		}
	}
	s.b.Fatal("no RssAnon in /proc/PID/status")
	return 0
}

// median runs body b.N times, at least 21, and reports the middle of the times
// and the 95th of a hundred.
func median(b *testing.B, body func()) {
	b.Helper()
	body() // what is made once is not measured
	var times []time.Duration
	for b.Loop() {
		begun := time.Now()
		body()
		times = append(times, time.Since(begun))
	}
	for len(times) < 21 {
		begun := time.Now()
		body()
		times = append(times, time.Since(begun))
	}
	slices.Sort(times)
	milliseconds := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(milliseconds(times[len(times)/2]), "ms-median")
	b.ReportMetric(milliseconds(times[len(times)*95/100]), "ms-p95")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkServe measures the pages and lists of a server with 1,000 schedules
// and 10,000 runs: docs/performance.md has the goals and the figures.
func BenchmarkServe(b *testing.B) {
	runs := benchRuns
	if text := os.Getenv("FLOWRUN_BENCH_RUNS"); text != "" {
		given, err := strconv.Atoi(text)
		if err != nil {
			b.Fatalf("FLOWRUN_BENCH_RUNS: %v", err)
		}
		runs = given
	}
	binary, dir := buildFlowrun(b), b.TempDir()
	writeProject(b, dir, benchSchedules)
	fill(b, dir, runs)
	begun := time.Now()
	s := serve(b, binary, dir)
	b.Logf("the server was there after %s", time.Since(begun).Round(time.Millisecond))
	for _, page := range []string{
		"/", "/runs", "/runs?status=failed", "/runs/" + s.run, "/runs/" + s.run + "/steps/two", "/runs/" + s.run + "/logs", "/runs/" + s.run + "/events",
		"/runs/" + s.run + "/data", "/runs/" + s.run + "/source", "/workflows", "/workflows/w0001", "/schedules", "/schedules/w0001/yearly", "/approvals",
		"/plugins", "/plugins/tasks", "/connections", "/system",
	} {
		name := strings.ReplaceAll(page, s.run, "RUN")
		size := 0
		b.Run("page "+name, func(b *testing.B) {
			s.b = b
			median(b, func() { size = len(s.fetch(s.url+page, "")) })
			b.ReportMetric(float64(size)/1024, "KiB")
		})
	}
	for _, path := range []string{
		"/runs?limit=50", "/runs?limit=50&status=failed", "/runs?limit=50&workflow=w0001", "/runs/" + s.run, "/runs/" + s.run + "/steps",
		"/schedules", "/workflows", "/workflows/w0001", "/fires", "/schedules/w0001%2Fyearly/next?n=10",
	} {
		b.Run("api "+strings.ReplaceAll(path, s.run, "RUN"), func(b *testing.B) {
			s.b = b
			median(b, func() { s.fetch(s.url+"/api/v1"+path, s.token) })
		})
	}
	b.Run("metrics", func(b *testing.B) {
		s.b = b
		median(b, func() { s.fetch(s.url+"/metrics", s.token) })
	})
	b.Run("cli runs list --limit 50", func(b *testing.B) {
		s.b = b
		median(b, func() { s.flowrun("runs", "list", "--limit", "50", "-o", "json") })
	})
	b.Run("memory after all that", func(b *testing.B) {
		s.b = b
		b.ReportMetric(s.anonymous(), "RssAnon-MiB")
		b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkServeIdle measures the memory of a server that has nothing to do.
func BenchmarkServeIdle(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("RssAnon is Linux's")
	}
	binary := buildFlowrun(b)
	for name, schedules := range map[string]int{"10 schedules": 10, "1000 schedules": benchSchedules} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			writeProject(b, dir, schedules)
			s := serve(b, binary, dir)
			time.Sleep(10 * time.Second) // idle is what it is after a while
			b.ReportMetric(s.anonymous(), "RssAnon-MiB")
			b.ReportMetric(0, "ns/op")
		})
	}
}
