package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// connection is one that was opened.
type connection struct {
	BaseURL string `json:"base_url"`
	Token   string `json:"token"`
	hash    string
}

// Connect opens a connection, as the fault has it.
func (p *plugin) Connect(ctx context.Context, r *pluginv1.ConnectRequest) (*pluginv1.ConnectResponse, error) {
	if err := p.connectRecipe(r); err != nil {
		return nil, err
	}
	found := check(r.GetConfig().GetJson(), config, nil)
	if p.has("connect.refuses") {
		found = nil
	}
	if p.has("connect.takes") || p.has("connect.newer") && len(r.ProtoReflect().GetUnknown()) > 0 {
		found = append(found, problem{"", "refused"})
	}
	if len(found) > 0 {
		return &pluginv1.ConnectResponse{Diagnostics: diagnostics(found)}, nil
	}
	c := &connection{hash: r.GetConfigHash()}
	if err := json.Unmarshal(r.GetConfig().GetJson(), c); err != nil {
		return nil, err
	}
	if p.has("connect.quiet") {
		_, _ = p.ask(ctx, c, "GET", "/word/hello", nil, "")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.connections[r.GetConnection()] == nil || !p.has("connect.replaces") {
		p.connections[r.GetConnection()] = c
	}
	return &pluginv1.ConnectResponse{}, nil
}

// CheckConnection asks for a word.
func (p *plugin) CheckConnection(ctx context.Context, r *pluginv1.CheckConnectionRequest) (*pluginv1.CheckConnectionResponse, error) {
	if p.has("connect.check") {
		return nil, errors.New("no")
	}
	c := p.connection(r.GetConnection())
	if c == nil {
		return &pluginv1.CheckConnectionResponse{Error: &pluginv1.Error{Code: 1, Message: "no such connection"}}, nil
	}
	_, failure := p.ask(ctx, c, "GET", "/word/check", nil, "")
	return &pluginv1.CheckConnectionResponse{Error: failure, Account: "sim"}, nil
}

func (p *plugin) connection(name string) *connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.connections[name]
}

// ask sends one request to the service.
func (p *plugin) ask(ctx context.Context, c *connection, method, path string, body []byte, key string) ([]byte, *pluginv1.Error) {
	if p.has("execute.cancel") {
		ctx = context.WithoutCancel(ctx)
	}
	if p.has("execute.concurrent") {
		p.one.Lock()
		defer p.one.Unlock()
	}
	var text []byte
	for tries := 0; ; tries++ {
		request, err := http.NewRequestWithContext(ctx, method, c.BaseURL+path, bytes.NewReader(body))
		if err != nil {
			return nil, &pluginv1.Error{Code: 18, Message: "make a request", Applied: 1}
		}
		request.Header.Set("Authorization", "Bearer "+c.Token)
		if key != "" {
			request.Header.Set("Idempotency-Key", key)
		}
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
		if err != nil {
			failure := &pluginv1.Error{Code: 9, Message: "the service does not answer"}
			if p.has("faults.lost") {
				failure.Applied = 1
			}
			return nil, failure
		}
		text, err = io.ReadAll(response.Body)
		response.Body.Close()
		switch {
		case err != nil:
			return nil, &pluginv1.Error{Code: 9, Message: "the answer broke off"}
		case response.StatusCode == http.StatusServiceUnavailable && p.has("faults.once") && tries == 0:
			continue
		case response.StatusCode == http.StatusNotFound && !p.has("faults.declared"):
			return nil, &pluginv1.Error{Code: 5, Reason: "no_such_word", Message: "the service does not have it", Applied: 1, HttpStatus: 404}
		case response.StatusCode >= 500 && !p.has("faults.refused"):
			return nil, &pluginv1.Error{Code: 9, Message: "the service is down", Applied: 1, HttpStatus: uint32(response.StatusCode)}
		case response.StatusCode >= 400:
			return nil, &pluginv1.Error{Code: 18, Message: fmt.Sprintf("the service said %d", response.StatusCode), Applied: 1}
		}
		return text, nil
	}
}

type stream = interface {
	Send(*pluginv1.ExecuteEvent) error
	Context() context.Context
}

func failed(s stream, e *pluginv1.Error) error {
	return s.Send(&pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Failed{Failed: e}})
}

