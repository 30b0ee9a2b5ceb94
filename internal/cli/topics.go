package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/view"
)

// topic is a page of `flowrun help` that belongs to no command.
type topic struct {
	name, about string
	write       func(io.Writer)
}

// helpTopics are all pages of the kind (docs/commands.md).
func helpTopics() []topic {
	return []topic{
		{"exit-codes", "what the exit codes mean", writeExitCodes},
		{"environment", "the variables of the environment", writeEnvironment},
		{"expressions", "what stands in ${{ }}", writeExpressions},
		{"files", "the files and folders of a project", writeFiles},
	}
}

func topicNames() []string { return texts(helpTopics(), func(t topic) string { return t.name }) }

func writeExitCodes(out io.Writer) {
	table := view.Table{Head: []string{"CODE", "MEANING"}}
	for _, exit := range exitMeanings() {
		table.Add(exit.code, exit.meaning)
	}
	table.Write(out)
}

func writeEnvironment(out io.Writer) {
	table := view.Table{Head: []string{"VARIABLE", "WHO", "WHAT IT IS"}}
	for _, v := range variables() {
		table.Add(v.name, v.by, v.doc)
	}
	table.Write(out)
	fmt.Fprint(out, "\nFlags come before variables, variables before flowrun.yaml; `flowrun config explain KEY` says who won.\n"+
		"Besides these flowrun reads HOME, XDG_CONFIG_HOME, XDG_STATE_HOME, STATE_DIRECTORY, TZ, NO_COLOR, TERM, VISUAL,\n"+
		"EDITOR, SOURCE_DATE_EPOCH (of `man`), the proxy variables and those of OpenTelemetry (OTEL_*).\n")
}

const expressionsText = `An expression stands in ${{ }}; in if, until and other keys that take nothing else it stands bare.

  ${{ inputs.name }}                       an input of the run
  ${{ steps.lookup.outputs.registrar }}    an output of a step; the step waits for that one
  ${{ item.host }}, ${{ index }}           in a loop: the item, and its place
  ${{ state.last_total }}                  what the workflow keeps between runs
  ${{ secrets.TOKEN }}                     a secret; it goes into with, env and config alone, as a whole
  ${{ run.id }}, ${{ run.scheduled_at }}   of the run itself
  ${{ a ?? "none" }}, ${{ a?.b }}          for what may be nil
  ${{ n > 3 ? "many" : "few" }}            a choice
  ${{ filter(rows, .open) }}               of lists: filter, map, any, all, count, sortBy and others

Texts are compared with ==, joined with +; conditions with && || !, "x" in list. Types are checked before the run.

Functions (` + "`flowrun explain NAME`" + ` says more):
`

func writeExpressions(out io.Writer) {
	fmt.Fprint(out, expressionsText)
	line := " "
	for _, function := range workspace.Functions() {
		if len(line)+1+len(function.Name) > 100 {
			fmt.Fprintln(out, line)
			line = " "
		}
		line += " " + function.Name
	}
	fmt.Fprintln(out, line)
}

const filesText = `flowrun.yaml               the project: found upwards from the working directory, or named by --config
workflows/NAME.yaml        a workflow; commands take its path or its name
workflows/NAME.test.yaml   its tests
flowrun.lock               what may run of each plugin; written by ` + "`flowrun plugins lock`" + `
.flowrun/workflow.schema.json   the schema for editors; written by ` + "`flowrun schema --write`" + `
.flowrun/state/            the state folder:
  flowrun.db               the store: runs, state, sealed secrets and logins
  key                      seals what is secret in the store; no part of backups
  flowrun.sock             of the process that owns the store
  sandbox/                 the state folder of sandbox runs
  backups/                 copies of the store by ` + "`flowrun db backup`" + `
~/.config/flowrun/config.yaml   settings of yours for all projects
~/.local/state/flowrun/logins/  your logins at servers, sealed; written by ` + "`flowrun login`" + `

` + "`flowrun config paths`" + ` shows those in use here.
`

func writeFiles(out io.Writer) { fmt.Fprint(out, strings.TrimPrefix(filesText, "\n")) }
