package mend

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/spec"
)

// foreignKeys are the rules for keys that other products have.
func foreignKeys() []rule {
	return []rule{otherName, timeoutKey, continueOnError, retries, environment, startedBy, shellStep, notNeeded}
}

// keyAt is the pair whose key a problem stands at; nil where it stands at none.
func (f *file) keyAt(p *diag.Problem) (*spot, spec.Pair) {
	s := f.spot(p)
	if s == nil || !s.isKey {
		return nil, spec.Pair{}
	}
	pair, ok := s.own()
	if !ok {
		return nil, spec.Pair{}
	}
	return s, pair
}

// otherName is for keys that ours have under another name, with the same value.
func otherName(f *file, p *diag.Problem) *mend {
	s, pair := f.keyAt(p)
	if s == nil {
		return nil
	}
	key, value := pair.Key.Text, pair.Value
	names := map[string]string{
		"depends_on": "needs", "depends": "needs", "dependencies": "needs", "dependsOn": "needs", "after": "needs",
		"for_each": "foreach", "loop": "foreach", "with_items": "foreach", "batch_size": "batch", "chunk": "batch",
		"action": "uses", "call": "uses", "inputs": "with", "parameters": "with", "arguments": "with", "max-parallel": "max_parallel", "concurrency": "max_parallel",
	}
	if s.top() {
		names = map[string]string{"tasks": "steps", "parameters": "inputs", "schedules": "triggers", "on_error": "on_failure", "on_exit": "finally", "always": "finally"}
	}
	meant, ok := names[key]
	if !ok || s.parent().Get(meant) != nil {
		return nil
	}
	language := spec.V1()
	table := language.Map("step")
	if s.top() {
		table = language.Map("workflow")
	}
	if !table.Key(meant).Shape().Allows(value.Kind) {
		return nil
	}
	return &mend{edits: []diag.Edit{f.edit(f.keyStart(pair), f.nodeEnd(pair.Key), meant)}, certain: true, hint: "did you mean `" + meant + "`?"}
}

// timeoutKey is for a time limit with its unit in its name.
func timeoutKey(f *file, p *diag.Problem) *mend {
	s, pair := f.keyAt(p)
	if s == nil {
		return nil
	}
	unit := ""
	switch strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(pair.Key.Text)) {
	case "timeoutminutes", "timeoutmin":
		unit = "m"
	case "timeoutseconds", "timeoutsec", "timeoutsecs":
		unit = "s"
	case "timeouthours":
		unit = "h"
	default:
		return nil
	}
	m := &mend{hint: "the unit stands behind the number: write `timeout: 5" + unit + "`"}
	if _, err := strconv.Atoi(pair.Value.Text); err == nil {
		m.hint = "the unit stands behind the number: write `timeout: " + pair.Value.Text + unit + "`"
		if s.parent().Get("timeout") == nil {
			m.edits, m.certain = f.replace(pair, "timeout: "+pair.Value.Text+unit), true
		}
	}
	return m
}

func continueOnError(f *file, p *diag.Problem) *mend {
	s, pair := f.keyAt(p)
	if s == nil {
		return nil
	}
	switch pair.Key.Text {
	case "continue-on-error", "continue_on_error", "continueOnError", "continueOn", "ignore_errors", "allow_failure", "allowFailure":
	default:
		return nil
	}
	m := &mend{hint: "write `on_error: continue`"}
	switch {
	case pair.Value.Kind == spec.Scalar && pair.Value.Text == "false" || s.parent().Get("on_error") != nil:
		m.edits, m.certain, m.hint = f.remove(s.parent(), s.pair), pair.Value.Text == "false", "leave it out: a step's error ends the run unless `on_error` says otherwise"
	case pair.Value.Kind == spec.Scalar && pair.Value.Text == "true":
		m.edits, m.certain = f.replace(pair, "on_error: continue"), true
	}
	return m
}

