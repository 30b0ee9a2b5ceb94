package importer

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/spec"
)

// step reads a step of a job.
func (r *jobReader) step(f, defaults *spec.Foreign) {
	name, id := textOf(f.Get("name")), textOf(f.Get("id"))
	uses := textOf(f.Get("uses"))
	action, _, _ := strings.Cut(uses, "@")
	if uses != "" && r.needless(action, f) {
		if id != "" {
			r.job.steps[id] = &githubStep{kind: "none"}
		}
		return
	}
	s := &step{id: r.newID(stepName(r.job.name, id, name, action, textOf(f.Get("run")))), above: remarks(f, "uses", "run")}
	if name != "" && identifier(name) != s.id && !strings.Contains(name, "${{") {
		s.name = name
	} else if name != "" {
		s.above = append([]string{oneLine(name)}, s.above...)
	}
	env := envOf(r.job.env, f.Get("env"))
	scope := &githubScope{github: r.github, job: r.job, env: env, loose: r.loose}
	runIf, cond := r.condition(s, f.Get("if"), scope)
	r.order(s, runIf, cond)
	known := &githubStep{id: s.id}
	switch {
	case f.Get("run") != nil:
		r.run(s, known, id, f, f.Get("run"), scope, defaults)
	case uses != "":
		r.action(s, known, id, action, f, scope)
	default:
		r.gap(s, f.Line, "the step has neither `run` nor `uses`: %s", written(f))
		r.lost(s, known, "a step")
	}
	r.stepEnds(s, f)
	r.add(s, known)
	if id != "" {
		r.job.steps[id] = known
	}
}

// stepName is the id of a step that has none: of its name, its action, its command.
func stepName(job, id, name, action, run string) string {
	switch {
	case id != "":
		return id
	case name != "" && !strings.Contains(name, "${{"):
		words := strings.Fields(strings.ReplaceAll(identifier(name), "_", " "))
		return strings.Join(words[:min(4, len(words))], "_")
	case action != "":
		return action[strings.LastIndex(action, "/")+1:]
	case run != "":
		words := strings.Fields(strings.ReplaceAll(identifier(run[:min(40, len(run))]), "_", " "))
		return strings.Join(words[:min(2, len(words))], "_")
	}
	return job + "_step"
}

// needless reports actions that do what flowrun needs no step for.
func (r *jobReader) needless(action string, f *spec.Foreign) bool {
	switch {
	case action == "actions/checkout", strings.HasPrefix(action, "actions/setup-"), action == "actions/cache", strings.HasPrefix(action, "actions/cache/"),
		action == "docker/setup-buildx-action", action == "docker/setup-qemu-action", action == "step-security/harden-runner":
		r.leaveOut(action)
		return true
	case action == "actions/upload-artifact", action == "actions/download-artifact":
		r.head = append(r.head, r.note(f.Line, "%s %s: files are not carried from job to job: a step gives data as its outputs, and scripts share the project's folder", action, written(f.Get("with"))))
		return true
	}
	return false
}

func (r *jobReader) stepEnds(s *step, f *spec.Foreign) {
	calls := slices.ContainsFunc(s.keys, func(p pair) bool {
		return p.key == "uses" && (!strings.HasPrefix(p.value.text, "core.") || p.value.text == "core.approve" || p.value.text == "core.sleep")
	})
	timeout := f.Get("timeout-minutes")
	if t, ok := minutes(timeout); ok && calls {
		s.add("timeout", bare(t))
	} else if timeout != nil && !ok {
		r.gap(s, timeout.Line, "timeout-minutes: %s: a timeout is written out", written(timeout))
	} else if r.timeout != "" && calls && s.keys[0].value.text == "exec.run" {
		s.add("timeout", bare(r.timeout))
	}
	goesOn := f.Get("continue-on-error")
	if goesOn != nil && !boolOf(goesOn) && textOf(goesOn) != "false" {
		r.gap(s, goesOn.Line, "continue-on-error: %s: it is written out: on_error: continue", written(goesOn))
	}
	if boolOf(goesOn) || r.goesOn {
		s.add("on_error", text("continue"))
		s.absent = true
	}
}

// lost makes a step that says what is missing, and fails.
func (r *jobReader) lost(s *step, known *githubStep, what string) {
	known.kind = "gap"
	s.add("uses", text("core.fail")).add("with", mapping(field("message", text("not imported: "+literalSigns(oneLine(what))))))
}

// run is a step of a shell script.
func (r *jobReader) run(s *step, known *githubStep, id string, f, run *spec.Foreign, scope *githubScope, defaults *spec.Foreign) {
	parts := split(run.Text, "${{", "}}")
	t := r.translateText(run.Text, r.job, scope)
	known.outputs = r.outputsOf(id, run.Text)
	if len(known.outputs) == 0 && r.workflow.simple(s, r.expanded(t, scope)) {
		known.kind = "none"
		return
	}
	for _, gap := range t.gaps {
		r.gap(s, run.Line, "run: %s", gap)
	}
	known.kind = "exec"
	c := command{name: s.id, answer: known.outputs, cwd: r.folder(f, defaults)}
	body := t.inScript(&c, parts)
	r.giveEnvironment(s, &c, scope, f.Get("env"), body)
	if quotedExpression(parts) {
		r.gap(s, run.Line, "run: an expression stood within '…': there a shell reads no variable, so take double quotes")
	}
	r.script(s, run.Line, c, r.shell(s, f, defaults), body)
}

var inQuotes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`'[^'"\n]*$`)
})

// quotedExpression reports whether an expression of a script stands within single quotes.
func quotedExpression(parts []part) bool {
	line := ""
	for _, p := range parts {
		if p.isExpr {
			if inQuotes().MatchString(line) && strings.Count(line, "'")%2 == 1 {
				return true
			}
			continue
		}
		line += p.text
		if at := strings.LastIndex(line, "\n"); at >= 0 {
			line = line[at+1:]
		}
	}
	return false
}

