package importer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/spec"
)

// argoBlock is where the steps of a template go.
type argoBlock struct {
	into    *[]*step
	before  []string
	cond    string
	runIf   string // of the first step
	handler bool
	goesOn  bool
}

// place adds a step to the block.
func (a *argo) place(s *step, b *argoBlock) {
	s.cond = joinConditions(b.cond, s.cond)
	s.runIf = firstOf(s.runIf, b.runIf)
	s.absent = s.absent || s.cond != "" || s.runIf != ""
	s.needs, s.ordered = slices.Clone(b.before), true
	last := ""
	if n := len(*b.into); n > 0 {
		last = (*b.into)[n-1].id
	}
	if len(s.needs) == 1 && s.needs[0] == last || len(s.needs) == 0 && last == "" {
		s.needs, s.ordered = nil, false
	}
	if b.goesOn && usesOf(s) != "" {
		s.add("on_error", text("continue"))
		s.absent = true
	}
	*b.into = append(*b.into, s)
	b.before = []string{s.id}
	b.runIf = ""
	a.taken++
}

// defaults are the arguments of a call, and the template's own where there is none.
func (a *argo) defaults(template, arguments *spec.Foreign, scope *argoScope) map[string]expr {
	args := map[string]expr{}
	for _, p := range itemsOf(template.Get("inputs").Get("parameters")) {
		for _, key := range []string{"default", "value"} {
			if v := p.Get(key); v != nil {
				args[textOf(p.Get("name"))] = scope.template(textOf(v)).source()
			}
		}
	}
	for _, p := range itemsOf(arguments.Get("parameters")) {
		v := p.Get("value")
		if v == nil {
			continue
		}
		args[textOf(p.Get("name"))] = scope.template(textOf(v)).source()
	}
	return args
}

// write writes a template out, where it is called as name.
func (a *argo) write(scope *argoScope, template *spec.Foreign, name string, b *argoBlock) *argoCall {
	kind := textOf(template.Get("name"))
	a.count++
	if a.count > mostCalls || len(a.open) > deepestCalls || slices.Contains(a.open, kind) && kind != "" {
		s := &step{id: a.newID(name)}
		why := "it calls itself: a loop over a list, or repeat of one action, is what there is"
		if a.count > mostCalls || len(a.open) > deepestCalls {
			why = "too many templates are called: make it a workflow of its own, and call it: uses: ./NAME.yaml"
		}
		a.gap(s, template.Line, "template %s: %s", kind, why)
		if a.count > mostCalls+100 {
			return &argoCall{ends: b.before}
		}
		s.add("uses", text("core.fail")).add("with", mapping(field("message", text("not imported: the template "+oneLine(kind)))))
		a.place(s, b)
		return &argoCall{ends: b.before, status: s.id}
	}
	a.open = append(a.open, kind)
	defer func() { a.open = a.open[:len(a.open)-1] }()
	switch {
	case template.Get("steps") != nil:
		return a.groups(scope, template, b)
	case template.Get("dag") != nil:
		return a.dag(scope, template, b)
	}
	return a.leaf(scope, template, name, b)
}

// groups are lists of steps: one list after the other, those of a list beside each other.
func (a *argo) groups(scope *argoScope, template *spec.Foreign, b *argoBlock) *argoCall {
	last := &argoCall{}
	for _, group := range itemsOf(template.Get("steps")) {
		items := group.Items
		if group.Kind == spec.Mapping {
			items = []*spec.Foreign{group}
		}
		start, runIf := b.before, b.runIf
		var ends []string
		for _, f := range items {
			inner := *b
			inner.before, inner.runIf = start, runIf
			call := a.oneCall(scope, f, &inner, group.Above)
			scope.calls[textOf(f.Get("name"))] = call
			for _, end := range call.ends {
				if !slices.Contains(ends, end) {
					ends = append(ends, end)
				}
			}
			last = call
		}
		if len(ends) > 0 {
			b.before, b.runIf = ends, ""
		}
	}
	return a.results(scope, template, b, last)
}

