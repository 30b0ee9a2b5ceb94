package cli

import (
	"slices"

	"github.com/spf13/cobra"
)

// command is one of those below the program's own: its name, and what makes it.
type command struct {
	name string
	make func() *cobra.Command
}

// commands are all of them but `help` and `completion`.
func (a *app) commands() []command {
	return []command{
		{"run", a.runCommand},
		{"call", a.callCommand},
		{"validate", a.validateCommand},
		{"test", a.testCommand},
		{"graph", a.graphCommand},
		{"runs", a.runsCommand},
		{"plugins", a.pluginsCommand},
		{"connections", a.connectionsCommand},
		{"secrets", a.secretsCommand},
		{"state", a.stateCommand},
		{"sandbox", a.sandboxCommand},
		{"init", a.initCommand},
		{"new", a.newCommand},
		{"config", a.configCommand},
		{"version", a.versionCommand},
		{"serve", a.serveCommand},
		{"tokens", a.tokensCommand},
		{"doctor", a.doctorCommand},
		{"plan", a.planCommand},
		{"schema", a.schemaCommand},
		{"fmt", a.fmtCommand},
		{"explain", a.explainCommand},
		{"db", a.dbCommand},
		{"key", a.keyCommand},
		{"schedules", a.schedulesCommand},
		{"man", a.manCommand},
		{"ready", a.readyCommand},
		{"mcp", a.mcpCommand},
	}
}

// addCommands adds the command that a command line names. It adds all of them where the
// line begins with anything else, and for those that tell of others: help, completion,
// the manual. To make all is a fifth of what a short run allocates.
func (a *app) addCommands(root *cobra.Command, args []string) {
	all := a.commands()
	if len(args) > 0 && args[0] != "man" {
		if place := slices.IndexFunc(all, func(c command) bool { return c.name == args[0] }); place >= 0 {
			root.CompletionOptions.DisableDefaultCmd = true
			root.AddCommand(all[place].make())
			return
		}
	}
	for _, c := range all {
		root.AddCommand(c.make())
	}
	root.InitDefaultCompletionCmd("completion")
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			a.ownCompletion(c)
		}
	}
}
