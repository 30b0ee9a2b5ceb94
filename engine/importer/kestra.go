package importer

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/spec"
)

// kestra reads a flow of Kestra.
type kestra struct {
	*workflow
	root  *spec.Foreign
	tasks map[string]*kestraTask // by their ids
	loops []string               // names of the items of the loops around
	hooks []string               // fields of a webhook's body that are read
	hook  *value
	after bool // a flow trigger starts it
	depth int

	nullable []string // inputs that may be null
}

// kestraTask is a task that was read, and where its outputs are.
type kestraTask struct {
	id     string
	kind   string // exec, http, value, values, form, state, child, loop, gap
	absent bool
	fields []string // of exec: what its script gives
	state  string   // of state: the key
}

func readKestra(name string, documents []*spec.Foreign) []*workflow {
	var all []*workflow
	for i, root := range documents {
		title := textOf(root.Get("id"))
		if title == "" || i == 0 && name != "" {
			title = name
		}
		k := &kestra{workflow: newWorkflow(title), root: root, tasks: map[string]*kestraTask{}}
		k.flow()
		all = append(all, k.workflow)
	}
	return all
}

// flow reads all of it.
func (k *kestra) flow() {
	root := k.root
	k.head = append(k.head, root.Above...)
	for _, p := range root.Pairs {
		if p.Value.Kind == spec.Scalar {
			k.head = append(k.head, p.Value.Above...)
		}
	}
	if root.Get("namespace") != nil {
		k.leaveOut("namespace")
	}
	if text := textOf(root.Get("description")); text != "" {
		k.key("description", scalarValue(root.Get("description")))
	}
	k.labels()
	for _, f := range itemsOf(root.Get("inputs")) {
		k.input(f)
	}
	k.triggersOf()
	k.concurrency()
	for name, hint := range map[string]string{
		"sla": "timeout of the workflow", "pluginDefaults": "defaults: {timeout, retry}, and connections of flowrun.yaml",
		"taskDefaults": "defaults: {timeout, retry}, and connections of flowrun.yaml", "checks": "core.assert as the first step",
	} {
		if v := root.Get(name); v != nil {
			k.head = append(k.head, k.note(v.Line, "%s: %s: %s", name, written(v), hint))
		}
	}
	if v := root.Get("retry"); v != nil {
		if retry, ok := kestraRetry(v); ok {
			k.key("defaults", mapping(field("retry", retry)))
		}
	}
	if boolOf(root.Get("disabled")) {
		k.head = append(k.head, k.note(root.Get("disabled").Line, "disabled: true: pause its triggers: flowrun schedules pause"))
	}
	main := &block{into: &k.workflow.steps}
	k.all(root.Get("tasks"), main)
	k.outputsOf()
	for _, part := range []struct {
		key  string
		into *[]*step
	}{{"errors", &k.onFailure}, {"finally", &k.finally}, {"afterExecution", &k.finally}} {
		k.all(root.Get(part.key), &block{into: part.into, loose: true})
	}
	slices.SortFunc(k.head, func(a, b string) int { // those of the file first
		return cmp.Compare(strings.Count(a[:min(7, len(a))], "import:"), strings.Count(b[:min(7, len(b))], "import:"))
	})
	k.finishHook()
}

func (k *kestra) labels() {
	labels := mapping()
	for _, p := range pairsOf(k.root.Get("labels")) {
		labels.add(p.Key, text(textOf(p.Value)))
	}
	for _, item := range itemsOf(k.root.Get("labels")) {
		if name := textOf(item.Get("key")); name != "" {
			labels.add(name, text(textOf(item.Get("value"))))
		}
	}
	if len(labels.pairs) > 0 {
		k.key("labels", labels)
	}
}

// inputType is an input's type in words of the language.
func kestraType(f *spec.Foreign) (kind, *value, bool) {
	of := func(word string, more ...pair) *value {
		return mapping(append([]pair{field2("type", word)}, more...)...)
	}
	switch textOf(f.Get("type")) {
	case "INT":
		return kindNumber, of("integer"), true
	case "FLOAT":
		return kindNumber, of("number"), true
	case "BOOLEAN", "BOOL":
		return kindBool, of("boolean"), true
	case "SELECT", "ENUM":
		return kindText, of("string", field("enum", texts(textsOf(f.Get("values"))))), f.Get("values") != nil
	case "MULTISELECT":
		return kindList, of("array", field("items", of("string"))), true
	case "ARRAY":
		item := map[string]string{"INT": "integer", "FLOAT": "number", "BOOLEAN": "boolean", "STRING": "string"}[textOf(f.Get("itemType"))]
		if item == "" {
			return kindList, of("array"), true
		}
		return kindList, of("array", field("items", of(item))), true
	case "JSON", "YAML":
		return kindAny, mapping(), true
	case "DATETIME":
		return kindAny, of("string", field2("format", "date-time")), true
	case "DURATION":
		return kindAny, of("string", field2("format", "duration")), true
	case "", "STRING", "URI", "EMAIL", "DATE", "TIME":
		return kindText, of("string"), true
	}
	return kindText, of("string"), false
}

