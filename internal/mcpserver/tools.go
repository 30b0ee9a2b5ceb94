package mcpserver

// tools are all tools, those that the caller does not have with the reason.
func (d *desk) tools() []tool {
	return []tool{
		define(d, definition{
			name: "validate", title: "Check a workflow", text: "Check the text of a workflow against the project's plugins. Every problem comes with line, column, code, hint and the line itself. Writes nothing, calls no service. Mend and validate again until `valid`.",
		}, validate),
		define(d, definition{
			name: "plan", title: "Show what a run would do", text: "Show what a run of a workflow would do: steps in order, what is written and where, connections, hosts, number of calls. Calls no service. Show the person what it writes. Gives the `plan_id` that `run` needs for a text.",
		}, plan),
		define(d, definition{
			name: "explain", title: "Explain a word of flowrun", text: "Explain a problem's code (FR2004), an action (netinfo.whois: inputs, outputs, a step to paste), a function of expressions (formatTime) or a key of workflow files (retry.attempts).",
		}, explain),
		define(d, definition{
			name: "actions_search", title: "Search actions", text: "Find actions that steps can use, by words such as `send mail`. Without words: all of a plugin, or all. `explain` an action before you use it.",
		}, searchActions),
		define(d, definition{
			name: "workflows", title: "List workflows", text: "List the workflows of the project with their problems and last runs; with `name` one of them with its inputs and source.",
		}, workflows),
		define(d, definition{
			name: "test", title: "Test a workflow", text: "Run the tests of a workflow: mocked answers, a virtual clock; no service is called. Of the project's test file, or of texts. flowrun://docs/testing says how a test is written.",
		}, test),
		define(d, definition{
			name: "run", title: "Run a workflow", text: d.runText(), refused: d.NoRun,
			effect: effect{writes: true, destroys: true, open: true},
		}, run),
		define(d, definition{
			name: "run_show", title: "Show a run", text: "Show a run: status, outputs, error, steps, what waits for a person. With `step` that step's output. Without `run` the newest run, of `workflow` if given.",
		}, showRun),
		define(d, definition{
			name: "run_logs", title: "Read the log of a run", text: "Read the newest log lines of a run, of one step, level or text. `cursor` leads to those before.",
			words: map[string][]any{"level": {"debug", "info", "warn", "error"}},
		}, runLogs),
		define(d, definition{
			name: "approve", title: "Approve or reject a step", text: "Approve or reject a step that waits for a person, with the fields of its form. Only on the person's explicit word.", refused: d.NoApprove,
			words:  map[string][]any{"decision": {"approve", "reject"}},
			effect: effect{writes: true, destroys: true, open: true},
		}, approve),
	}
}

// runText describes the tool `run`, which takes texts over stdio alone.
func (d *desk) runText() string {
	text := "Start a run of a workflow of the project by its name"
	if d.Texts {
		text += ", or of a text with the `plan_id` that `plan` gave for the same text and inputs"
	}
	return text + ". It calls services and may change things there: ask the person first. Waits for the end up to `wait_s`; the run goes on after that, see run_show. Repeat a lost call with the same `key`: it starts no second run."
}
