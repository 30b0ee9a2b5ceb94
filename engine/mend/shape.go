package mend

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// shapeRules are those for a value that is a list where a map is meant, and the like.
func shapeRules() []rule {
	return []rule{
		nothingBehind, withText, letText, stepsMap, inputsList, triggersList, outputsList, oneInList, handlerText, stepText, switchedOn, retryNumber,
		cursorless, triggerText, formList, schemaRules()[0],
	}
}

// valueAt is the pair whose value a problem stands at.
func (f *file) valueAt(p *diag.Problem) (*spot, spec.Pair) {
	s := f.spot(p)
	if s == nil {
		return nil, spec.Pair{}
	}
	if s.isKey {
		pair, ok := s.own()
		if !ok {
			return nil, spec.Pair{}
		}
		return s, pair
	}
	if pair, ok := s.own(); ok {
		return s, pair
	}
	// The first item or key of what is meant: a block begins where they do.
	for i, around := range s.around {
		if i+1 >= len(s.around) {
			break
		}
		for n, pair := range s.around[i+1].Pairs {
			if pair.Value == around && pair.Value.Pos.Line == p.Line && pair.Value.Pos.Column == p.Column {
				return &spot{node: around, around: s.around[i+1:], pair: n}, pair
			}
		}
	}
	return s, spec.Pair{}
}

// blockAt is valueAt for a value that is a map or a list: the outermost that begins at the
// problem's place.
func (f *file) blockAt(p *diag.Problem, kind spec.Kind, keys ...string) (*spot, spec.Pair) {
	var found *spot
	var of spec.Pair
	var walk func(n *spec.Node, around []*spec.Node)
	walk = func(n *spec.Node, around []*spec.Node) {
		inner := append([]*spec.Node{n}, around...)
		for i, pair := range n.Pairs {
			if found == nil && pair.Value.Kind == kind && pair.Value.Pos.Line == p.Line && pair.Value.Pos.Column == p.Column {
				for _, key := range keys {
					if pair.Key.Text == key {
						found, of = &spot{node: pair.Value, around: inner, pair: i}, pair
						return
					}
				}
			}
			walk(pair.Value, inner)
		}
		for _, item := range n.Items {
			walk(item, inner)
		}
	}
	if f.root != nil {
		walk(f.root, nil)
	}
	return found, of
}

// nothingBehind is for a key with nothing behind it: what follows is not indented, or the
// key is not wanted.
func nothingBehind(f *file, p *diag.Problem) *mend {
	if !strings.Contains(p.Message, "has no value") {
		return nil
	}
	s, pair := f.keyAt(p)
	if s == nil {
		return nil
	}
	m := s.parent()
	if key := spec.V1().Map("step").Key(pair.Key.Text); s.step() == m && !m.Flow && key != nil && key.Map != "" && s.pair+1 < len(m.Pairs) {
		next := m.Pairs[s.pair+1]
		known := spec.V1().Map("step")
		last := s.pair
		for i := s.pair + 1; i < len(m.Pairs) && known.Key(m.Pairs[i].Key.Text) == nil; i++ {
			last = i
		}
		if last > s.pair {
			from, to := f.lineOf(f.keyStart(next)), f.lineOf(f.pairEnd(m.Pairs[last]))
			return &mend{edits: f.shift(from, to, 2), certain: true, hint: "what belongs to it is indented deeper than it"}
		}
	}
	return &mend{edits: f.remove(m, s.pair)}
}

// fieldsOf are the inputs of the action that a step uses.
func (f *file) fieldsOf(step *spec.Node) []schema.Field {
	uses := step.Get("uses")
	if uses == nil || f.known == nil {
		return nil
	}
	action, ok := f.known.Action(uses.Text)
	if !ok {
		return nil
	}
	t, err := schema.FromJSON(action.Input)
	if err != nil {
		return nil
	}
	return t.Fields
}

