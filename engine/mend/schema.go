package mend

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// schemaRules are those for the types of inputs and state, and for words.
func schemaRules() []rule {
	return []rule{bareSchema, requiredHere, choiceOf, typeOfOthers, optionsKey, reactionWord, stateDefault}
}

// bareSchema is for `site: string`, `site: [a, b]` and `site: go.dev`.
func bareSchema(f *file, p *diag.Problem) *mend {
	if !strings.HasPrefix(p.Message, "the schema of ") {
		return nil
	}
	s, pair := f.valueAt(p)
	if s == nil || pair.Key == nil {
		return nil
	}
	with := ""
	certain := false
	switch value := pair.Value; {
	case value.Kind == spec.Sequence:
		var words []string
		for _, item := range value.Items {
			if item.Kind != spec.Scalar {
				return nil
			}
			words = append(words, textIn(item))
		}
		with = "{type: string, enum: [" + strings.Join(words, ", ") + "]}"
		return &mend{
			edits: []diag.Edit{f.edit(f.pairColon(pair), f.nodeEnd(value), " "+with)},
			hint:  "one of these texts is `" + with + "`, a list `{type: array, default: […]}`",
		}
	case value.Kind != spec.Scalar || value.IsNull():
		return nil
	case isType(value.Text):
		with, certain = "{type: "+value.Text+"}", true
	case typeMeant(value.Text) != "":
		with, certain = "{type: "+typeMeant(value.Text)+"}", true
	case value.IsPlain() && (value.Text == "true" || value.Text == "false"):
		with = "{type: boolean, default: " + value.Text + "}"
	case value.IsPlain() && isInteger(value.Text):
		with = "{type: integer, default: " + value.Text + "}"
	default:
		with = "{type: string, default: " + textIn(value) + "}"
	}
	return &mend{edits: pair.Value.Rewrite(with), certain: certain, hint: "write `" + pair.Key.Text + ": " + with + "`"}
}

func isType(text string) bool {
	for _, word := range spec.V1().Map("schema").Key("type").Values {
		if word == text {
			return true
		}
	}
	return false
}