func (k *kestra) input(f *spec.Foreign) {
	name := textOf(f.Get("id"))
	if name == "" {
		name = textOf(f.Get("name"))
	}
	if name == "" {
		return
	}
	of, schema, known := kestraType(f)
	above := remarks(f)
	if !known {
		above = append(above, k.note(f.Line, "input %s: the type %s: a text stands for it", name, textOf(f.Get("type"))))
	}
	def := f.Get("defaults")
	if def == nil {
		def = f.Get("prefill")
	}
	switch {
	case def != nil && def.Kind == spec.Scalar && strings.Contains(def.Text, "{{"):
		above = append(above, k.note(def.Line, "defaults: %s: a default is a value that is written out", written(def)))
	case def != nil && of == kindList && def.Kind == spec.Scalar:
		if documents, problems := spec.ParseForeign("json", []byte(def.Text), spec.DefaultLimits()); len(problems) == 0 && documents[0].Kind == spec.Sequence {
			schema.add("default", plainValue(documents[0]))
		}
	case def != nil && of == kindText:
		schema.add("default", text(textOf(def)))
	case def != nil:
		schema.add("default", plainValue(def))
	case textOf(f.Get("required")) == "false":
		schema.add("nullable", bare("true")).add("default", bare("null"))
		k.nullable = append(k.nullable, identifierOr(name))
	}
	for _, bound := range []struct{ from, to string }{{"min", "minimum"}, {"max", "maximum"}} {
		if v := textOf(f.Get(bound.from)); of == kindNumber && (isInteger(v) || decimal().MatchString(v)) {
			schema.add(bound.to, bare(v))
		}
	}
	if text := textOf(f.Get("displayName")) + textOf(f.Get("description")); text != "" {
		schema.add("description", &value{kind: spec.Scalar, text: literalSigns(oneLine(text))})
	}
	k.declare(identifierOr(name), of, above, schema)
	k.taken++
}

func (k *kestra) concurrency() {
	f := k.root.Get("concurrency")
	if f == nil {
		return
	}
	limit, ok := intOf(f.Get("limit"))
	if !ok || limit == 0 || limit > 10000 {
		limit = 1
	}
	onFull := map[string]string{"QUEUE": "queue", "CANCEL": "skip", "FAIL": "fail"}[textOf(f.Get("behavior"))]
	if onFull == "" {
		onFull = "queue"
	}
	k.key("concurrency", mapping(field("limit", number(limit)), field2("on_full", onFull)), f.Above...)
	k.taken++
}

func (k *kestra) triggersOf() {
	for _, f := range itemsOf(k.root.Get("triggers")) {
		k.oneTrigger(f)
	}
}

// lastWord is the name of a class without its package.
func lastWord(class string) string { return class[strings.LastIndex(class, ".")+1:] }

func (k *kestra) oneTrigger(f *spec.Foreign) {
	name, class := textOf(f.Get("id")), textOf(f.Get("type"))
	if name == "" {
		name = lastWord(class)
	}
	above := remarks(f)
	for _, key := range []string{"conditions", "when", "stopAfter", "lateMaximumDelay"} {
		if v := f.Get(key); v != nil && !(key == "conditions" && lastWord(class) == "Flow") {
			above = append(above, k.note(v.Line, "%s: %s: an `if` on the first step decides, or pause_after_failures", key, written(v)))
		}
	}
	inputs := mapping()
	given := func() {
		for _, p := range pairsOf(f.Get("inputs")) {
			t := k.template(textOf(p.Value))
			for _, gap := range t.gaps {
				above = append(above, k.note(p.Line, "inputs: %s: %s", p.Key, gap))
			}
			if len(t.gaps) == 0 {
				inputs.add(identifierOr(p.Key), k.valueOf(nil, p.Value))
			}
		}
	}
	switch lastWord(class) {
	case "Schedule":
		v, err := schedule(textOf(f.Get("cron")), textOf(f.Get("timezone")))
		if err != nil {
			k.noTrigger(f.Line, "trigger %s: %s", name, err)
		}
		if v == nil {
			return
		}
		if keep := map[string]string{"ALL": "all", "LAST": "latest", "NONE": "none"}[textOf(f.Get("recoverMissedSchedules"))]; keep != "" {
			v.add("catchup", mapping(field2("keep", keep)))
		}
		given()
		if len(inputs.pairs) > 0 {
			v.add("inputs", inputs)
		}
		k.trigger(name, above, v)
	case "Webhook":
		k.hook = mapping()
		above = append(above, k.note(f.Line, "trigger %s: its key stood in the address; here the sender has the token secrets.WEBHOOK_TOKEN in the header Authorization", name))
		k.trigger(name, above, k.hook)
	case "Flow":
		k.after = true
		k.flowTrigger(name, f, above, given, inputs)
	default:
		k.noTrigger(f.Line, "trigger %s (%s): %s: let an action that reads be asked: poll: {uses, with, every, items, key}", name, class, written(f))
	}
}

