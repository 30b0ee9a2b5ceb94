package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/internal/mcpserver"
)

// The words of --allow.
const (
	allowRun     = "run"
	allowApprove = "approve"
)

func (a *app) mcpCommand() *cobra.Command {
	var allow []string
	c := &cobra.Command{
		Use: "mcp", Short: "Serve assistants over the Model Context Protocol, on stdin and stdout",
		Long: "Mcp speaks the Model Context Protocol with the program that started it, such as an assistant in an editor: tools to\n" +
			"find actions, check, plan and test what the assistant writes, and to look at runs. It only reads, unless --allow\n" +
			"says more. It asks whoever owns the store, as every command does, and holds it itself only while a run of its own\n" +
			"goes on. `flowrun serve` speaks the same over HTTP, with tokens, at /mcp. docs/assistants.md says how to add it.",
		Example: "  flowrun mcp --allow run --sandbox      runs against simulators of the services\n" +
			"  claude mcp add flowrun -- flowrun mcp --allow run",
		RunE: func(c *cobra.Command, _ []string) error { return a.serveMCP(c.Context(), allow) },
	}
	c.Flags().StringSliceVar(&allow, "allow", nil, "what it may do besides reading: run, approve")
	completeFlag(c, "allow", allowRun, allowApprove)
	a.sandboxFlag(c, "run against simulators of the services, in a store of its own")
	return group(a.liveFlags(c), a.mcpToolsCommand())
}

func (a *app) serveMCP(ctx context.Context, allow []string) error {
	rights := mcpserver.Rights{NoRun: notAllowed(allowRun), NoApprove: notAllowed(allowApprove), Texts: true}
	for _, word := range allow {
		switch word {
		case allowRun:
			rights.NoRun = ""
		case allowApprove:
			rights.NoApprove = ""
		default:
			words := []string{allowRun, allowApprove}
			return usageError(fmt.Errorf("--allow takes %s, not %q", strings.Join(words, ", "), word), diag.DidYouMean(word, words).Text)
		}
	}
	if _, err := a.locate(); err != nil {
		return err
	}
	out := a.sys.Stdout
	a.sys.Stdout = a.sys.Stderr // what a command prints is no message of the protocol
	lender := &lender{app: a, sandboxShown: !a.sandbox, stop: make(chan struct{})}
	ctx, killed, end := a.untilSignal(ctx)
	defer end()
	err := mcpserver.ServeStdio(ctx, mcpserver.Options{
		Lend: lender.lend, Version: a.sys.Version, Entropy: a.sys.Entropy, Log: a.logger(), Dir: a.sys.Dir, User: a.user(),
	}, rights, io.NopCloser(a.sys.Stdin), out)
	return errors.Join(killed(err), lender.end(ctx))
}

// notAllowed is why a tool is missing that nobody allowed.
func notAllowed(word string) string {
	return "this server only reads; a person starts it with `flowrun mcp --allow " + word + "`"
}
