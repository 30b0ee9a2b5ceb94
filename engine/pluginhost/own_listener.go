package pluginhost

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/flowrun/flowrun/engine/peer"
)

// errNoProcess says that a plugin which has not started yet is spoken for.
var errNoProcess = errors.New("its process has not started")

// belongTo says which process the services are for.
func (s *services) belongTo(pid int) {
	s.pid = pid
	close(s.spawned)
}

// ownListener lets the plugin's own process connect, and what descends from it: the
// kernel says who it is, once for each connection. A group of processes would not do,
// since any process of the session can join it.
type ownListener struct {
	net.Listener
	services *services
}

// Accept hangs up on all others.
func (l *ownListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		refused := l.services.stranger(conn)
		if refused == nil {
			return conn, nil
		}
		_ = conn.Close()
		name := l.services.process.unit.source.Name
		l.services.process.unit.host.options.Log.Warn("hung up on a stranger at a plugin's host socket", "plugin", name, "error", refused)
	}
}

// stranger returns why whoever connected may not speak; nil = it may.
func (s *services) stranger(conn net.Conn) error {
	host := s.process.unit.host
	select {
	case <-s.spawned:
	case <-host.closing.Done():
		return errClosed
	case <-time.After(host.options.Limits.Start):
		return errNoProcess
	}
	who, err := peer.Of(conn)
	if err != nil {
		return err
	}
	if who.PID == s.pid {
		return nil
	}
	child, err := peer.ChildOf(who.PID, s.pid)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", who, err)
	case child == 0:
		return fmt.Errorf("%s is not of this plugin", who)
	}
	return nil
}