// withText is for `with: hello`.
func withText(f *file, p *diag.Problem) *mend {
	s, pair := f.valueAt(p)
	if s == nil || pair.Key == nil || pair.Key.Text != "with" || pair.Value.Kind != spec.Scalar {
		return nil
	}
	fields := f.fieldsOf(s.parent())
	var required []schema.Field
	for _, field := range fields {
		if field.Required {
			required = append(required, field)
		}
	}
	name := ""
	if len(required) > 0 {
		name = required[0].Name
	} else if len(fields) > 0 {
		name = fields[0].Name
	}
	if name == "" {
		return &mend{hint: "it is a map of the action's inputs: `with: {NAME: …}`"}
	}
	with := "{" + name + ": " + textIn(pair.Value) + "}"
	return &mend{edits: pair.Value.Rewrite(with), certain: len(required) == 1, hint: "it is a map of the action's inputs: `with: " + with + "`"}
}

var assignment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*([A-Za-z_]\w*)\s*=\s*([^=].*?)\s*$`) })

// letText is for `let: a = 1`.
func letText(f *file, p *diag.Problem) *mend {
	s, pair := f.valueAt(p)
	if s == nil || pair.Key == nil || pair.Key.Text != "let" && pair.Key.Text != "set_state" || pair.Value.Kind != spec.Scalar {
		return nil
	}
	found := assignment().FindStringSubmatch(pair.Value.Text)
	if found == nil {
		return &mend{hint: "values have names: `" + pair.Key.Text + ": {total: …}`"}
	}
	value := found[2]
	x, issues := eval.Parse(value)
	if len(issues) == 0 {
		if _, literal := x.Literal(); !literal {
			quoted, ok := spec.Quoted("${{ " + value + " }}")
			if !ok {
				return nil
			}
			value = quoted
		}
	} else {
		quoted, ok := spec.Quoted(strings.Trim(value, `"'`))
		if !ok {
			return nil
		}
		value = quoted
	}
	with := "{" + found[1] + ": " + value + "}"
	return &mend{edits: pair.Value.Rewrite(with), certain: len(issues) == 0, hint: "values have names: `" + pair.Key.Text + ": " + with + "`"}
}

// stepsMap is for steps under their ids in a map.
func stepsMap(f *file, p *diag.Problem) *mend {
	s, pair := f.blockAt(p, spec.Mapping, "steps", "on_success", "on_failure", "finally")
	if s == nil {
		return nil
	}
	hint := "steps are a list: `- id: a` with the other keys below it"
	if pair.Value.Flow {
		if pair.Value.Get("uses") != nil {
			return &mend{edits: []diag.Edit{f.insert(f.nodeEnd(pair.Value)-len(f.written(pair.Value)), "["), f.insert(f.nodeEnd(pair.Value), "]")}, certain: true, hint: "steps are a list: put it into [ ]"}
		}
		return &mend{hint: hint}
	}
	if len(pair.Value.Pairs) > 0 && (pair.Value.Get("uses") != nil || pair.Value.Get("let") != nil) { // one step, without its sign
		first := f.keyStart(pair.Value.Pairs[0])
		line := f.lineOf(first)
		edits := []diag.Edit{f.insert(first, "- ")}
		edits = append(edits, f.shift(line+1, f.lineOf(f.nodeEnd(pair.Value)), 2)...)
		return &mend{edits: edits, certain: true, hint: "steps are a list: write `- ` before the first key of each"}
	}
	var edits []diag.Edit
	for _, one := range pair.Value.Pairs {
		from := f.keyStart(one)
		line, column := f.lineOf(from), f.column(from)
		switch {
		case one.Value.Kind != spec.Mapping || one.Value.Get("id") != nil:
			return &mend{hint: hint}
		case one.Value.Flow:
			start := f.nodeEnd(one.Value) - len(f.written(one.Value))
			edits = append(edits, f.edit(from, start+1, "- {id: "+one.Key.Text+", "))
			continue
		}
		id := one.Key.Text
		edits = append(edits, f.edit(from, f.end(line), "- id: "+id+f.comment(line, f.pairColon(one))))
		deeper := f.column(f.keyStart(one.Value.Pairs[0]))
		edits = append(edits, f.shift(f.lineOf(f.keyStart(one.Value.Pairs[0])), f.lineOf(f.nodeEnd(one.Value)), column+2-deeper)...)
	}
	return &mend{edits: edits, certain: true, hint: hint}
}

