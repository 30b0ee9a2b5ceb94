package importer

import (
	"maps"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/spec"
)

// github reads a workflow of GitHub Actions.
type github struct {
	*workflow
	root *spec.Foreign
	env  map[string]*spec.Foreign // of the workflow
	jobs map[string]*githubJob
	sent []string // fields of client_payload that are read
	hook *value   // the trigger of repository_dispatch
}

// githubJob is a job, and what became of it.
type githubJob struct {
	name    string
	source  *spec.Foreign
	env     map[string]*spec.Foreign
	steps   map[string]*githubStep // by their ids
	matrix  map[string]expr        // what `matrix.x` means
	outputs []string
	result  string   // the id of the step with its outputs
	ends    []string // the steps that those who need it follow
	looped  bool
	maybe   bool // it may be skipped, or fail and be gone on from
}

// githubStep is a step, and where its outputs are.
type githubStep struct {
	id      string
	kind    string // exec, gap, none
	outputs []string
	absent  bool
	named   map[string]expr // outputs that are known otherwise
}

func readGitHub(name string, documents []*spec.Foreign) []*workflow {
	var all []*workflow
	for _, root := range documents {
		title := textOf(root.Get("name"))
		g := &github{workflow: newWorkflow(firstOf(name, title)), root: root, env: envOf(nil, root.Get("env")), jobs: map[string]*githubJob{}}
		if title != "" && title != g.workflow.name {
			g.key("description", text(literalSigns(title)))
		}
		g.head = append(g.head, root.Above...)
		for _, p := range root.Pairs {
			if p.Key == "name" || p.Key == "on" || p.Key == "env" {
				g.head = append(g.head, p.Value.Above...)
			}
		}
		g.events()
		g.concurrency(root.Get("concurrency"))
		g.leaveOutKeys(root, "permissions", "run-name")
		g.allJobs()
		g.callOutputs()
		g.finishHook()
		all = append(all, g.workflow)
	}
	return all
}

func (w *workflow) leaveOutKeys(f *spec.Foreign, keys ...string) {
	for _, key := range keys {
		if f.Get(key) != nil {
			w.leaveOut(key)
		}
	}
}

// envOf are the variables of an environment and those around it.
func envOf(outer map[string]*spec.Foreign, env *spec.Foreign) map[string]*spec.Foreign {
	all := maps.Clone(outer)
	if all == nil {
		all = map[string]*spec.Foreign{}
	}
	for _, p := range pairsOf(env) {
		all[p.Key] = p.Value
	}
	return all
}

// events reads `on`.
func (g *github) events() {
	on := g.root.Get("on")
	if on == nil {
		on = g.root.Get("true") // YAML 1.1 writers
	}
	if on == nil {
		return
	}
	for _, name := range textsOf(on) {
		g.event(name, on.Line, nil)
	}
	for _, p := range on.Pairs {
		g.event(p.Key, p.Line, p.Value)
	}
}

func (g *github) event(name string, line int, body *spec.Foreign) {
	above := remarks(body)
	switch name {
	case "schedule":
		for _, item := range itemsOf(body) {
			v, err := schedule(textOf(item.Get("cron")), textOf(item.Get("timezone")))
			if err != nil {
				g.noTrigger(item.Line, "schedule: %s", err)
			}
			if v != nil {
				g.trigger("schedule", append(above, remarks(item)...), v)
			}
			above = nil
		}
	case "workflow_dispatch", "workflow_call":
		g.dispatchInputs(body)
		if name == "workflow_call" {
			for _, p := range pairsOf(body.Get("secrets")) {
				g.leaveOut("secrets of workflow_call (" + p.Key + "): a secret belongs to the project")
			}
		}
	case "repository_dispatch":
		g.hook = mapping()
		g.trigger("dispatch", above, g.hook)
	case "workflow_run":
		status := list(text("succeeded"), text("failed"), text("canceled"), text("timed_out"))
		for _, other := range textsOf(body.Get("workflows")) {
			v := mapping(field("after", mapping(field("workflow", text(workflowName(other))), field("status", status))))
			comment := g.note(line, "the workflow %q is followed by the name that it has in flowrun: its file's, where it was imported", other)
			g.trigger("after_"+other, append(slices.Clone(above), comment), v)
		}
		if body.Get("branches") != nil {
			g.noTrigger(line, "workflow_run.branches: there are no branches here; it starts after each run")
		}
	default:
		what := name
		if body != nil && len(body.Pairs) > 0 {
			what += " " + written(body)
		}
		g.noTrigger(line, "the event `%s` starts nothing here: let a webhook start the run (triggers: {NAME: {webhook: …}}), or poll for what is new", what)
	}
}

// scheduled reports whether something besides people starts runs: then each input needs a
// value.
func (g *github) scheduled() bool {
	on := g.root.Get("on")
	for _, name := range []string{"schedule", "repository_dispatch", "workflow_run"} {
		if on.Get(name) != nil || slices.Contains(textsOf(on), name) {
			return true
		}
	}
	return false
}

