package importer

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/spec"
)

// block is a list of tasks, and where their steps go.
type block struct {
	into   *[]*step
	before []string // what the next step follows
	cond   string   // what must hold for all of it
	loose  bool     // what it reads may not be there
	fails  string   // what follows a failure of any of it
	inner  bool     // in a loop
}

// all reads tasks that follow each other.
func (k *kestra) all(f *spec.Foreign, b *block) {
	for _, item := range itemsOf(f) {
		k.task(item, b)
	}
}

// put adds a step to a block.
func (k *kestra) put(s *step, b *block) {
	s.cond = joinConditions(b.cond, s.cond)
	s.absent = s.absent || s.cond != "" || b.loose
	s.needs, s.ordered = slices.Clone(b.before), true
	last := ""
	if n := len(*b.into); n > 0 {
		last = (*b.into)[n-1].id
	}
	if len(s.needs) == 1 && s.needs[0] == last || len(s.needs) == 0 && last == "" {
		s.needs, s.ordered = nil, false
	}
	if b.fails != "" && !slices.ContainsFunc(s.keys, func(p pair) bool { return p.key == "on_error" }) && usesOf(s) != "" {
		s.add("on_error", text(b.fails))
		s.absent = true
	}
	*b.into = append(*b.into, s)
	b.before = []string{s.id}
	k.taken++
}

// beside reads blocks that begin at the same place, and ends where all have ended.
func (k *kestra) beside(b *block, parts ...func(*block)) {
	start := b.before
	var ends []string
	for _, part := range parts {
		inner := *b
		inner.before = start
		part(&inner)
		for _, end := range inner.before {
			if !slices.Contains(ends, end) {
				ends = append(ends, end)
			}
		}
	}
	if len(parts) > 0 {
		b.before = ends
	}
}

// task reads a task.
func (k *kestra) task(f *spec.Foreign, b *block) {
	if k.depth++; k.depth > 40 {
		k.depth--
		return
	}
	defer func() { k.depth-- }()
	if boolOf(f.Get("disabled")) {
		k.leaveOut("the task " + textOf(f.Get("id")) + ", which is disabled")
		return
	}
	name, class := textOf(f.Get("id")), textOf(f.Get("type"))
	if k.structure(f, b, lastWord(class)) {
		return
	}
	s := &step{id: k.newID(name), above: remarks(f)}
	if text := textOf(f.Get("description")); text != "" {
		s.name = oneLine(text)
	}
	if v := f.Get("runIf"); v != nil {
		s.cond = k.condition(s, v)
	}
	known := &kestraTask{id: s.id, kind: "gap"}
	k.body(s, f, b, known, lastWord(class), class)
	if len(s.keys) == 0 {
		return
	}
	k.policies(s, f)
	k.put(s, b)
	known.absent = s.absent
	k.tasks[name] = known
}

// condition reads a condition; a step whose condition is lost does not run.
func (k *kestra) condition(s *step, f *spec.Foreign) string {
	t := k.template(textOf(f))
	if len(t.gaps) > 0 || t.hasSecret() {
		k.gap(s, f.Line, "%s; until you say when it runs, it does not", strings.Join(append(t.gaps, ""), " "))
		return "false"
	}
	e, ok := t.only()
	if !ok {
		switch strings.ToLower(strings.TrimSpace(t.parts[0].text)) {
		case "true":
			return ""
		case "false":
			return "false"
		}
		e = t.source()
	}
	return e.condition()
}

