package workspace

import (
	"slices"
	"strings"
)

// SandboxReport says which connection of a sandbox is what.
type SandboxReport struct {
	Simulated []string         // declared connections that lead to flowrun's simulators
	External  []ExternalReport // those that lead to somebody else's
	Mocked    []MockReport     // what test files answer
	Live      []LiveReport     // with real requests
	Refused   []string         // declared connections that nothing stands for
	Told      []string         // notify targets that get messages
	NotTold   []string         // those whose messages are only shown
}

// ExternalReport is one simulator of somebody else's.
type ExternalReport struct {
	Command     string
	Connections []string
}

// MockReport is one test file.
type MockReport struct {
	File, Case, Workflow string
	Steps                []string
}

// LiveReport is one live connection.
type LiveReport struct{ Name, URL string }

// Sandbox reports what stands for what; nil outside of a sandbox.
func (p *Workspace) Sandbox() *SandboxReport {
	if p.sandbox == nil {
		return nil
	}
	report := &SandboxReport{}
	for _, declared := range p.file.Connections {
		p.reportConnection(report, NamedConnection{declared.Name, declared.Plugin})
	}
	for _, name := range p.sandbox.Live {
		if _, declared := p.file.Connection(name); !declared && !strings.HasPrefix(name, LiveNotify) {
			p.reportConnection(report, NamedConnection{name, name})
		}
	}
	for _, s := range p.sandbox.Simulators {
		if _, declared := p.file.Connection(s.Plugin); s.By != "" && s.Connection == "" && !declared {
			p.reportConnection(report, NamedConnection{s.Plugin, s.Plugin})
		}
	}
	for _, m := range p.sandbox.mocks {
		report.Mocked = append(report.Mocked, MockReport{File: m.File, Case: m.Case, Workflow: m.Workflow, Steps: m.Steps()})
	}
	for _, target := range p.file.Notify {
		if p.Tells(target.Name) {
			report.Told = append(report.Told, target.Name)
		} else {
			report.NotTold = append(report.NotTold, target.Name)
		}
	}
	return report
}

func (p *Workspace) reportConnection(report *SandboxReport, connection NamedConnection) {
	if p.Live(connection.Name) {
		live := LiveReport{Name: connection.Name}
		live.URL = p.ConnectionStatus(connection).URL
		report.Live = append(report.Live, live)
		return
	}
	simulator, ok := p.simulator(connection.Plugin, connection.Name)
	switch {
	case !ok:
		report.Refused = append(report.Refused, connection.Name)
	case simulator.By == "":
		report.Simulated = append(report.Simulated, connection.Name)
	default:
		at := slices.IndexFunc(report.External, func(e ExternalReport) bool { return e.Command == simulator.By })
		if at < 0 {
			at = len(report.External)
			report.External = append(report.External, ExternalReport{Command: simulator.By})
		}
		report.External[at].Connections = append(report.External[at].Connections, connection.Name)
	}
}
