//go:build linux

package evilplugins

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
)

// TestP18ControlWithoutLimitsTheSuiteFails: a host whose limits are off lets the
// plugins have what they want, and the judge of the suite must say so.
func TestP18ControlWithoutLimitsTheSuiteFails(t *testing.T) {
	t.Parallel()
	evil := evilBinary(t)
	greedy := map[string]bool{"opens_10000_files": true, "writes_a_huge_file": true, memoryEater: true, "forks_without_end": true}
	for name, limits := range map[string]pluginhost.Limits{
		"on":  {Grace: time.Second},
		"off": {Grace: time.Second, Files: 65_536, FileSize: 1 << 40, Processes: -1, Memory: -1},
	} {
		var sources []pluginhost.Source
		for plugin := range greedy {
			sources = append(sources, pluginhost.Source{Name: plugin, Path: evil})
		}
		host := pluginhost.New(pluginhost.Options{
			StateDir: t.TempDir(), Sources: sources, Environ: os.Environ(), Now: time.Now, Entropy: rand.Reader, Limits: limits,
		})
		limit := 30 * time.Second // with the limits on it ends by them, however slow the machine is
		if name == "off" {
			limit = 8 * time.Second
		}
		var calls sync.WaitGroup
		for _, b := range behaviours() {
			if !greedy[b.name] {
				continue
			}
			calls.Go(func() {
				if b.name == memoryEater {
					memory.Lock()
					defer memory.Unlock()
				}
				answer := host.Call(context.Background(), runs.Request{Action: b.name + ".act", Timeout: limit}, pluginhost.Connection{}, nil)
				code, message := 0, ""
				if answer.Failed != nil {
					code, message = 5, answer.Failed.Message
				}
				problems := strings.Join(judge(b, code, message), "; ")
				switch {
				case name == "on" && problems != "":
					t.Errorf("limits on, %s: %s", b.name, problems)
				case name == "off" && problems == "":
					t.Errorf("limits off, %s: the suite did not notice: %s", b.name, message)
				case name == "off":
					t.Logf("noticed: %s: %s", b.name, problems)
				}
			})
		}
		calls.Wait()
		if err := host.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}
