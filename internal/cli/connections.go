package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/view"
	"github.com/flowrun/flowrun/internal/doctor"
	"github.com/flowrun/flowrun/internal/web"
)

// noConnections is the note where a project has none.
const noConnections = "no connections: they are declared under `connections` of " + projectFileName

func (a *app) connectionsCommand() *cobra.Command {
	return listGroup(&cobra.Command{Use: "connections", Short: "The connections to services: look, test, log in and out"},
		a.inSandbox("the simulators' connections, in a store of their own",
			withText(a.liveFlags(&cobra.Command{
				Use: "list", Short: "List the connections and their logins", Args: exactArgs(),
				Example: "  flowrun connections\n  flowrun connections list -o json",
				Long:    "List shows the connections of flowrun.yaml. No service is asked: what is known of a login is what is stored.",
				RunE:    func(c *cobra.Command, _ []string) error { return a.listConnections(c.Context()) },
			})),
			withText(a.liveFlags(&cobra.Command{
				Use: "test [NAME..]", Short: "Try connections: all of them when none is named",
				Long: "Test opens each connection and lets its plugin make one harmless request.\n" +
					"Exit code: 0 all are well; 3 a config is wrong, 4 a login is needed, 5 any other failure, or failures of several kinds.",
				Example: "  flowrun connections test\n  flowrun connections test work -o json",
				RunE:    func(c *cobra.Command, args []string) error { return a.testConnections(c.Context(), args) },
			})),
			a.loginCommand(),
			withText(a.liveFlags(&cobra.Command{
				Use: "logout NAME", Short: "Give a login back: the service withdraws the token, and it is forgotten", Args: exactArgs("NAME"),
				Example: "  flowrun connections logout work_login",
				Long: "Logout has the service withdraw the token and forgets it. It is forgotten even if the service does not\n" +
					"answer or refuses; the exit code is 5 then, and the output says why.",
				RunE: func(c *cobra.Command, args []string) error { return a.logout(c.Context(), args[0]) },
			})),
		))
}

func (a *app) listConnections(ctx context.Context) error {
	connections, err := a.readConnections(ctx)
	return printList(a, connections, err, noConnections, view.Page.Connections)
}

// readConnections asks the owner of the store. Without a store nobody is logged
// in, and the project alone tells; a sandbox is started for the question.
func (a *app) readConnections(ctx context.Context) ([]workspace.ConnectionStatus, error) {
	question := func(c *web.Client) ([]workspace.ConnectionStatus, error) { return c.Connections(ctx) }
	if !a.sandbox {
		return askOr(ctx, a, question, func(project *workspace.Workspace) ([]workspace.ConnectionStatus, error) {
			return project.ListConnections(ctx), nil
		})
	}
	session, err := a.connect(ctx, roleWork)
	if err != nil {
		return nil, err
	}
	session.announceSandbox()
	connections, err := tryAnyway(ctx, session, question)
	return connections, session.abandon(err)
}

func (a *app) testConnections(ctx context.Context, names []string) error {
	for _, name := range names {
		if !web.ValidConnection(name) {
			return unknownConnection(name)
		}
	}
	return a.work(ctx, func(ctx context.Context, session *session) (code int, err error) {
		if len(names) == 0 {
			if names, err = session.connectionNames(ctx); err != nil {
				return 0, err
			}
		}
		tests, err := session.test(ctx, names)
		return exitOfTests(tests), printList(a, tests, err, noConnections, a.showTests)
	})
}

func (a *app) showTests(page view.Page, out io.Writer, tests []connections.Test) {
	for i := range tests {
		if tests[i].Error != nil {
			tests[i].Error.Hint = tests[i].Error.Hint.Typed(a.commandText)
		}
	}
	page.ConnectionTests(out, tests)
}

func unknownConnection(name string) error {
	return notFoundError(fmt.Errorf("there is no connection %s", diag.ShellWord(name)), "`flowrun connections` lists the connections")
}

func (s *session) connectionNames(ctx context.Context) ([]string, error) {
	list, err := s.client.Connections(ctx)
	return texts(list, func(connection workspace.ConnectionStatus) string { return connection.Name }), err
}

// test tries connections side by side and returns what came out in their order.
func (s *session) test(ctx context.Context, names []string) ([]connections.Test, error) {
	tests, errs := make([]connections.Test, len(names)), make([]error, len(names))
	doctor.Each(names, func(i int, name string) { tests[i], errs[i] = s.client.TestConnection(ctx, name) })
	for _, err := range errs {
		if err != nil {
			return nil, err // one that is unknown: the others' results are of no use
		}
	}
	return tests, nil
}

// exitOfTests is the exit code of the failures, 5 when they are of several kinds.
func exitOfTests(tests []connections.Test) int {
	code := exitOK
	for _, test := range tests {
		if test.Error == nil {
			continue
		}
		failed := exitOfCall(test.Error)
		if code != exitOK && failed != code {
			return exitFailed
		}
		code = failed
	}
	return code
}

// untilSignal returns a context that a signal ends. killed turns the error of
// what was ended by it into the signal's own; end must be called.
func (a *app) untilSignal(ctx context.Context) (bounded context.Context, killed func(error) error, end func()) {
	signals, stop := a.signals()
	bounded, cancel := endedBy(ctx, signals)
	killed = func(err error) error {
		if cause := context.Cause(bounded); err != nil && cause != nil {
			return cause
		}
		return err
	}
	return bounded, killed, func() {
		cancel()
		stop()
	}
}

// endedBy returns a context that a signal ends, which is its cause then.
func endedBy(ctx context.Context, signals <-chan os.Signal) (bounded context.Context, end func()) {
	bounded, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case signal := <-signals:
			cancel(&killedError{signal})
		case <-bounded.Done():
		}
	}()
	return bounded, func() { cancel(nil) }
}
