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
	for _, call := range []struct{ name, action, input, config string }{
		{"netinfo.my_ip", "netinfo.my_ip", `{}`, `{"base_url":"` + service.URL + `"}`},
		{"http.get", "http.get", `{"path":"/api/v1/ip"}`, `{"base_url":"` + service.URL + `","private":true}`},
		{"http.get with an answer", "http.get", typed, `{"base_url":"` + service.URL + `","private":true}`},
	} {
		b.Run(call.name, func(b *testing.B) {
			plugin := call.action[:len(call.action)-len(filepath.Ext(call.action))]
			once := func() {
				answer := host.Call(context.Background(), runs.Request{Action: call.action, Connection: plugin, Input: json.RawMessage(call.input)},
					pluginhost.Connection{Name: plugin, Plugin: plugin, Config: json.RawMessage(call.config)}, nil)
				if answer.Failed != nil {
					b.Fatal(answer.Failed)
				}
			}
			once() // starts the process, opens the connection
			for b.Loop() {
				once()
			}
		})
	}
}