func (a *argo) dag(scope *argoScope, template *spec.Foreign, b *argoBlock) *argoCall {
	start := b.before
	var ends []string
	last := &argoCall{}
	for _, f := range a.taskOrder(itemsOf(template.Get("dag").Get("tasks"))) {
		inner := *b
		inner.before = start
		lead := &step{}
		needs, runIf, cond := textsOf(f.Get("dependencies")), "", ""
		if source := textOf(f.Get("depends")); source != "" {
			var err error
			if needs, runIf, cond, err = scope.depends(source); err != nil {
				a.gap(lead, f.Line, "depends: %s: %s; until you say when it runs, it does not", source, err)
				cond = "false"
			}
		} else {
			var ids []string
			for _, name := range needs {
				if call := scope.calls[name]; call != nil {
					ids = append(ids, call.ends...)
				}
			}
			needs = ids
		}
		if len(needs) > 0 {
			inner.before = needs
		}
		inner.runIf = firstOf(runIf, inner.runIf)
		inner.cond = joinConditions(inner.cond, cond)
		loose := *scope
		loose.loose = scope.loose || runIf != ""
		call := a.oneCall(&loose, f, &inner, lead.above)
		scope.calls[textOf(f.Get("name"))] = call
		for _, end := range call.ends {
			if !slices.Contains(ends, end) {
				ends = append(ends, end)
			}
		}
		last = call
	}
	if len(ends) > 0 {
		b.before = ends
	}
	return a.results(scope, template, b, last)
}

// taskOrder puts tasks behind those that they follow.
func (a *argo) taskOrder(items []*spec.Foreign) []*spec.Foreign {
	var out []*spec.Foreign
	seen := map[*spec.Foreign]bool{}
	var visit func(f *spec.Foreign)
	visit = func(f *spec.Foreign) {
		if seen[f] {
			return
		}
		seen[f] = true
		words := append(textsOf(f.Get("dependencies")), strings.FieldsFunc(textOf(f.Get("depends")), func(r rune) bool { return strings.ContainsRune(" ()&|!", r) })...)
		for _, other := range items {
			name := textOf(other.Get("name"))
			if slices.ContainsFunc(words, func(w string) bool { return w == name || strings.HasPrefix(w, name+".") }) {
				visit(other)
			}
		}
		out = append(out, f)
	}
	for _, f := range items {
		visit(f)
	}
	return out
}

// results are the outputs of a template that calls others.
func (a *argo) results(scope *argoScope, template *spec.Foreign, b *argoBlock, last *argoCall) *argoCall {
	call := &argoCall{ends: b.before, parameters: map[string]expr{}, status: last.status}
	for _, p := range itemsOf(template.Get("outputs").Get("parameters")) {
		from := p.Get("valueFrom")
		source, expression := textOf(from.Get("parameter")), textOf(from.Get("expression"))
		if expression != "" {
			source = "{{=" + expression + "}}"
		}
		if t := scope.template(source); len(t.gaps) == 0 && source != "" {
			call.parameters[textOf(p.Get("name"))] = t.source()
		} else {
			a.head = append(a.head, a.note(p.Line, "outputs: %s: %s", textOf(p.Get("name")), strings.Join(append(t.gaps, ""), " ")))
		}
	}
	return call
}