func (r *jobReader) folder(f, defaults *spec.Foreign) string {
	folder := textOf(f.Get("working-directory"))
	if folder == "" {
		folder = textOf(defaults.Get("working-directory"))
	}
	if strings.Contains(folder, "${{") {
		return ""
	}
	return folder
}

// shell is the program that runs a script, with its options.
func (r *jobReader) shell(s *step, f, defaults *spec.Foreign) []string {
	name := textOf(f.Get("shell"))
	if name == "" {
		name = textOf(defaults.Get("shell"))
	}
	switch word, _, _ := strings.Cut(name, " "); word {
	case "", "bash":
		return append([]string{"bash"}, shellOptions...)
	case "sh":
		return []string{"sh", "-e"}
	case "python":
		return []string{"python3"}
	case "pwsh", "node", "ruby":
		return []string{word}
	default:
		r.gap(s, f.Line, "shell: %s: the script is run by bash", name)
		return append([]string{"bash"}, shellOptions...)
	}
}

var usedVariable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{?([A-Za-z_][A-Za-z0-9_]*)|\$env:([A-Za-z_][A-Za-z0-9_]*)|environ(?:\.get\(|\[)["']([A-Za-z_]\w*)`)
})

// giveEnvironment gives a command the variables of the step, and those of job and workflow
// that its text names.
func (r *jobReader) giveEnvironment(s *step, c *command, scope *githubScope, own *spec.Foreign, body string) {
	names := map[string]bool{}
	for _, p := range pairsOf(own) {
		names[p.Key] = true
	}
	for _, found := range usedVariable().FindAllStringSubmatch(body, -1) {
		if name := found[1] + found[2] + found[3]; scope.env[name] != nil {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f := scope.env[name]
		if slices.ContainsFunc(c.given, func(g given) bool { return g.name == name }) || f.Kind != spec.Scalar {
			continue
		}
		t := r.translateText(f.Text, r.job, scope)
		if e, ok := t.only(); ok && e.secret != "" {
			c.secrets = append(c.secrets, secret{variable(name), e.secret})
			continue
		}
		for _, gap := range t.gaps {
			r.gap(s, f.Line, "env: %s: %s", name, gap)
		}
		c.give(name, t.text())
	}
}

var setsOutput = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)["'\s]([A-Za-z_][\w-]*)(?:=|<<)[^\n]*>>\s*"?'?\$\{?GITHUB_OUTPUT|::set-output name=([A-Za-z_][\w-]*)::`)
})

// outputsOf are the outputs of a step of a script: those that others read, where it writes
// any at all.
func (r *jobReader) outputsOf(id, body string) []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if id != "" {
		reads := regexp.MustCompile(`\bsteps\.` + regexp.QuoteMeta(id) + `\.outputs\.([A-Za-z_][\w-]*)`)
		for _, found := range reads.FindAllStringSubmatch(allText(r.job.source), -1) {
			add(found[1])
		}
	}
	for _, found := range setsOutput().FindAllStringSubmatch("\n"+body, -1) {
		add(found[1] + found[2])
	}
	return names
}

// expanded is the template of a script with the variables of its environment in place:
// what an echo would have shown.
func (r *jobReader) expanded(t template, scope *githubScope) template {
	out := template{gaps: t.gaps}
	for _, p := range t.parts {
		if p.isExpr {
			out.parts = append(out.parts, p)
			continue
		}
		rest := p.text
		for {
			at := simpleVariable().FindStringIndex(rest)
			if at == nil {
				break
			}
			name := strings.Trim(rest[at[0]:at[1]], "${}")
			e, err := scope.variable([]string{name})
			if err != nil || e.secret != "" {
				out.parts = append(out.parts, translated{text: rest[:at[1]]})
			} else {
				if at[0] > 0 {
					out.parts = append(out.parts, translated{text: rest[:at[0]]})
				}
				out.parts = append(out.parts, translated{expr: e, isExpr: true})
			}
			rest = rest[at[1]:]
		}
		if rest != "" || len(out.parts) == 0 {
			out.parts = append(out.parts, translated{text: rest})
		}
	}
	return out
}

var simpleVariable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$(?:\{[A-Za-z_]\w*\}|[A-Za-z_]\w*)`)
})

// action is a step of an action of the marketplace.
func (r *jobReader) action(s *step, known *githubStep, id, action string, f *spec.Foreign, scope *githubScope) {
	with := f.Get("with")
	switch action {
	case "trstringer/manual-approval":
		message := textOf(with.Get("issue-title"))
		if message == "" {
			message = "Go on?"
		}
		t := r.translateText(message, r.job, scope)
		s.add("uses", text("core.approve")).add("with", mapping(field("message", text(t.text()))))
		if who := textOf(with.Get("approvers")); who != "" {
			r.gap(s, f.Line, "approvers: %s: whoever may act on runs may answer", who)
		}
		known.kind = "none"
		return
	case "nick-fields/retry", "nick-invision/retry":
		if run := with.Get("command"); run != nil {
			r.run(s, known, id, f, run, scope, nil)
			if n, ok := intOf(with.Get("max_attempts")); ok && n > 0 && n <= 1000 {
				s.add("retry", mapping(field("attempts", number(n))))
			}
			return
		}
	}
	uses := textOf(f.Get("uses"))
	r.gap(s, f.Get("uses").Line, "uses: %s: no action is the same: call one of a plugin (`flowrun plugins actions`), a service by http, or a command by exec", uses)
	r.gapWith(s, with)
	r.lost(s, known, uses)
}
