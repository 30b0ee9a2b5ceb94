package importer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/spec"
)

// argo reads a workflow of Argo Workflows: its templates are written out where they are
// called.
type argo struct {
	*workflow
	templates map[string]*spec.Foreign            // by their names
	shared    map[string]map[string]*spec.Foreign // those of WorkflowTemplates of the same file
	open      []string                            // templates around
	count     int                                 // calls that were written out
	items     []string                            // names of the items of the loops around
}

// Bounds of what is written out: templates that call each other grow as they like.
const (
	mostCalls    = 400
	deepestCalls = 12
)

func readArgo(name string, documents []*spec.Foreign) []*workflow {
	shared := map[string]map[string]*spec.Foreign{}
	for _, d := range documents {
		if strings.HasSuffix(textOf(d.Get("kind")), "WorkflowTemplate") {
			shared[textOf(d.Get("metadata").Get("name"))] = templatesOf(d.Get("spec"))
		}
	}
	runnable := func(d *spec.Foreign) bool {
		return slices.Contains([]string{"Workflow", "CronWorkflow", "Sensor", "WorkflowTemplate", "ClusterWorkflowTemplate"}, textOf(d.Get("kind")))
	}
	count := 0
	for _, d := range documents {
		if runnable(d) {
			count++
		}
	}
	var all []*workflow
	for _, d := range documents {
		if !runnable(d) {
			continue
		}
		title := textOf(d.Get("metadata").Get("name"))
		if title == "" {
			title = strings.TrimSuffix(textOf(d.Get("metadata").Get("generateName")), "-")
		}
		if title == "" || count == 1 && name != "" {
			title = name
		}
		a := &argo{workflow: newWorkflow(title), shared: shared}
		a.head = append(a.head, d.Above...)
		for _, p := range d.Pairs {
			a.head = append(a.head, p.Value.Above...)
		}
		a.document(d)
		all = append(all, a.workflow)
	}
	if len(all) == 0 {
		a := &argo{workflow: newWorkflow(name)}
		for _, d := range documents {
			a.head = append(a.head, a.note(max(1, d.Line), "the kind %s: what it says belongs to a trigger of the workflow that it starts: triggers: {NAME: {webhook: …}}", textOf(d.Get("kind"))))
		}
		all = append(all, a.workflow)
	}
	return all
}

func templatesOf(f *spec.Foreign) map[string]*spec.Foreign {
	all := map[string]*spec.Foreign{}
	for _, t := range itemsOf(f.Get("templates")) {
		all[textOf(t.Get("name"))] = t
	}
	return all
}

func (a *argo) document(d *spec.Foreign) {
	body := d.Get("spec")
	switch textOf(d.Get("kind")) {
	case "CronWorkflow":
		a.cron(body)
		body = body.Get("workflowSpec")
	case "Sensor":
		body = a.sensor(body)
	}
	if body == nil {
		return
	}
	a.metadata(d.Get("metadata"))
	a.templates = templatesOf(body)
	if ref := textOf(body.Get("workflowTemplateRef").Get("name")); ref != "" {
		if a.shared[ref] != nil {
			a.templates = a.shared[ref]
		} else {
			a.head = append(a.head, a.note(body.Get("workflowTemplateRef").Line, "workflowTemplateRef: %s: import that template, and call it: uses: ./%s.yaml", ref, workflowName(ref)))
		}
	}
	a.arguments(body.Get("arguments"))
	a.specKeys(body)
	scope := &argoScope{argo: a, args: map[string]expr{}, calls: map[string]*argoCall{}}
	entry := textOf(body.Get("entrypoint"))
	if template := a.templates[entry]; template != nil {
		b := &argoBlock{into: &a.workflow.steps}
		called := a.write(scope.inner(a.defaults(template, nil, scope)), template, entry, b)
		for _, name := range slices.Sorted(keysOf(called.parameters)) {
			a.workflow.outputs = append(a.workflow.outputs, field(identifierOr(name), text("${{ "+called.parameters[name].source+" }}")))
		}
	} else if entry != "" {
		a.head = append(a.head, a.note(body.Get("entrypoint").Line, "entrypoint: %s: there is no such template in the file", entry))
	}
	if exit := a.templates[textOf(body.Get("onExit"))]; exit != nil {
		a.write(scope.inner(a.defaults(exit, nil, scope)), exit, textOf(body.Get("onExit")), &argoBlock{into: &a.workflow.finally, handler: true})
	}
}

