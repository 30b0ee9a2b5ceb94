package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// PluginMarkdown writes the reference of a plugin: all that its description has, and
// nothing else, so that the same description gives the same bytes.
func PluginMarkdown(out io.Writer, doc workspace.PluginDoc) {
	m := &markdown{out: out}
	m.line("# %s %s", doc.Name, cell(doc.Version))
	m.paragraph(doc.Doc)
	if !doc.Wants.Empty() {
		m.paragraph("It asks to be granted: " + doc.Wants.String() + ".")
	}
	if doc.Simulated {
		m.paragraph("It brings a simulator of its service: `--sandbox` uses it.")
	}
	m.line("\n## Connection")
	m.fields("Setting", doc.Config, "Its connections have no settings.")
	m.login(doc)
	m.limits(doc.Limiters)
	m.line("\n## Actions\n\n| Action | Effect | |\n|---|---|---|")
	for _, action := range doc.Actions {
		m.line("| [`%s`](#%s) | %s | %s |", action.Action, strings.ReplaceAll(action.Action, ".", ""), action.Effect, cell(firstLine(action.Doc)))
	}
	for _, action := range doc.Actions {
		m.action(action)
	}
}

// markdown writes parts of a page. A writer that is broken is noticed by whoever closes it.
type markdown struct{ out io.Writer }

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(m.out, format+"\n", args...) }

func (m *markdown) paragraph(text string) {
	if text = strings.TrimSpace(term.CleanText(text)); text != "" {
		m.line("\n%s", text)
	}
}

// cell makes a text safe for a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(term.Clean(text)), " "), "|", `\|`)
}

func (m *markdown) fields(head string, fields []workspace.FieldDoc, none string) {
	if len(fields) == 0 {
		m.line("\n%s", none)
		return
	}
	m.line("\n| %s | Type | |\n|---|---|---|", head)
	for _, field := range fields {
		m.line("| `%s` | %s | %s |", cell(field.Name), cell(field.Type), cell(strings.Join(aboutField(field), " ")))
	}
}

func aboutField(field workspace.FieldDoc) []string {
	var parts []string
	add := func(text string) {
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, strings.TrimSuffix(text, ".")+".")
		}
	}
	add(field.Doc)
	if field.Required {
		add("Required")
	}
	if field.Secret {
		add("A secret")
	}
	if field.Values != "" {
		add("One of " + field.Values)
	}
	if field.Bounds != "" {
		add("Bounds: " + field.Bounds)
	}
	if field.Default != "" {
		add("Default `" + field.Default + "`")
	}
	return parts
}

func (m *markdown) login(doc workspace.PluginDoc) {
	if doc.TokenAction != "" {
		m.paragraph(fmt.Sprintf("Connections of other plugins take their token from one of it (`token_from`): `%s.%s` gives it.", doc.Name, doc.TokenAction))
	}
	if d := doc.Delivery; d != nil {
		to := doc.Name + ".CONNECTION"
		if d.Path != "" {
			to += "/" + strings.ToUpper(d.Path)
		}
		m.paragraph(fmt.Sprintf("Outputs of a workflow go out through it: `to: [%s]` calls `%s.%s`.", to, doc.Name, d.Action))
	}
	login := doc.Login
	if login == nil {
		return
	}
	text := fmt.Sprintf("A person logs in with `flowrun connections login`: `%s`, then `%s`.", login.Start, login.Wait)
	if login.Status != "" {
		text += fmt.Sprintf(" `%s` tells who is logged in.", login.Status)
	}
	if login.Revoke != "" {
		text += fmt.Sprintf(" `%s` logs out.", login.Revoke)
	}
	if len(login.Scopes) > 0 {
		text += " Scopes that are asked for: `" + strings.Join(login.Scopes, " ") + "`."
	}
	m.paragraph(text)
}

