// Command server is an MCP server on the official SDK, for the tests: over stdin and
// stdout, or with `--http` at an address that it prints, which wants the token that follows.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type pair struct {
	A int `json:"a"`
	B int `json:"b"`
}

type total struct {
	Sum int `json:"sum"`
}

type nothing struct{}

type named struct {
	Name string `json:"name"`
	Note string `json:"note,omitempty"`
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--noise" {
		fmt.Println("hello, I am no server")
		fmt.Fprintln(os.Stderr, "and I say why")
		return
	}
	server := newServer()
	if len(os.Args) == 3 && os.Args[1] == "--http" {
		log.Fatal(serveHTTP(server, os.Args[2]))
	}
	fmt.Fprintln(os.Stderr, "the server begins")
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}

func serveHTTP(server *mcp.Server, token string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String() + "/mcp")
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/mcp":
			http.Redirect(w, r, "/mcp", http.StatusTemporaryRedirect)
		case r.Header.Get("Authorization") != "Bearer "+token:
			w.WriteHeader(http.StatusUnauthorized)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
}

func newServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "tests", Version: "1.2.3"}, nil)
	read := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(server, &mcp.Tool{Name: "addNumbers", Description: "Adds two numbers\nand more that no line shows", Annotations: read}, func(_ context.Context, _ *mcp.CallToolRequest, in pair) (*mcp.CallToolResult, total, error) {
		return nil, total{in.A + in.B}, nil
	})
	server.AddTool(&mcp.Tool{
		Name: "big-number", Annotations: read, InputSchema: json.RawMessage(`{"type":"object"}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
	}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"n":9007199254740993}`)}, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "wrong", Annotations: read}, func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("it did not work out")
	})
	mcp.AddTool(server, &mcp.Tool{Name: "greet", Annotations: read}, func(_ context.Context, _ *mcp.CallToolRequest, in named) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "hello " + in.Name}, &mcp.ImageContent{Data: []byte{1, 2, 3}, MIMEType: "image/png"},
			&mcp.ResourceLink{URI: "file:///a", Name: "a"}, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x:1", MIMEType: "text/plain", Text: "and more"}},
		}}, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "write", Annotations: &mcp.ToolAnnotations{IdempotentHint: true}}, func(_ context.Context, _ *mcp.CallToolRequest, in named) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, os.WriteFile(filepath.Clean(in.Name), []byte(in.Note), 0o600)
	})
	mcp.AddTool(server, &mcp.Tool{Name: "append"}, appendNote)
	mcp.AddTool(server, &mcp.Tool{Name: "slow", Annotations: read}, slow)
	mcp.AddTool(server, &mcp.Tool{Name: "environment", Annotations: read}, func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Join(os.Environ(), "\n")}}}, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "crash"}, func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "out of memory, as it were")
		os.Exit(3)
		return nil, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "child", Annotations: read}, func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, any, error) {
		child := exec.Command("sleep", "1000")
		if err := child.Start(); err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(os.Getpid(), " ", child.Process.Pid)}}}, nil, nil
	})
	return server
}

// appendNote adds a line to a file; the second call shows itself.
func appendNote(_ context.Context, _ *mcp.CallToolRequest, in named) (*mcp.CallToolResult, any, error) {
	file, err := os.OpenFile(filepath.Clean(in.Name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if _, err := fmt.Fprintln(file, in.Note); err != nil {
		return nil, nil, err
	}
	if in.Note == "die" {
		os.Exit(4)
	}
	return &mcp.CallToolResult{}, nil, nil
}

// slow tells how far it is, until it is canceled; then it says so in a file.
func slow(ctx context.Context, request *mcp.CallToolRequest, in named) (*mcp.CallToolResult, any, error) {
	for i := 1; ; i++ {
		_ = request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: request.Params.GetProgressToken(), Progress: float64(i), Total: 10, Message: "at work"})
		if i == 3 && in.Name == "" {
			return &mcp.CallToolResult{}, nil, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil, os.WriteFile(filepath.Clean(in.Name), []byte("canceled"), 0o600)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