func keysOf(m map[string]expr) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range m {
			if !yield(name) {
				return
			}
		}
	}
}

func (a *argo) metadata(f *spec.Foreign) {
	labels := mapping()
	for _, p := range pairsOf(f.Get("labels")) {
		if !strings.Contains(p.Key, "argoproj.io") {
			labels.add(p.Key, text(textOf(p.Value)))
		}
	}
	if len(labels.pairs) > 0 {
		a.key("labels", labels)
	}
	if description := textOf(f.Get("annotations").Get("workflows.argoproj.io/description")); description != "" {
		a.key("description", &value{kind: spec.Scalar, text: literalSigns(oneLine(description))})
	}
	a.leaveOutKeys(f, "namespace")
}

// arguments are the inputs.
func (a *argo) arguments(f *spec.Foreign) {
	for _, p := range itemsOf(f.Get("parameters")) {
		name := textOf(p.Get("name"))
		if name == "" {
			continue
		}
		schema := mapping(field2("type", "string"))
		above := remarks(p)
		if enum := textsOf(p.Get("enum")); len(enum) > 0 {
			schema.add("enum", texts(enum))
		}
		switch v := p.Get("value"); {
		case v != nil && strings.Contains(textOf(v), "{{"):
			above = append(above, a.note(v.Line, "value: %s: a default is a value that is written out", written(v)))
		case v != nil:
			schema.add("default", text(textOf(v)))
		case p.Get("default") != nil:
			schema.add("default", text(textOf(p.Get("default"))))
		case len(a.triggers) > 0 && p.Get("valueFrom") == nil:
			schema.add("default", text(""))
		}
		if from := p.Get("valueFrom"); from != nil {
			above = append(above, a.note(from.Line, "valueFrom: %s: give the value as an input, or keep it in flowrun.yaml", written(from)))
			schema.add("default", text(""))
		}
		if description := textOf(p.Get("description")); description != "" {
			schema.add("description", &value{kind: spec.Scalar, text: literalSigns(oneLine(description))})
		}
		a.declare(identifierOr(name), kindText, above, schema)
		a.taken++
	}
	if v := f.Get("artifacts"); v != nil {
		a.head = append(a.head, a.note(v.Line, "artifacts: %s: data goes from step to step as outputs, large values too", written(v)))
	}
}

// specKeys reads what a workflow says besides its templates.
func (a *argo) specKeys(f *spec.Foreign) {
	if t, ok := seconds(f.Get("activeDeadlineSeconds")); ok {
		a.key("timeout", bare(t), f.Get("activeDeadlineSeconds").Beside...)
	}
	if sync := f.Get("synchronization"); sync != nil {
		key := textOf(sync.Get("mutex").Get("name"))
		for _, m := range itemsOf(sync.Get("mutexes")) {
			key = textOf(m.Get("name"))
		}
		if key != "" && !strings.Contains(key, "{{") {
			a.key("concurrency", mapping(field2("key", key), field("limit", bare("1")), field2("on_full", "queue")))
		} else {
			a.head = append(a.head, a.note(sync.Line, "synchronization: %s: concurrency: {key, limit, on_full}", written(sync)))
		}
	}
	for _, hint := range []struct{ key, text string }{
		{"hooks", "on_success, on_failure and finally are the hooks of a workflow"}, {"parallelism", "max_parallel of a loop, and limits of a service"},
		{"volumes", "files stay where the project is"}, {"volumeClaimTemplates", "files stay where the project is"}, {"templateDefaults", "defaults: {timeout, retry}"},
		{"retryStrategy", "retry of the steps, or flowrun runs resume"},
	} {
		if v := f.Get(hint.key); v != nil {
			a.head = append(a.head, a.note(v.Line, "%s: %s: %s", hint.key, written(v), hint.text))
		}
	}
	for _, key := range []string{"serviceAccountName", "ttlStrategy", "podGC", "nodeSelector", "tolerations", "affinity", "imagePullSecrets", "podSpecPatch", "securityContext", "archiveLogs", "artifactRepositoryRef", "workflowMetadata", "podMetadata", "priority"} {
		if f.Get(key) != nil {
			a.leaveOut(key)
		}
	}
}

