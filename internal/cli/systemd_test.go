package cli

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// notified listens as systemd does.
func notified(t *testing.T) (address string, next func() string) {
	t.Helper()
	address = filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return address, func() string {
		t.Helper()
		data := make([]byte, 4096)
		n, err := conn.Read(data)
		if err != nil {
			t.Fatal(err)
		}
		return string(data[:n])
	}
}

func TestSystemdHearsHowTheServerDoes(t *testing.T) {
	address, next := notified(t)
	m := newServiceManager(System{PID: 17, Environ: []string{"NOTIFY_SOCKET=" + address, "WATCHDOG_USEC=20000", "WATCHDOG_PID=17"}})
	lives := make(chan bool, 1)
	lives <- false // once it hangs: that is not said to be life
	m.alive = func() bool {
		select {
		case alive := <-lives:
			return alive
		default:
			return true
		}
	}
	m.ready("serving http://127.0.0.1:7070")
	if got := next(); got != "READY=1\nSTATUS=serving http://127.0.0.1:7070" {
		t.Errorf("first: %q", got)
	}
	for range 3 {
		if got := next(); got != "WATCHDOG=1" {
			t.Errorf("then: %q", got)
		}
	}
	if len(lives) != 0 {
		t.Error("nobody asked whether it lives")
	}
	m.close()
	m.close() // twice is once
	m.send("STOPPING=1")
	for {
		if got := next(); got == "STOPPING=1" {
			break
		} else if got != "WATCHDOG=1" {
			t.Errorf("last: %q", got)
		}
	}
}

func TestWithoutSystemdNothingIsSent(t *testing.T) {
	for name, environ := range map[string][]string{
		"no socket":                  {"WATCHDOG_USEC=1"},
		"a socket that is not there": {"NOTIFY_SOCKET=/nowhere/notify", "WATCHDOG_USEC=x"},
	} {
		m := newServiceManager(System{PID: 1, Environ: environ})
		m.ready("x")
		m.send("STOPPING=1")
		m.close()
		if m.watchdog != 0 && name != "no socket" {
			t.Errorf("%s: a watchdog of %s", name, m.watchdog)
		}
	}
	other := newServiceManager(System{PID: 1, Environ: []string{"NOTIFY_SOCKET=/x", "WATCHDOG_USEC=1000", "WATCHDOG_PID=2"}})
	if other.watchdog != 0 {
		t.Error("the watchdog of another process is ours")
	}
	if abstract := newServiceManager(System{Environ: []string{"NOTIFY_SOCKET=@flowrun/test"}}); !strings.HasPrefix(abstract.address, "\x00") {
		t.Errorf("an abstract socket: %q", abstract.address)
	}
}