func retries(f *file, p *diag.Problem) *mend {
	s, pair := f.keyAt(p)
	if s == nil {
		return nil
	}
	more := 0
	switch pair.Key.Text {
	case "retries", "max_retries", "maxRetries", "retry_count", "retryCount":
		more = 1
	case "attempts", "max_attempts", "maxAttempts":
	default:
		return nil
	}
	n, err := strconv.Atoi(pair.Value.Text)
	switch {
	case s.parent().Get("retry") != nil:
		return &mend{edits: f.remove(s.parent(), s.pair), hint: "leave it out: `retry` stands here already, as {attempts: 4}, the first time counted"}
	case err != nil || n < 0:
		return &mend{hint: "did you mean `retry`? It is a map: {attempts: 4}"}
	}
	with := "retry: {attempts: " + strconv.Itoa(max(n+more, 1)) + "}"
	return &mend{edits: f.replace(pair, with), certain: true, hint: "write `" + with + "`: the first time is counted"}
}

// environment makes inputs of variables, where something reads them.
func environment(f *file, p *diag.Problem) *mend {
	s, pair := f.keyAt(p)
	if s == nil {
		return nil
	}
	root := pair.Key.Text
	switch root {
	case "env", "vars", "variables", "environment":
	default:
		return nil
	}
	m := &mend{hint: "there are no variables: a value stands in `inputs` with a `default`, or in a `let` step"}
	if pair.Value.Kind != spec.Mapping {
		m.edits = f.remove(s.parent(), s.pair)
		return m
	}
	var declared []string
	var edits []diag.Edit
	for _, one := range pair.Value.Pairs {
		if one.Value.Kind != spec.Scalar {
			return m
		}
		reads := f.reads(root+"."+one.Key.Text, "inputs."+one.Key.Text)
		if len(reads) > 0 {
			edits = append(edits, reads...)
			declared = append(declared, one.Key.Text+": {type: string, default: "+textIn(one.Value)+"}")
		}
	}
	m.edits = f.remove(s.parent(), s.pair)
	if len(declared) == 0 || m.edits == nil {
		m.hint = "there are no variables, and nothing reads these: leave `" + root + "` out; a value stands in `inputs` with a `default`, or in a `let` step"
		return m
	}
	m.edits = append(m.edits, edits...)
	m.edits = append(m.edits, f.declare(declared...)...)
	return m
}

// reads are the edits that read something else wherever a text reads a name.
func (f *file) reads(name, instead string) []diag.Edit {
	at := regexp.MustCompile(`(^|[^\w.])` + regexp.QuoteMeta(name) + `\b`)
	var edits []diag.Edit
	f.root.EachScalar(func(n *spec.Node) {
		for _, found := range at.FindAllStringSubmatchIndex(n.Text, -1) {
			edits = append(edits, n.Change(spec.Change{Start: found[3], End: found[1], Text: instead})...)
		}
	})
	return edits
}

// declare adds inputs to those that are declared: each a pair of one line.
func (f *file) declare(inputs ...string) []diag.Edit {
	for i, pair := range f.root.Pairs {
		switch {
		case pair.Key.Text != "inputs":
		case pair.Value.Kind == spec.Mapping && len(pair.Value.Pairs) > 0:
			last := len(pair.Value.Pairs) - 1
			var edits []diag.Edit
			for _, one := range inputs {
				edits = append(edits, f.behind(pair.Value, last, one)...)
			}
			return edits
		default:
			return nil
		}
		_ = i
	}
	for _, pair := range f.root.Pairs {
		if pair.Key.Text == "steps" && !f.root.Flow {
			return []diag.Edit{f.insert(f.start(f.lineOf(f.keyStart(pair))), "inputs:\n  "+strings.Join(inputs, "\n  ")+"\n")}
		}
	}
	return nil
}

