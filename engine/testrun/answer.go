package testrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// binder fits what a test file says to the workflow.
type binder struct {
	*reader
	steps    *stepIndex
	workflow *plan.Workflow
	recorded bool
	blobs    *blobs
}

// answerKinds are the keys of which an answer has exactly one.
var answerKinds = []string{"outputs", "pages", "error", "pending", "never", "crash"}

// answersOf reads the answers of the file and of a case; those of the case win.
func (b *binder) answersOf(shared, own []spec.Pair) map[string]*answers {
	byStep := map[string]*answers{}
	for i, pair := range slices.Concat(shared, own) {
		if list := b.answersOfStep(pair); list != nil {
			list.strict = i >= len(shared)
			byStep[list.key] = list
		}
	}
	return byStep
}

func (b *binder) answersOfStep(pair spec.Pair) *answers {
	info := b.steps.find(pair.Key.Text)
	if info == nil {
		b.noStep(pair.Key, "the workflow has no step", (*stepInfo).mocked)
		return nil
	}
	if !info.mocked() {
		problem := b.problems.Errorf(pair.Key.Pos, CodeNotMockable, "the step `%s` is run for real: it takes no answer", pair.Key.Text)
		problem.Hint = diag.Say("answers are for steps that call a plugin: " + strings.Join(b.steps.paths((*stepInfo).mocked), ", "))
		switch info.step.Uses {
		case runs.CoreApprove:
			problem.Hint = diag.Say("let a person decide: events: [{approve: " + info.path + "}]")
		case runs.CoreWait:
			problem.Hint = diag.Say("let the signal come: events: [{signal: NAME, payload: {…}}]")
		}
		return nil
	}
	if pair.Value.Bad {
		return nil
	}
	list := &answers{key: pair.Key.Text, pos: pair.Key.Pos}
	if pair.Value.Kind != spec.Sequence {
		list.forever = true
		if one := b.answer(pair.Value, info); one != nil {
			list.list = []*answer{one}
		}
		return list
	}
	for _, item := range pair.Value.Items {
		if one := b.answer(item, info); one != nil {
			list.list = append(list.list, one)
		}
	}
	return list
}

// noStep reports a path that names no step.
func (b *binder) noStep(key *spec.Node, what string, which func(*stepInfo) bool) {
	problem := b.problems.Errorf(key.Pos, CodeUnknownStep, "%s `%s`", what, key.Text)
	problem.Hint = b.nearSteps(key.Text, which)
}

// nearSteps says what may be meant by a path that names no step.
func (b *binder) nearSteps(path string, which func(*stepInfo) bool) diag.Hint {
	paths := b.steps.paths(which)
	return diag.DidYouMean(templateOf(path), paths).Or(diag.Naming("its steps are ", paths...))
}

// answer reads one answer; nil when it is wrong.
func (b *binder) answer(node *spec.Node, info *stepInfo) *answer {
	if !b.mapping(node, "an answer") {
		return nil
	}
	a := &answer{pos: node.Pos}
	before := len(b.problems)
	var kinds []string
	for _, pair := range node.Pairs {
		if slices.Contains(answerKinds, pair.Key.Text) {
			kinds = append(kinds, pair.Key.Text)
		}
	}
	if len(kinds) != 1 && !node.Partial {
		problem := b.problems.Errorf(node.FirstKey(), CodeAnswer, "an answer has exactly one of %s", strings.Join(answerKinds, ", "))
		if slices.ContainsFunc(node.Pairs, func(pair spec.Pair) bool { return slices.Contains(info.output.FieldNames(), pair.Key.Text) }) {
			problem.Hint = diag.Say("put the fields under `outputs:`")
		}
		return nil
	}
	completed := &runs.Completed{}
	b.fields(node, "an answer",
		field{"outputs", func(n *spec.Node) { b.outputs(a, completed, n, info) }},
		field{"pages", func(n *spec.Node) { b.pages(a, n, info) }},
		field{"error", func(n *spec.Node) { a.answer.Failed = b.failure(n, info) }},
		field{"pending", func(n *spec.Node) { a.answer.Pending = b.pending(n) }},
		field{"never", func(n *spec.Node) { a.never = b.yes(n) }},
		field{"crash", func(n *spec.Node) { a.crash = b.yes(n) }},
		field{"after", func(n *spec.Node) { a.after = b.duration(n) }},
		field{"watermark", func(n *spec.Node) {
			if b.scalar(n, "text") {
				completed.Watermark = []byte(n.Text)
			}
		}},
	)
	if len(b.problems) > before && !a.stale() {
		return nil
	}
	return a
}

