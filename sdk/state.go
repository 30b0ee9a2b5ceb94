package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"connectrpc.com/connect"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
	"github.com/flowrun/flowrun/sdk/proto/pluginv1/pluginv1connect"
)

// ErrStateChanged is returned by State.Put and State.Delete when another call
// changed the entry first: read it again and decide anew.
var ErrStateChanged = errors.New("the state was changed by another call")

// State is durable state that the host keeps for the plugin, sealed at rest.
// Every change is a compare-and-swap on the version that was read. Safe for
// concurrent use.
type State struct {
	core  *core
	scope string
}

// StateEntry is one value with its version.
type StateEntry struct {
	Value   []byte
	Version uint64 // 0 = there is no entry
}

func (c *core) state() *State { return &State{core: c, scope: "connection/" + c.conn.name} }

// OfPlugin returns the state that all connections of the plugin share.
func (s *State) OfPlugin() *State { return &State{core: s.core, scope: "plugin"} }

// OfRun returns the state that ends with the run.
func (s *State) OfRun() *State { return &State{core: s.core, scope: "run"} }

// Get reads an entry; one that does not exist has version 0.
func (s *State) Get(key string) (StateEntry, error) {
	client, err := s.core.services.get("state")
	if err != nil {
		return StateEntry{}, err
	}
	response, err := client.GetState(s.core.hostContext(), &pluginv1.GetStateRequest{Scope: s.scope, Key: key})
	if err != nil {
		return StateEntry{}, hostError(s.core.ctx, "read state "+key, err)
	}
	if !response.GetFound() {
		return StateEntry{}, nil
	}
	return StateEntry{Value: response.GetValue(), Version: response.GetVersion()}, nil
}

// Put writes a value over the version that was read (0 = a new entry) and
// returns the new version. ttl 0 keeps it for ever.
func (s *State) Put(key string, value []byte, version uint64, ttl time.Duration) (uint64, error) {
	return s.write(&pluginv1.PutStateRequest{Scope: s.scope, Key: key, Value: value, IfVersion: version, Ttl: protoDuration(ttl)})
}

// Delete removes the version that was read.
func (s *State) Delete(key string, version uint64) error {
	_, err := s.write(&pluginv1.PutStateRequest{Scope: s.scope, Key: key, IfVersion: version, Delete: true})
	return err
}

func (s *State) write(request *pluginv1.PutStateRequest) (uint64, error) {
	client, err := s.core.services.get("state")
	if err != nil {
		return 0, err
	}
	response, err := client.PutState(s.core.hostContext(), request)
	if err != nil {
		return 0, hostError(s.core.ctx, "write state "+request.Key, err)
	}
	if !response.GetOk() {
		return response.GetVersion(), ErrStateChanged
	}
	return response.GetVersion(), nil
}

// hostContext names the call and its run to the host.
func (c *core) hostContext() context.Context {
	ctx, call := connect.NewClientContext(c.ctx)
	if c.run.RunID != "" {
		call.RequestHeader().Set(handshake.RunKey, c.run.RunID)
	}
	if c.callID != "" {
		call.RequestHeader().Set(handshake.CallKey, c.callID)
	}
	if c.hostSocket != "" {
		call.RequestHeader().Set(handshake.HostSocketKey, c.hostSocket)
	}
	return ctx
}

// hostServices is the host's own service, if there is one.
type hostServices struct{ client pluginv1connect.HostClient }

func (h hostServices) get(what string) (pluginv1connect.HostClient, error) {
	if h.client == nil {
		return nil, &Error{Code: CodeUnsupported, Applied: NotApplied, Message: "the host offers no " + what}
	}
	return h.client, nil
}

// hostError turns a failed call of the host into an Error.
func hostError(ctx context.Context, doing string, err error) *Error {
	if ctxErr := contextError(ctx, err); ctxErr != nil {
		ctxErr.Message = doing + ": " + ctxErr.Message
		return ctxErr
	}
	if known := errorInStatus(err); known != nil {
		return known
	}
	code := CodeUnavailable
	switch connect.CodeOf(err) {
	case connect.CodeUnimplemented:
		code = CodeUnsupported
	case connect.CodeInvalidArgument, connect.CodePermissionDenied, connect.CodeFailedPrecondition, connect.CodeUnauthenticated:
		code = CodeInternal
	}
	said := err.Error()
	if refusal := new(connect.Error); errors.As(err, &refusal) {
		said = refusal.Message()
	}
	return &Error{Code: code, Message: doing + ": " + plain(cut(said, 300)), Err: err}
}

// errorInStatus returns the Error that the host put into the details of a gRPC
// status, nil when there is none.
func errorInStatus(err error) *Error {
	refusal := new(connect.Error)
	if !errors.As(err, &refusal) {
		return nil
	}
	for _, detail := range refusal.Details() {
		value, err := detail.Value()
		if e, ok := value.(*pluginv1.Error); ok && err == nil {
			return goError(e)
		}
	}
	return nil
}

// goError is the inverse of protoError.
func goError(e *pluginv1.Error) *Error {
	failure := &Error{
		Code: Code(e.GetCode()), Message: e.GetMessage(), Reason: e.GetReason(), HTTPStatus: int(e.GetHttpStatus()),
		RetryAfter: e.GetRetryAfter().AsDuration(), Applied: Applied(e.GetApplied()), Pointer: e.GetPointer(), Limiter: e.GetLimiter(), Hint: e.GetHint(),
	}
	_ = json.Unmarshal(e.GetDetails(), &failure.Details) // none, or an object
	if failure.Hint == "" {                              // a host of before says it there
		failure.Hint, _ = failure.Details["hint"].(string)
	}
	delete(failure.Details, "hint")
	return failure
}
