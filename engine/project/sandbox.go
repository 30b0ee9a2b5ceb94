package project

import (
	"slices"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/spec"
)

// Simulator stands for the service of one connection in a sandbox: a program that
// prints the connection's config as JSON and serves until its standard input ends.
type Simulator struct {
	Connection string
	Command    []string // program and arguments; a program with a slash is relative to the project's root
	Pos        diag.Pos // of the connection's name
}

func (p *parser) simulator(name, value *spec.Node) {
	simulator := Simulator{Connection: name.Text, Pos: name.Pos}
	written := false
	p.keys(value, "simulator of connection `"+name.Text+"`", map[string]func(*spec.Node){
		"command": func(n *spec.Node) {
			written = true
			simulator.Command = p.command(n, CodeSimulator, "a simulator takes no expressions and no secrets", diag.Hint{})
		},
	})
	if !written && value.Kind == spec.Mapping {
		p.problems.Errorf(firstKey(value, name), CodeSimulator, "the simulator of connection `%s` has no `command`", name.Text).Hint =
			diag.Say("name the program that stands for the service: command: [./bin/" + name.Text + "-sim]")
	}
	p.project.Sandbox = append(p.project.Sandbox, simulator)
}

// checkSimulators reports simulators of connections that there are not.
func (p *parser) checkSimulators() {
	names := diag.NamesOf(p.project.Connections, func(c Connection) string { return c.Name })
	for _, simulator := range p.project.Sandbox {
		if slices.Contains(names, simulator.Connection) {
			continue
		}
		p.problems.Errorf(simulator.Pos, CodeSimulator, "`sandbox`: there is no connection `%s`", simulator.Connection).Hint =
			diag.DidYouMean(simulator.Connection, names).Or(diag.Say("declare it under `connections`"))
	}
}