// flowTrigger follows the runs of another flow.
func (k *kestra) flowTrigger(name string, f *spec.Foreign, above []string, given func(), inputs *value) {
	flow := ""
	var states []string
	for _, c := range append(itemsOf(f.Get("conditions")), itemsOf(f.Get("preconditions").Get("flows"))...) {
		flow = cmp.Or(textOf(c.Get("flowId")), flow)
		states = append(append(states, textsOf(c.Get("in"))...), textsOf(c.Get("states"))...)
	}
	if len(states) == 0 {
		states = textsOf(f.Get("states"))
	}
	if flow == "" {
		k.noTrigger(f.Line, "trigger %s: %s: it names no flow whose end it follows: after: {workflow: NAME}", name, written(f))
		return
	}
	status := list()
	for _, state := range states {
		word := map[string]string{"SUCCESS": "succeeded", "WARNING": "succeeded", "FAILED": "failed", "KILLED": "canceled", "CANCELLED": "canceled"}[state]
		if word != "" && !slices.ContainsFunc(status.items, func(v *value) bool { return v.text == word }) {
			status.items = append(status.items, text(word))
		}
	}
	after := mapping(field2("workflow", workflowName(flow)))
	if len(status.items) > 0 {
		after.add("status", status)
	}
	v := mapping(field("after", after))
	above = append(above, k.note(f.Line, "trigger %s: the flow %s is followed by the name that it has here: its file's, where it was imported", name, flow))
	if f.Get("inputs") != nil {
		above = append(above, k.note(f.Line, "inputs of trigger %s: %s: what the other run gave is trigger.outputs, with its types", name, written(f.Get("inputs"))))
	}
	k.trigger(name, above, v)
}

// finishHook writes the webhook, now that it is known what of the body is read.
func (k *kestra) finishHook() {
	if k.hook == nil {
		return
	}
	hook := mapping(field("auth", mapping(field("token", text("${{ secrets.WEBHOOK_TOKEN }}")))))
	k.hook.add("webhook", hook)
	if len(k.hooks) == 0 {
		return
	}
	properties, inputs := mapping(), mapping()
	for _, name := range k.hooks {
		properties.add(name, mapping(field2("type", "string")))
		inputs.add(name, text("${{ request.body."+name+` ?? "" }}`))
	}
	hook.add("body", mapping(field2("type", "object"), field("properties", properties)))
	k.hook.add("inputs", inputs)
}

func (k *kestra) outputsOf() {
	for _, f := range itemsOf(k.root.Get("outputs")) {
		name := textOf(f.Get("id"))
		if name == "" {
			continue
		}
		t := k.template(textOf(f.Get("value")))
		out := pair{key: identifierOr(name), value: text(t.render()), above: remarks(f)}
		for _, gap := range t.gaps {
			out.above = append(out.above, k.note(f.Line, "output %s: %s", name, gap))
		}
		k.workflow.outputs = append(k.workflow.outputs, out)
	}
}

// template translates a text with `{{ }}`.
func (k *kestra) template(source string) template {
	return k.translator().translate(split(source, "{{", "}}"), func(inner string) string { return "{{" + inner + "}}" })
}

func (k *kestra) translator() *translator {
	return &translator{scope: k, dialect: dialect{filters: true}}
}