// pairColon is the offset behind a pair's colon.
func (f *file) pairColon(p spec.Pair) int {
	end := f.nodeEnd(p.Key)
	return end + strings.IndexByte(f.src[end:], ':') + 1
}

// comment is what stands on a line behind an offset.
func (f *file) comment(line, behind int) string {
	return strings.TrimRight(f.src[behind:f.end(line)], " ")
}

// inputsList is for inputs and state as a list of maps with `name`.
func inputsList(f *file, p *diag.Problem) *mend {
	s, pair := f.blockAt(p, spec.Sequence, "inputs", "state")
	if s == nil || !s.top() {
		return nil
	}
	hint := "`" + pair.Key.Text + "` is a map: `" + pair.Key.Text + ": {domain: {type: string}}`"
	if pair.Value.Flow {
		return &mend{hint: hint}
	}
	var edits []diag.Edit
	for _, item := range pair.Value.Items {
		if item.Kind == spec.Scalar && isField(item.Text) {
			from, to, ok := item.Range()
			dash := strings.LastIndexByte(f.src[:from], '-')
			if !ok || dash < f.start(f.lineOf(from)) {
				return &mend{hint: hint}
			}
			edits = append(edits, f.edit(dash, to, item.Text+": {type: string}"))
			continue
		}
		name := item.Get("name")
		if item.Kind != spec.Mapping || item.Flow || name == nil || !isField(name.Text) {
			return &mend{hint: hint}
		}
		own := f.inputItem(item, name)
		if own == nil {
			return &mend{hint: hint}
		}
		edits = append(edits, own...)
	}
	return &mend{edits: edits, certain: true, hint: hint}
}

func isField(text string) bool { return fieldName().MatchString(text) }

var fieldName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(spec.FieldPattern) })

// inputItem turns an item of a list of inputs into a pair.
func (f *file) inputItem(item, name *spec.Node) []diag.Edit {
	first := f.keyStart(item.Pairs[0])
	line := f.lineOf(first)
	dash := strings.LastIndexByte(f.src[:first], '-')
	if dash < f.start(line) {
		return nil
	}
	column := spaces(f.column(first))
	lines := []string{}
	for i, pair := range item.Pairs {
		value := f.src[f.keyStart(pair):f.pairEnd(pair)]
		switch {
		case pair.Value == name:
		case pair.Key.Text == "required" && pair.Value.Kind == spec.Scalar:
			if pair.Value.Text == "false" && item.Get("default") == nil {
				lines = append(lines, "nullable: true", "default: null")
			}
		default:
			lines = append(lines, value)
		}
		_ = i
	}
	if len(lines) == 0 {
		lines = []string{"type: string"}
	}
	end := f.pairEnd(item.Pairs[len(item.Pairs)-1])
	return []diag.Edit{f.edit(dash, end, name.Text+":\n"+column+strings.Join(lines, "\n"+column))}
}

