package web

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// localRoute is one of them.
type localRoute struct {
	pattern string
	scope   guard.Scope // that a token needs over TCP; "" = the socket alone
	handle  handler
}

// onSocket is the scope of a route that only the machine's own commands have: it takes or
// tells paths of the machine, or touches the key.
const onSocket guard.Scope = ""

// anybody is the scope of what a program without a token asks over TCP: for a login.
const anybody guard.Scope = "anybody"

// localRoutes are for our own commands: below /local. Those with a scope are served over TCP
// too (ADR 91).
func localRoutes() []localRoute {
	return []localRoute{
		{"GET /owner", guard.Viewer, giving((*server).owner)},
		{"POST /runs", guard.Admin, taking(http.StatusCreated, localBodyCap, (*server).startLocal)},
		{"POST /call", guard.Admin, (*server).callLocal},
		{"GET /secrets", guard.Admin, listing(ofNothing((*server).ListSecrets))},
		{"GET /secrets/names", guard.Admin, listing(ofNothing((*server).StoredSecretNames))},
		{"PUT /secrets/{name}", guard.Admin, (*server).setSecret},
		{"DELETE /secrets/{name}", guard.Admin, (*server).removeSecret},
		{"GET /state", guard.Viewer, selecting((*server).State, "workflow")},
		{"PUT /state", guard.Admin, taking(http.StatusOK, bodyCap, (*server).setState)},
		{"POST /state/reset", guard.Admin, taking(http.StatusOK, bodyCap, (*server).resetState)},
		{"GET /state/cursors", guard.Viewer, selecting((*server).stateCursors)},
		{"GET /state/history", guard.Viewer, selecting((*server).StateHistory, "workflow", "name")},
		{"GET /state/plugins", guard.Admin, selecting((*server).pluginStates)},
		{"POST /state/plugins/remove", guard.Admin, taking(http.StatusOK, bodyCap, (*server).RemovePluginState)},
		{"GET /runs/{id}/export", guard.Viewer, (*server).exportRun},
		{"GET /runs/{id}/outputs/{name}", guard.Viewer, giving((*server).runOutput)},
		{"POST /runs/{id}/remove", guard.Admin, (*server).removeRun},
		{"GET /db/stats", onSocket, giving(ofNothing((*server).DBStats))},
		{"GET /db/owners/{by}", onSocket, listing((*server).dbOwners)},
		{"POST /db/backup", onSocket, mayTake(http.StatusCreated, (*server).Backup)}, // it takes a path of the owner's own user
		{"GET /key", onSocket, giving(ofNothing((*server).CheckKey))},
		{"POST /key/rotate", onSocket, mayTake(http.StatusOK, (*server).rotateKey)},
		{"GET /tokens", guard.Admin, listing(ofNothing((*server).ListAccessTokens))},
		{"POST /tokens", guard.Admin, taking(http.StatusOK, bodyCap, (*server).createToken)},
		{"POST /tokens/remove", guard.Admin, taking(http.StatusOK, bodyCap, (*server).removeToken)},
		{"POST /login", anybody, (*server).beginLogin},
		{"POST /login/poll", anybody, (*server).pollLogin},
		{"POST /logout", guard.Viewer, mayTake(http.StatusOK, (*server).endLogin)},
		{"POST /login-link", onSocket, mayTake(http.StatusOK, (*server).loginLink)},
	}
}

// giving serves what ask gives for a request.
func giving[T any](ask func(*server, *http.Request) (T, error)) handler {
	return func(s *server, w http.ResponseWriter, r *http.Request) error {
		value, err := ask(s, r)
		return reply(w, http.StatusOK, value, err)
	}
}

// ofNothing asks for what needs nothing of a request.
func ofNothing[T any](ask func(*server, context.Context) (T, error)) func(*server, *http.Request) (T, error) {
	return func(s *server, r *http.Request) (T, error) { return ask(s, r.Context()) }
}