// Execute makes one call, as the fault has it.
func (p *plugin) Execute(r *pluginv1.ExecuteRequest, s pluginv1grpc.Plugin_ExecuteServer) error {
	schema, ok := inputs[r.GetAction()]
	if !ok {
		return failed(s, &pluginv1.Error{Code: 16, Message: "there is no such action", Applied: 1})
	}
	if err := p.recipeOf(r.GetAction(), r.GetRecipe()); err != nil {
		return err
	}
	c := p.connection(r.GetConnection())
	if c == nil && p.has("execute.status") {
		return status.Error(codes.NotFound, "no such connection")
	}
	if c == nil {
		return failed(s, &pluginv1.Error{Code: 1, Message: "there is no such connection", Applied: 1})
	}
	in := r.GetInput().GetJson()
	if p.has("execute.survives") && string(in) == "null" {
		os.Exit(3)
	}
	if found := check(in, schema, nil); len(found) > 0 && !(p.has("execute.refuses") && found[0].what == "it is missing") {
		return failed(s, &pluginv1.Error{Code: 1, Message: found[0].what, Pointer: found[0].pointer, Applied: 1})
	}
	switch {
	case p.has("execute.newer") && len(r.ProtoReflect().GetUnknown()) > 0, p.has("execute.bare") && r.GetRun() == nil, p.has("execute.completes") && r.GetAction() == "key":
		return failed(s, &pluginv1.Error{Code: 18, Message: "no", Applied: 1})
	case p.has("start.noise"):
		fmt.Println("debug: a call")
	}
	p.tell(s, c)
	return p.do(r, s, c)
}

// tell sends a line of log, and asks something of the host.
func (p *plugin) tell(s stream, c *connection) {
	ctx := s.Context()
	if !p.has("token.host") {
		ctx = p.toHost(ctx)
	}
	_, _ = p.host.GetState(ctx, &pluginv1.GetStateRequest{Scope: "plugin", Key: "anything"})
	message := "a call"
	switch p.fault {
	case "secrets.told":
		message += " with " + c.Token
	case "secrets.environment":
		message += " with " + p.token
	}
	_ = s.Send(&pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Log{Log: &pluginv1.Log{Level: 2, Message: message}}})
}

// do does the action.
func (p *plugin) do(r *pluginv1.ExecuteRequest, s stream, c *connection) error {
	ctx := s.Context()
	var in struct {
		Name, Text, Reference, Cursor string
		Size                          *int
	}
	if err := json.Unmarshal(r.GetInput().GetJson(), &in); err != nil {
		return failed(s, &pluginv1.Error{Code: 1, Message: "it can't be read", Applied: 1})
	}
	p.mu.Lock()
	if r.GetAction() != "note" {
		p.lastKey = ""
	}
	p.mu.Unlock()
	var out []byte
	var failure *pluginv1.Error
	done := &pluginv1.Completed{}
	switch r.GetAction() {
	case "word":
		size := 10
		if p.has("execute.defaults") {
			size = 0
		}
		if in.Size != nil {
			size = *in.Size
		}
		out, failure = p.ask(ctx, c, "GET", fmt.Sprintf("/word/%s?size=%d", url.PathEscape(in.Name), size), nil, "")
	case "items":
		return p.items(r, s, c, in.Cursor)
	case "note":
		out, failure = p.note(ctx, r, c, in.Text)
	case "notes":
		out, failure = p.ask(ctx, c, "GET", "/notes", nil, "")
	case "pay":
		out, failure = p.ask(ctx, c, "POST", "/pay/"+url.PathEscape(in.Reference), nil, "")
	case "wait":
		return p.wait(r, s)
	case "file":
		return p.file(r, s)
	case "key":
		out = []byte(`{"id":"k1","secret":"of the key, which nobody may see"}`)
		done.Output = &pluginv1.Value{Sensitive: []string{"/secret"}}
		switch p.fault {
		case "execute.fits":
			out = []byte(`{"id":1,"secret":"of the key"}`)
		case "execute.documents":
			out = []byte(`{"id":"k1","id":"k1","secret":"of the key"}`)
		case "execute.sensitive":
			done.Output.Sensitive = append(done.Output.Sensitive, "/secrets")
		}
	}
	if failure == nil && !json.Valid(out) {
		if p.has("faults.shapes") {
			return nil
		}
		failure = &pluginv1.Error{Code: 15, Message: "the service answered with something else than JSON"}
	}
	if failure == nil && out[0] != '{' {
		failure = &pluginv1.Error{Code: 15, Message: "the service answered with another shape"}
	}
	if failure != nil {
		return failed(s, failure)
	}
	if done.Output == nil {
		done.Output = &pluginv1.Value{}
	}
	done.Output.Json = out
	return p.complete(r, s, done)
}

func (p *plugin) complete(r *pluginv1.ExecuteRequest, s stream, done *pluginv1.Completed) error {
	event := &pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Completed{Completed: done}}
	if p.has("execute.ends") && r.GetAction() == "word" {
		if err := s.Send(event); err != nil {
			return err
		}
	}
	return s.Send(event)
}