// triggersList is for triggers as a list.
func triggersList(f *file, p *diag.Problem) *mend {
	s, pair := f.blockAt(p, spec.Sequence, "triggers")
	if s == nil || !s.top() {
		return nil
	}
	hint := "`triggers` is a map whose names are yours: `triggers: {nightly: {cron: \"0 2 * * *\"}}`"
	if pair.Value.Flow {
		return &mend{hint: hint}
	}
	var edits []diag.Edit
	certain := true
	for i, item := range pair.Value.Items {
		if item.Kind != spec.Mapping || item.Flow || len(item.Pairs) == 0 {
			return &mend{hint: hint}
		}
		first := f.keyStart(item.Pairs[0])
		dash := strings.LastIndexByte(f.src[:first], '-')
		if dash < f.start(f.lineOf(first)) {
			return &mend{hint: hint}
		}
		name := triggerName(i)
		from := first
		given := false
		for n, one := range item.Pairs {
			if (one.Key.Text == "name" || one.Key.Text == "id") && one.Value.Kind == spec.Scalar && triggerWord().MatchString(one.Value.Text) {
				name, given = one.Value.Text, true
				switch {
				case n == 0 && len(item.Pairs) > 1:
					from = f.keyStart(item.Pairs[1])
				case n > 0:
					edits = append(edits, f.remove(item, n)...)
				}
			}
		}
		certain = certain && given
		edits = append(edits, f.edit(dash, from, name+":\n"+spaces(f.column(first))))
	}
	return &mend{edits: edits, certain: certain, hint: hint}
}

var triggerWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(spec.TriggerPattern) })

// outputsList is for outputs as a list of ids.
func outputsList(f *file, p *diag.Problem) *mend {
	s, pair := f.blockAt(p, spec.Sequence, "outputs")
	if s == nil || !s.top() {
		return nil
	}
	hint := "`outputs` is a map: `outputs: {total: \"${{ steps.count.outputs.n }}\"}`"
	var parts []string
	for _, item := range pair.Value.Items {
		switch {
		case item.Kind == spec.Scalar && isField(item.Text) && f.hasStep(item.Text):
			parts = append(parts, item.Text+": ${{ steps."+item.Text+".outputs }}")
		case item.Kind == spec.Mapping && len(item.Pairs) == 1 && item.Pairs[0].Value.Kind == spec.Scalar:
			parts = append(parts, f.src[f.keyStart(item.Pairs[0]):f.pairEnd(item.Pairs[0])])
		default:
			return &mend{hint: hint}
		}
	}
	if len(parts) == 0 || pair.Value.Flow || f.root.Flow {
		return &mend{hint: hint}
	}
	first, _, _ := pair.Value.Range()
	dash := f.start(f.lineOf(first)) + f.indent(f.lineOf(first))
	column := f.column(dash)
	if column == 0 {
		column = 2
		return &mend{edits: []diag.Edit{f.edit(dash, f.nodeEnd(pair.Value), "  "+strings.Join(parts, "\n"+spaces(column)))}, hint: hint}
	}
	return &mend{edits: []diag.Edit{f.edit(dash, f.nodeEnd(pair.Value), strings.Join(parts, "\n"+spaces(column)))}, hint: hint}
}

// hasStep reports whether a step of the workflow has the id.
func (f *file) hasStep(id string) bool {
	if f.tree == nil {
		return false
	}
	for _, s := range f.tree.Steps {
		if s.ID != nil && s.ID.Text == id {
			return true
		}
		if s.ID == nil && s.Uses != nil && s.Uses.Text[strings.LastIndex(s.Uses.Text, ".")+1:] == id {
			return true
		}
	}
	return false
}

// oneInList is for a list of one where a single value is meant.
func oneInList(f *file, p *diag.Problem) *mend {
	for _, key := range []string{"on_error", "uses", "id", "if", "timeout", "connection", "name", "on_unknown", "run_if", "as", "cron", "every"} {
		s, pair := f.blockAt(p, spec.Sequence, key)
		if s == nil || len(pair.Value.Items) != 1 || pair.Value.Items[0].Kind != spec.Scalar {
			continue
		}
		item := pair.Value.Items[0]
		return &mend{edits: []diag.Edit{f.edit(f.pairColon(pair), f.nodeEnd(pair.Value), " "+f.written(item))}, certain: true, hint: "write `" + key + ": " + item.Text + "`"}
	}
	return nil
}

var actionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_-]*\.[a-z][a-z0-9_]*$|^\.\.?/`) })

// handlerText is for `on_failure: core.log`.
func handlerText(f *file, p *diag.Problem) *mend {
	s, pair := f.valueAt(p)
	if s == nil || pair.Key == nil || pair.Value.Kind != spec.Scalar {
		return nil
	}
	switch pair.Key.Text {
	case "steps", "on_success", "on_failure", "finally":
	default:
		return nil
	}
	hint := "it is a list of steps: `" + pair.Key.Text + ": [{uses: core.log, with: {text: …}}]`"
	if !actionName().MatchString(pair.Value.Text) {
		return &mend{hint: hint}
	}
	return &mend{edits: pair.Value.Rewrite("[{" + f.stepOf(pair.Value.Text, pair.Key.Text) + "}]"), hint: hint}
}

// stepOf is a step that uses an action, with what it needs.
func (f *file) stepOf(action, list string) string {
	with := []string{}
	if f.known != nil {
		if known, ok := f.known.Action(action); ok {
			if t, err := schema.FromJSON(known.Input); err == nil {
				for _, field := range t.Fields {
					if field.Required {
						with = append(with, field.Name+": "+placeholder(field, list))
					}
				}
			}
		}
	}
	if len(with) == 0 {
		return "uses: " + action
	}
	return "uses: " + action + ", with: {" + strings.Join(with, ", ") + "}"
}

// placeholder is a value of a field's type, for the author to replace.
func placeholder(field schema.Field, list string) string {
	switch {
	case len(field.Type.Enum) > 0:
		if text, ok := field.Type.Enum[0].(string); ok {
			return strconv.Quote(text)
		}
	case list == "on_failure" && field.Type.Kind == schema.String:
		return `"${{ error.message }}"`
	}
	switch field.Type.Kind {
	case schema.Int, schema.Number:
		return "1"
	case schema.Bool:
		return "false"
	case schema.List:
		return "[]"
	case schema.Object:
		return "{}"
	case schema.Time:
		return `"${{ now() }}"`
	case schema.Duration:
		return "1m"
	}
	return field.Name
}

// stepText is for `- core.log`.
func stepText(f *file, p *diag.Problem) *mend {
	if !strings.HasPrefix(p.Message, "a step must be a map") {
		return nil
	}
	s := f.scalarAt(p)
	if s == nil || !actionName().MatchString(s.node.Text) {
		return nil
	}
	return &mend{edits: s.node.Rewrite("{" + f.stepOf(s.node.Text, s.up(0)) + "}"), hint: "write `- uses: " + s.node.Text + "`"}
}

// switchedOn is for `paginate: true`.
func switchedOn(f *file, p *diag.Problem) *mend {
	s, pair := f.valueAt(p)
	if s == nil || pair.Key == nil || pair.Value.Kind != spec.Scalar || pair.Key.Text != "paginate" {
		return nil
	}
	switch pair.Value.Text {
	case "true", "yes", "on", "all", "auto":
		return &mend{edits: pair.Value.Rewrite("{}"), certain: true, hint: "it is a map, with bounds where they are wanted: `paginate: {}` or `paginate: {max_pages: 20}`"}
	case "false", "no", "off":
		return &mend{edits: f.remove(s.parent(), s.pair), certain: true, hint: "leave it out"}
	}
	if _, err := strconv.Atoi(pair.Value.Text); err == nil {
		with := "{max_pages: " + pair.Value.Text + "}"
		return &mend{edits: pair.Value.Rewrite(with), hint: "it is a map: `paginate: " + with + "`"}
	}
	return nil
}

// retryNumber is for `retry: 3`.
func retryNumber(f *file, p *diag.Problem) *mend {
	s, pair := f.valueAt(p)
	if s == nil || pair.Key == nil || pair.Value.Kind != spec.Scalar || pair.Key.Text != "retry" {
		return nil
	}
	switch pair.Value.Text {
	case "false", "never", "none", "0":
		return &mend{edits: pair.Value.Rewrite("{attempts: 1}"), certain: pair.Value.Text != "0", hint: "write `retry: {attempts: 1}`: the first time is counted"}
	case "true":
		return &mend{edits: f.remove(s.parent(), s.pair), certain: true, hint: "leave it out: calls are tried again as it is; `retry: {attempts: 4}` says how often"}
	}
	if uses := s.parent().Get("uses"); uses != nil && strings.HasPrefix(uses.Text, "core.") {
		return &mend{edits: f.remove(s.parent(), s.pair), hint: "leave it out: `" + uses.Text + "` runs inside the engine, where nothing passes by waiting"}
	}
	if n, err := strconv.Atoi(pair.Value.Text); err == nil && n > 0 {
		with := "{attempts: " + strconv.Itoa(n) + "}"
		return &mend{edits: pair.Value.Rewrite(with), hint: "it is a map: `retry: " + with + "`, the first time counted"}
	}
	return nil
}

// cursorless is for `incremental: true`.
func cursorless(f *file, p *diag.Problem) *mend {
	s, pair := f.valueAt(p)
	if s == nil || pair.Key == nil || pair.Value.Kind != spec.Scalar || pair.Key.Text != "incremental" {
		return nil
	}
	step := s.parent()
	if uses := step.Get("uses"); uses != nil && f.known != nil {
		if action, ok := f.known.Action(uses.Text); ok && !action.Incremental {
			return &mend{edits: f.remove(step, s.pair), hint: "leave it out: `" + uses.Text + "` has no watermark; where an action has one, it is `incremental: {cursor: NAME}`"}
		}
	}
	name := "cursor"
	if id := step.Get("id"); id != nil {
		name = id.Text
	}
	with := "{cursor: " + name + "}"
	return &mend{edits: pair.Value.Rewrite(with), hint: "the watermark has a name: `incremental: " + with + "`"}
}

// triggerText is for a trigger that is a schedule alone.
func triggerText(f *file, p *diag.Problem) *mend {
	s, pair := f.valueAt(p)
	if s == nil || pair.Key == nil || pair.Value.Kind != spec.Scalar || s.up(0) != "triggers" {
		return nil
	}
	kind := ""
	if cronText().MatchString(pair.Value.Text) {
		kind = "cron"
	} else if _, err := duration.Parse(pair.Value.Text); err == nil {
		kind = "every"
	} else {
		return &mend{hint: "a trigger is a map: `" + pair.Key.Text + ": {cron: \"0 2 * * *\"}`"}
	}
	with := "{" + kind + ": " + f.written(pair.Value) + "}"
	if kind == "cron" && pair.Value.Style == spec.Plain {
		with = "{cron: \"" + pair.Value.Text + "\"}"
	}
	return &mend{edits: pair.Value.Rewrite(with), certain: true, hint: "a trigger is a map: `" + pair.Key.Text + ": " + with + "`"}
}