// listing serves a list as its one page.
func listing[T any](ask func(*server, *http.Request) ([]T, error)) handler {
	return giving(func(s *server, r *http.Request) (Page[T], error) {
		items, err := ask(s, r)
		return newPage(items, ""), err
	})
}

// taking serves what act makes of a request's body, which has to be there.
func taking[I, T any](status int, limit int64, act func(*server, context.Context, I) (T, error)) handler {
	return bodied(status, limit, false, act)
}

// mayTake is taking where a body may be left out.
func mayTake[I, T any](status int, act func(*server, context.Context, I) (T, error)) handler {
	return bodied(status, bodyCap, true, act)
}

func bodied[I, T any](status int, limit int64, optional bool, act func(*server, context.Context, I) (T, error)) handler {
	return func(s *server, w http.ResponseWriter, r *http.Request) error {
		var body I
		if err := decodeBody(w, r, limit, optional, &body); err != nil {
			return err
		}
		value, err := act(s, r.Context(), body)
		return reply(w, status, value, err)
	}
}

// reply is the end of a handler that asked the engine: its answer, or what err says.
func reply(w http.ResponseWriter, status int, value any, err error) error {
	if err == nil {
		wire.WriteJSON(w, status, value)
	}
	return err
}

func (s *server) owner(*http.Request) (Owner, error) { return s.Owner, nil }

// runID returns the id in the path of a request that is not typed.
func runID(r *http.Request) (string, error) {
	ref := RunRef{ID: r.PathValue("id")}
	return ref.ID, ref.check()
}

func (s *server) startLocal(ctx context.Context, request engine.StartRequest) (RunAnswer, error) {
	if _, remote := guard.CallerOf(ctx); remote {
		request.By = by(ctx, request.By)
		if err := checkSent(request); err != nil {
			return RunAnswer{}, err
		}
	}
	run, list, err := s.Runs.Start(ctx, request)
	if err == nil && run == nil {
		err = invalidWorkflow(list)
	}
	return RunAnswer{Run: run, Problems: list}, err
}

func (s *server) callLocal(w http.ResponseWriter, r *http.Request) error {
	var request calls.Request
	if err := decodeBody(w, r, localBodyCap, false, &request); err != nil {
		return err
	}
	longAnswer(w)
	lines := newLineSink(w)
	result, err := s.Runs.Call(r.Context(), request, lines)
	lines.end(result, err)
	return nil
}

// lineSink sends what a call says, one JSON value a line.
type lineSink struct {
	mu      sync.Mutex
	encoder *json.Encoder
	flusher *http.ResponseController
}

// newLineSink begins an answer of one JSON value a line.
func newLineSink(w http.ResponseWriter) *lineSink {
	w.Header().Set("Content-Type", linesType)
	lines := &lineSink{encoder: json.NewEncoder(w), flusher: http.NewResponseController(w)}
	lines.encoder.SetEscapeHTML(false)
	return lines
}

// linesType is the media type of an answer of one JSON value a line.
const linesType = "application/x-ndjson"

// Log sends one log line.
func (s *lineSink) Log(log runs.Log) { s.write(CallLine{Log: &log}) }

// Progress sends how far the call is.
func (s *lineSink) Progress(progress runs.Progress) { s.write(CallLine{Progress: &progress}) }

// Prompt sends what a person must do.
func (s *lineSink) Prompt(prompt runs.Prompt) { s.write(CallLine{Prompt: &prompt}) }

// end sends what came of the call.
func (s *lineSink) end(result calls.Result, err error) {
	if err != nil {
		s.write(CallLine{Problem: problemOf(err)})
		return
	}
	s.write(CallLine{Result: &result})
}

func (s *lineSink) write(line CallLine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.encoder.Encode(line); err == nil {
		_ = s.flusher.Flush() // a client that is gone cancels the request's context
	}
}
