// Package mcpserver is flowrun as a server of the Model Context Protocol (ADR 64): what
// an assistant may do with a project as tools, what it may read as resources, and how
// it goes about it as prompts. Every tool is a client of the HTTP API, over stdio as
// over HTTP; what a caller may not do is not among its tools.
package mcpserver

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/flowrun/flowrun/internal/web"
)

// Need says what of flowrun a question is put to.
type Need int

// The needs.
const (
	NeedFiles Need = iota // the project's files, whether or not anything has run
	NeedAny               // what has run, where something has; else the project's files
	NeedStore             // what has run
	NeedWork              // a run is started or moved: it goes on when the answer has come
)

// Lend lets ask put questions to the API, and returns what ask does. The client is good
// for that time alone. ask may be called again, with another client, where the one
// that answered went away: what it asks for must bear that. An error of Lend's own
// says that nobody could be asked.
type Lend func(ctx context.Context, need Need, ask func(context.Context, *web.Client) error) error

// Rights are what a caller may do besides reading.
type Rights struct {
	NoRun     string // why no run is started; "" = it is
	NoApprove string // why no step is approved or rejected; "" = it is
	// Texts lets `run` take the text of a workflow that has been planned; else it takes
	// workflows of the project alone.
	Texts bool
}

// Options join a server with its surroundings.
type Options struct {
	Lend    Lend
	Version string // of flowrun
	Entropy io.Reader
	Log     *slog.Logger // of the protocol; nil = nowhere
	Dir     string       // what the name of a workflow's text starts from; "" = the project's root
	User    string       // whom runs are started for, where the API does not know its caller
}

// Bounds of what a call may take and give.
const (
	callLimit   = 15 * time.Minute // of one call of a tool, with the time that a person takes
	maxWait     = 10 * time.Minute
	usualWait   = 30 * time.Second
	maxProblems = 50
	maxSteps    = 100
	maxValue    = 16 << 10 // bytes of one value in an answer
	maxValues   = 64 << 10 // bytes of all values of an answer
	maxText     = 1 << 20  // of a workflow
	maxSource   = 64 << 10 // of a workflow that is shown
	maxURI      = 2000
	maxMessage  = 4 << 20 // of a message over stdio
)

// instructions are told to each assistant, which reads them before all else.
const instructions = "flowrun runs workflows: YAML files of typed steps that call services through plugins, durably. " +
	"What you write is proven before it runs: find actions (actions_search, explain), write the YAML, validate it, mend what the problems say at their line and column, plan it, " +
	"show the person what it writes, then run it. Nothing is sent by validate, plan and test. " +
	"Read flowrun://docs/guide once before you write, and flowrun://docs/language for a key that you do not know. Never put a secret into a workflow: name it as ${{ secrets.NAME }}."

// desk is what the tools of one caller share.
type desk struct {
	Options
	Rights
}

// newServer returns the protocol's server with what a caller may use.
func newServer(o Options, rights Rights, sessionID func() string) *mcp.Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d := &desk{o, rights}
	server := mcp.NewServer(&mcp.Implementation{Name: "flowrun", Title: "flowrun", Version: cmp.Or(o.Version, "devel")}, &mcp.ServerOptions{
		Instructions: instructions, Logger: o.Log, GetSessionID: sessionID, CompletionHandler: d.complete,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}, Prompts: &mcp.PromptCapabilities{}},
	})
	refused := map[string]string{}
	for _, tool := range d.tools() {
		if tool.refused != "" {
			refused[tool.Name] = tool.refused
			continue
		}
		server.AddTool(tool.Tool, tool.handle)
	}
	d.addResources(server)
	d.addPrompts(server)
	server.AddReceivingMiddleware(printable, refusing(refused), limited)
	return server
}

// refusing answers calls of tools that the caller does not have with the reason.
func refusing(reasons map[string]string) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
			if call, ok := request.GetParams().(*mcp.CallToolParamsRaw); ok && reasons[call.Name] != "" {
				return failed(call.Name + " is not allowed: " + reasons[call.Name]), nil
			}
			return next(ctx, method, request)
		}
	}
}

// printable refuses addresses of resources that are none. The SDK makes JSON of an unknown
// one by the rules of Go's texts, which ends the session for a letter that JSON writes in
// another way.
func printable(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		if read, ok := request.GetParams().(*mcp.ReadResourceParams); ok {
			if len(read.URI) > maxURI || strings.ContainsFunc(read.URI, func(r rune) bool { return !unicode.IsPrint(r) }) {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the address of the resource is none"}
			}
		}
		return next(ctx, method, request)
	}
}

// limited bounds how long a request may take, whoever is waited for.
func limited(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		ctx, cancel := context.WithTimeout(ctx, callLimit)
		defer cancel()
		return next(ctx, method, request)
	}
}

// failed is the answer of a call that did not do what it was asked for. It has no
// structure: clients hold that to the tool's schema.
func failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
