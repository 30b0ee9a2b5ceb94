package largevalues

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/storetest"
)

// TestMain makes this program a plugin, or the tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "plugin" && os.Args[2] == "raw" {
		serveRaw()
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "host" {
		if err := serveDoomed(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// canary is a secret that the host knows.
const canary = "kilo-3f9a41c7d2"

// world is a store with its services, and a host with the raw plugin.
type world struct {
	t        *testing.T
	dir      string
	store    *boltstore.Store
	services *services.Services
	host     *pluginhost.Host
}

// newWorld opens the world of a folder, which is empty or from before. Its runs are there.
func newWorld(t *testing.T, dir string, quotas quota.Values) *world {
	t.Helper()
	w := &world{t: t, dir: dir}
	store, err := boltstore.Open(w.path(), boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.store = store
	for n := 1; n <= 2; n++ {
		if _, err := store.Run(storetest.ID(n)); err != nil {
			storetest.Create(t, store, storetest.Row(n), n)
		}
	}
	masks := secret.NewRedactor()
	masks.Add(canary)
	w.services = services.New(services.Options{
		StateDir: dir, Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler), Redactor: masks, Env: secret.NewEnv(nil), Quotas: quotas,
	})
	if err := w.services.Attach(store.KV()); err != nil {
		t.Fatal(err)
	}
	w.services.AttachBlobs(store)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	source := func(name string) pluginhost.Source {
		return pluginhost.Source{Name: name, Bundled: true, Command: []string{self, "plugin", "raw"}}
	}
	w.host = pluginhost.New(pluginhost.Options{
		StateDir: dir, Environ: os.Environ(), Now: time.Now, Entropy: rand.Reader, Sources: []pluginhost.Source{source("raw")},
		State: w.services, Vault: w.services, Redactor: masks, Opaque: w.services.Opaque(), Blobs: w.services.BlobStore(),
		Limits: pluginhost.Limits{Memory: -1, Grace: time.Second, Quotas: quotas},
	})
	t.Cleanup(w.close)
	return w
}

func (w *world) path() string { return filepath.Join(w.dir, "flowrun.db") }

// close ends host and store. It may be called again.
func (w *world) close() {
	if w.host == nil {
		return
	}
	if err := w.host.Close(context.Background()); err != nil {
		w.t.Error(err)
	}
	w.services.Detach()
	if err := w.store.Close(); err != nil {
		w.t.Error(err)
	}
	w.host = nil
}

func inputOf(in rawInput) (json.RawMessage, error) { return json.Marshal(in) }

// do makes a call of the nth run.
func (w *world) do(run int, step string, in rawInput) runs.Answer {
	w.t.Helper()
	input, err := inputOf(in)
	if err != nil {
		w.t.Fatal(err)
	}
	id := ""
	if run > 0 {
		id = storetest.ID(run)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return w.host.Call(ctx, runs.Request{
		Action: "raw.do", RunID: id, Step: step, Operation: step, Attempt: 1, IdempotencyKey: "key of " + step, Input: input,
	}, pluginhost.Connection{Name: "main"}, nil)
}

// output is what a call that must succeed gave.
type output struct {
	Said []string        `json:"said"`
	Blob json.RawMessage `json:"blob"`
}

// ok makes a call that must succeed.
func (w *world) ok(run int, step string, in rawInput) output {
	w.t.Helper()
	answer := w.do(run, step, in)
	if answer.Failed != nil {
		w.t.Fatalf("%s: %v %s", step, answer.Failed, answer.Failed.Details)
	}
	var out output
	if err := json.Unmarshal(answer.Completed.Output, &out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// says makes a call and compares what the plugin heard from the host.
func (w *world) says(run int, step string, in rawInput, want ...string) output {
	w.t.Helper()
	out := w.ok(run, step, in)
	if diff := storetest.Diff(want, out.Said); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s", step, diff)
	}
	return out
}
