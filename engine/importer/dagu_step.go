package importer

import (
	"regexp"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/spec"
)

func (d *dagu) allSteps() {
	steps := d.root.Get("steps")
	d.byName = textOf(d.root.Get("type")) == "graph"
	named := slices.ContainsFunc(itemsOf(steps), func(s *spec.Foreign) bool { return s.Get("depends") != nil })
	d.byName = d.byName || d.root.Get("type") == nil && named
	var before []string
	for _, item := range d.inOrder(itemsOf(steps)) {
		if item.Kind == spec.Sequence {
			before = d.group(item.Items, before)
			continue
		}
		before = d.oneStep(item, before)
	}
	for _, p := range pairsOf(steps) { // steps by their names
		d.byName = d.byName || p.Value.Get("depends") != nil
		item := *p.Value
		item.Pairs = append([]spec.ForeignPair{{Key: "name", Value: &spec.Foreign{Kind: spec.Scalar, Text: p.Key, Type: "str"}}}, item.Pairs...)
		before = d.oneStep(&item, before)
	}
}

// inOrder puts steps behind those that they follow, so that what they read is known.
func (d *dagu) inOrder(items []*spec.Foreign) []*spec.Foreign {
	if !d.byName {
		return items
	}
	var out []*spec.Foreign
	seen := map[*spec.Foreign]bool{}
	var visit func(item *spec.Foreign)
	visit = func(item *spec.Foreign) {
		if seen[item] {
			return
		}
		seen[item] = true
		for _, name := range textsOf(item.Get("depends")) {
			for _, other := range items {
				if textOf(other.Get("name")) == name || textOf(other.Get("id")) == name {
					visit(other)
				}
			}
		}
		out = append(out, item)
	}
	for _, item := range items {
		visit(item)
	}
	return out
}

// group are steps that go on beside each other.
func (d *dagu) group(items []*spec.Foreign, before []string) []string {
	var ends []string
	for _, item := range items {
		ends = append(ends, d.follow(item, before, true)...)
	}
	return ends
}

func (d *dagu) oneStep(item *spec.Foreign, before []string) []string {
	return d.follow(item, before, false)
}

func (d *dagu) follow(item *spec.Foreign, before []string, beside bool) []string {
	s := d.step(item)
	if s == nil {
		return before
	}
	depends := textsOf(item.Get("depends"))
	switch {
	case len(depends) > 0:
		s.ordered = true
		for _, name := range depends {
			if id, ok := d.steps[name]; ok {
				s.needs = append(s.needs, id)
			} else {
				d.gap(s, item.Line, "depends: %s: there is no such step", name)
			}
		}
	case d.byName || beside && len(before) == 0:
		s.ordered = true
	default:
		s.needs, s.ordered = slices.Clone(before), true
	}
	last := ""
	if n := len(d.workflow.steps); n > 0 {
		last = d.workflow.steps[n-1].id
	}
	if len(s.needs) == 1 && s.needs[0] == last || len(s.needs) == 0 && last == "" {
		s.needs, s.ordered = nil, false
	}
	d.workflow.steps = append(d.workflow.steps, s)
	return []string{s.id}
}

// handlers reads what is done at the end of a run, or before its first step.
func (d *dagu) handlers(first bool) {
	on := either(d.root, "handlerOn")
	defer func() { d.handler = false }()
	d.handler = true
	for _, p := range pairsOf(on) {
		if first != (p.Key == "init") {
			continue
		}
		d.handler = !first
		s := d.step(p.Value)
		if s == nil {
			continue
		}
		switch p.Key {
		case "success":
			d.onSuccess = append(d.onSuccess, s)
		case "failure":
			d.onFailure = append(d.onFailure, s)
		case "exit":
			d.finally = append(d.finally, s)
		case "cancel", "abort":
			s.cond = joinConditions(`run.status == "canceled"`, s.cond)
			d.finally = append(d.finally, s)
		case "init":
			d.workflow.steps = append(d.workflow.steps, s)
		default:
			d.gap(s, p.Line, "handlerOn.%s: no handler is the same", p.Key)
			d.finally = append(d.finally, s)
		}
	}
}

