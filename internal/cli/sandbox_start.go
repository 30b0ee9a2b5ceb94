package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/telemetry"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/sandbox"
	"github.com/flowrun/flowrun/internal/web"
)

// startSandbox starts what stands for the services of a project, for a command that
// may call them. Without it a sandbox refuses every call.
func (o *owner) startSandbox(ctx context.Context, role role, project *workspace.Workspace) error {
	a := o.app
	if !a.sandbox || role == roleLook {
		return nil
	}
	if err := project.CheckLive(); err != nil {
		return a.refusedSandbox(err)
	}
	options, err := a.sandboxOptions()
	if err != nil {
		return err
	}
	started, err := sandbox.Start(options)
	if err != nil {
		return fmt.Errorf("start the sandbox: %w", err)
	}
	o.sandbox = started
	for _, service := range started.Services() {
		simulator := workspace.Simulator{Plugin: service.Plugin, Config: service.Config, Keep: service.Keep, Rate: service.Rate}
		if options.ApproveAfter == 0 {
			simulator.Approve = func(code string) string {
				return strings.ReplaceAll(started.ApproveCommand(), sandbox.CodeMark, diag.ShellWord(code))
			}
		}
		project.Simulate(simulator)
	}
	if err := a.startSimulators(ctx, started, project); err != nil {
		return err
	}
	if err := a.mock(ctx, project); err != nil {
		return err
	}
	o.lines = a.sandboxLines(started, project.Sandbox())
	return nil
}

// startSimulators starts those that the project and its plugins name.
func (a *app) startSimulators(ctx context.Context, started *sandbox.Sandbox, project *workspace.Workspace) error {
	for _, c := range project.SimulatorCommands() {
		config, err := started.Run(ctx, sandbox.External{
			Name: c.Name(), Command: c.Command, Dir: c.Dir, Env: sandbox.Environ(a.sys.Environ), Hold: []string{a.sys.Executable, "sandbox", "hold", "--"},
		})
		if _, ok := errors.AsType[*sandbox.ExternalError](err); ok {
			return &codedError{code: exitPlugin, err: err, hint: "run it by hand to see more; it prints a config as JSON on stdout, and goes on serving"}
		}
		if err != nil {
			return err
		}
		if err := a.takeSimulator(project, c, config); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) takeSimulator(project *workspace.Workspace, c workspace.SimulatorCommand, config json.RawMessage) error {
	if err := project.CheckSimulator(c, config); err != nil {
		return &codedError{code: exitInvalid, err: err}
	}
	shown := append([]string{}, c.Command...)
	shown[0] = a.shown(shown[0])
	project.Simulate(workspace.Simulator{Plugin: c.Plugin, Connection: c.Connection, Config: config, By: strings.Join(shown, " ")})
	return nil
}

// sandboxLines say which connection is what, in words that hold.
func (a *app) sandboxLines(started *sandbox.Sandbox, report *workspace.SandboxReport) []string {
	first := started.Line()
	if len(report.Live) == 0 && len(report.Told) == 0 {
		first += "; no real service is called"
	}
	lines := []string{first}
	add := func(format string, args ...any) { lines = append(lines, "sandbox: "+fmt.Sprintf(format, args...)) }
	if len(report.Simulated) > 0 {
		add("simulated: %s", strings.Join(report.Simulated, ", "))
	}
	for _, by := range report.External {
		add("simulated by %s: %s", by.Command, strings.Join(by.Connections, ", "))
	}
	for _, m := range report.Mocked {
		add("mocked by %s, case %q: steps %s of workflow %s", m.File, m.Case, strings.Join(m.Steps, ", "), m.Workflow)
	}
	for _, live := range report.Live {
		where := "wherever its plugin sends them"
		if live.URL != "" {
			where = "to " + live.URL + " and wherever that leads"
		}
		add("LIVE: %s, with real requests %s, and real secrets", live.Name, where)
	}
	if len(report.Told) > 0 {
		add("LIVE: real messages to %s", strings.Join(report.Told, ", "))
	}
	if len(report.NotTold) > 0 {
		add("shown and not sent: messages to %s", strings.Join(report.NotTold, ", "))
	}
	if len(report.Refused) > 0 {
		add("refused, unless a step of theirs is mocked: %s", strings.Join(report.Refused, ", "))
	}
	if _, collector := telemetry.Collector(a.sys.Environ); telemetry.Traced(a.sys.Environ) {
		add("traces of the runs go to %s", collector)
	}
	return lines
}

// sandboxInfo is what others are told of the sandbox of this process.
func (o *owner) sandboxInfo() *web.OwnerSandbox {
	if !o.app.sandbox {
		return nil
	}
	return &web.OwnerSandbox{Live: o.app.stand.live, Mocks: o.app.absoluteMocks(), Lines: o.lines}
}

func (a *app) sandboxOptions() (sandbox.Options, error) {
	after, err := a.approves()
	return sandbox.Options{Now: a.sys.Now, Random: a.sys.Entropy, ApproveAfter: after}, err
}
