package sdk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
	"github.com/flowrun/flowrun/sdk/proto/pluginv1/pluginv1connect"
)

// ServerOptions is what a process gives to the server of a plugin.
type ServerOptions struct {
	Now          func() time.Time // nil = time.Now
	Host         *http.Client     // reaches the host's service, whatever the URL's host, over HTTP/2; nil = State and Token are unsupported
	MessageLimit int              // bytes of one event, 0 = handshake.DefaultMessageLimit
}

// Server serves a plugin's calls. It is safe for concurrent use.
type Server struct{ service *service }

// NewServer returns the gRPC service of a plugin, for harnesses and for
// processes that serve it in another way than Serve: see Handler. It fails with p.Err.
func NewServer(p *Plugin, options ServerOptions) (*Server, error) {
	if err := p.Err(); err != nil {
		return nil, fmt.Errorf("plugin %s: %w", p.name, err)
	}
	return newServer(p, options, false)
}

// newServer is NewServer for a plugin whose schemas that are written out are read when they
// are used. Where it is described, the host has heard what is wrong with its actions, and has
// found nothing: then all schemas are.
func newServer(p *Plugin, options ServerOptions, described bool) (*Server, error) {
	err := errors.Join(p.errs...)
	if !described {
		err = p.serveErr()
	}
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", p.name, err)
	}
	s := &service{plugin: p, now: options.Now, limit: options.MessageLimit}
	if s.now == nil {
		s.now = time.Now
	}
	if s.limit <= 0 {
		s.limit = handshake.DefaultMessageLimit
	}
	s.host = hostClient(options.Host)
	return &Server{service: s}, nil
}

// Close drops the idle network connections of all connections.
func (s *Server) Close() { s.service.connections.closeAll() }

// service answers the calls of plugin.proto.
type service struct {
	plugin      *Plugin
	now         func() time.Time
	host        pluginv1connect.HostClient // nil = there is none
	limit       int                        // bytes of one event
	processors  *processors                // nil = the process has those that it has
	connections connections
}

// Describe is pure: it needs no config and no network.
func (s *service) Describe(_ context.Context, request *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	defer s.processors.begin()()
	if err := s.plugin.Err(); err != nil {
		return nil, connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("its author has to mend it: %w", err))
	}
	if s.plugin.described != nil {
		return s.describeTold(request)
	}
	return s.plugin.describe(), nil
}

// DescribeActions makes actions of an index whole.
func (s *service) DescribeActions(_ context.Context, request *pluginv1.DescribeActionsRequest) (*pluginv1.DescribeActionsResponse, error) {
	defer s.processors.begin()()
	if s.plugin.described == nil {
		return nil, connect.NewError(connect.CodeUnimplemented, errors.New("the plugin has no index"))
	}
	return s.describeActions(request)
}

// Validate checks a step's input without sending anything.
func (s *service) Validate(_ context.Context, request *pluginv1.ValidateRequest) (response *pluginv1.ValidateResponse, err error) {
	defer s.processors.begin()()
	a, err := s.action(request.GetAction(), request.GetRecipe())
	if err != nil {
		return nil, connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("action %s: %w", plain(cut(request.GetAction(), 64)), err))
	}
	if a == nil {
		return &pluginv1.ValidateResponse{Diagnostics: protoDiagnostics([]Problem{s.noAction(request.GetAction())})}, nil
	}
	if err := a.ready(s.plugin); err != nil {
		return nil, connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("its author has to mend it: %w", err))
	}
	defer onPanic(func(text, _ string) {
		response, err = nil, connect.NewError(connect.CodeInternal, fmt.Errorf("validate %s: %s", a.name, text))
	})
	unknown := []string(newUnknownSet(request.GetUnknown()))
	input, problems := a.decode(request.GetInput().GetJson(), unknown)
	response = &pluginv1.ValidateResponse{Diagnostics: protoDiagnostics(problems)}
	if firstError(problems) != nil {
		return response, nil
	}
	for _, narrow := range a.narrowers {
		if narrowed := narrow(input, unknown); narrowed != nil {
			response.OutputSchema = narrowed
		}
	}
	if a.identify != nil {
		response.PagingIdentity = a.identify(input, unknown)
	}
	more, narrowed := s.plugin.validateOn(a, request, input, unknown)
	response.Diagnostics = append(response.Diagnostics, protoDiagnostics(more)...)
	if narrowed != nil {
		response.OutputSchema = narrowed
	}
	return response, nil
}

func (s *service) noAction(name string) Problem {
	var names []string
	for _, a := range s.plugin.actions {
		names = append(names, a.name)
	}
	p := Problemf("", "plugin %s has no action `%s`", s.plugin.name, plain(cut(name, 64)))
	p.Detail = didYouMean(name, names)
	return p
}

// Connect opens or replaces a named connection. The same config hash again
// changes nothing.
func (s *service) Connect(_ context.Context, request *pluginv1.ConnectRequest) (response *pluginv1.ConnectResponse, err error) {
	defer onPanic(func(text, _ string) {
		response, err = nil, connect.NewError(connect.CodeInternal, fmt.Errorf("connect: %s", text))
	})
	name, hash := request.GetConnection(), request.GetConfigHash()
	if open := s.connections.get(name); open != nil && hash != "" && open.hash == hash && string(open.wire) == string(request.GetRecipe()) {
		return &pluginv1.ConnectResponse{}, nil
	}
	opened, problems := s.plugin.openConnection(name, hash, request.GetConfig().GetJson(), request.GetRecipe())
	if opened != nil {
		s.connections.put(opened)
	}
	return &pluginv1.ConnectResponse{Diagnostics: protoDiagnostics(problems)}, nil
}

