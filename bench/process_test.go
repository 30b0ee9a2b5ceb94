package bench_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/testbuild"
	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// started is a plugin whose process runs.
type started struct {
	call func(input []byte) error // one call, whose answer must be the input
	pid  func() int
	end  func() // asks the process to end and waits for it
}

// contender is a way to write and to run the plugin that answers with its input.
type contender struct {
	name  string
	start func(b *testing.B) *started // starts nothing before the first call
}

// input is what the calls send: 1 KiB.
var input = []byte(`{"text":"` + strings.Repeat("0123456789abcdef", 63) + `"}`)

// contenders are the plugin in Go and in Python in flowrun's host, as runs have it
// (sandbox, launch token, masks, schemas), and one on go-plugin alone in a bare client of
// go-plugin. Python is left out, and said so, where it has no grpcio.
func contenders(b *testing.B) []contender {
	b.Helper()
	dir := b.TempDir()
	build := func(name, source string) string {
		path := filepath.Join(dir, name)
		if err := testbuild.Program(path, source); err != nil {
			b.Fatal(err)
		}
		return path
	}
	all := []contender{{"go", underHost(b, build("go", "./testdata/echo"))}}
	if python := packed(b, filepath.Join(dir, "python")); python != "" {
		all = append(all, contender{"python", underHost(b, python)})
	}
	raw := build("raw", "./testdata/raw")
	return append(all, contender{"raw-go-plugin", func(b *testing.B) *started { return bare(b, raw) }})
}

// python3 is an interpreter with grpcio and protobuf, "" for none.
var python3 = sync.OnceValue(func() string {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if path, err := exec.LookPath(name); err == nil && exec.Command(path, "-c", "import grpc, google.protobuf").Run() == nil {
			return path
		}
	}
	return ""
})

// packed makes one file of the plugin in Python and its SDK.
func packed(b *testing.B, into string) string {
	b.Helper()
	if python3() == "" {
		b.Log("SKIPPED: plugins in Python, there is no python3 with grpcio and protobuf (scripts/install-python)")
		return ""
	}
	if out, err := exec.Command(python3(), "../sdk/python/flowrun.py", "pack", "testdata/echo.py", into).CombinedOutput(); err != nil {
		b.Fatalf("pack the plugin in Python: %v\n%s", err, out)
	}
	text, err := os.ReadFile(into)
	if err != nil {
		b.Fatal(err)
	}
	text = append([]byte("#!"+python3()), strings.TrimPrefix(string(text), "#!/usr/bin/env python3")...)
	if err := os.WriteFile(into, text, 0o755); err != nil {
		b.Fatal(err)
	}
	return into
}

// underHost starts the program by flowrun's host, which knows its description: only the
// first start of all asks for it.
func underHost(b *testing.B, program string) func(*testing.B) *started {
	b.Helper()
	state := b.TempDir()
	start := func(b *testing.B) *started {
		host := pluginhost.New(pluginhost.Options{
			StateDir: state, Sources: []pluginhost.Source{{Name: "echo", Path: program}}, Environ: os.Environ(), Now: time.Now, Entropy: rand.Reader,
		})
		return &started{
			call: func(input []byte) error {
				answer := host.Call(context.Background(), runs.Request{Action: "echo.echo", Input: input}, pluginhost.Connection{Name: "echo"}, nil)
				if answer.Failed != nil {
					return answer.Failed
				}
				return same(input, answer.Completed.Output)
			},
			pid: func() int { return host.Status("echo").PID },
			end: func() {
				if err := host.Close(context.Background()); err != nil {
					b.Error(err)
				}
			},
		}
	}
	first := start(b)
	if err := first.call(input); err != nil {
		b.Fatal(err)
	}
	first.end()
	return start
}

