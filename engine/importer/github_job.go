package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/spec"
)

// allJobs reads the jobs, those first that others need.
func (g *github) allJobs() {
	pairs := pairsOf(g.root.Get("jobs"))
	open, done := map[string]bool{}, map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if open[name] || done[name] {
			return
		}
		open[name] = true
		for _, p := range pairs {
			if p.Key != name {
				continue
			}
			for _, needed := range textsOf(p.Value.Get("needs")) {
				visit(needed)
			}
			if !done[name] {
				done[name] = true
				g.readJob(p.Key, p.Value, len(pairs))
			}
		}
	}
	for _, p := range pairs {
		visit(p.Key)
	}
}

// status is what the functions of a condition say of the steps before.
type status struct {
	runIf string
	rest  []*node // what must hold besides
}

// statusOf takes the functions of status out of a condition.
func statusOf(n *node) status {
	switch {
	case n.op == "call" && len(n.args) == 0:
		switch n.text {
		case "always":
			return status{runIf: "any"}
		case "failure", "cancelled":
			return status{runIf: "failed"}
		case "success":
			return status{runIf: "ok"}
		}
	case n.op == "not" && n.args[0].op == "call" && n.args[0].text == "cancelled":
		return status{runIf: "any"}
	case n.op == "not" && n.args[0].op == "call" && n.args[0].text == "failure":
		return status{runIf: "ok"}
	case n.op == "||":
		if a, b := statusOf(n.args[0]), statusOf(n.args[1]); a.runIf != "" && b.runIf != "" && len(a.rest)+len(b.rest) == 0 {
			if a.runIf == b.runIf {
				return a
			}
			return status{runIf: "any"}
		}
	case n.op == "&&":
		a, b := statusOf(n.args[0]), statusOf(n.args[1])
		runIf := a.runIf
		if runIf == "" {
			runIf = b.runIf
		}
		return status{runIf: runIf, rest: append(a.rest, b.rest...)}
	}
	return status{rest: []*node{n}}
}

// bareCondition is an `if` without the `${{ }}` around it.
func bareCondition(source string) string {
	source = strings.TrimSpace(source)
	if inner, ok := strings.CutPrefix(source, "${{"); ok && strings.HasSuffix(inner, "}}") && strings.Count(source, "${{") == 1 {
		return strings.TrimSpace(strings.TrimSuffix(inner, "}}"))
	}
	return source
}

// condition reads an `if`; s gets what can't be read. A step whose condition is lost does
// not run.
func (g *github) condition(s *step, f *spec.Foreign, scope *githubScope) (runIf, cond string) {
	source := bareCondition(textOf(f))
	if source == "" {
		return "", ""
	}
	n, err := parseExpression(source, dialect{hyphens: true, doubled: true})
	if err == nil {
		st := statusOf(n)
		scope.loose = scope.loose || st.runIf == "any" || st.runIf == "failed"
		var parts []string
		t := g.translator(scope)
		for _, rest := range st.rest {
			var e expr
			if e, err = t.value(rest); err == nil {
				err = secretAlone(e)
			}
			if err != nil {
				break
			}
			parts = append(parts, e.condition())
		}
		if err == nil {
			return st.runIf, joinConditions(parts...)
		}
		runIf = st.runIf
	}
	g.gap(s, f.Line, "if: %s: %s; until you say when it runs, it does not", source, err)
	return runIf, "false"
}

// joinConditions joins what must all hold.
func joinConditions(parts ...string) string {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p string) bool { return p == "" || p == "true" })
	if slices.Contains(parts, "false") {
		return "false"
	}
	parts = slices.Compact(parts)
	if len(parts) > 1 {
		for i, p := range parts {
			if bindsLess(p) {
				parts[i] = "(" + p + ")"
			}
		}
	}
	return strings.Join(parts, " && ")
}

