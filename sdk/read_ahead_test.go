package sdk

import (
	"io"
	"net"
	"testing"
)

// countedListener gives one connection, whose reads are counted.
type countedListener struct {
	net.Listener
	conn  net.Conn
	reads int
}

func (l *countedListener) Accept() (net.Conn, error) { return countedConn{l.conn, l}, nil }

type countedConn struct {
	net.Conn
	of *countedListener
}

func (c countedConn) Read(p []byte) (int, error) {
	c.of.reads++
	return c.Conn.Read(p)
}

// The head of a frame and what is in it come with one read; what is larger than the room
// comes whole.
func TestAFrameIsOneRead(t *testing.T) {
	here, there := net.Pipe()
	l := &countedListener{conn: here}
	conn, err := readAhead{l}.Accept()
	if err != nil {
		t.Fatal(err)
	}
	read := func(size int) {
		t.Helper()
		if _, err := io.ReadFull(conn, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	const frames = 10
	for range frames {
		go func() { _, _ = there.Write(make([]byte, 9+147)) }()
		read(9)
		read(147)
	}
	if l.reads != frames {
		t.Errorf("%d frames took %d reads", frames, l.reads)
	}
	go func() { _, _ = there.Write(make([]byte, 9+3*readAheadBytes)) }()
	read(9)
	read(3 * readAheadBytes)
}
