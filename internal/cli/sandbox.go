package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/sandbox"
)

func (a *app) sandboxCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "sandbox",
		Short: "Run simulators of the services until Ctrl-C",
		Long: "Sandbox runs the services' simulators on 127.0.0.1 and prints a flowrun.yaml whose connections point at\n" +
			"them. Everything else goes to stderr.",
		Example: "  flowrun sandbox > sandbox.yaml\n  flowrun run workflows/hello.yaml --config sandbox.yaml      (in another terminal)",
		Args:    exactArgs(),
		RunE:    func(*cobra.Command, []string) error { return a.runSandbox() },
	}
	a.approveFlag(c)
	return c
}

func (a *app) runSandbox() (err error) {
	signals, stop := a.sys.Signals()
	defer stop()
	options, err := a.sandboxOptions()
	if err != nil {
		return err
	}
	running, err := sandbox.Start(options)
	if err != nil {
		return fmt.Errorf("start the sandbox: %w", err)
	}
	defer func() { err = errors.Join(err, running.Close()) }()
	if _, err := a.sys.Stdout.Write(running.Project()); err != nil {
		return fmt.Errorf("print the sandbox's flowrun.yaml: %w", err)
	}
	a.note("%s", running.Line())
	a.note("mail is kept and not delivered: %s", running.Mail())
	if options.ApproveAfter == 0 {
		a.note("a device login waits for you: open its page, or `%s`", running.ApproveCommand())
	}
	a.note("put what stands on stdout into a file and name it with --config; Ctrl-C ends the sandbox")
	<-signals
	return nil
}

// announceConfinement says once, at the start of a server, what plugins are not held to.
func (s *session) announceConfinement() {
	missing := texts(s.owner.engine.Project().MissingConfinement(), func(part workspace.Confinement) string { return part.Part })
	if len(missing) > 0 {
		s.app.note("plugins are not held to: %s; `flowrun doctor` says why", strings.Join(missing, ", "))
	}
}