func (a *answer) stale() bool {
	return a.problem != nil || slices.ContainsFunc(a.pages, (*answer).stale)
}

// staleHint says what to do with a recording that does not fit any more.
func staleHint() diag.Hint {
	return diag.Sayf("the recording is stale: record it anew with %s, or mend it here", diag.Command{"test", "--record", "RUN"})
}

// converted reads outputs by the schema. In a recorded file what does not fit is
// the answer's own problem, told when the case runs.
func (b *binder) converted(a *answer, node *spec.Node, t *schema.Type) (json.RawMessage, bool) {
	inner := &reader{}
	raw, ok := converter{r: inner, code: CodeOutput, lenient: b.recorded, completes: !b.recorded, blobs: b.blobs}.convert(node, t)
	switch {
	case ok:
	case b.recorded && len(inner.problems) > 0:
		a.problem = &inner.problems[0]
	default:
		b.problems = append(b.problems, inner.problems...)
	}
	return raw, ok
}

func (b *binder) outputs(a *answer, completed *runs.Completed, node *spec.Node, info *stepInfo) {
	raw, ok := b.converted(a, node, info.output)
	if !ok {
		return
	}
	completed.Output, completed.NextCursor = raw, info.cursorIn(raw)
	a.answer.Completed = completed
}

// pages reads the pages of one reading: each a whole output, or the list of its
// items.
func (b *binder) pages(a *answer, node *spec.Node, info *stepInfo) {
	itemsField, paged := info.itemsField()
	if !paged {
		b.problems.Errorf(node.Pos, CodeAnswer, "%s does not answer in pages", info.step.Uses).Hint = diag.Say("write `outputs:`")
		return
	}
	items := b.items(node, "`pages`")
	for i, item := range items {
		page := &answer{pos: item.Pos}
		next := ""
		if i+1 < len(items) {
			next = fmt.Sprintf("page-%d", i+2)
		}
		raw := b.page(page, item, info, itemsField, next)
		if raw == nil && page.problem == nil {
			continue
		}
		page.answer.Completed = &runs.Completed{Output: raw, NextCursor: info.cursorIn(raw)}
		if next != "" && page.problem == nil && page.answer.Completed.NextCursor == "" {
			if info.nextField() == "" {
				page.answer.Completed.NextCursor = next
			} else {
				b.problems.Errorf(item.Pos, CodeAnswer, "page %d names no next page, but there is one", i+1).Hint = diag.Say("leave `" + info.nextField() + "` out: it is filled in")
			}
		}
		a.pages = append(a.pages, page)
	}
	if node.Kind == spec.Sequence && len(items) == 0 {
		b.problems.Errorf(node.Pos, CodeAnswer, "there is no page").Hint = diag.Say("an empty answer is one page without items: pages: [[]]")
	}
}

