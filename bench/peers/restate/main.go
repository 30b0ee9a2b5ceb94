// Command restate measures Restate: its server, one program that npm brings, and a service
// in a process of Node. It is run in its own folder, after `npm ci`.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/bench/peers/peer"
)

// restate is a server with its service.
type restate struct {
	server, service *exec.Cmd
	input           io.Closer // of the service, which ends with it
	ingress, admin  string
	log             *os.File
}

func main() { peer.Main(open) }

func open(ctx context.Context, dir string) (*peer.Engine, error) {
	r := &restate{}
	port, err := r.serve(ctx)
	if err == nil {
		err = r.start(ctx, dir)
	}
	if err == nil {
		err = r.register(ctx, port)
	}
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	run := func(handler string) func(ctx context.Context, n int) error {
		return func(ctx context.Context, n int) error { return r.post(ctx, r.ingress+"/steps/"+handler, fmt.Sprint(n)) }
	}
	return &peer.Engine{
		Program: "Restate 1.7.12 (service in Node)", Durability: "its own log, RocksDB, synced before it counts (default)",
		Sequence: run("sequence"), Fan: run("fan"), PID: func() int { return r.server.Process.Pid }, Close: r.close,
	}, nil
}

// serve starts the service, which says its port.
func (r *restate) serve(ctx context.Context) (port string, err error) {
	r.service = exec.CommandContext(ctx, "node", "service.mjs")
	r.service.Stderr = io.Discard // it says each start of a call
	if r.input, err = r.service.StdinPipe(); err != nil {
		return "", err
	}
	out, err := r.service.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := r.service.Start(); err != nil {
		return "", fmt.Errorf("start the service: %w", err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if found, ok := strings.CutPrefix(lines.Text(), "port "); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return found, nil
		}
	}
	return "", errors.New("the service said no port")
}

// start starts the server with a fresh folder and ports that are free.
func (r *restate) start(ctx context.Context, dir string) error {
	program := filepath.Join("node_modules", "@restatedev", "restate-server-"+runtime.GOOS+"-"+map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH], "bin", "restate-server")
	var ports []string
	for range 3 {
		port, err := free()
		if err != nil {
			return err
		}
		ports = append(ports, port)
	}
	var err error
	if r.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		return err
	}
	r.server = exec.CommandContext(ctx, program, "--no-logo", "--listen-mode", "tcp", "--base-dir", filepath.Join(dir, "data"), "--node-name", "bench", "--bind-ip", "127.0.0.1", "--bind-port", ports[0])
	r.server.Env = append(os.Environ(), "RESTATE_INGRESS__BIND_PORT="+ports[1], "RESTATE_ADMIN__BIND_PORT="+ports[2], "RESTATE_DISABLE_TELEMETRY=true", "RUST_LOG=warn")
	r.server.Stdout, r.server.Stderr = r.log, r.log
	r.ingress, r.admin = "http://127.0.0.1:"+ports[1], "http://127.0.0.1:"+ports[2]
	return r.server.Start()
}

// register tells the server of the service, as soon as it listens.
func (r *restate) register(ctx context.Context, port string) error {
	body := fmt.Sprintf(`{"uri": "http://127.0.0.1:%s", "force": true}`, port)
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err = r.post(ctx, r.admin+"/deployments", body); err == nil {
			return nil
		}
	}
	said, _ := os.ReadFile(r.log.Name())
	return fmt.Errorf("register the service: %w\n%s", err, said)
}

func (r *restate) post(ctx context.Context, url, body string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s: status %d: %s", url, answer.StatusCode, text)
	}
	return err
}

// client keeps as many connections as there are runs at a time.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

func (r *restate) close() error {
	var errs []error
	if r.server != nil && r.server.Process != nil {
		errs = append(errs, r.server.Process.Signal(syscall.SIGTERM))
		_ = r.server.Wait() // by that signal
	}
	if r.input != nil {
		r.input.Close()
		_ = r.service.Wait()
	}
	return errors.Join(errs...)
}

// free is a port that nobody listens on.
func free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