// oneCall is a step or task that calls a template, once or for each item.
func (a *argo) oneCall(scope *argoScope, f *spec.Foreign, b *argoBlock, above []string) *argoCall {
	lead := &step{above: append(slices.Clone(above), remarks(f)...)}
	name := textOf(f.Get("name"))
	b.goesOn = b.goesOn || boolOf(f.Get("continueOn").Get("failed")) || boolOf(f.Get("continueOn").Get("error"))
	if v := f.Get("hooks"); v != nil {
		a.gap(lead, v.Line, "hooks: %s: a step behind this one, with run_if: any", written(v))
	}
	if v := f.Get("onExit"); v != nil {
		a.gap(lead, v.Line, "onExit of a step: %s: a step behind this one, with run_if: any", written(v))
	}
	loop, list, item := a.loop(scope, f, name, lead)
	if loop == nil {
		b.cond = joinConditions(b.cond, a.when(scope, f, lead))
		count := len(*b.into)
		call := a.body(scope, f, name, b, lead)
		if len(*b.into) > count {
			(*b.into)[count].above = append(lead.above, (*b.into)[count].above...)
		}
		return call
	}
	inner := scope.withItem(item, list)
	loop.add("foreach", list).add("as", text(item))
	if b.goesOn {
		loop.add("on_error", text("collect"))
		loop.absent = true
	}
	nested := &argoBlock{into: &loop.steps}
	nested.cond = a.when(inner, f, lead)
	a.items = append(a.items, item)
	call := a.body(inner, f, firstOf(textOf(f.Get("template")), name), nested, lead)
	a.items = a.items[:len(a.items)-1]
	if len(loop.steps) == 0 {
		loop.steps = []*step{(&step{id: a.newID(name + "_item")}).add("let", mapping(field("done", bare("true"))))}
	}
	collected := &argoCall{parameters: map[string]expr{}, status: loop.id}
	collect := mapping()
	items := "steps." + loop.id + ".outputs.items"
	if b.goesOn || b.cond != "" || b.runIf != "" {
		items = "(steps." + loop.id + "?.outputs?.items ?? [])"
	}
	if call.result.source != "" {
		collect.add("result", text("${{ "+call.result.present().source+" }}"))
		collected.result = expr{source: "map(" + items + ", .result)", kind: kindList}
	}
	for _, p := range slices.Sorted(keysOf(call.parameters)) {
		key := identifierOr(p)
		if key == "result" {
			key = "result_parameter"
		}
		collect.add(key, text("${{ "+call.parameters[p].present().source+" }}"))
		collected.parameters[p] = expr{source: "map(" + items + ", ." + key + ")", kind: kindList}
	}
	if len(collect.pairs) > 0 {
		loop.behind = append(loop.behind, field("collect", collect))
	}
	loop.above = lead.above
	goesOn := b.goesOn
	b.goesOn = false
	a.place(loop, b)
	b.goesOn = goesOn
	collected.ends = b.before
	return collected
}

func (a *argo) when(scope *argoScope, f *spec.Foreign, lead *step) string {
	when := f.Get("when")
	if when == nil {
		return ""
	}
	cond, err := scope.condition(textOf(when))
	if err != nil {
		a.gap(lead, when.Line, "when: %s: %s; until you say when it runs, it does not", textOf(when), err)
		return "false"
	}
	return cond
}

// loop is the loop of a call; nil where it is made once.
func (a *argo) loop(scope *argoScope, f *spec.Foreign, name string, lead *step) (loop *step, list *value, item string) {
	items, param, sequence := f.Get("withItems"), f.Get("withParam"), f.Get("withSequence")
	switch {
	case items != nil:
		list = &value{kind: spec.Sequence}
		for _, one := range items.Items {
			if t := scope.template(textOf(one)); one.Kind == spec.Scalar && !t.literal() {
				list.items = append(list.items, text(t.render()))
				continue
			}
			list.items = append(list.items, plainValue(one))
		}
	case param != nil:
		t := scope.template(textOf(param))
		for _, gap := range t.gaps {
			a.gap(lead, param.Line, "withParam: %s", gap)
		}
		switch e, ok := t.only(); {
		case ok && e.kind == kindList:
			list = text("${{ " + e.present().source + " }}")
		case ok:
			list = text("${{ fromJSON(" + e.asText() + ") }}")
		case t.literal() && len(t.gaps) == 0:
			list = text("${{ fromJSON(" + quoteText(textOf(param)) + ") }}")
		default:
			list = text("${{ [] }}")
		}
	case sequence != nil:
		list = a.sequence(scope, sequence, lead)
	default:
		return nil, nil, ""
	}
	return &step{id: a.newID(name)}, list, a.itemName("item", a.items...)
}

