package trigger_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/memstore"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/sdk"
)

// Triggers are tested in whole engines: what they ask of the life of runs is the
// real one. What an engine keeps lies in memory, but where a test kills it.

// TestMain is a plugin where the engine starts the test program as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "plugins" && os.Args[2] == "serve" {
		feedPlugin().Serve()
		return
	}
	os.Exit(m.Run())
}

type feedConfig struct {
	File  string `json:"file" doc:"What the list is read from"`
	Token string `json:"token" doc:"Not looked at" secret:"true"`
}

type feedIn struct {
	Limit int `json:"limit" doc:"How many items" default:"100" min:"1"`
}

type feedItem struct {
	ID    int64  `json:"id"`
	Title string `json:"title"`
	Seen  int64  `json:"seen"`
}

type feedOut struct {
	Items []feedItem `json:"items"`
}

// feedPlugin lists what stands in a file: {"fail": TEXT} makes it fail.
func feedPlugin() *sdk.Plugin {
	return sdk.New("feed", "1.0.0", "A list in a file", sdk.Read("list", "Read the list", func(c *sdk.Call[feedConfig], in feedIn) (out feedOut, err error) {
		data, err := os.ReadFile(c.Config.File)
		if err != nil {
			return out, err
		}
		var file struct {
			feedOut
			Fail string `json:"fail"`
		}
		if err := json.Unmarshal(data, &file); err != nil {
			return out, err
		}
		if file.Fail != "" {
			return out, sdk.Errorf(sdk.CodeForbidden, "%s", file.Fail)
		}
		out.Items = file.Items[:min(len(file.Items), in.Limit)]
		return out, nil
	}))
}

// testClock is a clock that a test sets.
type testClock struct {
	mu sync.Mutex
	at time.Time
}

func (c *testClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *testClock) move(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(by)
}

// memoryStores are the stores in memory of state folders, which a test may open again.
var memoryStores sync.Map

// inMemory lets an engine keep everything in memory.
func inMemory(c *workspace.Config) {
	dir := c.StateDir
	c.OpenStore = func(hooks store.Hooks) (store.Store, error) {
		s := memstore.New(memstore.Options{Hooks: hooks})
		if before, found := memoryStores.Load(dir); found {
			s = before.(*memstore.Store).Reopen(memstore.Options{Hooks: hooks})
		}
		memoryStores.Store(dir, s)
		return s, nil
	}
}

// triggered is an engine over workflows with secrets, at a time that a test sets.
func triggered(t *testing.T, dir string, clock *testClock, change func(*workspace.Config)) *engine.Engine {
	t.Helper()
	e := openTriggered(t, dir, clock, change)
	t.Cleanup(func() { closeEngine(t, e) })
	return e
}

// openTriggered is triggered for who closes it.
func openTriggered(t *testing.T, dir string, clock *testClock, change func(*workspace.Config)) *engine.Engine {
	t.Helper()
	config := workspace.Config{
		StateDir: filepath.Join(dir, "state"), Dir: dir, ProjectFile: filepath.Join(dir, "flowrun.yaml"), Executable: "none", Version: "test",
		Now: clock.now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler),
		Environ: []string{"FLOWRUN_SECRET_HOOK=s3cret", "FLOWRUN_SECRET_TOKEN=t0kent0ken", "FLOWRUN_SECRET_EMPTY="},
	}
	inMemory(&config)
	if change != nil {
		change(&config)
	}
	return opened(t, config)
}

func opened(t *testing.T, config workspace.Config) *engine.Engine {
	t.Helper()
	project, err := engine.LoadProject(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(t.Context(), project)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// inFolder is an engine over the workflows of a folder, at the time that it is.
func inFolder(t *testing.T, dir string, change func(*workspace.Config)) *engine.Engine {
	t.Helper()
	config := workspace.Config{
		StateDir: filepath.Join(dir, "state"), Dir: dir, Executable: "none", Version: "test", Now: time.Now, Entropy: rand.Reader,
		Log: slog.New(slog.DiscardHandler),
	}
	if _, err := os.Stat(filepath.Join(dir, "flowrun.yaml")); err == nil {
		config.ProjectFile = filepath.Join(dir, "flowrun.yaml")
	}
	change(&config)
	return opened(t, config)
}

// withFiles is an engine over the given files, closed at the test's end.
func withFiles(t *testing.T, now func() time.Time, files map[string]string) *engine.Engine {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		writePlain(t, dir, name, text)
	}
	e := inFolder(t, dir, func(c *workspace.Config) {
		c.Now = now
		inMemory(c)
	})
	t.Cleanup(func() { closeEngine(t, e) })
	return e
}

// serving is an engine with all of a server's parts.
func serving(t *testing.T, dir string, files map[string]string) *engine.Engine {
	t.Helper()
	for name, text := range files {
		writePlain(t, dir, name, text)
	}
	e := inFolder(t, dir, inMemory)
	if err := e.AlwaysOn(t.Context()); err != nil {
		closeEngine(t, e)
		t.Fatal(err)
	}
	return e
}

func closeEngine(t *testing.T, e *engine.Engine) {
	t.Helper()
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func writePlain(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeFile changes a file of a project so that its time tells.
func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	path, modified := filepath.Join(dir, name), time.Now()
	if info, err := os.Stat(path); err == nil {
		modified = info.ModTime().Add(time.Second)
	}
	writePlain(t, dir, name, text)
	if err := os.Chtimes(path, modified, modified); err != nil {
		t.Fatal(err)
	}
}

// ended waits for the end of a run.
func ended(t *testing.T, e *engine.Engine, id string) *runs.Result {
	t.Helper()
	result, err := e.Wait(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// eventually asks until the answer is good: what happens in the background has no
// other end to wait for.
func eventually(t *testing.T, what string, good func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !good() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("waited in vain: " + what)
		}
	}
}

// runHello runs a workflow to its end and returns its id.
func runHello(t *testing.T, e *engine.Engine) string {
	t.Helper()
	const hello = "flowrun: v1\nname: hello\nsteps:\n  - uses: core.log\n    with: {text: hello}\n"
	run, problems, err := e.Start(t.Context(), engine.StartRequest{File: "hello.yaml", Source: []byte(hello)})
	if err != nil || run == nil {
		t.Fatalf("start: %v %v", err, problems)
	}
	if result := ended(t, e, run.ID); result.Run.Status != runs.RunSucceeded {
		t.Fatalf("%+v", result)
	}
	return run.ID
}