// textIn is a scalar's value as it stands inside of { }.
func textIn(n *spec.Node) string {
	if n.IsPlain() && !strings.ContainsAny(n.Text, ",[]{}:#&*!|>'\"%@`?") && n.Text != "" && strings.TrimSpace(n.Text) == n.Text {
		return n.Text
	}
	quoted, ok := spec.Quoted(n.Text)
	if !ok {
		return `""`
	}
	return quoted
}

var cronText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(@\w+|[\d*/,\-?LW#A-Za-z]+(\s+[\d*/,\-?LW#A-Za-z]+){4})\s*$`)
})

// startedBy makes triggers of what other products call `on` and `schedule`.
func startedBy(f *file, p *diag.Problem) *mend {
	s, pair := f.keyAt(p)
	if s == nil || !s.top() {
		return nil
	}
	switch pair.Key.Text {
	case "on", "schedule", "cron", "trigger_on":
	default:
		return nil
	}
	crons := f.crons(pair.Value, "")
	m := &mend{hint: "what starts a run stands under `triggers`: `triggers: {nightly: {cron: \"0 2 * * *\"}}`; a run by hand always works"}
	if len(crons) > 0 {
		m.hint = "what starts a run stands under `triggers`: `triggers: {schedule: {cron: \"" + crons[0] + "\"}}`"
	}
	triggers := f.root.Get("triggers")
	written := map[string]bool{}
	if triggers != nil {
		for _, one := range f.crons(triggers, "") {
			written[one] = true
		}
	}
	var entries []string
	for i, cron := range crons {
		if !written[cron] {
			entries = append(entries, triggerName(i)+": {cron: \""+cron+"\"}")
		}
	}
	switch {
	case len(entries) == 0 && triggers != nil && len(crons) > 0:
		m.hint = "leave it out: its schedule stands under `triggers` already"
		m.edits = f.remove(s.parent(), s.pair)
	case len(entries) == 0:
		m.edits = f.remove(s.parent(), s.pair)
	case triggers == nil && f.root.Flow:
	case triggers == nil:
		m.edits = f.replace(pair, "triggers:\n  "+strings.Join(entries, "\n  "))
	case triggers.Kind == spec.Mapping && len(triggers.Pairs) > 0:
		m.edits = f.remove(s.parent(), s.pair)
		for _, one := range entries {
			m.edits = append(m.edits, f.behind(triggers, len(triggers.Pairs)-1, one)...)
		}
	}
	return m
}

func triggerName(i int) string {
	if i == 0 {
		return "schedule"
	}
	return "schedule_" + strconv.Itoa(i+1)
}

// crons are the schedules that are written below a node.
func (f *file) crons(n *spec.Node, key string) []string {
	var found []string
	if n.Kind == spec.Scalar && (key == "cron" || key == "" || key == "schedule") && cronText().MatchString(n.Text) {
		return []string{strings.TrimSpace(n.Text)}
	}
	for _, pair := range n.Pairs {
		found = append(found, f.crons(pair.Value, pair.Key.Text)...)
	}
	for _, item := range n.Items {
		found = append(found, f.crons(item, key)...)
	}
	return found
}

// shellStep is for a command of a shell.
func shellStep(f *file, p *diag.Problem) *mend {
	s, pair := f.keyAt(p)
	if s == nil || s.top() {
		return nil
	}
	switch pair.Key.Text {
	case "run", "script", "command", "shell", "exec", "bash", "sh":
	default:
		return nil
	}
	m := &mend{hint: "there are no shell steps: the plugin `exec` runs a command that its connection in flowrun.yaml declares: `uses: exec.run` with `command: NAME` (docs/services/exec.md)"}
	if pair.Value.Kind != spec.Scalar || s.parent().Flow || s.parent().Get("uses") != nil {
		return m
	}
	column := spaces(f.column(f.keyStart(pair)))
	m.edits = f.replace(pair, "uses: exec.run\n"+column+"with: {command: "+commandName(pair.Value.Text)+"}")
	return m
}