// valueOf translates a value; s gets what can't be.
func (k *kestra) valueOf(s *step, f *spec.Foreign) *value {
	switch f.Kind {
	case spec.Mapping:
		out := mapping()
		for _, p := range f.Pairs {
			out.add(p.Key, k.valueOf(s, p.Value))
		}
		return out
	case spec.Sequence:
		out := list()
		for _, item := range f.Items {
			out.items = append(out.items, k.valueOf(s, item))
		}
		return out
	}
	if v, ok := bareValue(f); ok {
		return v
	}
	t := k.template(f.Text)
	if s != nil {
		for _, gap := range t.gaps {
			k.gap(s, f.Line, "%s", gap)
		}
	}
	return text(t.render())
}

// read gives what a path means in Pebble.
func (k *kestra) read(path []string) (expr, error) {
	rest := path[1:]
	last := ""
	if len(path) > 1 {
		last = path[1]
	}
	switch path[0] {
	case "inputs":
		if of, ok := k.declared[identifierOr(last)]; ok {
			e := expr{source: "inputs." + identifierOr(last), kind: of, absent: slices.Contains(k.nullable, identifierOr(last))}
			for _, name := range rest[1:] {
				e = member(e, name)
			}
			return e, nil
		}
		return expr{}, fmt.Errorf("there is no input `%s`", last)
	case "vars":
		return k.variable(rest)
	case "outputs":
		return k.output(rest)
	case "taskrun", "parent":
		return k.taskrun(path)
	case "trigger":
		return k.triggerValue(rest)
	case "execution":
		switch last {
		case "id":
			return expr{source: "run.id", kind: kindText}, nil
		case "startDate":
			return expr{source: "run.started_at", kind: kindAny}, nil
		case "state":
			return expr{source: "run.status", kind: kindText}, nil
		}
	case "flow":
		if last == "id" {
			return expr{source: "run.workflow", kind: kindText}, nil
		}
	case "schedule":
		if last == "date" {
			return expr{source: "run.scheduled_at", kind: kindAny}, nil
		}
	case "labels":
		if v := k.root.Get("labels").Get(last); v != nil {
			return expr{source: quoteText(textOf(v)), kind: kindText}, nil
		}
	case "item":
		if len(k.loops) > 0 {
			return expr{source: k.loops[len(k.loops)-1], kind: kindAny}, nil
		}
	}
	return expr{}, fmt.Errorf("%s has no counterpart", strings.Join(path, "."))
}

func (k *kestra) variable(path []string) (expr, error) {
	f := k.root.Get("variables")
	for _, name := range path {
		f = f.Get(name)
	}
	if f == nil || k.depth > 8 {
		return expr{}, fmt.Errorf("there is no variable `%s`", strings.Join(path, "."))
	}
	if f.Kind != spec.Scalar {
		return literalExpr(f), nil
	}
	if !strings.Contains(f.Text, "{{") {
		return literalExpr(f), nil
	}
	k.depth++
	defer func() { k.depth-- }()
	t := k.template(f.Text)
	if len(t.gaps) > 0 {
		return expr{}, fmt.Errorf("the variable is %s", t.gaps[0])
	}
	return t.source(), nil
}

func (k *kestra) taskrun(path []string) (expr, error) {
	up := 0
	for len(path) > 0 && (path[0] == "parent" || path[0] == "taskrun") {
		if path[0] == "parent" {
			up++
		}
		path = path[1:]
	}
	at := len(k.loops) - 1 - up
	if len(path) == 0 || at < 0 {
		return expr{}, fmt.Errorf("there is no loop around")
	}
	switch path[0] {
	case "value":
		e := expr{source: k.loops[at], kind: kindAny}
		for _, name := range path[1:] {
			e = member(e, name)
		}
		return e, nil
	case "iteration":
		return expr{source: "index", kind: kindNumber}, nil
	}
	return expr{}, fmt.Errorf("taskrun.%s has no counterpart", path[0])
}

func (k *kestra) triggerValue(path []string) (expr, error) {
	switch {
	case len(path) == 1 && (path[0] == "date" || path[0] == "next"):
		return expr{source: "run.scheduled_at", kind: kindAny}, nil
	case len(path) == 2 && path[0] == "body" && k.hook != nil && isField(path[1]):
		if !slices.Contains(k.hooks, path[1]) {
			k.hooks = append(k.hooks, path[1])
			k.declare(path[1], kindText, nil, mapping(field2("type", "string"), field("default", text(""))))
		}
		return expr{source: "inputs." + path[1], kind: k.declared[path[1]]}, nil
	case len(path) == 2 && path[0] == "outputs" && k.after:
		return expr{source: "trigger.outputs?." + path[1], kind: kindAny, absent: true}, nil
	}
	return expr{}, fmt.Errorf("trigger.%s has no counterpart: make it an input that the trigger gives", strings.Join(path, "."))
}

