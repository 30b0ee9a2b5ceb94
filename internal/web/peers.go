package web

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/peer"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// connected is what is known of whoever opened a connection to the socket.
type connected struct {
	peer    *peer.Peer
	refused string // why it is not served; "" = it is
}

type connectedKey struct{}

// peerOf returns the process that connected to the socket; nil within the owner's
// own process, and over TCP.
func peerOf(ctx context.Context) *peer.Peer {
	c, _ := ctx.Value(connectedKey{}).(connected)
	return c.peer
}

// Admission says whether a process may use the socket: nil, or why not. It is asked
// once for each connection.
type Admission func(p *peer.Peer) error

// meet asks the kernel who has connected, and whether they may use the socket.
func (a Admission) meet(ctx context.Context, conn net.Conn) context.Context {
	sender, err := peer.Of(conn)
	c := connected{peer: sender}
	switch {
	case err != nil:
		c.refused = err.Error()
	case a != nil:
		if err := a(sender); err != nil {
			c.refused = err.Error()
		}
	}
	return context.WithValue(ctx, connectedKey{}, c)
}

// admitted refuses all that comes from a process which may not use the socket.
func admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, _ := r.Context().Value(connectedKey{}).(connected); c.refused != "" {
			w.Header().Set("Connection", "close")
			wire.NewProblem(wire.CodeForbidden, "this process may not use the socket: "+c.refused).
				With(diag.Sayf("a plugin acts through its host services; what has to act from outside uses %s with a token", diag.Command{"serve"})).Write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// RefuseDescendants admits all but what descends from the process self: its plugins
// and all that they start. A child of self that trusted names, such as the command of
// a notice, is the user's own.
func RefuseDescendants(self int, trusted func(pid int) bool) Admission {
	return func(p *peer.Peer) error {
		if p.PID == 0 || p.PID == self {
			return nil // of another namespace, in which nothing of ours is; or this process
		}
		child, err := peer.ChildOf(p.PID, self)
		switch {
		case err != nil:
			return err
		case child != 0 && !trusted(child):
			return fmt.Errorf("%s descends from a plugin of the process that owns the socket", p)
		}
		return nil
	}
}
