package importer

import (
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/spec"
)

// leaf is a template that does something: a container, a script, a pause, a request.
func (a *argo) leaf(scope *argoScope, f *spec.Foreign, name string, b *argoBlock) *argoCall {
	s := &step{id: a.newID(name), above: remarks(f)}
	call := &argoCall{parameters: map[string]expr{}, status: s.id}
	switch {
	case f.Get("script") != nil:
		a.script(scope, s, f, f.Get("script"))
	case f.Get("container") != nil:
		a.container(scope, s, f, f.Get("container"))
	case f.Get("suspend") != nil:
		a.suspend(s, f, call)
	case f.Get("http") != nil:
		a.http(scope, s, f.Get("http"))
	default:
		a.gap(s, f.Line, "template: %s: no action is the same: call one of a plugin, a service by http, or a command by exec", written(f))
		s.add("uses", text("core.fail")).add("with", mapping(field("message", text("not imported: the template "+oneLine(textOf(f.Get("name")))))))
	}
	a.policies(s, f)
	a.place(s, b)
	call.ends = b.before
	absent := s.absent || scope.loose
	outputs := "steps." + s.id + ".outputs."
	if absent {
		outputs = "steps." + s.id + "?.outputs?."
	}
	switch usesOf(s) {
	case "exec.run":
		call.command = true
		names := argoOutputs(f)
		for _, name := range names {
			call.parameters[name] = expr{source: strings.TrimRight(outputs, "?.") + map[bool]string{true: "?.json", false: ".json"}[absent] + fieldOf(map[bool]string{true: "?.", false: "."}[absent], name), kind: kindText, absent: absent}
		}
		if len(names) == 0 {
			call.result = expr{source: "trim(" + outputs + `text ?? "")`, kind: kindText}
		}
	case "http.get", "http.post", "http.put", "http.delete", "http.patch", "http.head":
		call.result = expr{source: "steps." + s.id + "?.outputs?.body", kind: kindAny, absent: true}
	}
	return call
}

