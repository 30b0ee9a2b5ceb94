package python

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/conformance"
	"github.com/flowrun/flowrun/engine/memstore"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/storetest"
)

// madeLarge is what the plugin of largefile.py answers.
type madeLarge struct {
	Blob struct {
		Digest string `json:"digest"`
		Size   int    `json:"size"`
		Name   string `json:"name"`
	} `json:"blob"`
	Began  int    `json:"began"`
	Noted  string `json:"noted"`
	Digest string `json:"digest"`
}

// TestIssue16_3_APluginInPythonGivesAndTakesLargeValues in parts that the host keeps: after a
// failure it goes on where it stood, and what it made is another call's input.
func TestIssue16_3_APluginInPythonGivesAndTakesLargeValues(t *testing.T) {
	t.Parallel()
	needPython(t)
	source := filepath.Join(t.TempDir(), "flowrun-plugin-largefile")
	pack(t, "testdata/largefile.py", source)
	store := memstore.New(memstore.Options{})
	storetest.Create(t, store, storetest.Row(1), 1)
	dir := t.TempDir()
	given := services.New(services.Options{StateDir: dir, Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler), Redactor: secret.NewRedactor(), Env: secret.NewEnv(nil)})
	if err := given.Attach(store.KV()); err != nil {
		t.Fatal(err)
	}
	given.AttachBlobs(store)
	host := pluginhost.New(pluginhost.Options{
		StateDir: dir, Environ: os.Environ(), Now: time.Now, Entropy: rand.Reader, Opaque: given.Opaque(), Blobs: given.BlobStore(),
		Limits: pluginhost.Limits{Grace: time.Second}, Sources: []pluginhost.Source{{Name: "largefile", Path: source}},
	})
	t.Cleanup(func() {
		if err := host.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	do := func(step, action, input string) (made madeLarge, failure *runs.Error) {
		t.Helper()
		answer := host.Call(context.Background(), runs.Request{
			Action: "largefile." + action, RunID: storetest.ID(1), Step: step, Operation: step, Attempt: 1, IdempotencyKey: "key of " + step,
			Input: json.RawMessage(input), Timeout: time.Minute,
		}, pluginhost.Connection{Name: "main"}, nil)
		if answer.Failed != nil {
			return made, answer.Failed
		}
		if err := json.Unmarshal(answer.Completed.Output, &made); err != nil {
			t.Fatal(err)
		}
		return made, nil
	}
	const size, broke = 2_500_000, 1_300_000
	if _, failure := do("a", "make", fmt.Sprintf(`{"size":%d,"stop":%d}`, size, broke)); failure == nil || !strings.Contains(failure.Message, "the line broke") {
		t.Fatalf("%+v", failure)
	}
	made, failure := do("a", "make", fmt.Sprintf(`{"size":%d}`, size))
	if failure != nil {
		t.Fatal(failure)
	}
	whole := sha256.New()
	for at := 0; at < size; at += 16 {
		fmt.Fprintf(whole, "%015d\n"[:], at/16)
	}
	want := hex.EncodeToString(whole.Sum(nil)) // size is a multiple of 16
	if made.Began < broke || made.Began > broke+16 || made.Noted != "lines 1" || made.Blob.Digest != "sha256:"+want || made.Blob.Size != size || made.Blob.Name != "lines.txt" {
		t.Errorf("%+v, want %s", made, want)
	}
	reference, err := json.Marshal(map[string]any{"blob": map[string]any{"digest": made.Blob.Digest, "size": size, "media_type": "", "name": ""}})
	if err != nil {
		t.Fatal(err)
	}
	copied, failure := do("b", "copy", string(reference))
	if failure != nil || copied.Blob.Digest != made.Blob.Digest || copied.Digest != want {
		t.Errorf("%+v, %v", copied, failure)
	}
	answer := host.Call(context.Background(), runs.Request{Action: "largefile.make", Input: json.RawMessage(`{}`), Timeout: time.Minute}, pluginhost.Connection{Name: "main"}, nil)
	if answer.Failed == nil || answer.Failed.Kind != "unsupported" {
		t.Errorf("outside of a run: %+v", answer.Failed)
	}
}

// TestIssue16_3_TheKitPassesLargeValuesInPython: no case of theirs is skipped. It runs
// before the parallel tests of the package: a case of the kit has 40 s, which 27 tests beside
// it can eat up on a busy machine.
func TestIssue16_3_TheKitPassesLargeValuesInPython(t *testing.T) {
	source := filepath.Join(t.TempDir(), "flowrun-plugin-largefile")
	pack(t, "testdata/largefile.py", source)
	dir, err := os.MkdirTemp("", "lk")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	report, err := conformance.Run(t.Context(), conformance.Options{Command: []string{source}, Environ: os.Environ(), Entropy: rand.Reader, Now: time.Now, Version: "0.0.0", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range report.Results {
		if result.Status == conformance.Failed || strings.HasPrefix(result.Case, "blobs.") && result.Status != conformance.Passed {
			t.Errorf("%s: %s %s %+v", result.Case, result.Status, result.Reason, result.Failure)
		}
	}
}
