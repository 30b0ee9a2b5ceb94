package cli

import (
	"slices"

	"github.com/spf13/cobra"
)

// groups are what the help of the program tells its commands apart by.
func groups() []*cobra.Group {
	return []*cobra.Group{
		{ID: "start", Title: "Start: write a workflow, look at it, run it"},
		{ID: "runs", Title: "Runs: what has run, what starts by itself, what is kept"},
		{ID: "people", Title: "People: who may do what (questions to people: flowrun runs --help)"},
		{ID: "project", Title: "Project"},
		{ID: "server", Title: "Server"},
		{ID: "store", Title: "Store"},
		{ID: "plugins", Title: "Plugins"},
	}
}

// groupRuns tells the commands about runs apart: those that look, those that act, and
// those by which people answer.
func groupRuns(c *cobra.Command) *cobra.Command {
	c.AddGroup(&cobra.Group{ID: "look", Title: "Look"}, &cobra.Group{ID: "act", Title: "Act"}, &cobra.Group{ID: "people", Title: "People: answer what a step asks"})
	for _, sub := range c.Commands() {
		switch sub.Name() {
		case "approve", "reject", "signal", "resolve":
			sub.GroupID = "people"
		case "cancel", "resume", "rerun", "deliver", "rm", "ack":
			sub.GroupID = "act"
		default:
			sub.GroupID = "look"
		}
	}
	return c
}

// made makes the command.
func (c command) made() *cobra.Command {
	made := c.make()
	made.GroupID = c.group
	return made
}

// command is one of those below the program's own: its name, and what makes it.
type command struct {
	name, group string // "" = none
	make        func() *cobra.Command
}

// commands are all of them but `help` and `completion`.
func (a *app) commands() []command {
	return []command{
		{"run", "start", a.runCommand},
		{"call", "start", a.callCommand},
		{"validate", "start", a.validateCommand},
		{"test", "start", a.testCommand},
		{"graph", "start", a.graphCommand},
		{"runs", "runs", func() *cobra.Command { return groupRuns(a.runsCommand()) }},
		{"plugins", "plugins", a.pluginsCommand},
		{"connections", "people", a.connectionsCommand},
		{"secrets", "people", a.secretsCommand},
		{"workflows", "runs", a.workflowsCommand},
		{"state", "runs", a.stateCommand},
		{"sandbox", "server", a.sandboxCommand},
		{"init", "start", a.initCommand},
		{"demo", "start", a.demoCommand},
		{"new", "start", a.newCommand},
		{"config", "project", a.configCommand},
		{"version", "", a.versionCommand},
		{"upgrade", "project", a.upgradeCommand},
		{"serve", "server", a.serveCommand},
		{"tokens", "people", a.tokensCommand},
		{"login", "server", a.serverLoginCommand},
		{"logout", "server", a.serverLogoutCommand},
		{"doctor", "project", a.doctorCommand},
		{"plan", "start", a.planCommand},
		{"schema", "project", a.schemaCommand},
		{"fmt", "project", a.fmtCommand},
		{"explain", "project", a.explainCommand},
		{"db", "store", a.dbCommand},
		{"key", "store", a.keyCommand},
		{"schedules", "runs", a.schedulesCommand},
		{"man", "", a.manCommand},
		{"ready", "server", a.readyCommand},
		{"mcp", "server", a.mcpCommand},
		{"import", "start", a.importCommand},
		{"eval", "project", a.evalCommand},
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
			root.AddCommand(all[place].made())
			return
		}
	}
	for _, c := range all {
		root.AddCommand(c.made())
	}
	root.InitDefaultCompletionCmd("completion")
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			a.ownCompletion(c)
		}
	}
}