// step reads a step; nil where there is nothing.
func (d *dagu) step(f *spec.Foreign) *step {
	if f == nil {
		return nil
	}
	if f.Kind == spec.Scalar {
		f = &spec.Foreign{Kind: spec.Mapping, Line: f.Line, Above: f.Above, Beside: f.Beside, Pairs: []spec.ForeignPair{{Key: "command", Line: f.Line, Value: f}}}
	}
	name := textOf(f.Get("name"))
	if name == "" {
		name = textOf(f.Get("id"))
	}
	wanted := name
	if wanted == "" {
		command := strings.Fields(textOf(f.Get("command")) + textOf(f.Get("run")))
		wanted = stepName("step", "", "", "", strings.Join(command, " "))
	}
	s := &step{id: d.newID(wanted), above: remarks(f, "command", "script")}
	for _, known := range []string{name, textOf(f.Get("id"))} {
		if known != "" {
			d.steps[known] = s.id
		}
	}
	if text := textOf(f.Get("description")); text != "" {
		s.name = oneLine(text)
	}
	guard := d.guard
	if d.handler {
		guard = ""
	}
	s.cond = joinConditions(guard, d.conditions(s, s.id, either(f, "preconditions")))
	d.body(s, f)
	d.policies(s, f)
	d.output(s, f)
	d.taken++
	return s
}

// conditions are preconditions: each is a variable and what it shall be, or a command.
func (d *dagu) conditions(s *step, id string, f *spec.Foreign) string {
	items := itemsOf(f)
	if f != nil && f.Kind != spec.Sequence {
		items = []*spec.Foreign{f}
	}
	var parts []string
	for _, item := range items {
		source, expected, wanted := textOf(item), "", false
		if item.Kind == spec.Mapping {
			source, expected = textOf(item.Get("condition")), textOf(item.Get("expected"))
			wanted = item.Get("expected") != nil
		}
		part, ok := d.condition(source, expected, wanted)
		if !ok {
			d.gap(s, item.Line, "preconditions: %s: let a step run the command, and read its answer here; until then it does not run", written(item))
			part = "false"
		}
		if boolOf(item.Get("negate")) {
			part = "not (" + part + ")"
		}
		parts = append(parts, part)
	}
	return joinConditions(parts...)
}

func (d *dagu) condition(source, expected string, wanted bool) (string, bool) {
	if compared, ok := d.compared(source, nil); ok {
		return compared, true
	}
	t := d.template(source)
	if !wanted || len(t.gaps) > 0 || t.hasSecret() {
		return "", false
	}
	if pattern, ok := strings.CutPrefix(expected, "re:"); ok {
		if _, err := regexp.Compile(pattern); err != nil {
			return "", false
		}
		return t.source().operand() + " matches " + quoteText(pattern), true
	}
	want := d.template(expected)
	if len(want.gaps) > 0 || want.hasSecret() {
		return "", false
	}
	return equal("==", expr{source: t.source().asText(), kind: kindText, joined: t.source().joined}, want.source()).source, true
}

// body is what a step does.
func (d *dagu) body(s *step, f *spec.Foreign) {
	kind := textOf(f.Get("type"))
	executor := f.Get("executor")
	config := f.Get("config")
	if config == nil {
		config = f.Get("with")
	}
	if executor != nil {
		kind = textOf(executor)
		if executor.Kind == spec.Mapping {
			kind, config = textOf(executor.Get("type")), executor.Get("config")
		}
	}
	child := textOf(f.Get("call"))
	if child == "" {
		child = textOf(f.Get("run"))
	}
	switch {
	case child != "":
		d.child(s, f, child)
	case kind == "http":
		d.http(s, f, config)
	case kind == "mail":
		d.mail(s, f, config)
	case kind == "hitl" || f.Get("approval") != nil && f.Get("command") == nil && f.Get("script") == nil:
		d.approval(s, f, config)
	case kind != "" && kind != "command" && kind != "shell":
		d.gap(s, f.Line, "type: %s: no action is the same: call one of a plugin, a service by http, or a command by exec: %s", kind, written(f))
		s.add("uses", text("core.fail")).add("with", mapping(field("message", text("not imported: a step of the type "+oneLine(kind)))))
	default:
		d.command(s, f)
	}
	if v := f.Get("approval"); v != nil && (f.Get("command") != nil || f.Get("script") != nil) {
		d.gap(s, v.Line, "approval: %s: put a step `uses: core.approve` behind this one", written(v))
	}
}

