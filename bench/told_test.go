package bench_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/sdk"
)

type tellerSettings struct {
	Document string `json:"document" format:"project-file"`
}

// tellerPlugin has the actions of a document that it is told: a map of names to schemas.
func tellerPlugin() *sdk.Plugin {
	return sdk.New("teller", "1.0.0", "Actions of a document", sdk.Described[tellerSettings, struct{}]{
		Describe: func(told sdk.Told[tellerSettings]) (sdk.Manifest, error) {
			file, _ := told.File("/document")
			var schemas map[string]sdk.Value
			if err := json.Unmarshal(file.Content, &schemas); err != nil {
				return sdk.Manifest{}, err
			}
			var m sdk.Manifest
			for _, name := range slices.Sorted(maps.Keys(schemas)) {
				m.Actions = append(m.Actions, sdk.Entry{Name: name, Doc: "One of many", Effect: sdk.EffectRead})
			}
			m.Action = func(name string) (sdk.ActionBody, error) {
				return sdk.ActionBody{Input: schemas[name], Output: schemas[name], Recipe: []byte(name)}, nil
			}
			return m, nil
		},
		Execute: func(_ *sdk.Call[struct{}], _ []byte, input sdk.Value) (sdk.Value, error) { return input, nil },
	})
}

// tellMany writes a project whose plugin is told a document of so many actions.
func tellMany(b *testing.B, count int) (dir string) {
	b.Helper()
	dir = b.TempDir()
	var document strings.Builder
	for i := range count {
		between := ","
		if i == 0 {
			between = "{"
		}
		fmt.Fprintf(&document, "%s\n\"action_%05d\": {\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"n\":{\"type\":\"integer\"},\"owner\":{\"$ref\":\"#/$defs/owner\"}},"+
			`"$defs":{"owner":{"type":"object","properties":{"login":{"type":"string"},"lead":{"$ref":"#/$defs/owner"}}}}}`, between, i)
	}
	document.WriteString("}\n")
	for name, text := range map[string]string{
		"document.json": document.String(),
		"flowrun.yaml":  "plugins: {many: {source: \"bundled:teller\", with: {document: document.json}}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// BenchmarkTold is BenchmarkManifest for a plugin that is told its actions: `new` is a
// document that nobody knows, `known` every time after that, and `used` a workflow of ten
// steps, whose actions are asked for. Processes of the plugin are counted.
func BenchmarkTold(b *testing.B) {
	for _, count := range []int{10, 100, 1000, 10_000} {
		dir := tellMany(b, count)
		b.Run(fmt.Sprintf("new/%d", count), func(b *testing.B) { tell(b, dir, "", 1) })
		state := b.TempDir()
		b.Run(fmt.Sprintf("known/%d", count), func(b *testing.B) { tell(b, dir, state, 1) })
		b.Run(fmt.Sprintf("used/%d", count), func(b *testing.B) { tell(b, dir, state, 10) })
	}
}

// tell checks a workflow; state is the folder of what is known, "" = nothing is.
func tell(b *testing.B, dir, state string, used int) {
	source := strings.Builder{}
	source.WriteString("flowrun: v1\nname: many\nsteps:\n")
	for i := range used {
		fmt.Fprintf(&source, "  - {id: s%d, uses: many.action_%05d, with: {n: 1}}\n", i, i)
	}
	executable, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	look := func(state string) {
		project, err := engine.LoadProject(context.Background(), workspace.Config{
			StateDir: state, Dir: dir, ProjectFile: filepath.Join(dir, "flowrun.yaml"), Environ: os.Environ(), Executable: executable,
			Bundled: []string{"teller"}, Version: "bench", Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			b.Fatal(err)
		}
		defer project.Close()
		if _, problems := project.CheckText(context.Background(), "many.yaml", []byte(source.String())); problems.HasErrors() {
			b.Fatal(problems)
		}
	}
	if state != "" {
		look(state)
	}
	var total time.Duration
	for b.Loop() {
		at := state
		if at == "" {
			at = b.TempDir()
		}
		before := cpuOfAll(b)
		look(at) // it ends the plugin's processes, which are counted then
		total += cpuOfAll(b) - before
	}
	b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "cpu-ms/check")
}

// cpuOfAll is cpu with that of the processes that have ended.
func cpuOfAll(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage); err != nil {
		b.Fatal(err)
	}
	return cpu(b) + time.Duration(usage.Utime.Nano()+usage.Stime.Nano())
}
