package cli

import (
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// serviceManager tells systemd how the server does: datagrams to the socket that
// NOTIFY_SOCKET names (sd_notify(3)). Without one nothing is sent. Safe for
// concurrent use.
type serviceManager struct {
	address  string        // "" = nobody listens
	watchdog time.Duration // how often it wants to hear that we live; 0 = never
	alive    func() bool   // nil = always
	stop     chan struct{}
	done     sync.WaitGroup
	once     sync.Once
}

func newServiceManager(sys System) *serviceManager {
	a := &app{sys: sys}
	m := &serviceManager{address: a.env("NOTIFY_SOCKET"), stop: make(chan struct{})}
	if strings.HasPrefix(m.address, "@") { // an abstract one
		m.address = "\x00" + m.address[1:]
	}
	usec, err := strconv.ParseInt(a.env("WATCHDOG_USEC"), 10, 64)
	pid := a.env("WATCHDOG_PID")
	if err == nil && usec > 0 && (pid == "" || pid == strconv.Itoa(sys.PID)) {
		m.watchdog = time.Duration(usec) * time.Microsecond
	}
	return m
}

// send tells the manager of changes. One that does not listen changes nothing.
func (m *serviceManager) send(lines ...string) {
	if m.address == "" {
		return
	}
	connection, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: m.address, Net: "unixgram"})
	if err != nil {
		return
	}
	_, _ = connection.Write([]byte(strings.Join(lines, "\n"))) // it is a note
	_ = connection.Close()
}

// ready says that the server is there, and from then on that it lives.
func (m *serviceManager) ready(status string) {
	m.send("READY=1", "STATUS="+status)
	if m.address == "" || m.watchdog == 0 {
		return
	}
	m.done.Go(func() {
		every(m.watchdog/2, m.stop, func() {
			if m.alive == nil || m.alive() {
				m.send("WATCHDOG=1")
			}
		})
	})
}

// close ends the signs of life.
func (m *serviceManager) close() {
	m.once.Do(func() { close(m.stop) })
	m.done.Wait()
}