// note makes a note, once for a key.
func (p *plugin) note(ctx context.Context, r *pluginv1.ExecuteRequest, c *connection, note string) ([]byte, *pluginv1.Error) {
	key := r.GetRun().GetIdempotencyKey()
	sent := key
	p.mu.Lock()
	known := p.keys[key]
	p.keys[key] = true
	if p.has("effects.key") && p.lastKey != "" && p.lastKey != key {
		sent = p.lastKey
	}
	if p.has("effects.twice") && known {
		sent += "-again"
	}
	p.lastKey = key
	p.mu.Unlock()
	if p.has("effects.killed-between") && !known && p.state(ctx, "done/"+key) || p.has("effects.killed-inside") && !known && p.state(ctx, "begun/"+key) {
		sent += "-again"
	}
	p.setState(ctx, "begun/"+key)
	out, failure := p.ask(ctx, c, "POST", "/notes", []byte(note), sent)
	p.setState(ctx, "done/"+key)
	if p.has("effects.killed-inside") {
		_, _ = p.host.PutState(p.toHost(ctx), &pluginv1.PutStateRequest{Scope: "plugin", Key: "begun/" + key, IfVersion: 1, Delete: true})
	}
	if failure == nil && bytes.HasPrefix(out, []byte("{")) { // when the answer came, as many clients tell it
		out = append([]byte(`{"at":"`+time.Now().Format(time.RFC3339Nano)+`",`), out[1:]...)
	}
	return out, failure
}

func (p *plugin) state(ctx context.Context, key string) bool {
	response, err := p.host.GetState(p.toHost(ctx), &pluginv1.GetStateRequest{Scope: "plugin", Key: key})
	return err == nil && response.GetFound()
}

func (p *plugin) setState(ctx context.Context, key string) {
	if strings.HasPrefix(p.fault, "effects.") {
		_, _ = p.host.PutState(p.toHost(ctx), &pluginv1.PutStateRequest{Scope: "plugin", Key: key, Value: []byte("x")})
	}
}

// items gives a page.
func (p *plugin) items(r *pluginv1.ExecuteRequest, s stream, c *connection, begin string) error {
	cursor := r.GetPageCursor()
	if cursor == "" && !p.has("pages.begin") {
		cursor = begin
	}
	p.mu.Lock()
	p.readings = p.readings || r.GetPageCursor() == ""
	lost := p.has("pages.resume") && !p.readings
	p.mu.Unlock()
	if lost {
		cursor = "4"
	}
	path := "/items?cursor=" + url.QueryEscape(cursor)
	if p.has("pages.identity") && cursor == "2" {
		path = "/items?cursor=1"
	}
	out, failure := p.ask(s.Context(), c, "GET", path, nil, "")
	var page struct {
		Items []map[string]string `json:"items"`
		Next  string              `json:"next"`
	}
	if failure == nil && (json.Unmarshal(out, &page) != nil || page.Items == nil) {
		failure = &pluginv1.Error{Code: 15, Message: "the service answered with something else"}
		if p.has("faults.shapes") {
			return nil
		}
	}
	if failure != nil {
		return failed(s, failure)
	}
	done := &pluginv1.Completed{NextCursor: page.Next}
	switch {
	case p.has("pages.ends") && page.Next == "":
		done.NextCursor, page.Next = "2", "2"
	case p.has("pages.shown") && page.Next != "":
		page.Next = "after " + page.Next
	case p.has("pages.note"):
		done.PageNote = bytes.Repeat([]byte("x"), 5000)
	}
	text, err := json.Marshal(page)
	if err != nil {
		return err
	}
	done.Output = &pluginv1.Value{Json: text}
	return p.complete(r, s, done)
}

// wait is pending once.
func (p *plugin) wait(r *pluginv1.ExecuteRequest, s stream) error {
	key := r.GetRun().GetIdempotencyKey()
	p.mu.Lock()
	known := p.polls[key]
	p.polls[key] = true
	p.mu.Unlock()
	switch {
	case len(r.GetCheckpoint()) == 0 || string(r.GetCheckpoint()) == "\x00kit":
		return s.Send(&pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Pending{Pending: &pluginv1.Pending{
			RetryAfter: durationpb.New(10 * time.Millisecond), Checkpoint: []byte("begun"), Message: "it is not ready",
		}}})
	case p.has("pending.resume") && !known:
		return failed(s, &pluginv1.Error{Code: 18, Message: "nobody waits for that", Applied: 1})
	}
	return p.complete(r, s, &pluginv1.Completed{Output: &pluginv1.Value{Json: []byte(`{"done":true}`)}})
}

// Reconcile tells whether a payment was made.
func (p *plugin) Reconcile(ctx context.Context, r *pluginv1.ReconcileRequest) (*pluginv1.ReconcileResponse, error) {
	if r.GetAction() != "pay" {
		return &pluginv1.ReconcileResponse{Note: "it can't be looked up"}, nil
	}
	if p.has("effects.reconcile") {
		return &pluginv1.ReconcileResponse{Applied: 1}, nil
	}
	var in struct{ Reference string }
	if err := json.Unmarshal(r.GetInput().GetJson(), &in); err != nil {
		return nil, err
	}
	out, failure := p.ask(ctx, p.connection(r.GetConnection()), "GET", "/pay/"+url.PathEscape(in.Reference), nil, "")
	if failure != nil {
		return &pluginv1.ReconcileResponse{Applied: 1}, nil
	}
	return &pluginv1.ReconcileResponse{Applied: 2, Output: &pluginv1.Value{Json: out}}, nil
}