// jobReader reads the steps of one job.
type jobReader struct {
	*github
	job     *githubJob
	into    []*step
	needs   []string // what the job follows
	before  []string // what its next step follows
	runIf   string   // of the job
	cond    string
	timeout string
	own     string // run_if of the step itself
	goesOn  bool   // continue-on-error of the job
	loose   bool   // the job runs also where others failed
}

func (g *github) readJob(name string, f *spec.Foreign, count int) {
	job := &githubJob{name: name, source: f, env: envOf(g.env, f.Get("env")), steps: map[string]*githubStep{}}
	r := &jobReader{github: g, job: job}
	for _, needed := range textsOf(f.Get("needs")) {
		if other := g.jobs[needed]; other != nil {
			r.needs = append(r.needs, other.ends...)
		}
	}
	r.before = slices.Clone(r.needs)
	lead := &step{above: remarks(f, "runs-on")}
	if title := textOf(f.Get("name")); title != "" && count > 1 {
		lead.above = append(lead.above, "job "+name+": "+oneLine(title))
	} else if count > 1 {
		lead.above = append(lead.above, "job "+name)
	}
	scope := &githubScope{github: g, job: job, env: job.env}
	r.runIf, r.cond = g.condition(lead, f.Get("if"), scope)
	job.maybe = r.cond != "" || r.runIf != ""
	r.loose = scope.loose
	r.jobKeys(lead, f, count)
	if f.Get("strategy").Get("matrix") != nil {
		r.matrixJob(lead, f)
	} else {
		r.steps(f)
		r.jobOutputs(f)
		if len(r.into) > 0 {
			r.into[0].above = append(lead.above, r.into[0].above...)
		} else {
			g.head = append(g.head, lead.above...)
		}
		g.workflow.steps = append(g.workflow.steps, r.into...)
	}
	job.ends = r.before
	g.jobs[name] = job
}

// jobKeys reads what a job says besides its steps.
func (r *jobReader) jobKeys(lead *step, f *spec.Foreign, count int) {
	r.leaveOutKeys(f, "runs-on", "permissions")
	if t, ok := minutes(f.Get("timeout-minutes")); ok {
		r.timeout = t
		if count == 1 && f.Get("strategy") == nil {
			r.key("timeout", bare(t))
		}
	} else if f.Get("timeout-minutes") != nil {
		r.gap(lead, f.Get("timeout-minutes").Line, "timeout-minutes: %s: a timeout is written out", written(f.Get("timeout-minutes")))
	}
	for _, key := range []string{"container", "services"} {
		if v := f.Get(key); v != nil {
			r.gap(lead, v.Line, "%s: %s: flowrun starts no container: what ran in it runs on this machine", key, written(v))
		}
	}
	if v := f.Get("environment"); v != nil {
		what := textOf(v)
		if what == "" {
			what = textOf(v.Get("name"))
		}
		r.gap(lead, v.Line, "environment: %s: where it has reviewers, put a step `uses: core.approve` before this one", what)
	}
	if v := f.Get("concurrency"); v != nil {
		if count == 1 {
			r.concurrency(v)
		} else {
			r.gap(lead, v.Line, "concurrency of a job: %s: it belongs to a workflow here: make the job one of its own, and call it with `uses: ./NAME.yaml`", written(v))
		}
	}
	if v := f.Get("continue-on-error"); v != nil {
		r.goesOn = boolOf(v)
		if !r.goesOn && textOf(v) != "false" {
			r.gap(lead, v.Line, "continue-on-error: %s: it is written out: on_error: continue", written(v))
		}
	}
}