// output is what `outputs.task.field` means.
func (k *kestra) output(path []string) (expr, error) {
	if len(path) < 1 || k.tasks[path[0]] == nil {
		return expr{}, fmt.Errorf("there is no task `%s` before", strings.Join(path[:min(1, len(path))], ""))
	}
	task, rest := k.tasks[path[0]], path[1:]
	base := "steps." + task.id
	sign := "."
	if task.absent {
		sign = "?."
	}
	read := func(of kind, absent bool, names ...string) (expr, error) {
		return expr{source: base + sign + "outputs" + sign + strings.Join(names, sign), kind: of, absent: absent || task.absent}, nil
	}
	first := strings.Join(rest[:min(1, len(rest))], "")
	switch {
	case task.kind == "exec" && first == "vars" && len(rest) == 2 && slices.Contains(task.fields, rest[1]):
		return read(kindText, false, "json", rest[1])
	case task.kind == "exec" && first == "exitCode":
		return read(kindNumber, false, "exit_code")
	case task.kind == "http" && first == "body":
		e := expr{source: base + "?.outputs?.body", kind: kindAny, absent: true}
		if len(rest) > 1 {
			e = expr{source: "get(" + base + "?.outputs?.body, " + quoteText(strings.Join(rest[1:], ".")) + ")", kind: kindAny, absent: true}
		}
		return e, nil
	case task.kind == "http" && first == "code":
		return read(kindNumber, false, "status")
	case task.kind == "value" && first == "value":
		return read(kindText, false, "value")
	case task.kind == "values" && first == "values" && len(rest) == 2:
		return read(kindAny, false, identifierOr(rest[1]))
	case task.kind == "form" && first == "onResume" && len(rest) == 2:
		return read(kindAny, true, identifierOr(rest[1]))
	case task.kind == "child" && first == "outputs" && len(rest) == 2:
		return read(kindAny, false, identifierOr(rest[1]))
	case task.kind == "state" && first == "value":
		return expr{source: "state." + task.state, kind: kindText, absent: true}, nil
	}
	return expr{}, fmt.Errorf("the task `%s` gives no `%s` here", path[0], strings.Join(rest, "."))
}

func (k *kestra) call(name string, args []*node, t *translator) (expr, error) {
	written := ""
	if len(args) > 0 {
		written, _ = args[0].literalText()
	}
	switch {
	case name == "secret" && secretPattern().MatchString(written):
		return expr{source: "secrets." + written, kind: kindText, secret: written}, nil
	case name == "kv" && written != "":
		return expr{source: "state." + k.keep(written), kind: kindText, absent: true}, nil
	case name == "now" && len(args) <= 1:
		return expr{source: "now()", kind: kindAny}, nil
	case name == "currentEachOutput" && len(args) == 1:
		return t.plain(args[0])
	case name == "render" && len(args) >= 1:
		return t.plain(args[0])
	case name == "fromJson" || name == "json":
		e, err := t.plain(args[0])
		return expr{source: "fromJSON(" + e.asText() + ")", kind: kindAny}, err
	case name == "toJson" && len(args) == 1:
		e, err := t.plain(args[0])
		return expr{source: "toJSON(" + e.present().source + ")", kind: kindText}, err
	case name == "range" && len(args) == 2:
		a, err := t.plain(args[0])
		if err != nil {
			return a, err
		}
		b, err := t.plain(args[1])
		return expr{source: a.operand() + ".." + b.operand(), kind: kindList, joined: true}, err
	case name == "max" || name == "min":
		values := make([]string, len(args))
		for i, arg := range args {
			e, err := t.plain(arg)
			if err != nil {
				return e, err
			}
			values[i] = e.present().source
		}
		return expr{source: name + "(" + strings.Join(values, ", ") + ")", kind: kindNumber}, nil
	}
	return expr{}, fmt.Errorf("`%s()` has no counterpart", name)
}

var secretPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
})

// keep declares a value of state for a key of the store of keys and values.
func (k *kestra) keep(key string) string {
	name := identifierOr(key)
	if !slices.ContainsFunc(k.state, func(p pair) bool { return p.key == name }) {
		k.state = append(k.state, field(name, mapping(field2("type", "string"), field("nullable", bare("true")), field("default", bare("null")))))
	}
	return name
}
