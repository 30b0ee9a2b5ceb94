package web

import (
	"context"
	"errors"
	"net"
	"net/http"
)

// What goes to many readers is one buffer, which each gets in a message of its own. net/http
// writes such a message in three calls of the system: the length of the chunk with the
// buffer's begin, the rest of it, the line feed behind. A reader is woken by each.

// gathering is what is held of a message. A connection uses its own again and again: a
// message to one of many readers allocates nothing.
type gathering struct {
	text  []byte // what is written by reference: nobody changes it
	parts net.Buffers
	sent  net.Buffers // the parts that are not sent yet
	room  []byte      // what the parts are that are not of the text
}

// roomKept is what a connection keeps at most for its next message: what net/http writes at a
// time of its buffer of 4 KiB, and a little more.
const roomKept = 8 << 10

// gathers returns the connection of a request, if messages to it can be gathered. Where the
// connection is not the request's own (HTTP/2, TLS, a socket) it is nil, which writes go on
// through as they do.
func gathers(ctx context.Context, r *http.Request) *boundedConn {
	conn, _ := ctx.Value(connKey{}).(*boundedConn)
	if conn == nil || r.TLS != nil || r.ProtoMajor != 1 {
		return nil
	}
	return conn
}

// gather holds what is written, up to release. text is a part of it that nobody changes.
func (c *boundedConn) gather(text []byte) {
	if c == nil {
		return
	}
	if c.gathered == nil {
		c.gathered = new(gathering)
	}
	c.gathered.text, c.gathering = text, true
}

// release sends what was gathered in one call of the system. err is that of who wrote it.
func (c *boundedConn) release(err error) error {
	if c == nil {
		return err
	}
	c.gathering = false
	g := c.gathered
	g.sent = g.parts
	if _, failed := g.sent.WriteTo(c.Conn); failed != nil {
		_ = c.Conn.Close() // a part of it may be on its way
		err = errors.Join(err, failed)
	}
	clear(g.parts) // the text is garbage when all readers have it
	g.text, g.parts, g.sent, g.room = nil, g.parts[:0], nil, g.room[:0]
	if cap(g.room) > roomKept {
		g.room = nil
	}
	return err
}

// Write sends a piece, or holds it while a message is gathered.
func (c *boundedConn) Write(piece []byte) (int, error) {
	if !c.gathering {
		return c.Conn.Write(piece)
	}
	c.gathered.hold(piece)
	return len(piece), nil
}

// hold keeps the end of the text as it is, and copies all else: the length of the chunk and
// the begin of the text, which come in the buffer of the server, and the line feed behind.
func (g *gathering) hold(piece []byte) {
	n := len(piece)
	if at := len(g.text) - n; n > 0 && at >= 0 && &g.text[at] == &piece[0] {
		g.parts = append(g.parts, piece)
		return
	}
	begin := len(g.room)
	g.room = append(g.room, piece...) // where it moves, the parts before stay where they are
	g.parts = append(g.parts, g.room[begin:len(g.room):len(g.room)])
}