func (d *dagu) command(s *step, f *spec.Foreign) {
	source := textOf(f.Get("script"))
	interpreter := strings.Join(textsOf(f.Get("command")), " ")
	if f.Get("command") != nil && f.Get("command").Kind == spec.Sequence {
		interpreter = ""
		if source == "" { // several commands, or the words of one
			words := textsOf(f.Get("command"))
			if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, " ") }) {
				source = strings.Join(words, "\n")
			} else {
				source = strings.Join(words, " ")
			}
		}
	}
	shell := d.shell
	if words := strings.Fields(textOf(f.Get("shell"))); len(words) > 0 {
		shell = words
	}
	line := f.Line
	switch {
	case source != "" && interpreter != "":
		shell = strings.Fields(interpreter)
		line = f.Get("script").Line
	case source == "":
		source = interpreter
	}
	if source == "" {
		d.gap(s, f.Line, "the step does nothing that is known: %s", written(f))
		s.add("uses", text("core.fail")).add("with", mapping(field("message", text("not imported: the step "+s.id))))
		return
	}
	if f.Get("output") == nil && either(f, "repeatPolicy") == nil && d.workflow.simple(s, d.template(source)) {
		return
	}
	c := command{name: s.id}
	c.cwd = textOf(either(f, "workingDir"))
	if c.cwd == "" {
		c.cwd = textOf(f.Get("dir"))
	}
	if c.cwd == "" {
		c.cwd = textOf(either(d.root, "workingDir"))
	}
	if strings.ContainsAny(c.cwd, "$`~") {
		d.gap(s, f.Line, "dir: %s: the folder of a command is written out, from the folder of flowrun.yaml", c.cwd)
		c.cwd = ""
	}
	for _, item := range append([]*spec.Foreign{f.Get("env")}, itemsOf(f.Get("env"))...) {
		for _, p := range pairsOf(item) {
			t := d.template(textOf(p.Value))
			for _, gap := range t.gaps {
				d.gap(s, p.Line, "env: %s: %s", p.Key, gap)
			}
			if e, ok := t.only(); ok && e.secret != "" {
				c.giveSecret(p.Key, e.secret)
			} else {
				c.give(p.Key, t.text())
			}
		}
	}
	if either(f, "repeatPolicy") != nil {
		c.effect = "read"
	}
	goOn := either(f, "continueOn")
	if code := either(goOn, "exitCode"); code != nil {
		for _, one := range textsOf(code) {
			if isInteger(one) {
				c.exits = append(c.exits, one)
			}
		}
	}
	d.workflow.script(s, line, c, shell, d.inShell(&c, source))
	d.commands[len(d.commands)-1].given = c.given
}

// child calls another DAG, once or for each item.
func (d *dagu) child(s *step, f *spec.Foreign, child string) {
	name := workflowName(nameOfFile(child))
	d.gap(s, f.Line, "call: %s: import that DAG too, as %s.yaml beside this file", child, name)
	parallel := f.Get("parallel")
	if parallel == nil {
		s.add("uses", text("./"+name+".yaml"))
		d.childInputs(s, s, f.Get("params"))
		return
	}
	item := d.itemName("item")
	outer := d.item
	d.item = item
	inner := &step{id: d.newID(s.id + "_run")}
	inner.add("uses", text("./"+name+".yaml"))
	d.childInputs(s, inner, f.Get("params"))
	d.item = outer
	items := parallel
	if parallel.Kind == spec.Mapping {
		items = parallel.Get("items")
	}
	s.add("foreach", d.itemsOfLoop(s, items)).add("as", text(item))
	if n, ok := intOf(either(parallel, "maxConcurrent")); ok && n > 0 && n <= 256 {
		s.add("max_parallel", number(n))
	}
	s.steps = []*step{inner}
}

