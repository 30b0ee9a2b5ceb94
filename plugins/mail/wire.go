package mail

import (
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// mostReply bounds what a server may say to one command, in bytes. A handshake of TLS is
// within it.
const mostReply = 256 << 10

// errTooMuch is the end of a connection whose server says more than is read.
var errTooMuch = errors.New("the server says more than is read of a reply")

// wire is a connection with bounds: how long and how much the server may say to what it
// was sent. One goroutine reads and writes; setting it up is for that one too.
type wire struct {
	net.Conn
	timeout time.Duration
	now     func() time.Time

	// stepwise reads byte by byte up to the end of one reply, so that nothing behind it is
	// taken for a part of what is encrypted later: what a server, or who stands between,
	// sends in clear behind its answer to STARTTLS, the handshake trips over.
	stepwise bool
	column   int // of the line that is read stepwise
	last     bool

	unread int64       // bytes that may come yet
	until  time.Time   // when they must have come
	broke  error       // of the last read; what came before it may be a part of a line
	wrote  atomic.Bool // something was sent since the last read: a new reply begins
}

func newWire(conn net.Conn, timeout time.Duration, now func() time.Time) *wire {
	w := &wire{Conn: conn, timeout: timeout, now: now}
	w.wrote.Store(true) // the greeting is a reply too
	return w
}

// Read reads within the bounds.
func (w *wire) Read(data []byte) (int, error) {
	if w.wrote.Swap(false) {
		w.unread, w.until = mostReply, w.now().Add(w.timeout)
	}
	if w.unread <= 0 {
		return 0, errTooMuch
	}
	if int64(len(data)) > w.unread {
		data = data[:w.unread]
	}
	if w.stepwise && len(data) > 1 {
		data = data[:1]
	}
	if err := w.Conn.SetReadDeadline(w.until); err != nil {
		return 0, err
	}
	n, err := w.Conn.Read(data)
	w.broke = err
	w.unread -= int64(n)
	if w.stepwise && n == 1 {
		w.step(data[0])
	}
	return n, err
}

// step follows a reply: its last line has no hyphen behind the code.
func (w *wire) step(b byte) {
	w.column++
	switch {
	case b == '\n' && w.last:
		w.stepwise, w.column, w.last = false, 0, false
	case b == '\n':
		w.column, w.last = 0, false
	case w.column == 4:
		w.last = b != '-'
	case w.column < 4 && (b == '\r'):
		w.last = true
	}
}

// Write writes within the time of one answer.
func (w *wire) Write(data []byte) (int, error) {
	w.wrote.Store(true)
	if err := w.Conn.SetWriteDeadline(w.now().Add(w.timeout)); err != nil {
		return 0, err
	}
	return w.Conn.Write(data)
}