// structure reads tasks that only hold others.
func (k *kestra) structure(f *spec.Foreign, b *block, class string) bool {
	lead := &step{above: remarks(f)}
	count := len(*b.into)
	defer func() {
		if len(*b.into) > count {
			(*b.into)[count].above = append(lead.above, (*b.into)[count].above...)
		}
	}()
	switch class {
	case "Sequential", "WorkingDirectory":
		k.all(f.Get("tasks"), b)
	case "AllowFailure":
		inner := *b
		inner.fails = "continue"
		k.all(f.Get("tasks"), &inner)
		b.before = inner.before
	case "Parallel":
		var parts []func(*block)
		for _, item := range itemsOf(f.Get("tasks")) {
			parts = append(parts, func(b *block) { k.task(item, b) })
		}
		k.beside(b, parts...)
	case "Dag":
		k.dag(f, b)
	case "If":
		cond := k.condition(lead, orNull(f.Get("condition")))
		k.beside(b,
			func(b *block) { b.cond = joinConditions(b.cond, cond); k.all(f.Get("then"), b) },
			func(b *block) { b.cond = joinConditions(b.cond, negated(cond)); k.all(f.Get("else"), b) })
	case "Switch":
		k.choose(f, b, lead)
	default:
		return false
	}
	if v := f.Get("errors"); v != nil {
		k.gap(lead, v.Line, "errors of a task: %s: on_failure of the workflow, or a step with run_if: failed", written(v))
	}
	return true
}

func orNull(f *spec.Foreign) *spec.Foreign {
	if f == nil {
		return &spec.Foreign{Kind: spec.Scalar, Text: "", Line: 1}
	}
	return f
}

func negated(cond string) string {
	switch cond {
	case "":
		return "false"
	case "false":
		return "false" // nothing is known of it
	}
	return "not (" + cond + ")"
}

func (k *kestra) choose(f *spec.Foreign, b *block, lead *step) {
	t := k.template(textOf(f.Get("value")))
	for _, gap := range t.gaps {
		k.gap(lead, f.Line, "value: %s", gap)
	}
	of := t.source()
	if t.hasSecret() {
		of = expr{source: `""`, kind: kindText}
	}
	var parts []func(*block)
	var others []string
	for _, p := range pairsOf(f.Get("cases")) {
		cond := equal("==", of, expr{source: quoteText(p.Key), kind: kindText}).source
		if len(t.gaps) > 0 {
			cond = "false"
		}
		others = append(others, negated(cond))
		parts = append(parts, func(b *block) { b.cond = joinConditions(b.cond, cond); k.all(p.Value, b) })
	}
	if f.Get("defaults") != nil {
		parts = append(parts, func(b *block) {
			b.cond = joinConditions(append([]string{b.cond}, others...)...)
			k.all(f.Get("defaults"), b)
		})
	}
	k.beside(b, parts...)
}

