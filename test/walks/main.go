// Command walks measures which packages four things enter on their way through the
// product: ARCHITECTURE.md tells it. `make walks` compares, with UPDATE=1 it writes.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/coverage"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/sdk"
)

const module = "github.com/flowrun/flowrun/"

// servePlugin is the plugin `slow` where the engine starts this program as one.
func servePlugin() bool {
	if len(os.Args) != 4 || os.Args[1] != "plugins" || os.Args[2] != "serve" {
		return false
	}
	type in struct {
		File string `json:"file" doc:"What is waited for"`
	}
	type out struct {
		Text string `json:"text"`
	}
	sdk.New("slow", "1.0.0", "Answers when a file is there", sdk.Read("answer", "Wait and answer", func(c *sdk.Call[struct{}], in in) (out, error) {
		for {
			data, err := os.ReadFile(in.File)
			if err == nil {
				return out{Text: string(data)}, nil
			}
			select {
			case <-time.After(5 * time.Millisecond):
			case <-c.Context.Done():
				return out{}, c.Context.Err()
			}
		}
	})).Serve()
	return true
}

const workflow = `flowrun: v1
name: walk
inputs: {file: {type: string}}
triggers:
  tick: {every: 1s}
  hook: {webhook: {auth: {token: "${{ secrets.TOKEN }}"}}, inputs: {file: there}}
steps:
  - {id: ask, uses: slow.answer, with: {file: "${{ inputs.file }}"}}
outputs: {text: "${{ steps.ask.outputs.text }}"}
`

// project is a folder with the workflow; trigger is the one that it keeps.
func project(t *work, trigger string) string {
	dir := t.folder()
	text, there := "", filepath.Join(dir, "there")
	for _, line := range strings.SplitAfter(workflow, "\n") {
		name, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case strings.HasPrefix(line, "triggers:") && trigger == "", (name == "tick" || name == "hook") && name != trigger:
			continue
		}
		text += line
	}
	text = strings.ReplaceAll(text, "{file: there}", "{file: "+there+"}")
	text = strings.ReplaceAll(text, "{every: 1s}", "{every: 1s, inputs: {file: "+there+"}}")
	for name, content := range map[string]string{
		"flowrun.yaml": "workflows: [walk.yaml]\nconnections: {slow: {plugin: slow, config: {}}}\nlimits: {sandbox: \"off\"}\n", "walk.yaml": text, "there": "hello",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.fail(err)
		}
	}
	return dir
}

func open(t *work, dir string) *engine.Engine {
	program, err := os.Executable()
	if err != nil {
		t.fail(err)
	}
	loaded, err := engine.LoadProject(context.Background(), workspace.Config{
		StateDir: filepath.Join(dir, "state"), ProjectFile: filepath.Join(dir, "flowrun.yaml"), Dir: dir, WorkDir: dir, Executable: program,
		Bundled: []string{"slow"}, Version: "test", Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler), Environ: []string{"FLOWRUN_SECRET_TOKEN=t0kent0ken"},
	})
	if err != nil {
		t.fail(err)
	}
	e, err := engine.Open(context.Background(), loaded)
	if err != nil {
		t.fail(err)
	}
	t.ends = append(t.ends, func() {
		if err := e.Close(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	})
	return e
}