func (d *dagu) itemsOfLoop(s *step, f *spec.Foreign) *value {
	if f == nil {
		return list()
	}
	if f.Kind == spec.Sequence {
		out := list()
		for _, item := range f.Items {
			if item.Kind != spec.Scalar {
				out.items = append(out.items, plainValue(item))
				continue
			}
			t := d.template(item.Text)
			for _, gap := range t.gaps {
				d.gap(s, item.Line, "parallel: %s", gap)
			}
			out.items = append(out.items, text(t.render()))
		}
		return out
	}
	t := d.template(f.Text)
	for _, gap := range t.gaps {
		d.gap(s, f.Line, "parallel: %s", gap)
	}
	e, ok := t.only()
	if !ok || e.secret != "" {
		return texts(strings.Fields(literalSigns(f.Text)))
	}
	if field, of := strings.CutPrefix(e.source, "inputs."); of {
		for _, p := range d.inputs { // a list in a text becomes a list
			if p.key == field {
				words := strings.Fields(p.value.pairs[len(p.value.pairs)-1].value.text)
				if len(words) > 0 && !strings.HasPrefix(words[0], "[") {
					p.value.pairs = []pair{{key: "type", value: text("array")}, {key: "items", value: mapping(field2("type", "string"))}, {key: "default", value: texts(words)}}
					d.declared[field] = kindList
					d.setInput(p)
					d.names[strings.Trim(f.Text, "${}")] = expr{source: e.source, kind: kindList}
					return text("${{ " + e.source + " }}")
				}
			}
		}
	}
	d.gap(s, f.Line, "parallel: %s: it was a JSON list, or words: the list shall be JSON", f.Text)
	return text("${{ fromJSON(" + e.asText() + ") }}")
}

func field2(key, word string) pair { return field(key, text(word)) }

func (w *workflow) setInput(p pair) {
	for i := range w.inputs {
		if w.inputs[i].key == p.key {
			w.inputs[i] = p
		}
	}
}

// childInputs are the parameters of a child.
func (d *dagu) childInputs(s, call *step, f *spec.Foreign) {
	with := mapping()
	add := func(name, source string, line int) {
		t := d.template(source)
		for _, gap := range t.gaps {
			d.gap(s, line, "params: %s", gap)
		}
		with.add(identifierOr(strings.ToLower(name)), text(t.text()))
	}
	if f == nil {
		return
	}
	for i, found := range oneParam().FindAllStringSubmatch(textOf(f), -1) {
		name := found[1]
		if name == "" {
			name = "arg" + string(rune('1'+min(i, 8)))
		}
		add(name, strings.Trim(found[2]+found[3], `"'`), f.Line)
	}
	for _, item := range append([]*spec.Foreign{f}, f.Items...) {
		for _, p := range item.Pairs {
			add(p.Key, textOf(p.Value), p.Line)
		}
	}
	if len(with.pairs) > 0 {
		call.add("with", with)
	}
}

func (d *dagu) approval(s *step, f, config *spec.Foreign) {
	for _, from := range []*spec.Foreign{config, f.Get("approval")} {
		if from == nil {
			continue
		}
		message := textOf(from.Get("prompt"))
		if message == "" {
			message = "Go on?"
		}
		with := mapping(field("message", text(d.template(message).text())))
		form := mapping()
		for _, name := range textsOf(from.Get("input")) {
			form.add(identifierOr(strings.ToLower(name)), mapping(field("type", text("string"))))
			d.names[name] = expr{source: "steps." + s.id + "?.outputs?." + identifierOr(strings.ToLower(name)), kind: kindText, absent: true}
		}
		if len(form.pairs) > 0 {
			with.add("form", form)
		}
		s.add("uses", text("core.approve")).add("with", with)
		return
	}
	s.add("uses", text("core.approve")).add("with", mapping(field("message", text("Go on?"))))
}