// dag reads tasks that name those that they follow.
func (k *kestra) dag(f *spec.Foreign, b *block) {
	ends := map[string][]string{}
	start := b.before
	var all []string
	for _, item := range itemsOf(f.Get("tasks")) {
		inner := *b
		inner.before = nil
		for _, name := range textsOf(item.Get("dependsOn")) {
			inner.before = append(inner.before, ends[name]...)
		}
		if len(inner.before) == 0 {
			inner.before = start
		}
		if task := item.Get("task"); task != nil {
			k.task(task, &inner)
			ends[textOf(task.Get("id"))] = inner.before
		}
		all = append(all, inner.before...)
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > 0 {
		b.before = all
	}
}

// body is what a task does.
func (k *kestra) body(s *step, f *spec.Foreign, b *block, known *kestraTask, class, full string) {
	put := func(action string, with ...pair) {
		s.add("uses", text(action)).add("with", mapping(with...))
	}
	textField := func(key string) *value {
		v := f.Get(key)
		if v != nil && v.Kind == spec.Sequence {
			v = &spec.Foreign{Kind: spec.Scalar, Text: strings.Join(textsOf(v), "\n"), Line: v.Line}
		}
		t := k.template(textOf(v))
		for _, gap := range t.gaps {
			k.gap(s, f.Line, "%s: %s", key, gap)
		}
		return text(t.text())
	}
	core := strings.HasPrefix(full, "io.kestra.plugin.core.") || strings.HasPrefix(full, "io.kestra.core.")
	script := strings.Contains(full, ".plugin.scripts.") || strings.Contains(full, ".scripts.")
	switch {
	case core && class == "Log", core && class == "Echo":
		with := []pair{field("text", textField(map[string]string{"Log": "message", "Echo": "format"}[class]))}
		if level := map[string]string{"ERROR": "error", "WARN": "warn", "DEBUG": "debug", "TRACE": "debug"}[textOf(f.Get("level"))]; level != "" {
			with = append(with, field2("level", level))
		}
		known.kind = "none"
		put("core.log", with...)
	case core && class == "Fail":
		if v := f.Get("condition"); v != nil {
			s.cond = joinConditions(s.cond, k.condition(s, v))
		}
		message := text("failed by the task " + s.id)
		if f.Get("errorMessage") != nil {
			message = textField("errorMessage")
		}
		put("core.fail", field("message", message))
	case core && class == "Assert":
		k.assert(s, f)
	case core && (class == "Return" || class == "SetVariables" || class == "OutputValues"):
		k.values(s, f, known, class)
	case core && class == "Sleep":
		k.sleep(s, f.Get("duration"), f)
	case core && class == "Pause":
		k.pause(s, f, known)
	case core && (class == "Subflow" || class == "Flow"):
		k.subflow(s, f, known)
	case core && (class == "ForEach" || class == "EachSequential" || class == "EachParallel"):
		k.forEach(s, f, b, known, class)
	case core && (class == "LoopUntil" || class == "WaitFor"):
		k.loopUntil(s, f, b)
	case core && (class == "Get" || class == "Set") && strings.Contains(full, ".kv."):
		k.store(s, f, b, known, class)
	case core && class == "Request":
		known.kind = "http"
		k.http(s, f)
	case script && (class == "Commands" || class == "Script"):
		known.kind = "exec"
		k.script(s, f, known, full)
	default:
		rest := *f
		rest.Pairs = slices.DeleteFunc(slices.Clone(f.Pairs), func(p spec.ForeignPair) bool { return p.Key == "id" || p.Key == "type" })
		k.gap(s, f.Line, "%s: no action is the same: call one of a plugin (`flowrun plugins actions`), a service by http, or a command by exec", full)
		if len(rest.Pairs) > 0 {
			s.above = append(s.above, "  "+written(&rest))
		}
		put("core.fail", field("message", text("not imported: "+oneLine(full))))
	}
}

func (k *kestra) assert(s *step, f *spec.Foreign) {
	var parts []string
	for _, c := range itemsOf(f.Get("conditions")) {
		parts = append(parts, k.condition(s, c))
	}
	that := joinConditions(parts...)
	if that == "" {
		that = "true"
	}
	with := mapping(field("that", text("${{ "+that+" }}")))
	if f.Get("errorMessage") != nil {
		with.add("message", text(k.template(textOf(f.Get("errorMessage"))).text()))
	}
	s.add("uses", text("core.assert")).add("with", with)
}

// values are tasks that only compute.
func (k *kestra) values(s *step, f *spec.Foreign, known *kestraTask, class string) {
	let := mapping()
	if class == "Return" {
		known.kind = "value"
		t := k.template(textOf(f.Get("format")))
		for _, gap := range t.gaps {
			k.gap(s, f.Line, "format: %s", gap)
		}
		let.add("value", text(t.text()))
	} else {
		known.kind = "values"
		from := f.Get("values")
		if from == nil {
			from = f.Get("variables")
		}
		for _, p := range pairsOf(from) {
			let.add(identifierOr(p.Key), k.valueOf(s, p.Value))
		}
	}
	if len(let.pairs) == 0 {
		let.add("value", bare("null"))
	}
	s.add("let", let)
}

func (k *kestra) sleep(s *step, duration, f *spec.Foreign) {
	length, ok := durationOf(textOf(duration), "s")
	if !ok {
		t := k.template(textOf(duration))
		for _, gap := range append(t.gaps, map[bool][]string{true: {"`" + textOf(duration) + "` is no duration"}}[t.literal()]...) {
			k.gap(s, f.Line, "%s", gap)
		}
		length = t.render()
	}
	s.add("uses", text("core.sleep")).add("with", mapping(field("for", text(length))))
}

func (k *kestra) pause(s *step, f *spec.Foreign, known *kestraTask) {
	for _, key := range []string{"delay", "pauseDuration"} {
		if v := f.Get(key); v != nil && f.Get("onResume") == nil {
			k.sleep(s, v, f)
			return
		}
	}
	known.kind = "form"
	message := textOf(f.Get("description"))
	if message == "" {
		message = "Go on?"
	}
	s.name = ""
	with := mapping(field("message", text(k.template(message).text())))
	form := mapping()
	for _, in := range itemsOf(f.Get("onResume")) {
		name := textOf(in.Get("id"))
		if name == "" {
			continue
		}
		_, schema, ok := kestraType(in)
		if !ok {
			k.gap(s, in.Line, "onResume.%s: the type %s: a text stands for it", name, textOf(in.Get("type")))
		}
		if def := in.Get("defaults"); def != nil && def.Kind == spec.Scalar && !strings.Contains(def.Text, "{{") {
			schema.add("default", scalarValue(def))
		}
		if text := textOf(in.Get("description")) + textOf(in.Get("displayName")); text != "" {
			schema.add("description", &value{kind: spec.Scalar, text: literalSigns(oneLine(text))})
		}
		form.add(identifierOr(name), schema)
	}
	if len(form.pairs) > 0 {
		with.add("form", form)
	}
	s.add("uses", text("core.approve")).add("with", with)
}

func (k *kestra) subflow(s *step, f *spec.Foreign, known *kestraTask) {
	known.kind = "child"
	name := workflowName(textOf(f.Get("flowId")))
	k.gap(s, f.Line, "Subflow: import that flow too, as %s.yaml beside this file", name)
	if textOf(f.Get("wait")) == "false" {
		k.gap(s, f.Line, "wait: false: a step waits for the workflow that it calls; `after` starts one behind this")
	}
	s.add("uses", text("./"+name+".yaml"))
	if inputs := f.Get("inputs"); len(pairsOf(inputs)) > 0 {
		with := mapping()
		for _, p := range inputs.Pairs {
			with.add(identifierOr(p.Key), k.valueOf(s, p.Value))
		}
		s.add("with", with)
	}
}

func (k *kestra) forEach(s *step, f *spec.Foreign, b *block, known *kestraTask, class string) {
	known.kind = "loop"
	values := f.Get("values")
	if values == nil {
		values = f.Get("value")
	}
	item := k.itemName("item", k.loops...)
	s.add("foreach", k.listOf(s, values)).add("as", text(item))
	limit, ok := intOf(f.Get("concurrencyLimit"))
	if !ok {
		limit, ok = intOf(f.Get("concurrent"))
	}
	switch {
	case class == "EachSequential" || !ok && class == "ForEach":
		s.add("max_parallel", number(1))
	case ok && limit > 0 && limit <= 256:
		s.add("max_parallel", number(limit))
	}
	k.loops = append(k.loops, item)
	inner := &block{into: &s.steps, loose: b.loose, inner: true, fails: b.fails}
	k.all(f.Get("tasks"), inner)
	k.loops = k.loops[:len(k.loops)-1]
	if len(s.steps) == 0 {
		s.steps = []*step{(&step{id: k.newID(s.id + "_item")}).add("let", mapping(field("done", bare("true"))))}
	}
}

// listOf is the list of a loop.
func (k *kestra) listOf(s *step, f *spec.Foreign) *value {
	if f == nil {
		return list()
	}
	if f.Kind == spec.Sequence {
		return k.valueOf(s, f)
	}
	t := k.template(f.Text)
	for _, gap := range t.gaps {
		k.gap(s, f.Line, "values: %s", gap)
	}
	if e, ok := t.only(); ok && e.secret == "" {
		if e.kind == kindText {
			e = expr{source: "fromJSON(" + e.asText() + ")"}
		}
		return text("${{ " + e.present().source + " }}")
	}
	if documents, problems := spec.ParseForeign("json", []byte(f.Text), spec.DefaultLimits()); t.literal() && len(problems) == 0 && len(t.gaps) == 0 && documents[0].Kind == spec.Sequence {
		return plainValue(documents[0])
	}
	if len(t.gaps) == 0 && !t.hasSecret() {
		return text("${{ fromJSON(" + t.source().source + ") }}")
	}
	return list()
}

// loopUntil is repeat, where one task is asked again.
func (k *kestra) loopUntil(s *step, f *spec.Foreign, b *block) {
	k.gap(s, f.Line, "%s: %s: one action is called again: repeat: {until, every, max}; several are a workflow of their own", lastWord(textOf(f.Get("type"))), written(f))
	s.add("uses", text("core.fail")).add("with", mapping(field("message", text("not imported: a loop of several tasks"))))
}

// store is the store of keys and values: state.
func (k *kestra) store(s *step, f *spec.Foreign, b *block, known *kestraTask, class string) {
	known.kind = "state"
	key := textOf(f.Get("key"))
	if strings.Contains(key, "{{") {
		k.gap(s, f.Line, "key: %s: state has names that are written out", key)
	}
	known.state = k.keep(key)
	if class == "Get" {
		k.tasks[textOf(f.Get("id"))] = known
		if len(s.above) > 0 {
			k.head = append(k.head, s.above...)
		}
		delete(k.ids, s.id)
		return // state is read where it is wanted
	}
	if b.inner {
		k.gap(s, f.Line, "kv.Set in a loop: state is set once, behind the loop, from what it collects")
	}
	v := k.template(textOf(f.Get("value")))
	for _, gap := range v.gaps {
		k.gap(s, f.Line, "value: %s", gap)
	}
	s.add("set_state", mapping(field(known.state, text(v.text()))))
}

func (k *kestra) http(s *step, f *spec.Foreign) {
	headers, query := mapping(), mapping()
	for _, p := range pairsOf(f.Get("headers")) {
		headers.add(p.Key, k.valueOf(s, p.Value))
	}
	for _, p := range pairsOf(f.Get("params")) {
		query.add(p.Key, k.valueOf(s, p.Value))
	}
	if v := textOf(f.Get("contentType")); v != "" {
		headers.add("Content-Type", text(v))
	}
	if v := f.Get("options"); v != nil {
		k.gap(s, v.Line, "options: %s: credentials and limits belong to the connection: docs/services/http.md", written(v))
	}
	body := f.Get("body")
	content := k.template(textOf(body))
	if body != nil && body.Kind != spec.Scalar {
		content = template{parts: []translated{{text: ""}}}
	}
	k.request(s, f.Line, request{method: textOf(f.Get("method")), url: k.template(textOf(f.Get("uri"))), body: content, headers: headers, query: query})
	if body != nil && body.Kind != spec.Scalar {
		s.keys[len(s.keys)-1].value.add("json", k.valueOf(s, body))
	}
}

var givesOutputs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`outputs\.([A-Za-z0-9_-]+)\.vars\.([A-Za-z_]\w*)|outputs\['([^']+)'\]\.vars\.([A-Za-z_]\w*)`)
})

