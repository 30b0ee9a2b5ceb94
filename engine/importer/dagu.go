package importer

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/spec"
)

// dagu reads a DAG of Dagu.
type dagu struct {
	*workflow
	root    *spec.Foreign
	names   map[string]expr // variables: parameters, environment, outputs of steps
	secrets map[string]string
	steps   map[string]string // ids by the names of steps
	guard   string            // preconditions of the DAG
	item    string            // the name of a loop's item, inside of one
	shell   []string
	byName  bool // steps follow those that they name, and no other
	handler bool
}

func readDagu(name string, documents []*spec.Foreign) []*workflow {
	var all []*workflow
	for i, root := range documents {
		title := textOf(root.Get("name"))
		if title == "" || i == 0 && name != "" {
			title = name
		}
		d := &dagu{workflow: newWorkflow(title), root: root, names: map[string]expr{}, secrets: map[string]string{}, steps: map[string]string{}}
		if _, sequence := root.Get("steps"), root.Kind == spec.Sequence; sequence {
			d.root = &spec.Foreign{Kind: spec.Mapping, Line: root.Line, Pairs: []spec.ForeignPair{{Key: "steps", Line: root.Line, Value: root}}}
		}
		d.read()
		all = append(all, d.workflow)
	}
	return all
}

// either is the value of a key in either of the two ways that Dagu writes it.
func either(f *spec.Foreign, camel string) *spec.Foreign {
	if v := f.Get(camel); v != nil {
		return v
	}
	var b strings.Builder
	for _, r := range camel {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return f.Get(b.String())
}

func (d *dagu) read() {
	root := d.root
	for _, p := range root.Pairs {
		if p.Key != "steps" && p.Value.Kind == spec.Scalar || p.Key == "params" {
			d.head = append(d.head, p.Value.Above...)
		}
	}
	d.head = append(d.head, root.Above...)
	if text := textOf(root.Get("description")); text != "" {
		d.key("description", scalarValue(root.Get("description")))
	}
	for _, key := range []string{"tags", "labels"} {
		d.labels(root.Get(key))
	}
	d.params(root.Get("params"))
	d.environment(root.Get("env"))
	for _, s := range itemsOf(root.Get("secrets")) {
		if name := textOf(s.Get("name")); name != "" {
			d.secrets[name] = variable(name)
		}
	}
	d.schedules(root.Get("schedule"))
	d.limits()
	d.shell = append([]string{"bash"}, shellOptions...)
	if words := strings.Fields(textOf(root.Get("shell"))); len(words) > 0 {
		d.shell = words
	}
	d.unknown()
	if v := either(root, "preconditions"); v != nil {
		lead := &step{}
		d.guard = d.conditions(lead, "dag", v)
		d.head = append(d.head, lead.above...)
	}
	d.handlers(true)
	d.allSteps()
	d.handlers(false)
}

// unknown tells the keys that have no counterpart.
func (d *dagu) unknown() {
	hints := map[string]string{
		"mailOn": "name where messages go in flowrun.yaml: notify: {ops: {webhook: …, on: [failed]}}, or send with mail.send",
		"smtp":   "a connection of the plugin mail holds the server", "errorMail": "mail.send in on_failure", "infoMail": "mail.send in on_success",
		"dotenv": "variables of files are connections and secrets of flowrun.yaml", "container": "flowrun starts no container: what ran in it runs on this machine",
		"skipIfSuccessful": "a schedule fires each slot once", "ssh": "flowrun runs on one machine: a command of exec may call ssh",
		"workerSelector": "flowrun runs on one machine", "overlapPolicy": "concurrency: {on_full: queue, skip or latest}", "registryAuths": "flowrun starts no container",
		"delaySec": "the limit of a service belongs to its connection: rate: 60/1m",
		"base":     "what a base file sets stands in flowrun.yaml", "defaults": "defaults: {timeout, retry} of the workflow", "redis": "a plugin of your own", "s3": "a plugin of your own",
		"retryPolicy": "a run is tried again by hand: flowrun runs resume",
	}
	for _, name := range slices.Sorted(maps.Keys(hints)) {
		if v := either(d.root, name); v != nil {
			d.head = append(d.head, d.note(v.Line, "%s: %s: %s", name, written(v), hints[name]))
		}
	}
	for _, name := range []string{"logDir", "histRetentionDays", "maxCleanUpTimeSec", "group", "otel", "runConfig", "maxOutputSize", "artifacts", "logOutput"} {
		if either(d.root, name) != nil {
			d.leaveOut(name)
		}
	}
}

func (d *dagu) labels(f *spec.Foreign) {
	labels := mapping()
	for _, p := range pairsOf(f) {
		labels.add(p.Key, text(textOf(p.Value)))
	}
	for _, tag := range strings.FieldsFunc(strings.Join(textsOf(f), ","), func(r rune) bool { return r == ',' || r == ' ' }) {
		name, value, ok := strings.Cut(tag, "=")
		if !ok {
			value = "true"
		}
		if !slices.ContainsFunc(labels.pairs, func(p pair) bool { return p.key == name }) && identifier(name) != "" {
			labels.add(name, text(value))
		}
	}
	if len(labels.pairs) > 0 {
		d.key("labels", labels)
	}
}

var oneParam = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([A-Za-z_]\w*)=("(?:[^"\\]|\\.)*"|'[^']*'|` + "`[^`]*`" + `|\S+)|("[^"]*"|\S+)`)
})