// commandName is a name for a command: its first word.
func commandName(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	if len(words) == 0 || words[0][0] < 'a' {
		return "command"
	}
	return words[0]
}

// notNeeded is for keys of others that a workflow of ours has no use for.
func notNeeded(f *file, p *diag.Problem) *mend {
	s, pair := f.keyAt(p)
	if s == nil {
		return nil
	}
	hint := ""
	switch pair.Key.Text {
	case "runs-on", "container", "image", "working-directory", "workingDir", "permissions", "namespace", "queue", "executor":
		hint = "leave it out: a step calls a plugin, which runs where flowrun runs"
	case "secrets":
		hint = "leave it out: a secret is read where it is needed, as `${{ secrets.NAME }}`"
	default:
		return nil
	}
	return &mend{edits: f.remove(s.parent(), s.pair), hint: hint}
}

// concurrencyGroup is for `concurrency` in the words of GitHub Actions.
func concurrencyGroup(f *file, p *diag.Problem) *mend {
	s, pair := f.keyAt(p)
	if s == nil || s.up(0) != "concurrency" {
		return nil
	}
	switch pair.Key.Text {
	case "group":
		if s.parent().Get("key") != nil {
			return nil
		}
		return &mend{edits: []diag.Edit{f.edit(f.keyStart(pair), f.nodeEnd(pair.Key), "key")}, certain: true, hint: "did you mean `key`?"}
	case "cancel-in-progress":
		if pair.Value.Text == "true" {
			return &mend{edits: f.replace(pair, "on_full: cancel_running"), certain: true, hint: "write `on_full: cancel_running`"}
		}
		return &mend{edits: f.remove(s.parent(), s.pair), certain: true, hint: "leave it out: what finds no place waits, unless `on_full` says otherwise"}
	case "max", "max_runs", "maxActiveRuns":
		return &mend{edits: []diag.Edit{f.edit(f.keyStart(pair), f.nodeEnd(pair.Key), "limit")}, certain: true, hint: "did you mean `limit`?"}
	}
	return nil
}

// scheduleKey is for a trigger that says `schedule`.
func scheduleKey(f *file, p *diag.Problem) *mend {
	s, pair := f.keyAt(p)
	if s == nil || pair.Value.Kind != spec.Scalar || s.parent().Get("cron") != nil {
		return nil
	}
	switch pair.Key.Text {
	case "schedule", "at", "expression":
	default:
		return nil
	}
	return &mend{edits: []diag.Edit{f.edit(f.keyStart(pair), f.nodeEnd(pair.Key), "cron")}, certain: true, hint: "did you mean `cron`?"}
}

// statusKey is for a status of HTTP as a kind of error.
func statusKey(f *file, p *diag.Problem) *mend {
	at := f.offset(p.Line, p.Column)
	end := at
	for end < len(f.src) && f.src[end] >= '0' && f.src[end] <= '9' {
		end++
	}
	kind := map[string]string{
		"400": "invalid", "401": "unauthorized", "403": "forbidden", "404": "not_found", "408": "timeout", "409": "conflict", "410": "not_found",
		"429": "rate_limited", "500": "unavailable", "502": "unavailable", "503": "unavailable", "504": "timeout",
	}[f.src[at:end]]
	if kind == "" || !strings.Contains(p.Message, "is not text") {
		return nil
	}
	return &mend{edits: []diag.Edit{f.edit(at, end, kind)}, certain: true, hint: "errors are told by their kinds: write `" + kind + "`"}
}

// quotedKey quotes a key that YAML takes for a number or a boolean.
func quotedKey(f *file, p *diag.Problem) *mend {
	if !strings.Contains(p.Message, "is not text") {
		return nil
	}
	from, to := f.offset(p.Line, p.Column), f.offset(p.Line, p.EndColumn)
	if p.EndLine != p.Line || to <= from {
		return nil
	}
	return &mend{edits: []diag.Edit{f.edit(from, to, `"`+f.src[from:to]+`"`)}, certain: true}
}
