//go:build linux

package main_test

import (
	"regexp"
	"strings"
	"testing"
)

// moving is what differs from run to run besides what steady knows: how long things take and
// wait, the last letters of an id, and who answers.
var moving = regexp.MustCompile(`(?m)^([✓◔✗] \S+).*$|(  waiting)( \d+s)$|(runs approve )[0-9a-z]{8}\b|( by )\S+:|\b\d+(?:\.\d+)?(?:ms|s)\b`)

// TestFromAnEmptyFolderToADifference: at 40, 80 and 200 columns from `flowrun init` to a run
// that was approved in its live view, its log, a rerun from a step and what differs. No id is
// typed or copied: no command has one.
func TestFromAnEmptyFolderToADifference(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	for _, columns := range []int{40, 80, 200} {
		dir := t.TempDir()
		walk := func(name string, code int, words string, answers ...string) {
			t.Helper()
			screen := openTerminal(t, uint16(columns), 40)
			keep := func(name string) {
				t.Helper()
				shown := strings.ReplaceAll(emulated(screen.text(), columns), "↩\n", "")
				compareScreen(t, "journey-"+name, moving.ReplaceAllString(shown, "$1$2$4$5"), columns)
			}
			command := screen.start(t, binary, dir, strings.Fields(words)...)
			for i := 0; i < len(answers); i += 2 {
				screen.await(t, answers[i])
				if answers[i] == question {
					keep(name + "-asked")
				}
				if _, err := screen.master.WriteString(answers[i+1]); err != nil {
					t.Fatal(err)
				}
			}
			err := command.Wait()
			screen.drained()
			if exitOf(err) != code {
				t.Fatalf("%d columns: flowrun %s: %v, want exit code %d\n%s", columns, words, err, code, screen.text())
			}
			keep(name)
		}
		walk("1-init", 0, "init", `Which\?`, "approval\r", `Where\?`, "\r")
		walk("2-run", 0, "run release", question, "y", `note: text`, "looks right\r")
		walk("3-logs", 0, "runs logs")
		walk("4-rerun", 0, "runs rerun last --from ask", question, "y", `note: text`, "once more\r")
		walk("5-diff", 0, "runs diff", `type to filter`, "\r")
		walk("6-rejected", 5, "runs rerun last --from ask", question, "n", `why not\?`, "not before Monday\r")
	}
}

// question is shown when the whole of a question with a form stands there.
const question = `(?s)y fills in.*editor`

// drained waits for all that was written on the terminal. Nothing may be started on it then.
func (term *terminal) drained() {
	_ = term.slave.Close()
	term.read.Wait()
}