func (b *binder) page(a *answer, node *spec.Node, info *stepInfo, itemsField, next string) json.RawMessage {
	nextField := info.nextField()
	if node.Kind == spec.Sequence && itemsField != "" {
		itemsType, _ := info.output.Field(itemsField)
		raw, ok := b.converted(a, node, schema.NonNull(itemsType))
		if !ok {
			return nil
		}
		return b.pageOf(node, info, map[string]json.RawMessage{itemsField: raw}, next)
	}
	_, written := node.Pair(nextField)
	if node.Kind != spec.Mapping || nextField == "" || written {
		raw, _ := b.converted(a, node, info.output)
		return raw
	}
	raw, ok := b.converted(a, node, without(info.output, nextField))
	if !ok {
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return b.pageOf(node, info, fields, next)
}

// without is an object type in which a field need not be there.
func without(t *schema.Type, name string) *schema.Type {
	clone := *t
	clone.Fields = slices.Clone(t.Fields)
	for i := range clone.Fields {
		if clone.Fields[i].Name == name {
			clone.Fields[i].Required = false
		}
	}
	return &clone
}

// pageOf fills in the cursor and writes the page in the order of the schema.
func (b *binder) pageOf(node *spec.Node, info *stepInfo, fields map[string]json.RawMessage, next string) json.RawMessage {
	if name := info.nextField(); name != "" {
		t, _ := info.output.Field(name)
		switch {
		case next != "":
			fields[name], _ = json.Marshal(next) // a text
		case t != nil && t.AcceptsNull():
			fields[name] = json.RawMessage("null")
		case t != nil:
			fields[name] = json.RawMessage(`""`)
		}
	}
	var lacking []string
	var out bytes.Buffer
	out.WriteByte('{')
	for _, f := range info.output.Fields {
		raw, given := fields[f.Name]
		if !given && f.Required && !f.Type.Known() {
			raw, given = json.RawMessage("null"), true // nothing is known of it
		}
		if !given && f.Required && f.Type.Default != nil && !b.recorded {
			raw, given = f.Type.Default, true
		}
		if !given {
			if f.Required {
				lacking = append(lacking, "`"+f.Name+"`")
			}
			continue
		}
		delete(fields, f.Name)
		writeMember(&out, f.Name, raw)
	}
	for _, name := range sortedKeys(fields) {
		writeMember(&out, name, fields[name])
	}
	out.WriteByte('}')
	if len(lacking) > 0 {
		b.problems.Errorf(node.Pos, CodeOutput, "a page of %s needs %s too", info.step.Uses, strings.Join(lacking, ", ")).Hint = diag.Say("write the page as a map")
		return nil
	}
	return out.Bytes()
}

// failure reads a mocked error: its kind, or a map.
func (b *binder) failure(node *spec.Node, info *stepInfo) *runs.Error {
	failure := &runs.Error{Action: info.step.Uses, Message: "mocked by the test"}
	if node.Kind == spec.Scalar {
		b.kind(node, failure)
	} else if !b.fields(node, "`error`",
		field{"kind", func(n *spec.Node) { b.kind(n, failure) }},
		b.textField("message", &failure.Message), b.textField("reason", &failure.Reason), b.textField("hint", &failure.Hint.Text),
		field{"http_status", func(n *spec.Node) { b.status(n, failure) }},
		field{"retry_after", func(n *spec.Node) { failure.RetryAfterS = b.duration(n).Seconds() }},
		field{"applied", func(n *spec.Node) {
			word, _ := b.word(n, "whether the effect happened", "not_applied", "applied", "partly", "unknown")
			failure.Applied = runs.Applied(word)
		}},
		field{"details", func(n *spec.Node) { failure.Details = n.JSON() }},
	) {
		return nil
	}
	if failure.Kind == "" && node.Kind == spec.Mapping && node.Get("kind") == nil {
		b.problems.Errorf(node.FirstKey(), CodeMissingKey, "the error has no `kind`").Hint = diag.Say("such as kind: unavailable")
	}
	if failure.Applied == "" {
		failure.Applied = appliedBy(failure)
	}
	return failure
}

// appliedBy is what a refusal of that kind says of the effect (docs/language.md,
// rule 11).
func appliedBy(failure *runs.Error) runs.Applied {
	switch failure.Kind {
	case plan.KindInvalid, plan.KindUnauthorized, plan.KindAuthRequired, plan.KindForbidden, plan.KindNotFound,
		plan.KindRateLimited, plan.KindQuotaExhausted, plan.KindUnsupported, plan.KindDenied:
		return runs.NotApplied
	}
	return runs.AppliedUnknown
}

func (b *binder) kind(node *spec.Node, failure *runs.Error) {
	word, _ := b.word(node, "a kind of error", diag.Words(plan.ErrorKinds()...)...)
	failure.Kind = plan.ErrorKind(word)
}

func (b *binder) status(node *spec.Node, failure *runs.Error) {
	var code int
	if _, err := fmt.Sscan(node.Text, &code); err != nil || code < 100 || code > 599 || node.Kind != spec.Scalar {
		b.problems.Errorf(node.Pos, CodeValue, "an HTTP status is expected, such as 503")
		return
	}
	failure.HTTPStatus = code
}

func (b *binder) pending(node *spec.Node) *runs.Pending {
	pending := &runs.Pending{RetryAfter: time.Second}
	b.fields(node, "`pending`",
		field{"after", func(n *spec.Node) { pending.RetryAfter = b.duration(n) }},
		b.textField("message", &pending.Message),
	)
	return pending
}