func (m *markdown) limits(limiters []workspace.LimiterDoc) {
	if len(limiters) == 0 {
		return
	}
	m.line("\n## Limits\n\n| Limiter | Limit | Counted for each |\n|---|---|---|")
	for _, limit := range limiters {
		var parts []string
		if limit.Requests > 0 {
			how := "spread evenly"
			if limit.FixedWindow {
				how = "all at once allowed"
			}
			parts = append(parts, fmt.Sprintf("%d in %s, %s", limit.Requests, inWords(limit.WindowS), how))
		}
		if limit.MaxConcurrent > 0 {
			parts = append(parts, fmt.Sprintf("%d at a time", limit.MaxConcurrent))
		}
		scope := "`" + strings.Join(limit.Scope, "`, `") + "`"
		if len(limit.Scope) == 0 {
			scope = "`base_url`"
		}
		m.line("| `%s` | %s | %s |", limit.Name, strings.Join(parts, "; "), scope)
	}
}

// inWords writes how long something is at most: whole days as such, and without empty parts.
func inWords(s float64) string {
	const day = 24 * time.Hour
	d := time.Duration(s * float64(time.Second))
	if d >= day && d%day == 0 {
		return diag.Count(int(d/day), "day")
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

var effectWords = map[plan.Effect]string{
	plan.EffectRead: "free to repeat and to cache", plan.EffectIdempotent: "doing it twice is like doing it once",
	plan.EffectKeyed: "safe to repeat with the same idempotency key, which flowrun sends", plan.EffectOnce: "not safe to repeat: a lost answer pauses the run",
}

func (m *markdown) action(action workspace.PluginActionDoc) {
	m.line("\n### %s", action.Action)
	if action.Deprecated != "" {
		m.paragraph("**Deprecated**: " + action.Deprecated)
	}
	m.paragraph(action.Doc)
	m.paragraph(strings.Join(rulesOf(action), " "))
	m.fields("Input", action.Inputs, "It takes no input.")
	m.fields("Output", action.Outputs, "Its output has no fields that it names.")
	if len(action.Faults) > 0 {
		m.line("\n| Fault | Reason | When |\n|---|---|---|")
		for _, fault := range action.Faults {
			m.line("| `%s` | %s | %s |", fault.Kind, cell(fault.Reason), cell(fault.Doc))
		}
	}
	m.line("\n```yaml\n%s\n```", strings.TrimRight(term.CleanText(action.Step), "\n"))
	for _, example := range action.Examples {
		m.example(example)
	}
}

// rulesOf are sentences on how the engine treats an action.
func rulesOf(action workspace.PluginActionDoc) []string {
	effect := fmt.Sprintf("Effect `%s`: %s", action.Effect, effectWords[action.Effect])
	if action.Reconcile {
		effect += ", unless the plugin can tell what happened"
	}
	rules := []string{effect + "."}
	add := func(format string, args ...any) { rules = append(rules, fmt.Sprintf(format, args...)) }
	if action.TimeoutS > 0 {
		add("Timeout %s.", inWords(action.TimeoutS))
	}
	if len(action.Limiters) > 0 {
		add("Limited by `%s`.", strings.Join(action.Limiters, "`, `"))
	}
	if p := action.Paging; p != nil {
		items := p.ItemsField
		if items == "" {
			items = "its only list"
		} else {
			items = "`" + items + "`"
		}
		add("Pages: items in %s, the next one by `%s`; `paginate` reads all.", items, p.NextField)
	}
	if r := action.Range; r != nil {
		add("`%s` to `%s` spans at most %s.", r.FromField, r.ToField, inWords(r.MaxS))
	}
	if action.Incremental {
		add("`incremental` goes on where the last run ended.")
	}
	return rules
}

func (m *markdown) example(example plan.Example) {
	title := "Example"
	if example.Name != "" {
		title += ", " + cell(example.Name)
	}
	m.line("\n%s:\n\n```json\n%s\n```", title, indentJSON(example.Input))
	if len(example.Output) > 0 {
		m.line("\nits answer:\n\n```json\n%s\n```", indentJSON(example.Output))
	}
}
