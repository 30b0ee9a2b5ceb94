//go:build linux

package main_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/mail"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// mailHeld is a server that takes mail. It keeps back its first answer to a command until it
// is told to go on: "." is the whole message.
type mailHeld struct {
	net.Listener
	at      string
	arrived chan struct{}
	goOn    chan struct{}
	served  sync.WaitGroup

	mu   sync.Mutex
	held bool
	ids  []string // of the messages that it got whole
	last []byte   // the last of them
}

func holdMail(t *testing.T, at string) *mailHeld {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &mailHeld{Listener: listener, at: at, arrived: make(chan struct{}), goOn: make(chan struct{})}
	h.served.Add(1)
	go func() {
		defer h.served.Done()
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			h.served.Add(1)
			go func() {
				defer h.served.Done()
				defer func() { _ = conn.Close() }()
				h.talk(conn)
			}()
		}
	}()
	t.Cleanup(func() {
		select {
		case <-h.goOn:
		default:
			close(h.goOn)
		}
		_ = listener.Close()
		h.served.Wait()
	})
	return h
}

func (h *mailHeld) talk(conn net.Conn) {
	text := textproto.NewReader(bufio.NewReader(conn))
	say := func(reply string) { _, _ = io.WriteString(conn, reply+"\r\n") } // who was killed hears nothing
	say("220 held")
	for {
		line, err := text.ReadLine()
		if err != nil {
			return
		}
		verb, _, _ := strings.Cut(line, " ")
		h.hold(verb)
		switch verb {
		case "DATA":
			say("354 go on")
			raw, err := io.ReadAll(text.DotReader())
			if err != nil {
				return
			}
			if m, err := mail.ReadMessage(bytes.NewReader(raw)); err == nil {
				h.mu.Lock()
				h.ids, h.last = append(h.ids, m.Header.Get("Message-ID")), raw
				h.mu.Unlock()
			}
			h.hold(".")
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

// hold keeps the first answer to a command back.
func (h *mailHeld) hold(verb string) {
	h.mu.Lock()
	first := verb == h.at && !h.held
	h.held = h.held || first
	h.mu.Unlock()
	if first {
		close(h.arrived)
		<-h.goOn
	}
}

// TestMailUnderKill kills engine and plugins in the middle of a message. It is sent again,
// with the same Message-ID: a server that got it whole before has it twice. Without the kill,
// which is the control, it has it once.
func TestMailUnderKill(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	for name, c := range map[string]struct {
		at       string
		kill     bool
		messages int
	}{
		"before the message": {"RCPT", true, 1},
		"before its content": {"DATA", true, 1},
		"after its last dot": {".", true, 2},
		"not killed":         {".", false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, dir := holdMail(t, c.at), t.TempDir()
			port := strconv.Itoa(h.Addr().(*net.TCPAddr).Port)
			write(t, dir, "flowrun.yaml", "connections:\n  mail: {plugin: mail, config: {host: 127.0.0.1, port: "+port+", security: none, private: true, from: a@example.com}}\n")
			write(t, dir, "tell.yaml", "flowrun: v1\nname: tell\nsteps:\n  - {id: tell, uses: mail.send, with: {to: [ann@example.com], subject: Done, markdown: '**done**'}}\noutputs: {id: \"${{ steps.tell.outputs.message_id }}\"}\n")
			text := runUnderKill(t, binary, dir, "tell.yaml", h.arrived, h.goOn, c.kill)
			h.mu.Lock()
			defer h.mu.Unlock()
			if !strings.Contains(text, `"status":"succeeded"`) || len(h.ids) != c.messages || h.ids[0] == "" || h.ids[0] != h.ids[len(h.ids)-1] {
				t.Fatalf("messages %v\n%s", h.ids, text)
			}
			if !strings.Contains(text, strings.Trim(h.ids[0], "<>")) {
				t.Errorf("the output does not name %s:\n%s", h.ids[0], text)
			}
		})
	}
}
