//go:build linux

package main_test

import (
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAServiceOfSystemd plays the service manager for a real process: it hears
// that the server is ready, reloads, lives and stops (docs/serve.md, "As a
// service").
func TestAServiceOfSystemd(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	write(t, dir, "flowrun.yaml", "server: {listen: \"127.0.0.1:0\"}\n")
	address := filepath.Join(dir, "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	server := exec.Command(binary, "serve")
	server.Dir = dir
	server.Env = append(server.Environ(), "NOTIFY_SOCKET="+address, "WATCHDOG_USEC=200000", "STATE_DIRECTORY="+filepath.Join(dir, "state"))
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait() // it has ended
	})
	hear := func(want string) {
		t.Helper()
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		for {
			data := make([]byte, 4096)
			n, err := conn.Read(data)
			if err != nil {
				t.Fatalf("waiting for %s: %v", want, err)
			}
			if strings.HasPrefix(string(data[:n]), want) {
				return
			}
		}
	}
	hear("READY=1\nSTATUS=serving http://127.0.0.1:")
	hear("WATCHDOG=1")
	if err := server.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	hear("RELOADING=1\nMONOTONIC_USEC=")
	hear("READY=1")
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	hear("STOPPING=1")
	if err := server.Wait(); err == nil || server.ProcessState.ExitCode() != 143 {
		t.Errorf("it ended with %v", server.ProcessState)
	}
}
