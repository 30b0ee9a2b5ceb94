package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/flowrun/flowrun/plugins/internal/process"
	"github.com/flowrun/flowrun/sdk"
)

// sessions are the servers that a process of the plugin talks to, one for each connection:
// a server keeps what it knows between the calls of a run. Safe for concurrent use.
type sessions struct {
	surroundings process.Surroundings

	mu    sync.Mutex
	known map[string]*session
}

// session is one server that was started or reached.
type session struct {
	config string // digest of what it was opened with
	ready  chan struct{}
	failed error // of the opening; set before ready is closed
	client *mcp.ClientSession
	http   *bearer     // of a server at an address
	server *subprocess // of one that is a program

	mu      sync.Mutex
	ears    map[string]*ear // calls under way, by their progress tokens
	calls   int
	retired bool // it ends with its last call
}

// ear is a call that hears what the server says meanwhile.
type ear struct {
	log      func(level, text string)
	progress func(fraction float64, message string)
}

// of returns the session of a connection, and opens it where there is none that lives. The
// caller gives it back with done. One whose opening somebody else gave up is opened again.
func (s *sessions) of(ctx context.Context, name string, config Config, token string, to *ear) (*session, error) {
	for {
		own, err := s.tryOf(ctx, name, config, token, to)
		if errors.Is(err, context.Canceled) && ctx.Err() == nil {
			continue
		}
		return own, err
	}
}

func (s *sessions) tryOf(ctx context.Context, name string, config Config, token string, to *ear) (*session, error) {
	digest := digestOf(config)
	s.mu.Lock()
	own := s.known[name]
	if own != nil && own.config != digest {
		go own.retire() // its end may take a while
		own = nil
	}
	if own == nil || !own.enter() {
		own = &session{config: digest, ready: make(chan struct{}), ears: map[string]*ear{}, calls: 1}
		s.known[name] = own
		s.mu.Unlock()
		own.failed = s.open(ctx, own, config, token, to)
		close(own.ready)
		if own.failed != nil {
			s.forget(name, own)
			own.done()
			return nil, own.failed
		}
		go func() {
			_ = own.client.Wait() // however it ended: the next call opens another one
			s.forget(name, own)
			own.retire()
		}()
		return own, nil
	}
	s.mu.Unlock()
	select {
	case <-own.ready:
	case <-ctx.Done():
		own.done()
		return nil, ctx.Err()
	}
	if own.failed != nil {
		own.done()
		return nil, own.failed
	}
	if own.http != nil {
		own.http.set(token)
	}
	return own, nil
}

// forget takes a session out that lives no more.
func (s *sessions) forget(name string, own *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[name] == own {
		delete(s.known, name)
	}
}

// enter counts a call in; false where the session is about to end.
func (s *session) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return false
	}
	s.calls++
	return true
}

// done counts a call out.
func (s *session) done() {
	s.mu.Lock()
	s.calls--
	last := s.retired && s.calls == 0
	s.mu.Unlock()
	if last {
		s.close()
	}
}

// retire ends the session when its last call has ended.
func (s *session) retire() {
	s.mu.Lock()
	again := s.retired
	s.retired = true
	last := s.calls == 0
	s.mu.Unlock()
	if last && !again {
		s.close()
	}
}

func (s *session) close() {
	if s.client != nil {
		_ = s.client.Close() // it may have ended by itself
	}
	if s.server != nil {
		s.server.end()
	}
}

// hear has a call hear what the server says of a token, until the end that it returns.
func (s *session) hear(token string, to *ear) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ears[token] = to
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.ears, token)
	}
}

// each visits the calls under way.
func (s *session) each(visit func(token string, to *ear)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for token, to := range s.ears {
		visit(token, to)
	}
}

// digestOf tells configs apart; a token that is renewed makes no other one.
func digestOf(config Config) string {
	config.Token = ""
	text, _ := json.Marshal(config) // of texts, lists and maps
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// maxMessage bounds one message of a server, in bytes.
const maxMessage = 16 << 20

// open connects to the server of a connection.
func (s *sessions) open(ctx context.Context, own *session, config Config, token string, to *ear) error {
	// Until the first call hears by its own token, the one that opens hears all.
	defer own.hear("", to)()
	client := mcp.NewClient(&mcp.Implementation{Name: "flowrun", Version: Version}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) { //nolint:staticcheck // servers of today log by it
			own.each(func(_ string, to *ear) { to.log(string(r.Params.Level), logText(r.Params.Data)) })
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			token, _ := r.Params.ProgressToken.(string)
			fraction := 0.0
			if r.Params.Total > 0 {
				fraction = min(1, r.Params.Progress/r.Params.Total)
			}
			own.each(func(of string, to *ear) {
				if of == token {
					to.progress(fraction, r.Params.Message)
				}
			})
		},
	})
	var transport mcp.Transport
	if config.URL != "" {
		own.http = newBearer(config, token)
		transport = &mcp.StreamableClientTransport{Endpoint: config.URL, HTTPClient: own.http.client(), MaxRetries: 2, DisableStandaloneSSE: true, MaxEventSize: maxMessage}
	} else {
		var err error
		if own.server, err = s.start(own, config); err != nil {
			return err
		}
		transport = own.server.transport()
	}
	var err error
	ctx, refused := withRefusal(ctx)
	if own.client, err = client.Connect(ctx, exact{transport}, nil); err != nil {
		return own.notOpened(ctx, err, refused)
	}
	return nil
}

// notOpened makes the error of a server that did not shake hands.
func (s *session) notOpened(ctx context.Context, err error, refused *refusal) error {
	if s.server != nil {
		s.server.end()
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case refused.get() != nil:
		return refused.get()
	}
	failure := sdk.Refused(sdk.CodeUnavailable, "open the session with the server: %s", sdk.Shown(err.Error(), 300))
	if s.server != nil {
		failure = failure.WithHint("a server writes nothing but MCP to stdout")
		if last := s.server.lastWords(); last != "" {
			failure.Message += "; it said: " + last
		}
	}
	return failure
}

// logText is what a server logged.
func logText(data any) string {
	if text, ok := data.(string); ok {
		return text
	}
	text, _ := json.Marshal(data) // of what was decoded
	return string(text)
}