// formList is for a form as a list of names.
func formList(f *file, p *diag.Problem) *mend {
	s, pair := f.blockAt(p, spec.Sequence, "form", "properties")
	if s == nil {
		// The place may be that of the first item.
		found := f.spot(p)
		if found == nil || len(found.around) < 2 || found.parent().Kind != spec.Sequence {
			return nil
		}
		switch found.up(0) {
		case "form", "properties":
		default:
			return nil
		}
		s = &spot{node: found.parent(), around: found.around[1:]}
		for i, one := range s.parent().Pairs {
			if one.Value == s.node {
				s.pair, pair = i, one
			}
		}
	}
	var parts []string
	for _, item := range pair.Value.Items {
		if item.Kind != spec.Scalar || !isField(item.Text) {
			return nil
		}
		parts = append(parts, item.Text+": {type: string}")
	}
	with := "{" + strings.Join(parts, ", ") + "}"
	return &mend{edits: []diag.Edit{f.edit(f.pairColon(pair), f.nodeEnd(pair.Value), " "+with)}, hint: "it is a map of fields: `" + pair.Key.Text + ": " + with + "`"}
}

// requiredOf are the names of a JSON schema's required fields.
func requiredOf(input json.RawMessage) []string {
	var s struct {
		Required []string `json:"required"`
	}
	if json.Unmarshal(input, &s) != nil {
		return nil
	}
	return s.Required
}