// script is a task of a script.
func (k *kestra) script(s *step, f *spec.Foreign, known *kestraTask, full string) {
	source := textOf(f.Get("script"))
	if source == "" {
		source = strings.Join(append(textsOf(f.Get("beforeCommands")), textsOf(f.Get("commands"))...), "\n")
	}
	id := textOf(f.Get("id"))
	for _, found := range givesOutputs().FindAllStringSubmatch(allText(k.root), -1) {
		if field := found[2] + found[4]; found[1]+found[3] == id && !slices.Contains(known.fields, field) {
			known.fields = append(known.fields, field)
		}
	}
	t := k.template(source)
	if len(known.fields) == 0 && k.simple(s, t) {
		return
	}
	for _, gap := range t.gaps {
		k.gap(s, f.Line, "%s", gap)
	}
	c := command{name: s.id, answer: known.fields}
	body := t.inScript(&c, split(source, "{{", "}}"))
	for _, p := range pairsOf(f.Get("env")) {
		v := k.template(textOf(p.Value))
		for _, gap := range v.gaps {
			k.gap(s, p.Line, "env: %s: %s", p.Key, gap)
		}
		if e, ok := v.only(); ok && e.secret != "" {
			c.giveSecret(p.Key, e.secret)
		} else {
			c.give(p.Key, v.text())
		}
	}
	for _, key := range []string{"inputFiles", "outputFiles", "namespaceFiles", "containerImage", "docker", "taskRunner", "dependencies"} {
		if v := f.Get(key); v != nil {
			k.gap(s, v.Line, "%s: %s: the command runs on this machine, in the project's folder", key, written(v))
		}
	}
	shell := append([]string{"bash"}, shellOptions...)
	for word, program := range map[string]string{".python.Script": "python3", ".node.Script": "node", ".ruby.Script": "ruby", ".r.Script": "Rscript", ".powershell.Script": "pwsh"} {
		if strings.HasSuffix(full, word) {
			shell = []string{program}
		}
	}
	k.workflow.script(s, f.Line, c, shell, body)
}