// sequence is a range of numbers.
func (a *argo) sequence(scope *argoScope, f *spec.Foreign, lead *step) *value {
	read := func(key string) string {
		v := f.Get(key)
		if v == nil {
			return ""
		}
		if n := textOf(v); isInteger(n) {
			return n
		}
		t := scope.template(textOf(v))
		for _, gap := range t.gaps {
			a.gap(lead, v.Line, "withSequence: %s", gap)
		}
		if len(t.gaps) > 0 {
			return "0"
		}
		return "int(" + t.source().asText() + ")"
	}
	start, end, count := read("start"), read("end"), read("count")
	if start == "" {
		start = "0"
	}
	if format := f.Get("format"); format != nil {
		a.gap(lead, format.Line, "format: %s: format the number where it is read", textOf(format))
	}
	if count != "" {
		if isInteger(count) && isInteger(start) {
			from, _ := strconv.Atoi(start)
			n, _ := strconv.Atoi(count)
			return text(fmt.Sprintf("${{ %d..%d }}", from, from+n-1))
		}
		return text("${{ " + start + "..(" + start + " + " + count + " - 1) }}")
	}
	if end == "" {
		end = start
	}
	return text("${{ " + start + ".." + end + " }}")
}

// body writes what a step or task calls.
func (a *argo) body(scope *argoScope, f *spec.Foreign, name string, b *argoBlock, lead *step) *argoCall {
	arguments := f.Get("arguments")
	template := a.templates[textOf(f.Get("template"))]
	if inline := f.Get("inline"); inline != nil {
		template = inline
	}
	if ref := f.Get("templateRef"); ref != nil {
		of := textOf(ref.Get("name"))
		if template = a.shared[of][textOf(ref.Get("template"))]; template == nil {
			return a.other(scope, f, name, b, lead, of)
		}
	}
	if template == nil {
		s := &step{id: a.newID(name)}
		a.gap(s, f.Line, "template: %s: it does not stand in the file", textOf(f.Get("template")))
		s.add("uses", text("core.fail")).add("with", mapping(field("message", text("not imported: the template "+oneLine(textOf(f.Get("template")))))))
		a.place(s, b)
		return &argoCall{ends: b.before, status: s.id}
	}
	for _, p := range itemsOf(arguments.Get("parameters")) {
		for _, gap := range scope.template(textOf(p.Get("value"))).gaps {
			a.gap(lead, p.Line, "%s: %s", textOf(p.Get("name")), gap)
		}
	}
	if v := arguments.Get("artifacts"); v != nil {
		a.gap(lead, v.Line, "artifacts: %s: data goes from step to step as outputs, large values too", written(v))
	}
	inner := scope.inner(a.defaults(template, arguments, scope))
	return a.write(inner, template, name, b)
}

// other calls a workflow of another file.
func (a *argo) other(scope *argoScope, f *spec.Foreign, name string, b *argoBlock, lead *step, of string) *argoCall {
	s := &step{id: a.newID(name)}
	a.gap(s, f.Line, "templateRef: %s: import that template too, as %s.yaml beside this file", written(f.Get("templateRef")), workflowName(of))
	s.add("uses", text("./"+workflowName(of)+".yaml"))
	with := mapping()
	for _, p := range itemsOf(f.Get("arguments").Get("parameters")) {
		t := scope.template(textOf(p.Get("value")))
		for _, gap := range t.gaps {
			a.gap(lead, p.Line, "%s: %s", textOf(p.Get("name")), gap)
		}
		with.add(identifierOr(textOf(p.Get("name"))), text(t.text()))
	}
	if len(with.pairs) > 0 {
		s.add("with", with)
	}
	a.place(s, b)
	return &argoCall{ends: b.before, status: s.id}
}