func (d *dagu) mail(s *step, f, config *spec.Foreign) {
	d.gap(s, f.Line, "type: mail: the server is a connection of the plugin mail in flowrun.yaml: docs/services/mail.md")
	with := mapping()
	to := list()
	for _, one := range textsOf(config.Get("to")) {
		to.items = append(to.items, text(d.template(one).text()))
	}
	with.add("to", to)
	for _, p := range []struct{ from, to string }{{"subject", "subject"}, {"message", "text"}} {
		if v := textOf(config.Get(p.from)); v != "" {
			with.add(p.to, text(d.template(v).text()))
		}
	}
	s.add("uses", text("mail.send")).add("with", with)
}

// http calls a service: `command: GET https://…`.
func (d *dagu) http(s *step, f, config *spec.Foreign) {
	method, url, _ := strings.Cut(strings.TrimSpace(textOf(f.Get("command"))), " ")
	if url == "" {
		method, url = textOf(config.Get("method")), textOf(config.Get("url"))
	}
	body := textOf(config.Get("body"))
	if body == "" {
		body = textOf(f.Get("script"))
	}
	headers, query := mapping(), mapping()
	for _, p := range pairsOf(config.Get("headers")) {
		headers.add(p.Key, text(d.template(textOf(p.Value)).text()))
	}
	for _, p := range pairsOf(config.Get("query")) {
		query.add(p.Key, text(d.template(textOf(p.Value)).text()))
	}
	d.request(s, f.Line, request{method: method, url: d.template(strings.Trim(strings.TrimSpace(url), `"'`)), body: d.template(body), headers: headers, query: query})
}

// policies are retries, repeats, timeouts, and what follows a failure.
func (d *dagu) policies(s *step, f *spec.Foreign) {
	call := slices.ContainsFunc(s.keys, func(p pair) bool {
		return p.key == "uses" && (!strings.HasPrefix(p.value.text, "core.") || p.value.text == "core.sleep" || p.value.text == "core.approve")
	})
	action := call && !strings.HasPrefix(usesOf(s), "./") && !strings.HasPrefix(usesOf(s), "core.")
	if t, ok := seconds(either(f, "timeoutSec")); ok && call {
		s.add("timeout", bare(t))
	}
	if retry := either(f, "retryPolicy"); retry != nil && len(s.steps) == 0 {
		switch v, ok := d.retry(retry); {
		case ok && action:
			s.add("retry", v)
			if usesOf(s) == "exec.run" {
				d.gap(s, retry.Line, "retryPolicy: a command is tried again by kinds of errors, not by any exit code: name codes with which it has done nothing in its `exits`")
			}
		default:
			d.gap(s, retry.Line, "retryPolicy: %s: such a step is not tried again", written(retry))
		}
	}
	if repeat := either(f, "repeatPolicy"); repeat != nil {
		d.repeat(s, f, repeat, action)
	}
	d.goOn(s, either(f, "continueOn"))
	for _, key := range []string{"mailOnError", "signalOnStop", "stdout", "stderr", "workerSelector", "container"} {
		if v := either(f, key); v != nil && textOf(v) != "false" {
			d.gap(s, v.Line, "%s: %s: nothing is the same", key, written(v))
		}
	}
}

func usesOf(s *step) string {
	for _, p := range s.keys {
		if p.key == "uses" {
			return p.value.text
		}
	}
	return ""
}