func (k *kestra) policies(s *step, f *spec.Foreign) {
	uses := usesOf(s)
	calls := uses != "" && (!strings.HasPrefix(uses, "core.") || uses == "core.approve" || uses == "core.sleep")
	if v := f.Get("timeout"); v != nil {
		if length, ok := durationOf(textOf(v), "s"); ok && calls {
			s.add("timeout", bare(length))
		} else {
			k.gap(s, v.Line, "timeout: %s: such a step has none", written(v))
		}
	}
	if v := f.Get("retry"); v != nil {
		if retry, ok := kestraRetry(v); ok && calls && !strings.HasPrefix(uses, "core.") && !strings.HasPrefix(uses, "./") {
			s.add("retry", retry)
			if uses == "exec.run" {
				k.gap(s, v.Line, "retry: a command is tried again by kinds of errors, not by any exit code: name codes with which it has done nothing in its `exits`")
			}
		} else {
			k.gap(s, v.Line, "retry: %s: such a step is not tried again", written(v))
		}
	}
	if boolOf(f.Get("allowFailure")) || boolOf(f.Get("allowWarning")) {
		s.add("on_error", text(map[bool]string{true: "collect", false: "continue"}[len(s.steps) > 0]))
		s.absent = true
	}
	if v := f.Get("taskCache"); boolOf(v.Get("enabled")) {
		if length, ok := durationOf(textOf(v.Get("ttl")), "s"); ok && uses == "exec.read" {
			s.add("cache", bare(length))
		} else {
			k.gap(s, v.Line, "taskCache: %s: only an action that reads is cached: cache: 6h", written(v))
		}
	}
	for _, key := range []string{"logToFile", "workerGroup", "pluginDefaultsRef"} {
		if f.Get(key) != nil {
			k.leaveOut(key)
		}
	}
}

// kestraRetry makes a retry: constant, exponential or random.
func kestraRetry(f *spec.Foreign) (*value, bool) {
	attempts, ok := intOf(f.Get("maxAttempts"))
	if !ok {
		attempts, ok = intOf(f.Get("maxAttempt"))
	}
	if !ok || attempts < 1 || attempts > 1000 {
		attempts = 4
	}
	v := mapping(field("attempts", number(attempts)))
	delay := textOf(f.Get("interval"))
	if textOf(f.Get("type")) == "random" {
		delay = textOf(f.Get("minInterval"))
		v.add("jitter", bare("1"))
	}
	if length, ok := durationOf(delay, "s"); ok {
		v.add("delay", bare(length))
	}
	switch factor := textOf(f.Get("delayFactor")); {
	case textOf(f.Get("type")) == "constant":
		v.add("factor", bare("1"))
	case isInteger(factor) && factor != "0" || decimal().MatchString(factor):
		v.add("factor", bare(factor))
	}
	if length, ok := durationOf(textOf(f.Get("maxInterval")), "s"); ok {
		v.add("max_delay", bare(length))
	}
	return v, true
}