func (a *argo) cron(f *spec.Foreign) {
	zone := textOf(f.Get("timezone"))
	for _, source := range append(textsOf(f.Get("schedule")), textsOf(f.Get("schedules"))...) {
		v, err := schedule(source, zone)
		if err != nil {
			a.noTrigger(f.Line, "schedule: %s", err)
		}
		if v == nil {
			continue
		}
		if window, ok := seconds(f.Get("startingDeadlineSeconds")); ok {
			v.add("catchup", mapping(field("window", bare(window)), field2("keep", "latest")))
		}
		a.trigger("schedule", remarks(f, "workflowSpec"), v)
	}
	onFull := map[string]string{"Forbid": "skip", "Replace": "cancel_running"}[textOf(f.Get("concurrencyPolicy"))]
	if onFull != "" {
		a.key("concurrency", mapping(field("limit", bare("1")), field2("on_full", onFull)))
	}
	if boolOf(f.Get("suspend")) {
		a.noTrigger(f.Get("suspend").Line, "suspend: true: pause the trigger: flowrun schedules pause")
	}
	for _, key := range []string{"stopStrategy", "when"} {
		if v := f.Get(key); v != nil {
			a.noTrigger(v.Line, "%s: %s: pause_after_failures, or an `if` on the first step", key, written(v))
		}
	}
	a.leaveOutKeys(f, "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
}

// sensor makes a webhook of a sensor, and gives back the workflow that it starts.
func (a *argo) sensor(f *spec.Foreign) *spec.Foreign {
	for _, t := range itemsOf(f.Get("triggers")) {
		started := t.Get("template").Get("argoWorkflow")
		if started == nil {
			started = t.Get("template").Get("k8s")
		}
		resource := started.Get("source").Get("resource")
		if resource == nil {
			a.noTrigger(t.Line, "the trigger %s starts no workflow that stands in the file", written(t.Get("template")))
			continue
		}
		body := resource.Get("spec")
		a.metadata(resource.Get("metadata"))
		parameters := itemsOf(body.Get("arguments").Get("parameters"))
		properties, inputs := mapping(), mapping()
		for _, p := range itemsOf(started.Get("parameters")) {
			key := textOf(p.Get("src").Get("dataKey"))
			dest := strings.Split(textOf(p.Get("dest")), ".")
			name := strings.TrimPrefix(key, "body.")
			at := -1
			if len(dest) == 5 && strings.HasPrefix(textOf(p.Get("dest")), "spec.arguments.parameters.") {
				if n, err := strconv.Atoi(dest[3]); err == nil {
					at = n
				}
			}
			if at < 0 || at >= len(parameters) || !isField(name) {
				a.noTrigger(p.Line, "parameters: %s: give the input from request.body", written(p))
				continue
			}
			properties.add(name, mapping(field2("type", "string")))
			inputs.add(identifierOr(textOf(parameters[at].Get("name"))), text("${{ request.body."+name+` ?? "" }}`))
		}
		hook := mapping(field("auth", mapping(field("token", text("${{ secrets.WEBHOOK_TOKEN }}")))))
		if len(properties.pairs) > 0 {
			hook.add("body", mapping(field2("type", "object"), field("properties", properties)))
		}
		trigger := mapping(field("webhook", hook))
		if len(inputs.pairs) > 0 {
			trigger.add("inputs", inputs)
		}
		above := append(remarks(t), a.note(t.Line, "the event source was open to all who reached it: here the sender has the token secrets.WEBHOOK_TOKEN, or signs: auth: {hmac_sha256: …}"))
		for _, d := range itemsOf(f.Get("dependencies")) {
			if v := d.Get("filters"); v != nil {
				above = append(above, a.note(v.Line, "filters: %s: the shape of the body is `body`, the rest an `if` on a step", written(v)))
			}
			if event := textOf(d.Get("eventName")); event != "" {
				a.leaveOut("the event source of " + event)
			}
		}
		name := textOf(t.Get("template").Get("name"))
		a.trigger("hook_"+name, above, trigger)
		return body
	}
	return nil
}