// ended waits until so many runs of the workflow have ended well.
func ended(t *work, e *engine.Engine, count int) {
	for ctx := context.Background(); ctx.Err() == nil; {
		rows, _, err := e.List(ctx, runs.Filter{Status: runs.RunSucceeded})
		if err != nil {
			t.fail(err)
		}
		if len(rows) >= count {
			return
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func begin(t *work) {
	if err := coverage.ClearCounters(); err != nil {
		t.fail(err)
	}
}

// entered returns the packages that were entered since begin, those that others stand on last.
func entered(t *work) []string {
	dir := t.folder()
	if err := coverage.WriteMetaDir(dir); err != nil {
		t.fail(err)
	}
	if err := coverage.WriteCountersDir(dir); err != nil {
		t.fail(err)
	}
	percent, err := exec.Command("go", "tool", "covdata", "percent", "-i="+dir).CombinedOutput()
	if err != nil {
		t.fail(fmt.Sprintf("%v: %s", err, percent))
	}
	set := map[string]bool{}
	for _, m := range regexp.MustCompile(`(\S+)\t+coverage: ([0-9.]+)%`).FindAllStringSubmatch(string(percent), -1) {
		if name, ours := strings.CutPrefix(m[1], module); ours && m[2] != "0.0" {
			set[name] = true
		}
	}
	order, err := exec.Command("go", "list", "-deps", "./test/walks").Output()
	if err != nil {
		t.fail(err)
	}
	var list []string
	for line := range strings.Lines(string(order)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name = strings.TrimPrefix(name, module); set[name] && name != "test/walks" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	slices.Reverse(list)
	return list
}

func main() {
	if servePlugin() {
		return
	}
	if err := compare(); err != nil {
		(&work{}).fail(err)
	}
}

// work is what the walks leave behind, and what ends it.
type work struct{ ends []func() }

func (w *work) end() {
	for _, end := range slices.Backward(w.ends) {
		end()
	}
	w.ends = nil
}

func (w *work) fail(why any) {
	w.end()
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1) //nolint:gocritic // all has ended
}

func (w *work) folder() string {
	dir, err := os.MkdirTemp("", "walks")
	if err != nil {
		w.fail(err)
	}
	w.ends = append(w.ends, func() { _ = os.RemoveAll(dir) })
	return dir
}

// walkings is how often a walk is gone: what else the process does, at its own pace, is
// not seen on each.
const walkings = 5

// settles is how long what an engine begins with goes on at most.
const settles = 500 * time.Millisecond

// each returns the packages that every going of a walk enters.
func each(walk func(*work) []string) []string {
	var entered []string
	for n := range walkings {
		w := &work{}
		now := walk(w)
		w.end() // its engine would walk on beside the next
		if n == 0 {
			entered = now
		}
		entered = slices.DeleteFunc(entered, func(name string) bool { return !slices.Contains(now, name) })
	}
	return entered
}

// compare measures what ARCHITECTURE.md says of four walks.
func compare() error {
	rows := []string{
		row("`flowrun run`, from the arguments to the exit code", each(commandWalk)),
		row("a plugin's answer, from its process to the end of the run", each(answerWalk)),
		row("a scheduled fire, from the clock to the end of its run", each(fireWalk)),
		row("a webhook, from the socket to the end of its run", each(hookWalk)),
	}
	table := "| walk | packages | which |\n|---|---|---|\n" + strings.Join(rows, "")
	const file, head, tail = "ARCHITECTURE.md", "<!-- walks: `make walks` compares, UPDATE=1 writes -->\n", "<!-- end of walks -->"
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	from, to := bytes.Index(text, []byte(head))+len(head), bytes.Index(text, []byte(tail))
	if to < 0 {
		return errors.New("ARCHITECTURE.md has no place for the walks")
	}
	if string(text[from:to]) == table {
		return nil
	}
	if os.Getenv("UPDATE") == "" {
		return fmt.Errorf("ARCHITECTURE.md says otherwise: `UPDATE=1 make walks` writes\n%s", table)
	}
	return os.WriteFile(file, slices.Concat(text[:from], []byte(table), text[to:]), 0o644)
}

func row(walk string, packages []string) string {
	return fmt.Sprintf("| %s | %d | %s |\n", walk, len(packages), "`"+strings.Join(packages, "` `")+"`")
}

func commandWalk(t *work) []string {
	dir := t.folder()
	system := cli.Host()
	var errs bytes.Buffer
	system.Dir, system.Stdout, system.Stderr, system.Stdin = dir, io.Discard, &errs, strings.NewReader("")
	begin(t)
	// A plugin of its own would need a program of its own: the walk is that of a step
	// of the engine, and the answer's walk goes on from a plugin.
	if err := os.WriteFile(filepath.Join(dir, "hello.yaml"), []byte("flowrun: v1\nname: hello\nsteps:\n  - {uses: core.log, with: {text: hello}}\n"), 0o600); err != nil {
		t.fail(err)
	}
	if code := cli.Run([]string{"run", "hello.yaml", "--state", filepath.Join(dir, "state")}, system); code != 0 {
		t.fail(fmt.Sprintf("exit code %d: %s", code, errs.String()))
	}
	return entered(t)
}

func answerWalk(t *work) []string {
	dir := project(t, "")
	e := open(t, dir)
	file := filepath.Join(t.folder(), "answer")
	run, problems, err := e.StartNamed(context.Background(), "walk", engine.NamedStart{Inputs: map[string]workspace.Input{"file": {Text: file}}})
	if err != nil || run == nil {
		t.fail(fmt.Sprint(err, problems))
	}
	for e.InFlight() == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(settles) // the plugin has the call
	begin(t)
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.fail(err)
	}
	if result, err := e.Wait(context.Background(), run.ID); err != nil || result.Run.Status != runs.RunSucceeded {
		t.fail(fmt.Sprintf("%+v %v", result, err))
	}
	return entered(t)
}

func fireWalk(t *work) []string {
	e := open(t, project(t, "tick"))
	if err := e.AlwaysOn(context.Background()); err != nil {
		t.fail(err)
	}
	ended(t, e, 1) // a server that begins reads and checks: the walk is that of the second fire
	time.Sleep(settles)
	begin(t)
	ended(t, e, 2)
	return entered(t)
}

func hookWalk(t *work) []string {
	e := open(t, project(t, "hook"))
	if err := e.AlwaysOn(context.Background()); err != nil {
		t.fail(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.fail(err)
	}
	gate := web.NewGate()
	server, err := web.NewServer(listener, web.ServerOptions{
		API: web.Options{Runs: e, Hooks: e, Tokens: e, Ready: e.Ready, Gate: gate}, Sessions: e, Now: time.Now, Entropy: rand.Reader,
		Log: slog.New(slog.DiscardHandler), HostName: "here", LoginPage: func(io.Writer, guard.LoginView) error { return nil },
	})
	if err != nil {
		t.fail(err)
	}
	defer func() {
		gate.Close()
		if err := server.Close(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	time.Sleep(settles)
	begin(t)
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+listener.Addr().String()+"/hooks/walk/hook", strings.NewReader("{}"))
	if err != nil {
		t.fail(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Webhook-Token", "t0kent0ken")
	answer, err := http.DefaultClient.Do(request)
	if err != nil || answer.StatusCode != http.StatusAccepted {
		t.fail(fmt.Sprintf("%+v %v", answer, err))
	}
	_ = answer.Body.Close()
	ended(t, e, 1)
	return entered(t)
}
