// Package mailsim simulates a server that takes mail: it keeps the messages, and delivers
// none.
//
// It speaks SMTP on a listener, and HTTP beside it: the messages, and the faults and the
// journal of all simulators. Each command of SMTP is a request there: `RCPT TO:<ann@example.com>` is
// the method RCPT with the path /ann@example.com, the greeting is CONNECT /, the message
// itself MESSAGE /. A fault with the status 450 and the body "4.2.0 later" is the reply
// "450 4.2.0 later".
package mailsim

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
)

// Bounds of the simulator.
const (
	maxMessage = 64 << 20 // bytes of one message
	maxKept    = 1000     // messages; the oldest go
	maxLine    = 64 << 10 // bytes of one command
	idle       = 5 * time.Minute
)

// Options of the simulator. The zero value is a server without TLS, login and limit.
type Options struct {
	Requests int               // messages per client and window; 0 = no limit
	Window   time.Duration     // of the limit
	Now      func() time.Time  // nil = the real clock
	TLS      *tls.Config       // offers STARTTLS; nil = no TLS
	Users    map[string]string // passwords by user: a login is needed; nil = there is none
	UTF8     bool              // offers SMTPUTF8
}

// Message is a message that was taken.
type Message struct {
	ID         int       `json:"id"` // from 1
	At         time.Time `json:"at"`
	From       string    `json:"from"` // of the envelope
	Recipients []string  `json:"recipients"`
	MessageID  string    `json:"message_id"`
	Subject    string    `json:"subject"`
	Size       int       `json:"size"`
	Copies     int       `json:"copies"` // how often it came: a second one with the same Message-ID to the same recipients is the first
	Data       []byte    `json:"-"`
}

// Sim is the simulator. Its methods are safe for concurrent use.
type Sim struct {
	simkit.Service
	options Options
	now     func() time.Time
	limiter *simkit.Window

	mu        sync.Mutex
	messages  []Message
	taken     int
	listeners []net.Listener
	open      map[net.Conn]bool
	closed    bool
	sessions  sync.WaitGroup
}

// New returns a simulator. Serve takes its mail; as a handler it shows what was taken.
func New(o Options) *Sim {
	s := &Sim{options: o, now: simkit.Clock(o.Now), open: map[net.Conn]bool{}}
	reset := s.reset
	if o.Requests > 0 {
		s.limiter = simkit.NewWindow(o.Requests, o.Window, s.now)
		reset = func() { s.limiter.Reset(); s.reset() }
	}
	s.Service = simkit.NewService(simkit.Options{Now: s.now, Reset: reset}, http.HandlerFunc(s.route))
	return s
}

func (s *Sim) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages, s.taken = nil, 0
}

// Messages are those that were taken, the oldest first.
func (s *Sim) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message{}, s.messages...)
}

// keep takes a message. One whose Message-ID it has for the same recipients is the one that
// it has, as for the mailboxes that look at it.
func (s *Sim) keep(m Message) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.messages {
		if same := &s.messages[i]; m.MessageID != "" && same.MessageID == m.MessageID && same.From == m.From && slices.Equal(same.Recipients, m.Recipients) {
			same.Copies++
			return same.ID
		}
	}
	s.taken++
	m.ID, m.Copies = s.taken, 1
	s.messages = append(s.messages, m)
	if over := len(s.messages) - maxKept; over > 0 {
		s.messages = append([]Message(nil), s.messages[over:]...)
	}
	return m.ID
}

// Serve takes mail on a listener until Close.
func (s *Sim) Serve(listener net.Listener) error {
	s.mu.Lock()
	s.listeners = append(s.listeners, listener)
	s.mu.Unlock()
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		if !s.enter(conn) {
			_ = conn.Close()
			return listener.Close()
		}
		go func() {
			defer s.leave(conn)
			newSession(s, conn).run()
		}()
	}
}

func (s *Sim) enter(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.open[conn] = true
	s.sessions.Add(1)
	return true
}

func (s *Sim) leave(conn net.Conn) {
	_ = conn.Close()
	s.mu.Lock()
	delete(s.open, conn)
	s.mu.Unlock()
	s.sessions.Done()
}

// Close ends the listeners, cuts off who is connected, and waits for their sessions.
func (s *Sim) Close() {
	s.mu.Lock()
	s.closed = true
	for _, listener := range s.listeners {
		_ = listener.Close()
	}
	for conn := range s.open {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.sessions.Wait()
}

// route leads a request of HTTP, or a command of SMTP that came as one.
func (s *Sim) route(w http.ResponseWriter, r *http.Request) {
	if session, is := r.Context().Value(sessionKey{}).(*session); is {
		session.command(w, r)
		return
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /messages", func(w http.ResponseWriter, _ *http.Request) {
		simkit.WriteJSON(w, http.StatusOK, map[string]any{"messages": s.Messages()})
	})
	mux.HandleFunc("GET /messages/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.Atoi(r.PathValue("id")) // what is no number is no message
		for _, m := range s.Messages() {
			if m.ID == id {
				w.Header().Set("Content-Type", "message/rfc822")
				_, _ = w.Write(m.Data) // a client that went away reads no answer
				return
			}
		}
		simkit.WriteJSON(w, http.StatusNotFound, map[string]any{"error": "There is no such message."})
	})
	mux.ServeHTTP(w, r)
}