func (d *dagu) retry(f *spec.Foreign) (*value, bool) {
	limit, ok := intOf(f.Get("limit"))
	if !ok || limit == 0 || limit >= 1000 {
		return nil, false
	}
	v := mapping(field("attempts", number(limit+1)))
	if delay, ok := seconds(either(f, "intervalSec")); ok {
		v.add("delay", bare(delay))
	}
	switch factor := textOf(f.Get("backoff")); {
	case factor == "true":
	case decimal().MatchString(factor) || isInteger(factor) && factor != "0":
		v.add("factor", bare(factor))
	default:
		v.add("factor", bare("1"))
	}
	if most, ok := seconds(either(f, "maxIntervalSec")); ok {
		v.add("max_delay", bare(most))
	}
	return v, true
}

func (d *dagu) repeat(s *step, f, repeat *spec.Foreign, action bool) {
	if !action || len(s.steps) > 0 {
		d.gap(s, repeat.Line, "repeatPolicy: %s: only an action that reads or is idempotent is called again", written(repeat))
		return
	}
	own := map[string]expr{}
	if name := outputName(f.Get("output")); name != "" {
		own[name] = expr{source: `trim(result.text ?? "")`, kind: kindText}
	}
	source, expected := textOf(repeat.Get("condition")), textOf(repeat.Get("expected"))
	until, ok := d.compared(source, own)
	if !ok && source != "" {
		t := d.templateWith(source, own)
		if ok = len(t.gaps) == 0 && repeat.Get("expected") != nil && !t.hasSecret(); ok {
			until = equal("==", t.source(), expr{source: quoteText(expected), kind: kindText}).source
		}
	}
	switch {
	case !ok && source == "":
		until = "false"
	case !ok:
		d.gap(s, repeat.Line, "repeatPolicy: %s: say when it is enough by what the command wrote: result.text", written(repeat))
		until = "false"
	case textOf(repeat.Get("repeat")) == "while":
		until = "not (" + until + ")"
	}
	every, ok := seconds(either(repeat, "intervalSec"))
	if !ok {
		every = "10s"
	}
	v := mapping(field("until", condition(until)), field("every", bare(every)))
	if most, ok := intOf(repeat.Get("limit")); ok && most > 0 && most <= 1_000_000 {
		v.add("max", number(most))
	}
	s.add("repeat", v)
}

func (d *dagu) goOn(s *step, f *spec.Foreign) {
	if f == nil {
		return
	}
	failure := boolOf(f.Get("failure")) || boolOf(f.Get("failed")) || textOf(f) == "failed" || textOf(f) == "failure" || slices.Contains(textsOf(f), "failed")
	if failure {
		s.add("on_error", text(map[bool]string{true: "collect", false: "continue"}[len(s.steps) > 0]))
		s.absent = true
	}
	if v := f.Get("output"); v != nil {
		d.gap(s, v.Line, "continueOn.output: %s: go on by kinds of errors: on_error: {KIND: continue}", written(v))
	}
}

func outputName(f *spec.Foreign) string {
	if name := textOf(f); name != "" {
		return strings.Trim(name, "${}")
	}
	return strings.Trim(textOf(f.Get("name")), "${}")
}

// output remembers by which variable others read a step.
func (d *dagu) output(s *step, f *spec.Foreign) {
	name := outputName(f.Get("output"))
	if name == "" {
		if v := f.Get("output"); v != nil {
			d.gap(s, v.Line, "output: %s: others read what a step gives as steps.%s.outputs", written(v), s.id)
		}
		return
	}
	field := map[string]string{"http": "body", "exec": "text"}[strings.Split(usesOf(s), ".")[0]]
	if field == "" || len(s.steps) > 0 {
		d.gap(s, f.Line, "output: %s: what this step gives is read as steps.%s.outputs", name, s.id)
		return
	}
	if field == "body" {
		d.names[name] = expr{source: "steps." + s.id + "?.outputs?.body", kind: kindAny, absent: true}
		return
	}
	sign := map[bool]string{true: "?.", false: "."}[s.absent || s.cond != ""]
	d.names[name] = expr{source: "trim(steps." + s.id + sign + "outputs" + sign + `text ?? "")`, kind: kindText}
}
