package bench_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/testbuild"
)

// ownAddress is what the service answers: the same for both plugins.
const ownAddress = `{"success":true,"data":{"ip":"203.0.113.7","location":{"city":"Bonn","country":"DE","latitude":50.73,"longitude":7.1,"is_eu":true},` +
	`"network":{"asn":64500,"isp":"Example Net"},"privacy":{"type":"residential","score":98,"is_vpn":false}}}`

// BenchmarkHTTPGet is a warm call of a plugin that was written for one service beside one
// of http for the same answer, without a schema and with one that says all its fields.
// `in turns` makes one call of each after the other, so that other work on the machine is
// the same for all: it reports the median of each, and how many times that of netinfo.
func BenchmarkHTTPGet(b *testing.B) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, ownAddress)
	}))
	b.Cleanup(service.Close)
	var sources []pluginhost.Source
	for _, name := range []string{"http", "netinfo"} {
		program := filepath.Join(b.TempDir(), "flowrun-plugin-"+name)
		if err := testbuild.Program(program, "../plugins/"+name+"/cmd/flowrun-plugin-"+name); err != nil {
			b.Fatal(err)
		}
		sources = append(sources, pluginhost.Source{Name: name, Path: program})
	}
	host := pluginhost.New(pluginhost.Options{StateDir: b.TempDir(), Sources: sources, Environ: os.Environ(), Now: time.Now, Entropy: rand.Reader})
	b.Cleanup(func() {
		if err := host.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	const typed = `{"path":"/api/v1/ip","answer":{"type":"object","required":["success","data"],"properties":{"success":{"type":"boolean"},"data":{"type":"object","required":["ip"],"properties":{
		"ip":{"type":"string"},"location":{"type":"object","properties":{"city":{"type":["string","null"]},"country":{"type":"string"},"latitude":{"type":"number"},"longitude":{"type":"number"},"is_eu":{"type":"boolean"}}},
		"network":{"type":"object","properties":{"asn":{"type":"integer"},"isp":{"type":"string"}}},"privacy":{"type":"object","properties":{"type":{"type":"string"},"score":{"type":"number"},"is_vpn":{"type":"boolean"}}}}}}}}`
	type kind struct{ name, action, input, config string }
	once := func(b *testing.B, call kind) {
		b.Helper()
		plugin := call.action[:len(call.action)-len(filepath.Ext(call.action))]
		answer := host.Call(context.Background(), runs.Request{Action: call.action, Connection: plugin, Input: json.RawMessage(call.input)},
			pluginhost.Connection{Name: plugin, Plugin: plugin, Config: json.RawMessage(call.config)}, nil)
		if answer.Failed != nil {
			b.Fatal(answer.Failed)
		}
	}
	kinds := []kind{
		{"netinfo.my_ip", "netinfo.my_ip", `{}`, `{"base_url":"` + service.URL + `"}`},
		{"http.get", "http.get", `{"path":"/api/v1/ip"}`, `{"base_url":"` + service.URL + `","private":true}`},
		{"http.get with an answer", "http.get", typed, `{"base_url":"` + service.URL + `","private":true}`},
	}
	for _, call := range kinds {
		b.Run(call.name, func(b *testing.B) {
			once(b, call) // starts the process, opens the connection
			for b.Loop() {
				once(b, call)
			}
		})
	}
	b.Run("in turns", func(b *testing.B) {
		took := make([][]time.Duration, len(kinds))
		for b.Loop() {
			for i, call := range kinds {
				start := time.Now()
				once(b, call)
				took[i] = append(took[i], time.Since(start))
			}
		}
		median := func(i int) float64 {
			slices.Sort(took[i])
			return float64(took[i][len(took[i])/2].Microseconds())
		}
		b.ReportMetric(median(0), "us/netinfo")
		b.ReportMetric(median(1), "us/http")
		b.ReportMetric(median(1)/median(0), "times")
		b.ReportMetric(median(2)/median(0), "times-typed")
	})
}