func isInteger(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

func typeMeant(text string) string { return check.TypeMeant(text) }

// requiredHere is for `required: true` at an input.
func requiredHere(f *file, p *diag.Problem) *mend {
	s, pair := f.valueAt(p)
	if s == nil || pair.Key == nil || pair.Key.Text != "required" || pair.Value.Kind != spec.Scalar {
		return nil
	}
	switch pair.Value.Text {
	case "true", "yes":
		return &mend{edits: f.remove(s.parent(), s.pair), certain: true, hint: "leave it out: what has no `default` is required"}
	case "false", "no":
		if s.parent().Get("default") != nil {
			return &mend{edits: f.remove(s.parent(), s.pair), certain: true, hint: "leave it out: what has a `default` is not required"}
		}
		if s.parent().Flow {
			return &mend{edits: f.replace(pair, "nullable: true, default: null"), certain: true, hint: "what is not required has a `default`: write `nullable: true, default: null`"}
		}
		column := spaces(f.column(f.keyStart(pair)))
		return &mend{edits: f.replace(pair, "nullable: true\n"+column+"default: null"), certain: true, hint: "what is not required has a `default`: write `nullable: true` and `default: null`"}
	}
	return nil
}

// choiceOf is for `type: choice` with `options`.
func choiceOf(f *file, p *diag.Problem) *mend {
	s, pair := f.valueAt(p)
	if s == nil || pair.Key == nil || pair.Key.Text != "type" || !strings.HasSuffix(p.Message, "is not a type") {
		return nil
	}
	switch pair.Value.Text {
	case "choice", "enum", "select", "dropdown":
	default:
		return nil
	}
	edits := pair.Value.Rewrite("string")
	hint := "one of some texts is `{type: string, enum: [a, b]}`"
	for _, one := range s.parent().Pairs {
		switch one.Key.Text {
		case "options", "values", "choices":
			edits = append(edits, f.edit(f.keyStart(one), f.nodeEnd(one.Key), "enum"))
			return &mend{edits: edits, certain: true, hint: hint}
		case "enum":
			return &mend{edits: edits, certain: true, hint: hint}
		}
	}
	return &mend{hint: hint}
}

// typeOfOthers is for a type in the words of others.
func typeOfOthers(f *file, p *diag.Problem) *mend {
	s, pair := f.valueAt(p)
	if s == nil || pair.Key == nil || pair.Key.Text != "type" || !strings.HasSuffix(p.Message, "is not a type") {
		return nil
	}
	switch pair.Value.Text {
	case "date", "datetime", "timestamp", "time":
		if s.parent().Flow && s.parent().Get("format") == nil {
			return &mend{edits: pair.Value.Rewrite("string, format: date-time"), certain: true}
		}
		return nil
	}
	if meant := typeMeant(pair.Value.Text); meant != "" {
		return &mend{edits: pair.Value.Rewrite(meant), certain: true}
	}
	return nil
}

// optionsKey is for words of others for the words of a schema.
func optionsKey(f *file, p *diag.Problem) *mend {
	s, pair := f.keyAt(p)
	if s == nil || !strings.HasSuffix(p.Message, "is not known in a schema") {
		return nil
	}
	meant := map[string]string{"options": "enum", "values": "enum", "choices": "enum", "min": "minimum", "max": "maximum", "regex": "pattern", "value": "default", "desc": "description", "help": "description"}[pair.Key.Text]
	if meant == "" || s.parent().Get(meant) != nil {
		return nil
	}
	return &mend{edits: []diag.Edit{f.edit(f.keyStart(pair), f.nodeEnd(pair.Key), meant)}, certain: true, hint: "did you mean `" + meant + "`?"}
}

// reactionWord is for what follows an error, and for when a step runs, in the words of
// others.
func reactionWord(f *file, p *diag.Problem) *mend {
	s := f.scalarAt(p)
	if s == nil || !strings.HasPrefix(p.Message, "`"+s.node.Text+"` is not ") {
		return nil
	}
	meant := ""
	switch {
	case strings.HasSuffix(p.Message, "what can follow an error"):
		meant = map[string]string{
			"ignore": "continue", "skip": "continue", "proceed": "continue", "resume": "continue", "warn": "continue", "pass": "continue", "next": "continue",
			"abort": "fail", "stop": "fail", "error": "fail", "exit": "fail", "break": "fail", "wait": "pause", "ask": "pause", "hold": "pause",
		}[s.node.Text]
	case strings.HasSuffix(p.Message, "what a loop does after an error"):
		meant = map[string]string{"continue": "collect", "ignore": "collect", "skip": "collect", "fail": "stop", "abort": "stop", "break": "stop"}[s.node.Text]
	case strings.HasSuffix(p.Message, "a `run_if`"):
		meant = map[string]string{"always": "any", "failure": "failed", "error": "failed", "on_failure": "failed", "success": "ok", "succeeded": "ok", "always()": "any", "failure()": "failed"}[s.node.Text]
	case strings.HasSuffix(p.Message, "a kind of error"):
		meant = map[string]string{"404": "not_found", "403": "forbidden", "401": "unauthorized", "429": "rate_limited", "409": "conflict", "notfound": "not_found", "network": "unavailable"}[s.node.Text]
		if meant == "" {
			meant = p.Hint.Near
		}
		if pair, ok := s.own(); ok && s.isKey && meant != "" && s.parent().Get(meant) != nil && s.parent().Get(meant).Text == pair.Value.Text {
			return &mend{edits: f.remove(s.parent(), s.pair), certain: true, hint: "leave it out: `" + meant + "` stands here already"}
		}
	}
	if meant == "" {
		return nil
	}
	return &mend{edits: s.node.Rewrite(meant), certain: true, hint: "did you mean `" + meant + "`?"}
}

// stateDefault gives a state value its first value.
func stateDefault(f *file, p *diag.Problem) *mend {
	s, pair := f.keyAt(p)
	if s == nil || !strings.Contains(p.Message, "needs a default") || pair.Value.Kind != spec.Mapping || len(pair.Value.Pairs) == 0 {
		return nil
	}
	first := map[string]string{"string": `""`, "integer": "0", "number": "0", "boolean": "false", "array": "[]", "object": "{}"}
	kind := pair.Value.Get("type")
	if kind == nil || first[kind.Text] == "" {
		return nil
	}
	if pair.Value.Get("enum") != nil {
		return nil
	}
	return &mend{edits: f.behind(pair.Value, len(pair.Value.Pairs)-1, "default: "+first[kind.Text])}
}

var amountOf = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(\d+)\s*(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)\s*$`)
})

// durationText is for `2 days` and `30`.
func durationText(f *file, p *diag.Problem) *mend {
	s := f.scalarAt(p)
	if s == nil || !strings.Contains(p.Message, "is not a duration") {
		return nil
	}
	written := strings.ToLower(strings.TrimSpace(s.node.Text))
	if isInteger(written) && !strings.HasPrefix(written, "-") {
		if s.top() {
			return &mend{edits: s.node.Rewrite(written + "m"), hint: "a bare number has no unit: write `" + written + "m` for minutes, `" + written + "s` for seconds"}
		}
		return &mend{edits: s.node.Rewrite(written + "s")}
	}
	found := amountOf().FindStringSubmatch(written)
	if found == nil {
		return nil
	}
	with := found[1] + found[2][:1]
	if found[2][:1] == "w" {
		n, err := strconv.Atoi(found[1])
		if err != nil {
			return nil
		}
		with = strconv.Itoa(n*7) + "d"
	}
	long, err := duration.Parse(with)
	if err != nil {
		return nil
	}
	edits := s.node.Rewrite(with)
	if pair, ok := s.own(); ok && long > 24*time.Hour && s.step() == s.parent() && (pair.Key.Text == "timeout" || pair.Key.Text == "within") && f.root.Get("timeout") == nil {
		more := f.atTop("timeout: " + with)
		return &mend{edits: append(edits, more...), certain: more != nil, hint: "write `" + with + "`; a run takes 24h at most, unless `timeout` at the top says more"}
	}
	return &mend{edits: edits, certain: true, hint: "write `" + with + "`"}
}

// atTop puts a pair before the steps.
func (f *file) atTop(pair string) []diag.Edit {
	for _, one := range f.root.Pairs {
		if one.Key.Text == "steps" && !f.root.Flow {
			return []diag.Edit{f.insert(f.start(f.lineOf(f.keyStart(one))), pair+"\n")}
		}
	}
	return nil
}

// longerRun gives the run the time that one of its steps may take.
func longerRun(f *file, p *diag.Problem) *mend {
	s := f.scalarAt(p)
	if s == nil {
		return nil
	}
	if own := f.root.Get("timeout"); own != nil {
		return &mend{edits: own.Rewrite(s.node.Text)}
	}
	return &mend{edits: f.atTop("timeout: " + s.node.Text)}
}

// literalRules are those for a value that does not have its type.
func literalRules() []rule {
	return []rule{quotedNumber, unquotedText, dayWord, numberWord, oneItem, likeWord}
}

// quotedNumber takes quotes off.
func quotedNumber(f *file, p *diag.Problem) *mend {
	s := f.spot(p)
	if s == nil || !strings.Contains(p.Hint.Text, "without quotes") || s.node.Style != spec.Single && s.node.Style != spec.Double {
		return nil
	}
	if strings.ContainsAny(s.node.Text, " :#{}[],&*!|>'\"%@`\n") || s.node.Text == "" {
		return nil
	}
	return &mend{edits: s.node.Rewrite(s.node.Text), certain: true}
}

