package plugins

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/testbuild"
	"github.com/flowrun/flowrun/plugins/dictionary/dictionarysim"
	"github.com/flowrun/flowrun/plugins/netinfo/netinfosim"
)

// silent takes what calls say on their way.
type silent struct{}

func (silent) Log(runs.Log)           {}
func (silent) Progress(runs.Progress) {}

// host builds the program of a plugin alone and returns a host that runs it.
func host(t *testing.T, plugin string) *pluginhost.Host {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "flowrun-plugin-"+plugin)
	if err := testbuild.Program(binary, "./"+plugin+"/cmd/flowrun-plugin-"+plugin); err != nil {
		t.Fatal(err)
	}
	h := pluginhost.New(pluginhost.Options{
		StateDir: t.TempDir(), Now: time.Now, Entropy: rand.Reader, Environ: []string{"PATH=" + os.Getenv("PATH")}, Version: "test",
		Sources: []pluginhost.Source{{Name: plugin, Path: binary, Command: []string{binary}}},
	})
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Errorf("close the host: %v", err)
		}
	})
	return h
}

func TestPluginsAsProcessesOfTheirOwn(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs")
	}
	tests := map[string]struct {
		service       http.Handler
		action, input string
		actions       int
		field, want   string
		bad, pointer  string
	}{
		"netinfo": {
			netinfosim.New(netinfosim.Options{}), "netinfo.dns", `{"domain":"golang.org","type":"mx"}`, 5, "type", "MX",
			`{"domain":"golang.org","type":"TYPO"}`, "/type",
		},
		"dictionary": {
			dictionarysim.New(dictionarysim.Options{}), "dictionary.letter", `{"letter":"s"}`, 7, "next_cursor", "2",
			`{"letter":"ß"}`, "/letter",
		},
	}
	for plugin, tt := range tests {
		t.Run(plugin, func(t *testing.T) {
			srv := httptest.NewServer(tt.service)
			defer srv.Close()
			h := host(t, plugin)
			d, err := h.Describe(t.Context(), plugin)
			if err != nil || len(d.Actions) != tt.actions {
				t.Fatalf("describe: %d actions, %v", len(d.Actions), err)
			}
			conn := pluginhost.Connection{Name: plugin, Plugin: plugin, Config: json.RawMessage(`{"base_url":"` + srv.URL + `"}`)}
			call := func(input string) runs.Answer {
				return h.Call(t.Context(), runs.Request{Action: tt.action, Connection: plugin, Step: "s", Operation: "s", Attempt: 1,
					Input: json.RawMessage(input), Timeout: time.Minute}, conn, silent{})
			}
			good := call(tt.input)
			if good.Completed == nil {
				t.Fatalf("call: %+v", good.Failed)
			}
			var out map[string]any
			if err := json.Unmarshal(good.Completed.Output, &out); err != nil || out[tt.field] != tt.want {
				t.Errorf("output %s: %v", good.Completed.Output, err)
			}
			if bad := call(tt.bad).Failed; bad == nil || bad.Kind != plan.KindInvalid || bad.Pointer != tt.pointer || bad.Applied != runs.NotApplied {
				t.Errorf("a wrong input: %+v, want invalid at %s", bad, tt.pointer)
			}
		})
	}
}
