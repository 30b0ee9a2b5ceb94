package web

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// bounded is a listener whose connections a test holds in its hand.
type bounded struct {
	*boundedListener
	t        *testing.T
	accepted chan *boundedConn
}

func newBounded(t *testing.T, most, each int, shared ...string) *bounded {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	isShared := func(address netip.Addr) bool {
		for _, text := range shared {
			if address.String() == text {
				return true
			}
		}
		return false
	}
	b := &bounded{boundedListener: newBoundedListener(inner, most, each, isShared, []byte(fullAnswer)), t: t, accepted: make(chan *boundedConn)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := b.Accept()
			if err != nil {
				return
			}
			b.accepted <- conn.(*boundedConn)
		}
	}()
	t.Cleanup(func() {
		_ = b.Listener.Close()
		<-done
	})
	return b
}

// dial connects from an address of loopback, and returns both ends; server is nil
// where the client is turned away.
func (b *bounded) dial(from string) (client net.Conn, server *boundedConn) {
	b.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	client, err := dialer.Dial("tcp", b.Addr().String())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = client.Close() })
	read := make(chan string, 1)
	go func() {
		head := make([]byte, 12)
		n, _ := io.ReadFull(client, head)
		read <- string(head[:n])
	}()
	select {
	case server = <-b.accepted:
		b.t.Cleanup(func() { _ = server.Close() })
	case head := <-read:
		if !strings.HasPrefix(head, "HTTP/1.1 503") {
			b.t.Fatalf("turned away with %q", head)
		}
	case <-time.After(time.Minute):
		b.t.Fatal("a connection waits")
	}
	return client, server
}

// isOpen reports whether a connection is kept.
func (b *bounded) isOpen(conn *boundedConn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !conn.gone
}

// TestIssue12_20NoConnectionWaitsForAnIdleOne: the longest idle one makes room.
func TestIssue12_20NoConnectionWaitsForAnIdleOne(t *testing.T) {
	b := newBounded(t, 3, 3)
	_, first := b.dial("127.0.0.1")
	_, second := b.dial("127.0.0.1")
	_, third := b.dial("127.0.0.1")
	first.count(0) // a request has begun on it
	_, fourth := b.dial("127.0.0.1")
	if b.isOpen(second) || !b.isOpen(first) || !b.isOpen(third) || !b.isOpen(fourth) {
		t.Error("it is not the longest idle one that went")
	}
	for range 50 {
		if _, server := b.dial("127.0.0.1"); server == nil {
			t.Fatal("one is turned away though others are idle")
		}
	}
	if b.total != 3 || len(b.byAddress) != 1 {
		t.Errorf("%d connections of %d addresses are kept", b.total, len(b.byAddress))
	}
}

// TestIssue12_20WhatServesIsNotGivenUp: who comes then is told at once.
func TestIssue12_20WhatServesIsNotGivenUp(t *testing.T) {
	b := newBounded(t, 2, 2)
	_, first := b.dial("127.0.0.1")
	_, second := b.dial("127.0.0.1")
	release := first.hold()
	second.hold()
	if _, server := b.dial("127.0.0.1"); server != nil {
		t.Error("there is no room, and it is let in")
	}
	if !b.isOpen(first) || !b.isOpen(second) {
		t.Error("a connection that serves was given up")
	}
	release()
	if _, server := b.dial("127.0.0.1"); server == nil || b.isOpen(first) {
		t.Error("the one that serves no more does not make room")
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	_ = second.Close() // twice counts once
	if b.total != 1 {
		t.Errorf("%d connections are counted", b.total)
	}
}

// TestIssue12_20OneAddressDoesNotTakeTheRoomOfOthers: its own connections go, in its
// share and in the whole; an address that many share has no share of its own.
func TestIssue12_20OneAddressDoesNotTakeTheRoomOfOthers(t *testing.T) {
	b := newBounded(t, 8, 3, "127.0.0.9")
	_, quiet := b.dial("127.0.0.1") // idle longest of all
	count := func(address string) int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.byAddress[netip.MustParseAddr(address)])
	}
	for range 10 {
		b.dial("127.0.0.2")
	}
	if got := count("127.0.0.2"); got != 3 || !b.isOpen(quiet) {
		t.Errorf("an address has %d connections, its share is 3", got)
	}
	for range 20 {
		b.dial("127.0.0.9")
	}
	if got := count("127.0.0.9"); got != 4 || count("127.0.0.2") != 3 || !b.isOpen(quiet) {
		t.Errorf("the shared address has %d, the other %d", got, count("127.0.0.2"))
	}
	if _, server := b.dial("127.0.0.3"); server == nil || count("127.0.0.9") != 3 || !b.isOpen(quiet) {
		t.Error("a new address does not get room of the one that has the most")
	}
}