// unquotedText puts quotes around.
func unquotedText(f *file, p *diag.Problem) *mend {
	s := f.spot(p)
	if s == nil || !s.node.IsPlain() || !strings.Contains(p.Hint.Text, "quote") || strings.Contains(p.Hint.Text, "without quotes") {
		return nil
	}
	quoted, ok := spec.Quoted(s.node.Text)
	if !ok {
		return nil
	}
	return &mend{edits: s.node.Rewrite(quoted), certain: true}
}

// dayWord is for `yesterday` where a time is meant.
func dayWord(f *file, p *diag.Problem) *mend {
	s := f.scalarAt(p)
	if s == nil || !strings.Contains(p.Message, "is not a time") {
		return nil
	}
	meant := map[string]string{
		"now": "now()", "today": `startOf(now(), "day")`, "yesterday": `now() - duration("24h")`, "tomorrow": `now() + duration("24h")`,
		"last week": `now() - duration("168h")`, "last_week": `now() - duration("168h")`, "next week": `now() + duration("168h")`,
		"last month": `now() - duration("720h")`, "last_month": `now() - duration("720h")`, "next month": `now() + duration("720h")`,
	}[strings.ToLower(s.node.Text)]
	if meant == "" {
		if !regexp.MustCompile(`^\d{4}-\d\d-\d\d$`).MatchString(s.node.Text) {
			return nil
		}
		with := s.node.Text + "T00:00:00Z"
		return &mend{edits: s.node.Rewrite(with), hint: "a time has its hour and its zone: `" + with + "`"}
	}
	with := "${{ " + meant + " }}"
	text := with
	if s.parent().Flow {
		quoted, ok := spec.Quoted(with)
		if !ok {
			return nil
		}
		text = quoted
	}
	return &mend{edits: s.node.Rewrite(text), hint: "write `" + with + "`"}
}

