package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// readyAnswer is what `flowrun ready -o json` prints.
type readyAnswer struct {
	Ready bool   `json:"ready"`
	PID   int    `json:"pid"`
	URL   string `json:"url,omitempty"`
}

func (a *app) readyCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "ready", Short: "Ask the server whether it takes requests", Args: exactArgs(),
		Long: "Ready asks the flowrun serve of the state folder, over its socket, what /readyz tells. It is the health check of\n" +
			"the image, which has no other program to ask with.\n" +
			"Exit code: 0 when requests are taken; 12 when no server runs, when it drains, when its store has failed, or\n" +
			"while there is no room for a run.",
		Example: "  flowrun ready\n  flowrun ready --state /var/lib/flowrun -o json",
		RunE:    func(c *cobra.Command, _ []string) error { return a.ready(c.Context()) },
	}
	a.sandboxFlag(c, "ask the server of the sandbox")
	return withText(c)
}

func (a *app) ready(ctx context.Context) error {
	at, err := a.locate()
	if err != nil {
		return err
	}
	client, info, err := web.Dial(ctx, at.stateDir)
	if gone, ok := errors.AsType[*web.GoneError](err); ok {
		return a.notReady(ctx, gone.Closing())
	}
	if err != nil {
		return err
	}
	defer client.Close()
	if !info.Serve {
		return a.notReady(ctx, false)
	}
	err = client.Ready(ctx)
	if gone, ok := errors.AsType[*web.GoneError](err); ok {
		return a.notReady(ctx, gone.Closing())
	}
	if problem, ok := errors.AsType[*web.Problem](err); ok && problem.Code == wire.CodeUnavailable {
		return &codedError{code: exitNoServer, err: fmt.Errorf("process %d takes no requests: %s", info.PID, problem.Detail), hint: "`" + a.commandText("doctor") + "` says what is wrong"}
	}
	if err != nil {
		return err
	}
	return a.print(readyAnswer{true, info.PID, info.URL}, func() { a.say("process %d takes requests at %s", info.PID, info.URL) })
}

// notReady says that no server answers here, or that it is about to end.
func (a *app) notReady(ctx context.Context, isClosing bool) error {
	if isClosing {
		return &codedError{code: exitNoServer, err: errors.New("the server is ending")}
	}
	hint := "`" + a.commandText("serve") + "` starts one"
	if a.onlySandboxServes(ctx) {
		hint = "one of the sandbox does: `" + a.commandText("ready") + " --sandbox`"
	}
	return &codedError{code: exitNoServer, err: errors.New("no `flowrun serve` runs here"), hint: hint}
}
