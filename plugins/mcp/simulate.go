package mcp

import (
	"fmt"
	"io"
)

// Simulate is the program that stands for a server in a sandbox: it prints the config of a
// connection that asks no server, and ends with stdin. Each tool answers with something of
// the shape that its schema has.
func Simulate(stdin io.Reader, stdout io.Writer) error {
	if _, err := fmt.Fprintln(stdout, `{"simulated": "sandbox"}`); err != nil {
		return fmt.Errorf("write the simulator's config: %w", err)
	}
	_, _ = io.Copy(io.Discard, stdin) // however it ends, the host is gone
	return nil
}
