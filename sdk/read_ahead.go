package sdk

import (
	"bufio"
	"net"
)

// readAheadBytes is the room of a connection for what came with what was asked for.
const readAheadBytes = 16 << 10

// readAhead is a listener whose connections are read in larger parts than net/http asks for,
// which asks twice for each frame of HTTP/2: for its head, then for what is in it. A call
// of a few bytes is one read.
type readAhead struct{ net.Listener }

// Accept is that of net.Listener.
func (l readAhead) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &aheadConn{Conn: conn, in: bufio.NewReaderSize(conn, readAheadBytes)}, nil
}

type aheadConn struct {
	net.Conn
	in *bufio.Reader
}

// Read is that of net.Conn; like there, one goroutine reads at a time.
func (c *aheadConn) Read(p []byte) (int, error) { return c.in.Read(p) }