// argoOutputs are the parameters that a container or script gives.
func argoOutputs(f *spec.Foreign) []string {
	var names []string
	for _, p := range itemsOf(f.Get("outputs").Get("parameters")) {
		if name := textOf(p.Get("name")); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (a *argo) command(scope *argoScope, s *step, template, f *spec.Foreign) command {
	c := command{name: s.id, answer: argoOutputs(template)}
	for _, e := range itemsOf(f.Get("env")) {
		name := textOf(e.Get("name"))
		if ref := e.Get("valueFrom").Get("secretKeyRef"); ref != nil {
			c.giveSecret(name, strings.ToUpper(variable(textOf(ref.Get("name"))+"_"+textOf(ref.Get("key")))))
			continue
		}
		t := scope.template(textOf(e.Get("value")))
		for _, gap := range t.gaps {
			a.gap(s, e.Line, "env: %s: %s", name, gap)
		}
		if name != "" {
			c.give(name, t.text())
		}
	}
	for _, key := range []string{"volumeMounts", "envFrom"} {
		if v := f.Get(key); v != nil {
			a.gap(s, v.Line, "%s: %s: the command runs on this machine: give it what it needs", key, written(v))
		}
	}
	a.leaveOutKeys(f, "image", "resources", "imagePullPolicy")
	for _, key := range []string{"volumes", "sidecars", "initContainers", "daemon"} {
		if v := template.Get(key); v != nil {
			a.gap(s, v.Line, "%s: %s: flowrun starts no container", key, written(v))
		}
	}
	for _, part := range []string{"inputs", "outputs"} {
		if v := template.Get(part).Get("artifacts"); v != nil {
			a.gap(s, v.Line, "artifacts: %s: data goes from step to step as outputs, large values too", written(v))
		}
	}
	return c
}

func (a *argo) script(scope *argoScope, s *step, template, f *spec.Foreign) {
	source := textOf(f.Get("source"))
	t := scope.template(source)
	if len(argoOutputs(template)) == 0 && a.simple(s, t) {
		a.leaveOutKeys(f, "image")
		return
	}
	for _, gap := range t.gaps {
		a.gap(s, f.Line, "source: %s", gap)
	}
	c := a.command(scope, s, template, f)
	body := t.inScript(&c, split(source, "{{", "}}"))
	shell := textsOf(f.Get("command"))
	if len(shell) == 0 {
		shell = []string{"sh"}
	}
	if slices.Contains(shell, "python") {
		shell[slices.Index(shell, "python")] = "python3"
	}
	a.workflow.script(s, f.Line, c, shell, body)
}

func (a *argo) container(scope *argoScope, s *step, template, f *spec.Foreign) {
	words := append(textsOf(f.Get("command")), textsOf(f.Get("args"))...)
	shell := []string{"sh"}
	var source string
	switch {
	case len(words) > 2 && (lastPart(words[0]) == "sh" || lastPart(words[0]) == "bash") && strings.HasPrefix(words[1], "-") && strings.Contains(words[1], "c"):
		shell = []string{lastPart(words[0])}
		source = strings.Join(words[2:], " ")
	case len(words) > 1 && words[0] == "echo":
		source = "echo " + quotedWords(words[1:])
	case len(words) > 0:
		source = "exec " + words[0]
		if len(words) > 1 {
			source += " " + quotedWords(words[1:])
		}
	default:
		a.gap(s, f.Line, "the image %s says itself what it runs: write the command", textOf(f.Get("image")))
		source = "exit 1"
	}
	t := scope.template(source)
	if len(argoOutputs(template)) == 0 && a.simple(s, t) {
		a.leaveOutKeys(f, "image")
		return
	}
	for _, gap := range t.gaps {
		a.gap(s, f.Line, "args: %s", gap)
	}
	c := a.command(scope, s, template, f)
	body := t.inScript(&c, split(source, "{{", "}}"))
	a.workflow.script(s, f.Line, c, shell, body)
}

func lastPart(path string) string { return path[strings.LastIndex(path, "/")+1:] }

// quotedWords are words as a shell reads them, with tags in double quotes.
func quotedWords(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = `"` + strings.NewReplacer(`"`, `\"`, "$", `\$`, "`", "\\`").Replace(word) + `"`
		if plainText().MatchString(word) && !strings.Contains(word, " ") {
			quoted[i] = word
		}
	}
	return strings.Join(quoted, " ")
}

// suspend waits: for a time, or for a person, who may fill in what it gives.
func (a *argo) suspend(s *step, f *spec.Foreign, call *argoCall) {
	if v := f.Get("suspend").Get("duration"); v != nil {
		if length, ok := durationOf(textOf(v), "s"); ok {
			s.add("uses", text("core.sleep")).add("with", mapping(field("for", bare(length))))
			return
		}
		a.gap(s, v.Line, "duration: %s: it is no duration", written(v))
	}
	form := mapping()
	for _, p := range itemsOf(f.Get("outputs").Get("parameters")) {
		name := textOf(p.Get("name"))
		schema := mapping(field2("type", "string"))
		for _, in := range itemsOf(f.Get("inputs").Get("parameters")) {
			if textOf(in.Get("name")) != name {
				continue
			}
			if enum := textsOf(in.Get("enum")); len(enum) > 0 {
				schema.add("enum", texts(enum))
			}
			if def := textOf(in.Get("default")); def != "" && !strings.Contains(def, "{{") {
				schema.add("default", text(def))
			}
		}
		form.add(identifierOr(name), schema)
		call.parameters[name] = expr{source: "steps." + s.id + "?.outputs?." + identifierOr(name), kind: kindText, absent: true}
	}
	with := mapping(field2("message", "Go on?"))
	if len(form.pairs) > 0 {
		with.add("form", form)
	}
	s.add("uses", text("core.approve")).add("with", with)
}

func (a *argo) http(scope *argoScope, s *step, f *spec.Foreign) {
	headers := mapping()
	for _, h := range itemsOf(f.Get("headers")) {
		headers.add(textOf(h.Get("name")), text(scope.template(textOf(h.Get("value"))).text()))
	}
	if v := f.Get("successCondition"); v != nil {
		a.gap(s, v.Line, "successCondition: %s: expect names the statuses that are well: docs/services/http.md", textOf(v))
	}
	a.request(s, f.Line, request{method: textOf(f.Get("method")), url: scope.template(textOf(f.Get("url"))), body: scope.template(textOf(f.Get("body"))), headers: headers, query: mapping()})
}

func (a *argo) policies(s *step, f *spec.Foreign) {
	uses := usesOf(s)
	calls := strings.HasPrefix(uses, "exec.") || strings.HasPrefix(uses, "http.")
	deadline := f.Get("activeDeadlineSeconds")
	if deadline == nil {
		deadline = f.Get("timeout")
	}
	if deadline != nil {
		length, ok := durationOf(textOf(deadline), "s")
		if ok && (calls || uses == "core.approve") {
			s.add("timeout", bare(length))
		} else if calls {
			a.gap(s, deadline.Line, "activeDeadlineSeconds: %s: a timeout is written out", written(deadline))
		}
	}
	if v := f.Get("retryStrategy"); v != nil {
		retry := argoRetry(v)
		if calls {
			s.add("retry", retry)
			if uses == "exec.run" {
				a.gap(s, v.Line, "retryStrategy: a command is tried again by kinds of errors, not by any exit code: name codes with which it has done nothing in its `exits`")
			}
		} else {
			a.gap(s, v.Line, "retryStrategy: %s: such a step is not tried again", written(v))
		}
		if expression := v.Get("expression"); expression != nil {
			a.gap(s, expression.Line, "expression: %s: retry: {on: [KIND]} says which errors are tried again", textOf(expression))
		}
	}
	for _, key := range []string{"memoize", "synchronization", "parallelism"} {
		if v := f.Get(key); v != nil {
			a.gap(s, v.Line, "%s: %s: cache of a step that reads, concurrency of a workflow, max_parallel of a loop", key, written(v))
		}
	}
	for _, key := range []string{"nodeSelector", "tolerations", "metadata", "serviceAccountName", "podSpecPatch", "securityContext"} {
		if f.Get(key) != nil {
			a.leaveOut(key)
		}
	}
}

func argoRetry(f *spec.Foreign) *value {
	attempts := 4
	if n, ok := intOf(f.Get("limit")); ok && n > 0 && n < 1000 {
		attempts = n + 1
	}
	v := mapping(field("attempts", number(attempts)))
	backoff := f.Get("backoff")
	if length, ok := durationOf(textOf(backoff.Get("duration")), "s"); ok {
		v.add("delay", bare(length))
	}
	if factor := textOf(backoff.Get("factor")); isInteger(factor) && factor != "0" || decimal().MatchString(factor) {
		v.add("factor", bare(factor))
	}
	if length, ok := durationOf(textOf(backoff.Get("maxDuration")), "s"); ok {
		v.add("max_delay", bare(length))
	}
	return v
}