func (g *github) dispatchInputs(body *spec.Foreign) {
	for _, p := range pairsOf(body.Get("inputs")) {
		in, name := p.Value, p.Key
		above := remarks(in)
		if !isField(name) {
			name = identifier(name)
			above = append(above, g.note(p.Line, "the input `%s` is called `%s`: a name has letters, digits and _", p.Key, name))
		}
		of, schema := githubInput(in)
		if def := in.Get("default"); def != nil && def.Kind == spec.Scalar && def.Type != "null" {
			if t := g.translateText(def.Text, nil, nil); len(t.gaps) == 0 && t.literal() {
				schema.add("default", typedDefault(of, def))
			} else {
				above = append(above, g.note(def.Line, "default: %s: a default is a value that is written out", written(def)))
			}
		} else if !boolOf(in.Get("required")) || g.scheduled() {
			schema.add("default", emptyOf(of, in))
		}
		if d := textOf(in.Get("description")); d != "" {
			schema.add("description", text(literalSigns(d)))
		}
		g.declare(name, of, above, schema)
		g.taken++
	}
}

// githubInput is the schema of an input, without its default.
func githubInput(in *spec.Foreign) (kind, *value) {
	switch textOf(in.Get("type")) {
	case "boolean":
		return kindBool, mapping(field("type", text("boolean")))
	case "number":
		return kindNumber, mapping(field("type", text("number")))
	case "choice":
		return kindText, mapping(field("type", text("string")), field("enum", texts(textsOf(in.Get("options")))))
	}
	return kindText, mapping(field("type", text("string")))
}

// typedDefault is a default as the type of its input has it.
func typedDefault(of kind, f *spec.Foreign) *value {
	switch of {
	case kindBool:
		return bare(map[bool]string{true: "true", false: "false"}[boolOf(f)])
	case kindNumber:
		if v := textOf(f); isInteger(v) || decimal().MatchString(v) {
			return bare(v)
		}
		return bare("0")
	default:
		return text(textOf(f))
	}
}

func emptyOf(of kind, in *spec.Foreign) *value {
	switch of {
	case kindBool:
		return bare("false")
	case kindNumber:
		return bare("0")
	default:
		if options := textsOf(in.Get("options")); len(options) > 0 {
			return text(options[0])
		}
		return text("")
	}
}

func (g *github) concurrency(f *spec.Foreign) {
	if f == nil {
		return
	}
	group := textOf(f)
	onFull := "latest"
	if f.Kind == spec.Mapping {
		group = textOf(f.Get("group"))
		if boolOf(f.Get("cancel-in-progress")) {
			onFull = "cancel_running"
		}
	}
	t := g.translateText(group, nil, nil)
	above := slices.Clone(f.Above)
	parts := t.parts[:0:0]
	for i, p := range t.parts {
		if raw := split(group, "${{", "}}")[i]; raw.isExpr && !p.isExpr {
			continue // what is said of it stands above
		}
		parts = append(parts, p)
	}
	for _, gap := range t.gaps {
		above = append(above, g.note(f.Line, "concurrency: %s; it was left out of the key", gap))
	}
	if cancel := textOf(f.Get("cancel-in-progress")); strings.Contains(cancel, "${{") {
		above = append(above, g.note(f.Line, "cancel-in-progress: %s: whether a run is cancelled is written out: on_full: cancel_running, or latest", cancel))
	}
	key := strings.Trim(template{parts: parts}.render(), "-_ ")
	if key == "" {
		key = g.workflow.name
	}
	g.key("concurrency", mapping(field("key", text(key)), field("limit", bare("1")), field("on_full", text(onFull))), above...)
	g.taken++
}

// callOutputs reads the outputs of a workflow that others call.
func (g *github) callOutputs() {
	call := g.root.Get("on").Get("workflow_call")
	for _, p := range pairsOf(call.Get("outputs")) {
		source := textOf(p.Value.Get("value"))
		t := g.translateText(source, nil, &githubScope{github: g, loose: true})
		out := pair{key: identifier(p.Key), value: text(t.render())}
		for _, gap := range t.gaps {
			out.above = append(out.above, g.note(p.Line, "output %s: %s", p.Key, gap))
		}
		g.workflow.outputs = append(g.workflow.outputs, out)
	}
}

// finishHook writes the webhook of repository_dispatch, now that it is known what of the
// payload is read.
func (g *github) finishHook() {
	if g.hook == nil {
		return
	}
	g.hook.add("webhook", mapping(field("auth", mapping(field("token", text("${{ secrets.DISPATCH_TOKEN }}"))))))
	if len(g.sent) == 0 {
		return
	}
	properties, inputs := mapping(), mapping()
	for _, name := range g.sent {
		properties.add(name, mapping(field("type", text("string"))))
		inputs.add(name, text("${{ request.body.client_payload?."+name+` ?? "" }}`))
	}
	payload := mapping(field("type", text("object")), field("properties", properties))
	g.hook.pairs[0].value.add("body", mapping(field("type", text("object")), field("properties", mapping(field("client_payload", payload)))))
	g.hook.add("inputs", inputs)
}