// bare starts the program by go-plugin's own client.
func bare(b *testing.B, program string) *started {
	command := exec.Command(program)
	client := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: handshake.ProtocolVersion, MagicCookieKey: handshake.MagicCookieKey, MagicCookieValue: handshake.MagicCookieValue,
		},
		Plugins: goplugin.PluginSet{handshake.PluginSet: dispensed{}}, AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Cmd: command, Logger: hclog.NewNullLogger(),
	})
	connect := sync.OnceValues(func() (pluginv1grpc.PluginClient, error) {
		protocol, err := client.Client()
		if err != nil {
			return nil, err
		}
		raw, err := protocol.Dispense(handshake.PluginSet)
		if err != nil {
			return nil, err
		}
		return raw.(pluginv1grpc.PluginClient), nil
	})
	return &started{
		call: func(input []byte) error {
			plugin, err := connect()
			if err != nil {
				return err
			}
			stream, err := plugin.Execute(context.Background(), &pluginv1.ExecuteRequest{Action: "echo", Input: &pluginv1.Value{Json: input}})
			if err != nil {
				return err
			}
			event, err := stream.Recv()
			if err != nil {
				return err
			}
			if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
				return fmt.Errorf("the stream goes on: %w", err)
			}
			return same(input, event.GetCompleted().GetOutput().GetJson())
		},
		pid: func() int { return command.Process.Pid },
		end: client.Kill,
	}
}

// dispensed is the client's side of the plugin on go-plugin alone.
type dispensed struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (dispensed) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return errors.New("a host has no server side")
}

func (dispensed) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return pluginv1grpc.NewPluginClient(conn), nil
}

func same(input, output []byte) error {
	var want, got struct{ Text string }
	if err := errors.Join(json.Unmarshal(input, &want), json.Unmarshal(output, &got)); err != nil {
		return err
	}
	if want != got || got.Text == "" {
		return fmt.Errorf("another text came back: %s", output)
	}
	return nil
}

// BenchmarkProcessStart starts a process and makes its first call: a plugin that is known
// and does not run, as the first step of a run finds it. Processor time is that of both
// sides, to the end of the process.
func BenchmarkProcessStart(b *testing.B) {
	for _, c := range contenders(b) {
		b.Run(c.name, func(b *testing.B) {
			before := bothSides(b)
			for b.Loop() {
				p := c.start(b)
				if err := p.call(input); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				p.end()
				b.StartTimer()
			}
			b.ReportMetric(float64((bothSides(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/start")
		})
	}
}

// BenchmarkProcessCall calls a process that runs, with 1 KiB each way.
func BenchmarkProcessCall(b *testing.B) {
	for _, c := range contenders(b) {
		b.Run(c.name, func(b *testing.B) {
			p := c.start(b)
			for range 20 {
				if err := p.call(input); err != nil {
					b.Fatal(err)
				}
			}
			before := bothSides(b) + ofProcess(b, p.pid())
			for b.Loop() {
				if err := p.call(input); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((bothSides(b)+ofProcess(b, p.pid())-before).Microseconds())/float64(b.N), "cpu-us/call")
			p.end()
		})
	}
}

// BenchmarkProcessMemory is what a process has in memory after a hundred calls: its own,
// and with the pages of its program that others may share.
func BenchmarkProcessMemory(b *testing.B) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		b.Skip("SKIPPED: there is no /proc")
	}
	for _, c := range contenders(b) {
		b.Run(c.name, func(b *testing.B) {
			var own, all float64
			for b.Loop() {
				p := c.start(b)
				for range 100 {
					if err := p.call(input); err != nil {
						b.Fatal(err)
					}
				}
				own, all = own+memory(b, p.pid(), "RssAnon"), all+memory(b, p.pid(), "VmRSS")
				p.end()
			}
			b.ReportMetric(own/float64(b.N), "own-MiB")
			b.ReportMetric(all/float64(b.N), "all-MiB")
		})
	}
}

// memory is a figure of a process, in MiB.
func memory(b *testing.B, pid int, figure string) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), figure+":")
	line, _, _ := strings.Cut(rest, "\n")
	kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(line, "kB")), 64)
	if err != nil {
		b.Fatalf("%s of process %d: %v", figure, pid, err)
	}
	return kib / 1024
}

// bothSides is the processor time of this process, and of those that have ended.
func bothSides(b *testing.B) time.Duration {
	b.Helper()
	var ended syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ended); err != nil {
		b.Fatal(err)
	}
	return cpu(b) + time.Duration(ended.Utime.Nano()+ended.Stime.Nano())
}

// ofProcess is the processor time of a process that runs; 0 where nothing tells it.
func ofProcess(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		b.Fatalf("/proc/%d/stat is %q", pid, text)
	}
	var ticks time.Duration
	for _, field := range fields[11:13] { // utime and stime, in hundredths of a second
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += time.Duration(n)
	}
	return ticks * 10 * time.Millisecond
}
