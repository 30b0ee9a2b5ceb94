package mcpserver

import (
	"context"
	"encoding/base32"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// Bounds of what speaks over HTTP.
const (
	idleSession      = time.Hour
	sessionsOfToken  = 16
	sessionsOfAll    = 128
	requestsOfToken  = 32 // at a time, with streams
	maxBody          = 1 << 20
	statelessVersion = "2026-07-28" // from this version of the protocol on there are no sessions
)

// HTTPOptions join the HTTP side with its server.
type HTTPOptions struct {
	Options
	// Rights says what a caller may do.
	Rights func(guard.Caller) Rights
	// Holds reports whether the token of that id is still good.
	Holds func(ctx context.Context, id string) bool
	// Ending is closed when the server takes no more; nil = never.
	Ending <-chan struct{}
}

// HTTP speaks MCP over streamable HTTP with callers whom the guard let in. A session
// belongs to the token that opened it. Safe for concurrent use.
type HTTP struct {
	options             HTTPOptions
	stateful, stateless http.Handler

	mu      sync.Mutex
	tokens  map[string]*speaker
	entropy sync.Mutex
}

// speaker is what speaks with one token.
type speaker struct {
	ending   map[*mcp.ServerSession]bool // sessions that make room, and have not ended yet; nil = none
	server   *mcp.Server
	requests int           // that go on
	calls    chan struct{} // one for each call that goes on, also when nobody waits for its answer any more
}

// bounded refuses a call when too many of the token go on.
func (s *speaker) bounded(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		switch method {
		case "tools/call", "resources/read", "prompts/get", "completion/complete":
		default:
			return next(ctx, method, request)
		}
		select {
		case s.calls <- struct{}{}:
			defer func() { <-s.calls }()
			return next(ctx, method, request)
		default:
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "too many calls of this token are going on: wait for their answers"}
		}
	}
}

type speakerKey struct{}

// NewHTTP makes the handler. It starts nothing.
func NewHTTP(o HTTPOptions) *HTTP {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &HTTP{options: o, tokens: map[string]*speaker{}}
	serverOf := func(r *http.Request) *mcp.Server {
		if s, ok := r.Context().Value(speakerKey{}).(*speaker); ok {
			return s.server
		}
		return nil
	}
	options := mcp.StreamableHTTPOptions{
		Logger: o.Log, SessionTimeout: idleSession, MaxRequestBodyBytes: maxBody,
		DisableLocalhostProtection: true, // the guard knows the names of the server
	}
	h.stateful = ofToken(mcp.NewStreamableHTTPHandler(serverOf, &options))
	options.Stateless, options.PropagateRequestCancellation = true, true
	h.stateless = ofToken(mcp.NewStreamableHTTPHandler(serverOf, &options))
	return h
}

// ofToken tells the protocol's library whose request it is: it binds sessions to that.
func ofToken(next http.Handler) http.Handler {
	return auth.RequireBearerToken(func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		caller, ok := guard.CallerOf(ctx)
		if !ok || caller.ID == "" {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: caller.ID, Extra: map[string]any{callerOfToken: caller}}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
}

// callerOfToken is where the caller stands in what the library hands on.
const callerOfToken = "caller"

// named puts the caller of each request into its context, where the API looks for it.
func named(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		if extra := request.GetExtra(); extra != nil && extra.TokenInfo != nil {
			if caller, ok := extra.TokenInfo.Extra[callerOfToken].(guard.Caller); ok {
				ctx = guard.WithCaller(ctx, caller)
			}
		}
		return next(ctx, method, request)
	}
}

// ServeHTTP serves a request that the guard let in.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	caller, ok := guard.CallerOf(r.Context())
	if !ok || caller.ID == "" {
		wire.NewProblem(wire.CodeUnauthorized, "this needs a token").Write(w)
		return
	}
	s := h.enter(caller)
	if s == nil {
		w.Header().Set("Retry-After", strconv.Itoa(1))
		wire.NewProblem(wire.CodeTooMany, "too many requests of this token are going on").Write(w)
		return
	}
	defer h.leave(caller.ID, s)
	r = r.WithContext(context.WithValue(r.Context(), speakerKey{}, s))
	if r.Header.Get("Mcp-Protocol-Version") >= statelessVersion {
		h.stateless.ServeHTTP(w, r)
		return
	}
	if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" {
		h.makeRoom(r.Context(), caller.ID)
	}
	h.stateful.ServeHTTP(w, r)
}

