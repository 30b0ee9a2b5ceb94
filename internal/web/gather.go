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

// gathering is what is held of a message.
type gathering struct {
	text  []byte // what is written by reference: nobody changes it
	parts net.Buffers
}

// atOnce calls write, and sends what it writes to the connection of a request in one call of
// the system. text is a part of it that nobody changes. Where the connection is not the
// request's own (HTTP/2, TLS, a socket) write goes on as it does.
func atOnce(ctx context.Context, r *http.Request, text []byte, write func() error) error {
	conn, _ := ctx.Value(connKey{}).(*boundedConn)
	if conn == nil || r.TLS != nil || r.ProtoMajor != 1 {
		return write()
	}
	conn.gathers = &gathering{text: text}
	err := write()
	parts := conn.gathers.parts
	conn.gathers = nil
	if _, failed := parts.WriteTo(conn.Conn); failed != nil {
		_ = conn.Conn.Close() // a part of it may be on its way
		return errors.Join(err, failed)
	}
	return err
}

// Write sends bytes, or holds them while a message is gathered.
func (c *boundedConn) Write(bytes []byte) (int, error) {
	if c.gathers == nil {
		return c.Conn.Write(bytes)
	}
	c.gathers.hold(bytes)
	return len(bytes), nil
}

// hold keeps the end of the text as it is, and copies all else.
func (g *gathering) hold(bytes []byte) {
	n := len(bytes)
	if at := len(g.text) - n; n > 0 && at >= 0 && &g.text[at] == &bytes[0] {
		g.parts = append(g.parts, bytes)
		return
	}
	g.parts = append(g.parts, append([]byte(nil), bytes...))
}