// order sets what a step follows, and its conditions with those of the job.
func (r *jobReader) order(s *step, runIf, cond string) {
	first := len(r.into) == 0
	if r.own = runIf; runIf == "ok" {
		r.own = ""
	}
	s.needs, s.ordered = slices.Clone(r.before), true
	if first {
		runIf = firstOf(runIf, r.runIf)
	} else if r.runIf == "failed" {
		s.needs = append(slices.Clone(r.needs), r.before...)
		runIf = firstOf(runIf, "failed")
		cond = joinConditions(cond, `steps.`+r.into[len(r.into)-1].id+`.status == "succeeded"`)
	}
	if runIf == "ok" {
		runIf = ""
	}
	s.runIf, s.cond = runIf, joinConditions(r.cond, cond)
	s.absent = s.cond != "" || s.runIf != ""
	last := ""
	if len(r.into) > 0 {
		last = r.into[len(r.into)-1].id
	} else if n := len(r.workflow.steps); n > 0 && r.job.matrix == nil {
		last = r.workflow.steps[n-1].id
	}
	// What stands above is followed without a word.
	if len(s.needs) == 1 && s.needs[0] == last && last != "" || len(s.needs) == 0 && last == "" {
		s.needs, s.ordered = nil, false
	}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (r *jobReader) steps(f *spec.Foreign) {
	if f.Get("uses") != nil {
		r.reusable(f)
		return
	}
	defaults := f.Get("defaults").Get("run")
	if defaults == nil {
		defaults = r.root.Get("defaults").Get("run")
	}
	for _, item := range itemsOf(f.Get("steps")) {
		r.step(item, defaults)
	}
}

// reusable is a job that calls a workflow.
func (r *jobReader) reusable(f *spec.Foreign) {
	uses := textOf(f.Get("uses"))
	s := &step{id: r.newID(r.job.name)}
	r.order(s, "", "")
	if file, ok := strings.CutPrefix(uses, "./"); ok {
		name := nameOfFile(file)
		r.gap(s, f.Get("uses").Line, "uses: %s: import that file too, as %s.yaml beside this one", uses, name)
		s.add("uses", text("./"+workflowName(name)+".yaml"))
	} else {
		r.gap(s, f.Get("uses").Line, "uses: %s: a workflow of another repository: import it, and name the file: uses: ./NAME.yaml", uses)
		s.add("uses", text("core.fail")).add("with", mapping(field("message", text("not imported: "+literalSigns(uses)))))
		r.add(s, &githubStep{id: s.id, kind: "gap", absent: true})
		r.gapWith(s, f.Get("with"))
		return
	}
	if with := f.Get("with"); len(pairsOf(with)) > 0 {
		out := mapping()
		for _, p := range with.Pairs {
			out.add(identifierOr(p.Key), r.valueOf(s, p.Value, r.job.env))
		}
		s.add("with", out)
	}
	if f.Get("secrets") != nil {
		r.leaveOut("secrets of a job: a secret belongs to the project")
	}
	r.ends(s)
	r.job.result = s.id
	for _, found := range regexp.MustCompile(`needs\.`+regexp.QuoteMeta(r.job.name)+`\.outputs\.([A-Za-z_][\w-]*)`).FindAllStringSubmatch(allText(r.root), -1) {
		if !slices.Contains(r.job.outputs, found[1]) {
			r.job.outputs = append(r.job.outputs, found[1])
		}
	}
	r.add(s, &githubStep{id: s.id, kind: "none"})
}

func identifierOr(name string) string {
	if isField(name) {
		return name
	}
	return identifier(name)
}

// ends sets a timeout and what follows a failure.
func (r *jobReader) ends(s *step) {
	if r.timeout != "" {
		s.add("timeout", bare(r.timeout))
	}
	if r.goesOn {
		s.add("on_error", text("continue"))
		s.absent = true
	}
}

func (r *jobReader) add(s *step, known *githubStep) {
	main := r.own == ""
	r.into = append(r.into, s)
	r.taken++
	if main {
		r.before = []string{s.id}
	} else {
		// It is no link of the chain: the next one follows what was before it, too.
		r.before = append(r.before, s.id)
	}
	if len(r.before) > 8 {
		r.before = r.before[len(r.before)-8:]
	}
	known.absent = s.absent
}

// gapWith adds what a step was given to the comment above it.
func (r *jobReader) gapWith(s *step, with *spec.Foreign) {
	if with != nil && len(with.Pairs) > 0 {
		s.above = append(s.above, "  with: "+written(with))
	}
}

// valueOf translates a value of `with`.
func (r *jobReader) valueOf(s *step, f *spec.Foreign, env map[string]*spec.Foreign) *value {
	switch f.Kind {
	case spec.Mapping:
		out := mapping()
		for _, p := range f.Pairs {
			out.add(p.Key, r.valueOf(s, p.Value, env))
		}
		return out
	case spec.Sequence:
		out := list()
		for _, item := range f.Items {
			out.items = append(out.items, r.valueOf(s, item, env))
		}
		return out
	}
	if v, ok := bareValue(f); ok {
		return v
	}
	t := r.translateText(f.Text, r.job, &githubScope{github: r.github, job: r.job, env: env, loose: r.loose})
	for _, gap := range t.gaps {
		r.gap(s, f.Line, "%s", gap)
	}
	return text(t.render())
}

// jobOutputs are a step of values, by which other jobs read them.
func (r *jobReader) jobOutputs(f *spec.Foreign) {
	outputs := f.Get("outputs")
	if len(pairsOf(outputs)) == 0 {
		return
	}
	s := &step{id: r.newID(r.job.name)}
	if slices.ContainsFunc(outputs.Pairs, func(p spec.ForeignPair) bool { return identifier(p.Key) == s.id }) && r.job.name != s.id {
		s.id = r.newID(r.job.name + "_outputs")
	}
	let := mapping()
	for _, p := range outputs.Pairs {
		t := r.translateText(textOf(p.Value), r.job, &githubScope{github: r.github, job: r.job, env: r.job.env, loose: r.loose})
		for _, gap := range t.gaps {
			r.gap(s, p.Line, "outputs: %s: %s", p.Key, gap)
		}
		let.add(identifier(p.Key), text(t.text()))
		r.job.outputs = append(r.job.outputs, p.Key)
	}
	if len(r.into) == 0 {
		r.order(s, "", "")
	} else {
		r.order(s, "", "")
	}
	s.add("let", let)
	r.add(s, &githubStep{id: s.id, kind: "none"})
	r.job.result = s.id
}

// matrixJob is a loop over the combinations of a matrix.
func (r *jobReader) matrixJob(lead *step, f *spec.Foreign) {
	strategy := f.Get("strategy")
	loop := &step{id: r.newID(r.job.name), above: lead.above}
	r.job.matrix = map[string]expr{}
	r.order(loop, "", "")
	each, as, key := r.combinations(loop, strategy.Get("matrix"))
	loop.add("foreach", each).add("as", text(as))
	if key != "" {
		loop.add("key", text(key))
	}
	if n, ok := intOf(strategy.Get("max-parallel")); ok && n > 0 && n <= 256 {
		loop.add("max_parallel", number(n))
	}
	if textOf(strategy.Get("fail-fast")) == "false" || r.goesOn {
		loop.add("on_error", text("collect"))
		loop.absent = true
	}
	inner := &jobReader{github: r.github, job: r.job, timeout: r.timeout, loose: r.loose}
	inner.steps(f)
	if len(inner.into) == 0 {
		nothing := &step{id: r.newID(r.job.name + "_item")}
		inner.into = append(inner.into, nothing.add("let", mapping(field("done", bare("true")))))
	}
	loop.steps = inner.into
	if outputs := f.Get("outputs"); len(pairsOf(outputs)) > 0 {
		collect := mapping()
		for _, p := range outputs.Pairs {
			t := r.translateText(textOf(p.Value), r.job, &githubScope{github: r.github, job: r.job, env: r.job.env, loose: r.loose})
			for _, gap := range t.gaps {
				r.gap(loop, p.Line, "outputs: %s: %s", p.Key, gap)
			}
			collect.add(identifier(p.Key), text(t.text()))
			r.job.outputs = append(r.job.outputs, p.Key)
		}
		loop.behind = append(loop.behind, field("collect", collect))
		r.job.result, r.job.looped = loop.id, true
	}
	r.into = append(r.into, loop)
	r.before = []string{loop.id}
	r.taken++
	r.workflow.steps = append(r.workflow.steps, loop)
}

// combinations makes the list of a loop of a matrix.
func (r *jobReader) combinations(s *step, matrix *spec.Foreign) (each *value, as, key string) {
	var dimensions []spec.ForeignPair
	include, exclude := matrix.Get("include"), matrix.Get("exclude")
	computed := matrix.Kind == spec.Scalar
	for _, p := range pairsOf(matrix) {
		if p.Key != "include" && p.Key != "exclude" {
			dimensions = append(dimensions, p)
			computed = computed || p.Value.Kind != spec.Sequence
		}
	}
	switch {
	case computed:
		return r.computedMatrix(s, matrix, dimensions)
	case include == nil && exclude == nil && len(dimensions) == 1:
		name := r.itemName(dimensions[0].Key)
		r.job.matrix[dimensions[0].Key] = expr{source: name, kind: kindOfItems(dimensions[0].Value)}
		if kindOfItems(dimensions[0].Value) == kindText {
			key = "${{ " + name + " }}"
		}
		return plainValue(dimensions[0].Value), name, key
	case include == nil && exclude == nil && len(dimensions) > 1:
		cell := r.itemName("cell")
		parts, keys := make([]string, len(dimensions)), make([]string, len(dimensions))
		for i, p := range dimensions {
			parts[i] = literalExpr(p.Value).source
			e := expr{source: fmt.Sprintf("%s[%d]", cell, i), kind: kindOfItems(p.Value)}
			r.job.matrix[p.Key] = e
			keys[i] = "string(" + e.source + ")"
		}
		cross := "cross(" + strings.Join(parts, ", ") + ")"
		if len(parts) == 2 {
			return text("${{ " + cross + " }}"), cell, "${{ " + strings.Join(keys, ` + "-" + `) + " }}"
		}
		return r.listed(s, dimensions, nil, nil)
	}
	return r.listed(s, dimensions, include, exclude)
}

// kindOfItems is the type that all items have, else any.
func kindOfItems(f *spec.Foreign) kind {
	of := kindAny
	for i, item := range itemsOf(f) {
		if k := kindOfLiteral(item); i == 0 {
			of = k
		} else if k != of {
			return kindAny
		}
	}
	return of
}

// mostCombinations is how many of a matrix are written out; GitHub has 256.
const mostCombinations = 256

// listed writes all combinations out, as objects.
func (r *jobReader) listed(s *step, dimensions []spec.ForeignPair, include, exclude *spec.Foreign) (each *value, as, key string) {
	combinations := [][]spec.ForeignPair{nil}
	for _, d := range dimensions {
		var next [][]spec.ForeignPair
		for _, c := range combinations {
			for _, item := range itemsOf(d.Value) {
				next = append(next, append(slices.Clone(c), spec.ForeignPair{Key: d.Key, Value: item}))
				if len(next) > mostCombinations {
					r.gap(s, d.Line, "matrix: it has more than %d combinations", mostCombinations)
					break
				}
			}
			if len(next) > mostCombinations {
				break
			}
		}
		combinations = next
	}
	if len(dimensions) == 0 {
		combinations = nil
	}
	combinations = slices.DeleteFunc(combinations, func(c []spec.ForeignPair) bool {
		return slices.ContainsFunc(itemsOf(exclude), func(x *spec.Foreign) bool { return len(x.Pairs) > 0 && agrees(c, x.Pairs) })
	})
	for _, extra := range itemsOf(include) {
		added := false
		var own []spec.ForeignPair
		for _, p := range extra.Pairs {
			if slices.ContainsFunc(dimensions, func(d spec.ForeignPair) bool { return d.Key == p.Key }) {
				own = append(own, p)
			}
		}
		for i, c := range combinations {
			if len(dimensions) > 0 && agrees(c, own) && (len(own) > 0 || len(own) == 0) {
				combinations[i] = withPairs(c, extra.Pairs)
				added = true
			}
		}
		if !added && len(combinations) < mostCombinations {
			combinations = append(combinations, slices.Clone(extra.Pairs))
		}
	}
	each = &value{kind: spec.Sequence, block: true}
	item := r.itemName("matrix")
	names := map[string]int{}
	for _, c := range combinations {
		values := mapping()
		for _, p := range c {
			values.add(identifierOr(p.Key), plainValue(p.Value))
			names[p.Key]++
			of := kindOfLiteral(p.Value)
			if before, ok := r.job.matrix[p.Key]; ok && before.kind != of {
				of = kindAny
			}
			r.job.matrix[p.Key] = expr{source: item + "." + identifierOr(p.Key), kind: of}
		}
		each.items = append(each.items, values)
	}
	for name, count := range names {
		if e := r.job.matrix[name]; count < len(combinations) {
			r.job.matrix[name] = expr{source: item + "?." + identifierOr(name), kind: e.kind, absent: true}
		}
	}
	return each, item, ""
}

// agrees reports whether a combination has all of some values.
func agrees(c, values []spec.ForeignPair) bool {
	for _, v := range values {
		if !slices.ContainsFunc(c, func(p spec.ForeignPair) bool { return p.Key == v.Key && written(p.Value) == written(v.Value) }) {
			return false
		}
	}
	return true
}

func withPairs(c, more []spec.ForeignPair) []spec.ForeignPair {
	c = slices.Clone(c)
	for _, p := range more {
		if at := slices.IndexFunc(c, func(have spec.ForeignPair) bool { return have.Key == p.Key }); at < 0 {
			c = append(c, p)
		}
	}
	return c
}

// computedMatrix is one that an expression makes while the workflow runs.
func (r *jobReader) computedMatrix(s *step, matrix *spec.Foreign, dimensions []spec.ForeignPair) (each *value, as, key string) {
	translate := func(f *spec.Foreign) (expr, bool) {
		if f.Kind == spec.Sequence {
			return literalExpr(f), true
		}
		t := r.translateText(textOf(f), r.job, nil)
		for _, gap := range t.gaps {
			r.gap(s, f.Line, "matrix: %s", gap)
		}
		e, ok := t.only()
		return e, ok && len(t.gaps) == 0 && e.secret == ""
	}
	if len(dimensions) == 1 {
		if e, ok := translate(dimensions[0].Value); ok {
			name := r.itemName(dimensions[0].Key)
			r.job.matrix[dimensions[0].Key] = expr{source: name, kind: kindAny}
			return text("${{ " + e.present().source + " }}"), name, ""
		}
	} else if len(dimensions) == 2 {
		a, first := translate(dimensions[0].Value)
		if b, second := translate(dimensions[1].Value); first && second {
			cell := r.itemName("cell")
			r.job.matrix[dimensions[0].Key], r.job.matrix[dimensions[1].Key] = expr{source: cell + "[0]"}, expr{source: cell + "[1]"}
			return text("${{ cross(" + a.present().source + ", " + b.present().source + ") }}"), cell, ""
		}
	} else if len(dimensions) == 0 && matrix.Kind == spec.Scalar {
		if e, ok := translate(matrix); ok {
			item := r.itemName("matrix")
			r.job.matrix["*"] = expr{source: item, kind: kindAny}
			r.gap(s, matrix.Line, "matrix: the combinations are those of `include` where the JSON has it: give the list of them")
			return text("${{ get(" + e.present().source + `, "include") ?? [] }}`), item, ""
		}
	}
	r.gap(s, matrix.Line, "matrix: %s: write the list as foreach", written(matrix))
	item := r.itemName("matrix")
	r.job.matrix["*"] = expr{source: item, kind: kindAny}
	return list(), item, ""
}