// params are the inputs: KEY=value in one text, or a list, or a map.
func (d *dagu) params(f *spec.Foreign) {
	position := 0
	add := func(name, value string, line int, above []string) {
		if name == "" {
			position++
			name = "arg" + string(rune('0'+min(position, 9)))
			d.names[name[3:]] = expr{source: "inputs." + name, kind: kindText}
		}
		field := identifierOr(strings.ToLower(name))
		if strings.ContainsAny(value, "`$") {
			above = append(above, d.note(line, "params: %s=%s: a default is a value that is written out", name, value))
			value = ""
		}
		d.declare(field, kindText, above, mapping(pair{key: "type", value: text("string")}, pair{key: "default", value: text(value)}))
		d.names[name] = expr{source: "inputs." + field, kind: kindText}
		d.taken++
	}
	if f == nil {
		return
	}
	parse := func(source string, line int, above []string) {
		for _, found := range oneParam().FindAllStringSubmatch(source, -1) {
			value := strings.Trim(found[2]+found[3], `"'`)
			add(found[1], value, line, above)
		}
	}
	if one := textOf(f); one != "" {
		parse(one, f.Line, f.Beside)
	}
	for _, item := range f.Items {
		if one := textOf(item); one != "" {
			parse(one, item.Line, remarks(item))
		}
		if name := textOf(item.Get("name")); name != "" && item.Get("default") != nil {
			add(name, textOf(item.Get("default")), item.Line, remarks(item))
			continue
		}
		for _, p := range item.Pairs {
			add(p.Key, textOf(p.Value), p.Line, append(slices.Clone(item.Above), p.Value.Beside...))
		}
	}
	for _, p := range f.Pairs {
		add(p.Key, textOf(p.Value), p.Line, append(slices.Clone(p.Value.Above), p.Value.Beside...))
	}
}

// environment are the variables of the DAG: texts by their names, in order.
func (d *dagu) environment(f *spec.Foreign) {
	for _, item := range append([]*spec.Foreign{f}, itemsOf(f)...) {
		for _, p := range pairsOf(item) {
			d.variable(p.Key, textOf(p.Value), p.Line)
		}
		if name, value, ok := strings.Cut(textOf(item), "="); ok && isField(name) {
			d.variable(name, value, item.Line)
		}
	}
}

func (d *dagu) variable(name, value string, line int) {
	if strings.Contains(value, "`") {
		d.head = append(d.head, d.note(line, "env: %s: %s: what a command says is the output of a step", name, value))
		return
	}
	t := d.template(value)
	for _, gap := range t.gaps {
		d.head = append(d.head, d.note(line, "env: %s: %s", name, gap))
	}
	d.names[name] = t.source()
}

func (d *dagu) schedules(f *spec.Foreign) {
	if f == nil {
		return
	}
	for _, key := range []string{"stop", "restart"} {
		if v := f.Get(key); v != nil {
			d.noTrigger(v.Line, "schedule.%s: %s: flowrun keeps no program running", key, written(v))
		}
	}
	starts := f
	if f.Kind == spec.Mapping {
		starts = f.Get("start")
	}
	for _, source := range textsOf(starts) {
		v, err := schedule(source, "")
		if err != nil {
			d.noTrigger(f.Line, "schedule: %s", err)
		}
		if v == nil {
			continue
		}
		if window := either(d.root, "catchupWindow"); window != nil {
			if length, ok := durationOf(textOf(window), "s"); ok {
				v.add("catchup", mapping(field("window", bare(length)), field("keep", text("all"))))
			}
		}
		d.trigger("schedule", append(slices.Clone(f.Above), f.Beside...), v)
	}
}

func (d *dagu) limits() {
	if t, ok := seconds(either(d.root, "timeoutSec")); ok {
		d.key("timeout", bare(t), either(d.root, "timeoutSec").Beside...)
	}
	runs, limited := intOf(either(d.root, "maxActiveRuns"))
	queue := textOf(d.root.Get("queue"))
	switch {
	case queue != "":
		limit := max(1, runs)
		d.key("concurrency", mapping(field("key", text(queue)), field("limit", number(limit)), field("on_full", text("queue"))))
	case limited && runs > 0 && runs <= 10000:
		d.key("concurrency", mapping(field("limit", number(runs)), field("on_full", text("queue"))))
	}
	if v := either(d.root, "maxActiveSteps"); v != nil {
		d.head = append(d.head, d.note(v.Line, "maxActiveSteps: %s: max_parallel of a loop says how many of its items go on at once", textOf(v)))
	}
}
