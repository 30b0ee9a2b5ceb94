// Package workflows_test runs every shipped workflow against the simulators.
package workflows_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/internal/sandbox"
	"github.com/flowrun/flowrun/plugins/dictionary"
	"github.com/flowrun/flowrun/plugins/netinfo"
	"github.com/flowrun/flowrun/sdk"
)

// bundled are the plugins that the test binary serves when the engine executes
// it again.
func bundled() map[string]func() *sdk.Plugin {
	return map[string]func() *sdk.Plugin{"dictionary": dictionary.New, "netinfo": netinfo.New}
}

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "plugins" && os.Args[2] == "serve" {
		bundled()[os.Args[3]]().Serve()
		return
	}
	os.Exit(m.Run())
}

func openProject(t *testing.T) *engine.Project {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	simulators, err := sandbox.Start(sandbox.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := simulators.Close(); err != nil {
			t.Error(err)
		}
	})
	services := map[string]engine.SandboxService{}
	for _, service := range simulators.Services() {
		services[service.Plugin] = engine.SandboxService{Config: service.Config, Rate: service.Rate}
	}
	var names []string
	for name := range bundled() {
		names = append(names, name)
	}
	project, err := engine.LoadProject(t.Context(), engine.Config{
		StateDir: t.TempDir(), Dir: ".", Environ: os.Environ(), Executable: executable, Bundled: names,
		Version: "test", Sandbox: services, Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// runWorkflow runs a shipped workflow to its end and returns its outputs.
func runWorkflow(t *testing.T, file string, inputs map[string]engine.Input) map[string]json.RawMessage {
	t.Helper()
	e, err := engine.Open(t.Context(), openProject(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	row, problems, err := e.Start(t.Context(), engine.StartRequest{File: file, Source: source, Inputs: inputs})
	if err != nil || row == nil {
		t.Fatalf("start: %v\n%v", err, problems)
	}
	result, err := e.Wait(t.Context(), row.ID)
	if err != nil {
		t.Fatal(err)
	}
	if result.Run.Status != plan.RunSucceeded {
		t.Fatalf("%s ended as %s: %v", file, result.Run.Status, result.Error)
	}
	return result.Outputs
}

func decode[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return value
}

func TestEveryWorkflowIsTested(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{"domain-card.yaml": true, "domain-expiry-watch.yaml": true, "word-of-the-day.yaml": true}
	for _, file := range files {
		if !tested[file] {
			t.Errorf("%s has no test in this file", file)
		}
	}
}

func TestDomainCard(t *testing.T) {
	outputs := runWorkflow(t, "domain-card.yaml", map[string]engine.Input{"domain": {Text: "go.dev"}})
	if got := decode[string](t, outputs["domain"]); got != "go.dev" {
		t.Errorf("domain is %q", got)
	}
	if addresses := decode[[]string](t, outputs["addresses"]); len(addresses) == 0 {
		t.Error("the card has no address")
	}
	if !decode[bool](t, outputs["registered"]) {
		t.Error("go.dev is not registered")
	}
}

func TestDomainCardOfALostDomain(t *testing.T) {
	outputs := runWorkflow(t, "domain-card.yaml", map[string]engine.Input{"domain": {Text: "unregistered-shop.com"}})
	if decode[bool](t, outputs["registered"]) {
		t.Error("a lost registration is shown as registered")
	}
}

func TestDomainExpiryWatch(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for a window of the sandbox's limiter")
	}
	outputs := runWorkflow(t, "domain-expiry-watch.yaml", nil)
	if results := decode[[]any](t, outputs["results"]); len(results) != 80 {
		t.Errorf("%d results, want 80", len(results))
	}
	if missing := decode[[]any](t, outputs["missing"]); len(missing) == 0 {
		t.Error("no lost registration was flagged")
	}
}

func TestWordOfTheDay(t *testing.T) {
	outputs := runWorkflow(t, "word-of-the-day.yaml", nil)
	if word := decode[string](t, outputs["word"]); word == "" {
		t.Error("no word")
	}
}
