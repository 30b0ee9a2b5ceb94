package cli

// variable is one of the environment that flowrun reads, or gives to what it starts.
type variable struct {
	name, by, doc string
}

// variables are all that begin with FLOWRUN_ (docs/commands.md, "Environment").
func variables() []variable {
	var all []variable
	for _, own := range ownSettings {
		all = append(all, variable{own.env, "flowrun reads it", own.doc + ": as " + own.flag})
	}
	return append(all,
		variable{listenVariable, "flowrun reads it", "where `flowrun serve` listens: as --listen"},
		variable{releasesVariable, "flowrun reads it", "the listing that `flowrun upgrade --check` asks: as --releases"},
		variable{logVariable, "flowrun reads it", "debug, info, warn or error: what the engine says of itself, on stderr"},
		variable{"FLOWRUN_SECRET_NAME", "flowrun reads it", "the secret NAME, before the store is asked; a - of the name is written _"},
		variable{"FLOWRUN_SANDBOX_SECRET_NAME", "flowrun reads it", "the same for a sandbox"},
		variable{"FLOWRUN_RUN", "a command of `notify` gets it", "the id of the run that the message is of"},
		variable{"FLOWRUN_WORKFLOW", "a command of `notify` gets it", "the name of its workflow"},
		variable{"FLOWRUN_IDEMPOTENCY_KEY", "a command of `notify` gets it", "the same for each attempt of one message"},
		variable{"FLOWRUN_SANDBOX", "a program that stands for a service gets it", "1"},
		variable{"FLOWRUN_PLUGIN", "a plugin gets it", "flowrun.plugin.v1: flowrun has started it, not a person"},
		variable{"FLOWRUN_HOST_SOCKET", "a plugin gets it", "the socket of the services that flowrun gives to plugins"},
		variable{"FLOWRUN_LAUNCH_TOKEN_FD", "a plugin gets it", "the descriptor that holds what host and plugin know each other by"},
		variable{"FLOWRUN_LAUNCH_TOKEN", "a plugin reads it", "the same as text, of hosts of before"},
		variable{"FLOWRUN_LAUNCH_MARK", "a plugin gets it", "the name of this start, by which what is left behind is found"},
		variable{"FLOWRUN_DESCRIBED", "a plugin gets it", "1 where flowrun knows how these bytes describe themselves"},
		variable{"FLOWRUN_MESSAGE_LIMIT", "a plugin gets it", "the bytes of a message that flowrun takes"},
		variable{"FLOWRUN_PROJECT_DIR", "a plugin gets it", "the folder of the project"},
	)
}
