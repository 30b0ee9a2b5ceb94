package mcpserver

import (
	"context"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio speaks with the client at the other end of two streams until it closes the
// first one, or ctx ends. What is said on out is the protocol alone. The caller closes in
// to end a read that waits.
func ServeStdio(ctx context.Context, o Options, rights Rights, in io.ReadCloser, out io.Writer) error {
	session, err := newServer(o, rights, nil).Connect(ctx, &mcp.IOTransport{Reader: in, Writer: unclosed{out}, MaxLineLength: maxMessage}, nil)
	if err != nil {
		return fmt.Errorf("begin to speak MCP: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err := <-ended:
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("speak MCP: %w", err)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// unclosed is a stream that is not ours to close.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