// enter counts a request of a token; nil = there are too many.
func (h *HTTP) enter(caller guard.Caller) *speaker {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.tokens[caller.ID]
	if s == nil {
		server := newServer(h.options.Options, h.options.Rights(caller), h.newSessionID)
		s = &speaker{server: server, calls: make(chan struct{}, requestsOfToken)}
		server.AddReceivingMiddleware(s.bounded, h.ending, named)
		h.tokens[caller.ID] = s
	}
	if s.requests >= requestsOfToken {
		return nil
	}
	s.requests++
	return s
}

// leave forgets a token that nothing speaks with.
func (h *HTTP) leave(id string, s *speaker) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.requests--; s.requests == 0 && count(s.server.Sessions()) == 0 {
		delete(h.tokens, id)
	}
}

// makeRoom ends the oldest session where there would be one too many: of the same token,
// or of the one that has the most. Sessions of tokens that were removed end before.
func (h *HTTP) makeRoom(ctx context.Context, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	most, of, all := 0, "", 0
	for token, s := range h.tokens {
		if !h.options.Holds(ctx, token) {
			for _, session := range s.staying() {
				h.end(s, session)
			}
			continue
		}
		n := len(s.staying())
		all += n
		if n > most || n == most && token == id {
			most, of = n, token
		}
	}
	if own := h.tokens[id].staying(); len(own) >= sessionsOfToken {
		h.end(h.tokens[id], own[0])
	} else if all >= sessionsOfAll {
		h.end(h.tokens[of], h.tokens[of].staying()[0])
	}
}

// end ends a session, which takes as long as its calls do: these are bounded. It counts no
// more from here on, so that the next one to make room is another one. h.mu is held.
func (h *HTTP) end(s *speaker, session *mcp.ServerSession) {
	if s.ending == nil {
		s.ending = map[*mcp.ServerSession]bool{}
	}
	s.ending[session] = true
	go func() {
		_ = session.Close()
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(s.ending, session)
	}()
}

// staying are the token's sessions that are not being ended, the oldest first.
func (s *speaker) staying() (sessions []*mcp.ServerSession) {
	for session := range s.server.Sessions() {
		if !s.ending[session] {
			sessions = append(sessions, session)
		}
	}
	return sessions
}

func count(sessions iter.Seq[*mcp.ServerSession]) (n int) {
	for range sessions {
		n++
	}
	return n
}

// ending cancels requests when the server ends.
func (h *HTTP) ending(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		if h.options.Ending == nil {
			return next(ctx, method, request)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		done := make(chan struct{})
		defer close(done)
		go func() {
			select {
			case <-h.options.Ending:
				cancel()
			case <-done:
			}
		}()
		return next(ctx, method, request)
	}
}

// newSessionID returns 160 random bits.
func (h *HTTP) newSessionID() string {
	h.entropy.Lock()
	defer h.entropy.Unlock()
	id := make([]byte, 20)
	if _, err := io.ReadFull(h.options.Entropy, id); err != nil {
		panic("no randomness: " + err.Error()) // the guard answers it with 500
	}
	return base32.StdEncoding.EncodeToString(id)
}

// Close ends all sessions and waits for their requests, at most until ctx ends. Ending
// must be closed before.
func (h *HTTP) Close(ctx context.Context) {
	h.mu.Lock()
	var sessions []*mcp.ServerSession
	for _, s := range h.tokens {
		for session := range s.server.Sessions() {
			sessions = append(sessions, session)
		}
	}
	h.mu.Unlock()
	var group sync.WaitGroup
	for _, session := range sessions {
		group.Go(func() { _ = session.Close() }) // what a session says of its end is for nobody
	}
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// RightsOf says what callers may do by the scope of their tokens, within what the
// project's settings let assistants do at all.
func RightsOf(noRun, approve bool) func(guard.Caller) Rights {
	return func(caller guard.Caller) (rights Rights) {
		const setting = "; `server: {mcp: {allow: [run, approve]}}` of flowrun.yaml is the person's to set"
		if !caller.Scope.Allows(guard.Operator) {
			rights.NoRun = fmt.Sprintf("it needs a token of the scope %s, and this one has %s; `flowrun tokens create --scope %s` makes one", guard.Operator, caller.Scope, guard.Operator)
			rights.NoApprove = rights.NoRun
		}
		if noRun {
			rights.NoRun = "assistants start nothing at this server" + setting
		}
		if !approve {
			rights.NoApprove = "assistants decide nothing at this server" + setting
		}
		return rights
	}
}

// Caller is how the API is asked over HTTP: in this process, for the caller of the
// request.
func Caller(handler http.Handler) Lend {
	client := web.NewClient(web.InProcess(handler))
	return func(ctx context.Context, _ Need, ask func(context.Context, *web.Client) error) error {
		return ask(ctx, client)
	}
}
