package web

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"github.com/flowrun/flowrun/internal/web/guard"
)

// boundedListener accepts every connection, and keeps no more than most of them:
// and of one address no more than each, but for those that shared names. Where
// there is one too many, the one goes that has been idle longest: of the same
// address, or of the address that has the most. A connection that serves a
// request with a credential is not idle. Who comes last is turned away where none
// is, and never waits.
type boundedListener struct {
	net.Listener
	most, each int
	shared     func(netip.Addr) bool // many clients come from there: a proxy, this machine
	full       []byte                // what one that is turned away hears

	mu        sync.Mutex
	next      uint64
	total     int
	byAddress map[netip.Addr]map[*boundedConn]bool
}

func newBoundedListener(inner net.Listener, most, each int, shared func(netip.Addr) bool, full []byte) *boundedListener {
	return &boundedListener{Listener: inner, most: most, each: each, shared: shared, full: full, byAddress: map[netip.Addr]map[*boundedConn]bool{}}
}

// boundedConn is one that is kept. Its fields are guarded by the listener's mu, but for
// those of gathering.
type boundedConn struct {
	net.Conn
	listener *boundedListener
	address  netip.Addr
	since    uint64 // greater = became idle later
	held     int    // requests with a credential that are served
	gone     bool

	// Of the goroutine that answers.
	gathering bool       // what is written is not sent yet
	gathered  *gathering // nil = there was no message yet
}

// Accept returns the next connection that there is room for.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		conn := &boundedConn{Conn: inner, listener: l, address: guard.IPOf(inner.RemoteAddr())}
		idle, ok := l.admit(conn)
		if idle != nil {
			_ = idle.Conn.Close() // nobody uses it: its reader hears of it
		}
		if ok {
			return conn, nil
		}
		l.turnAway(inner)
	}
}

// admit makes room for a connection, and reports whether there is some.
func (l *boundedListener) admit(conn *boundedConn) (idle *boundedConn, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.byAddress[conn.address]
	switch {
	case len(own) >= l.each && !l.shared(conn.address):
		idle = longestIdle(own)
	case l.total >= l.most:
		idle = l.idleOfMost()
	default:
		l.add(conn)
		return nil, true
	}
	if idle == nil {
		return nil, false
	}
	l.remove(idle)
	l.add(conn)
	return idle, true
}

func (l *boundedListener) add(conn *boundedConn) {
	l.next++
	conn.since = l.next
	if l.byAddress[conn.address] == nil {
		l.byAddress[conn.address] = map[*boundedConn]bool{}
	}
	l.byAddress[conn.address][conn] = true
	l.total++
}

func (l *boundedListener) remove(conn *boundedConn) {
	if conn.gone {
		return
	}
	conn.gone = true
	l.total--
	own := l.byAddress[conn.address]
	if delete(own, conn); len(own) == 0 {
		delete(l.byAddress, conn.address)
	}
}

// idleOfMost returns what is idle longest of the address that has the most
// connections, among those that have one that is idle.
func (l *boundedListener) idleOfMost() (idle *boundedConn) {
	most := 0
	for _, own := range l.byAddress {
		if len(own) < most {
			continue
		}
		conn := longestIdle(own)
		if conn == nil || len(own) == most && idle.since < conn.since {
			continue
		}
		idle, most = conn, len(own)
	}
	return idle
}

func longestIdle(connections map[*boundedConn]bool) (idle *boundedConn) {
	for conn := range connections {
		if conn.held == 0 && (idle == nil || conn.since < idle.since) {
			idle = conn
		}
	}
	return idle
}

// turnAway tells a client that there is no room. The buffer of a new connection is
// empty: nobody waits for the client to read it.
func (l *boundedListener) turnAway(conn net.Conn) {
	if len(l.full) > 0 {
		_, _ = conn.Write(l.full)
	}
	_ = conn.Close()
}

// Close takes the connection out of the count.
func (c *boundedConn) Close() error {
	c.listener.mu.Lock()
	c.listener.remove(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// hold keeps the connection while a request with a credential is served.
func (c *boundedConn) hold() (release func()) {
	c.count(1)
	return func() { c.count(-1) }
}

func (c *boundedConn) count(by int) {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.held += by
	c.listener.next++
	c.since = c.listener.next
}

type connKey struct{}

// boundedOf returns the connection that TLS may be spoken over; nil = another's.
func boundedOf(conn net.Conn) *boundedConn {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	bounded, _ := conn.(*boundedConn)
	return bounded
}

// noteState notes that a connection is in use: a request has begun.
func noteState(conn net.Conn, state http.ConnState) {
	if bounded := boundedOf(conn); bounded != nil && state == http.StateActive {
		bounded.count(0)
	}
}

// withConn remembers the connection of requests, for hold.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, boundedOf(conn))
}

// hold keeps the connection of a request, until release.
func hold(ctx context.Context) (release func()) {
	if conn, ok := ctx.Value(connKey{}).(*boundedConn); ok && conn != nil {
		return conn.hold()
	}
	return func() {}
}

// fullAnswer is what a client hears that there is no room for.
const fullAnswer = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r\nConnection: close\r\n\r\n" +
	`{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"the server has no room for more connections","code":"unavailable"}` + "\n"