// numberWord is for `ten`.
func numberWord(f *file, p *diag.Problem) *mend {
	s := f.scalarAt(p)
	if s == nil || !strings.Contains(p.Hint.Text, "digits") {
		return nil
	}
	words := []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}
	n := -1
	for i, word := range words {
		if strings.EqualFold(word, s.node.Text) {
			n = i
		}
	}
	more := map[string]int{"twenty": 20, "thirty": 30, "fifty": 50, "hundred": 100, "thousand": 1000}
	if many, ok := more[strings.ToLower(s.node.Text)]; ok {
		n = many
	}
	if n < 0 {
		digits := strings.NewReplacer(",", "", "_", "", " ", "").Replace(s.node.Text)
		if !isInteger(digits) || digits == s.node.Text {
			return nil
		}
		return &mend{edits: s.node.Rewrite(digits), certain: true, hint: "write `" + digits + "`"}
	}
	return &mend{edits: s.node.Rewrite(strconv.Itoa(n)), hint: "write `" + strconv.Itoa(n) + "`"}
}

// oneItem puts a single value into a list.
func oneItem(f *file, p *diag.Problem) *mend {
	s := f.scalarAt(p)
	if s == nil || !strings.HasPrefix(p.Message, "expects a list") {
		return nil
	}
	return &mend{edits: s.node.Rewrite("[" + textIn(s.node) + "]"), hint: "a list of one is `[" + s.node.Text + "]`"}
}

var oneOfTexts = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^must be one of (.*); got "`) })

// likeWord is for a word that begins as one of those that are taken does, or is begun by
// it: `warning` for `warn`.
func likeWord(f *file, p *diag.Problem) *mend {
	s, found := f.spot(p), oneOfTexts().FindStringSubmatch(p.Message)
	if s == nil || s.node.Kind != spec.Scalar || found == nil || p.Hint.Near != "" {
		return nil
	}
	meant := ""
	for _, quoted := range strings.Split(found[1], ", ") {
		word := strings.Trim(quoted, `"`)
		low := strings.ToLower(s.node.Text)
		if len(word) < 3 || !strings.HasPrefix(low, word) && !(len(low) >= 3 && strings.HasPrefix(word, low)) {
			continue
		}
		if meant != "" {
			return nil
		}
		meant = word
	}
	if meant == "" || !isField(meant) {
		return nil
	}
	return &mend{edits: s.node.Rewrite(meant), certain: true, hint: "did you mean `" + meant + "`?"}
}

// missingField writes an input that an action needs, with something to replace.
func missingField(f *file, p *diag.Problem) *mend {
	s := f.spot(p)
	if s == nil || !s.isKey {
		return nil
	}
	step := s.step()
	if step == nil {
		if s.up(0) != "triggers" && !strings.HasPrefix(p.Message, "the trigger gives no value") {
			return nil
		}
		return nil
	}
	for _, field := range f.fieldsOf(step) {
		if !field.Required || !strings.Contains(p.Message, "`"+field.Name+"`") && !strings.Contains(p.Message, "{"+field.Name+":") {
			continue
		}
		return f.addField(step, s, field)
	}
	return nil
}

func (f *file) addField(step *spec.Node, s *spot, field schema.Field) *mend {
	value := field.Name + ": " + placeholder(field, s.up(1))
	if with := step.Get("with"); with != nil && with.Kind == spec.Mapping && len(with.Pairs) > 0 {
		if s.parent() != with {
			return nil
		}
		return &mend{edits: f.behind(with, len(with.Pairs)-1, value)}
	}
	for i, pair := range step.Pairs {
		if pair.Key.Text == "uses" {
			return &mend{edits: f.behind(step, i, "with: {"+value+"}")}
		}
	}
	return nil
}
