package browser

import (
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// link is a slow line to a server: all connections share what it carries down in a
// second, and each byte takes its time.
type link struct {
	address string
	latency time.Duration
	rate    int // bytes a second; 0 = as it comes
	down    atomic.Int64

	mu    sync.Mutex
	free  time.Time // when the line has carried what was given to it
	stall chan struct{}
	conns map[net.Conn]bool
}

// linkBuffer is how many bytes wait at the line's end for each connection, as in a
// home router.
const linkBuffer = 64 << 10

// newLink opens a line to a server, and ends it with the test.
func newLink(t *testing.T, server string, rate int, latency time.Duration) *link {
	t.Helper()
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{address: "http://" + listener.Addr().String(), rate: rate, latency: latency, conns: map[net.Conn]bool{}}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to.Host)
			if err != nil {
				_ = near.Close()
				continue
			}
			l.note(near, far)
			done.Go(func() { l.carry(near, far, true) })
			done.Go(func() { l.carry(far, near, false) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		l.holdUp(false)
		l.cut()
		done.Wait()
	})
	return l
}

func (l *link) note(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range conns {
		l.conns[conn] = true
	}
}

// cut ends all connections.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.conns {
		_ = conn.Close()
	}
	clear(l.conns)
}

// holdUp keeps everything that comes down from arriving, or lets it come.
func (l *link) holdUp(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case on && l.stall == nil:
		l.stall = make(chan struct{})
	case !on && l.stall != nil:
		close(l.stall)
		l.stall = nil
	}
}

// packet is what arrives at a time.
type packet struct {
	data []byte
	at   time.Time
}

// carry copies one direction of a connection.
func (l *link) carry(to, from net.Conn, down bool) {
	packets := make(chan packet, linkBuffer/1400)
	go func() {
		defer close(packets)
		for {
			data := make([]byte, 1400)
			n, err := from.Read(data)
			if n > 0 {
				packets <- packet{data[:n], l.arrives(n, down)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range packets {
		time.Sleep(time.Until(p.at))
		if down {
			l.wait()
			l.down.Add(int64(len(p.data)))
		}
		if _, err := to.Write(p.data); err != nil {
			_ = from.Close()
			_, _ = io.Copy(io.Discard, from)
		}
	}
	_ = to.Close()
}

func (l *link) wait() {
	l.mu.Lock()
	stall := l.stall
	l.mu.Unlock()
	if stall != nil {
		<-stall
	}
}

// arrives is when so many bytes that are given to the line now are at its end.
func (l *link) arrives(n int, down bool) time.Time {
	now := time.Now()
	if !down || l.rate == 0 {
		return now.Add(l.latency)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(n) * time.Second / time.Duration(l.rate))
	return l.free.Add(l.latency)
}