// connection returns an open connection. A plugin whose config needs nothing
// works without Connect.
func (s *service) connection(name string) (conn *connection, refused *Error) {
	defer onPanic(func(text, _ string) {
		conn, refused = nil, &Error{Code: CodeInternal, Applied: NotApplied, Message: "open the connection: the plugin panicked: " + text}
	})
	if open := s.connections.get(name); open != nil {
		return open, nil
	}
	if name != "" {
		return nil, &Error{Code: CodeInternal, Applied: NotApplied, Message: fmt.Sprintf("connection %q is not open", name)}
	}
	opened, problems := s.plugin.openConnection("", "", nil, nil)
	if refused := firstError(problems); refused != nil {
		refused.Message, refused.Pointer = "the plugin needs a connection: "+refused.Message, ""
		refused.Hint = "add one to flowrun.yaml and name it in the step"
		return nil, refused
	}
	s.connections.put(opened)
	return opened, nil
}

// CheckConnection tries a connection as the author says, or only that it is
// open.
func (s *service) CheckConnection(ctx context.Context, request *pluginv1.CheckConnectionRequest) (*pluginv1.CheckConnectionResponse, error) {
	c := s.newCore(ctx, nil, nil)
	conn, refused := s.connection(request.GetConnection())
	if refused != nil {
		return &pluginv1.CheckConnectionResponse{Error: c.protoError(refused)}, nil
	}
	c.useConnection(conn, nil)
	account, failure := s.plugin.tryConnection(c)
	if failure != nil {
		return &pluginv1.CheckConnectionResponse{Error: c.protoError(failure)}, nil
	}
	mask := c.masks.now()
	return &pluginv1.CheckConnectionResponse{
		Account: mask.text(plain(account)), NotTried: c.notTried, Note: mask.text(plain(c.testNote)),
	}, nil
}

func (p *Plugin) tryConnection(c *core) (account string, failure *Error) {
	if p.check == nil {
		c.notTried = true
		return "", nil
	}
	defer onPanic(func(text, _ string) {
		failure = &Error{Code: CodeInternal, Message: text}
	})
	account, err := p.check(c, c.conn.config)
	if failed(err) {
		return "", asError(err)
	}
	return account, nil
}

func (s *service) newCore(ctx context.Context, a *action, run *pluginv1.RunContext) *core {
	return &core{
		ctx: ctx, plugin: s.plugin, action: a, run: runInfo(run), hostSocket: sentWith(ctx, handshake.HostSocketKey), now: s.now,
		services: hostServices{client: s.host}, conn: &connection{},
	}
}

// sentWith is the metadata of a call under a key, "" unless it stands there once.
func sentWith(ctx context.Context, key string) string {
	call, ok := connect.CallInfoForHandlerContext(ctx)
	if !ok {
		return ""
	}
	if values := call.RequestHeader().Values(key); len(values) == 1 {
		return values[0]
	}
	return ""
}

// useConnection binds the call to a connection and learns the secrets to mask.
func (c *core) useConnection(conn *connection, input []byte) {
	c.conn = conn
	secrets := append([]string{}, conn.secrets...)
	if c.action != nil {
		secrets = append(secrets, secretValues(c.action.input, input)...)
	}
	c.masks.add(secrets...)
	c.credentials.add(slices.DeleteFunc(slices.Clone(conn.secrets), isAddress)...)
}

// isAddress reports a secret that is a URL: where to send something, and not what
// to send there.
func isAddress(secret string) bool {
	u, err := url.Parse(secret)
	if err != nil {
		return false
	}
	_, ok := originOf(u)
	return ok
}

// Execute runs one attempt of one page. It always ends the stream with exactly
// one terminal event; its gRPC status is for the transport only.
func (s *service) Execute(ctx context.Context, request *pluginv1.ExecuteRequest, stream *connect.ServerStream[pluginv1.ExecuteEvent]) error {
	return s.run(ctx, request, sentWith(ctx, handshake.CallKey), stream.Send)
}

// run is Execute. callID is the host's name of the call, "" = it gave none.
func (s *service) run(ctx context.Context, request *pluginv1.ExecuteRequest, callID string, send func(*pluginv1.ExecuteEvent) error) error {
	defer s.processors.begin()()
	a, err := s.action(request.GetAction(), request.GetRecipe())
	if err != nil {
		return connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("action %s: %w", plain(cut(request.GetAction(), 64)), err))
	}
	if a != nil {
		if err := a.ready(s.plugin); err != nil {
			return connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("its author has to mend it: %w", err))
		}
	}
	c := s.newCore(ctx, a, request.GetRun())
	c.callID = callID
	c.events = &eventStream{send: send}
	c.checkpoint, c.pageCursor, c.watermark = request.GetCheckpoint(), request.GetPageCursor(), request.GetWatermark()
	c.pageNote, c.allPages, c.blobs = request.GetPageNote(), request.GetAllPages(), request.GetBlobs()
	return c.events.end(s.execute(c, request))
}
