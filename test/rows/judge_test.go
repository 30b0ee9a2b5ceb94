package rows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// judge compares what was seen with what the case says, and returns all that
// differs.
func judge(a *act) []string {
	var wrong []string
	wrong = append(wrong, a.seen.trouble...)
	if len(a.command) > 0 {
		return append(wrong, judgeTexts(a)...)
	}
	if a.alone {
		return append(wrong, judgeAlone(a)...)
	}
	if len(a.seen.results) != len(a.calls) {
		return append(wrong, fmt.Sprintf("%d of %d calls were made", len(a.seen.results), len(a.calls)))
	}
	for i, c := range a.calls {
		for _, problem := range a.judgeCall(c, a.seen.results[i]) {
			if len(a.calls) > 1 {
				problem = fmt.Sprintf("call %d: %s", i+1, problem)
			}
			wrong = append(wrong, problem)
		}
	}
	wrong = append(wrong, judgeRequests(a)...)
	return append(wrong, leaks(a)...)
}

// judgeCall compares one result.
func (a *act) judgeCall(c call, got callResult) []string {
	w := c.want
	var wrong []string
	for _, text := range w.logs {
		if !strings.Contains(a.seen.text, text) {
			wrong = append(wrong, fmt.Sprintf("no line of the log has %q:\n%s", text, a.seen.text))
		}
	}
	if w.outputs != nil {
		if got.Error != nil {
			return append(wrong, fmt.Sprintf("failed: %s (%s)", got.Error.Message, got.Error.Kind))
		}
		if hidden := secretOutputs[c.action]; hidden != "" && a.way == byStep {
			fields := fieldsOf(w.outputs)
			delete(fields, hidden)
			w.outputs, _ = compact(fields) // of JSON
		}
		wrong = append(wrong, a.judgeOutputs(w, got.Outputs)...)
		if a.way == byCall {
			wrong = append(wrong, a.judgeMeta(w.meta, got.Meta)...)
		}
		return wrong
	}
	if got.Error == nil {
		return append(wrong, fmt.Sprintf("succeeded with %s, expected was %s", shorten(string(got.Outputs)), w.kind))
	}
	return append(wrong, a.judgeError(w, got.Error)...)
}

func (a *act) judgeOutputs(w want, got json.RawMessage) []string {
	text, err := a.names.expand(string(w.outputs))
	if err != nil {
		return []string{err.Error()}
	}
	if w.bytes && a.way == byCall {
		var want, have bytes.Buffer
		if json.Compact(&want, []byte(text)) != nil || json.Compact(&have, got) != nil || want.String() != have.String() {
			return []string{fmt.Sprintf("the outputs are %s, expected to the byte was %s", shorten(string(got)), text)}
		}
		return nil
	}
	return a.differences("outputs", decoded(text), decoded(string(got)))
}

func (a *act) judgeMeta(want, got map[string]json.RawMessage) []string {
	var wrong []string
	for name, value := range want {
		wrong = append(wrong, a.differences("meta."+name, decoded(string(value)), decoded(string(got[name])))...)
	}
	return wrong
}

// decoded keeps numbers as they are written. What is no JSON is nothing.
func decoded(text string) any {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return missing{}
	}
	if _, err := decoder.Token(); err != io.EOF {
		return missing{}
	}
	return value
}

// missing stands for what is not there.
type missing struct{}

// differences compares two values. Texts in <> are patterns: see README.md.
func (a *act) differences(at string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %s, expected was an object", at, show(got))}
		}
		return a.fieldDifferences(at, want, object)
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return []string{fmt.Sprintf("%s is %s, expected was %s", at, show(got), show(want))}
		}
		var wrong []string
		for i := range want {
			wrong = append(wrong, a.differences(fmt.Sprintf("%s[%d]", at, i), want[i], list[i])...)
		}
		return wrong
	case string:
		if strings.HasPrefix(want, "<") && strings.HasSuffix(want, ">") {
			if problem := a.pattern(want[1:len(want)-1], got); problem != "" {
				return []string{at + " " + problem}
			}
			return nil
		}
	}
	if want != got && !a.sameNumber(want, got) {
		return []string{fmt.Sprintf("%s is %s, expected was %s", at, show(got), show(want))}
	}
	return nil
}

// sameNumber reports two ways to write one number. An answer of a call keeps its
// digits; what an expression has read is the number, and an integer always exact.
func (a *act) sameNumber(want, got any) bool {
	x, isNumber := want.(json.Number)
	y, isNumberToo := got.(json.Number)
	if !isNumber || !isNumberToo || a.way == byCall || !strings.ContainsAny(string(x), ".eE") {
		return false
	}
	f, err := x.Float64()
	g, err2 := y.Float64()
	return err == nil && err2 == nil && f == g
}

func (a *act) fieldDifferences(at string, want, got map[string]any) []string {
	var wrong []string
	names := make([]string, 0, len(want))
	for name := range want {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		value, there := got[name]
		if !there {
			value = missing{}
		}
		wrong = append(wrong, a.differences(at+"."+name, want[name], value)...)
	}
	for name := range got {
		if _, expected := want[name]; !expected {
			wrong = append(wrong, fmt.Sprintf("%s.%s is %s, expected was none", at, name, show(got[name])))
		}
	}
	return wrong
}

// pattern says what is wrong with a value that a pattern stands for.
func (a *act) pattern(pattern string, got any) string {
	word, rest, _ := strings.Cut(pattern, " ")
	text, isText := got.(string)
	switch word {
	case "any":
		if got == (missing{}) {
			return "is not there"
		}
	case "text", "bind":
		if !isText || text == "" {
			return fmt.Sprintf("is %s, expected was some text", show(got))
		}
	case "one":
		if !slices.Contains(strings.Split(rest, "|"), text) {
			return fmt.Sprintf("is %s, expected was one of %s", show(got), rest)
		}
	case "list":
		if list, ok := got.([]any); !ok || strconv.Itoa(len(list)) != rest {
			return fmt.Sprintf("is %s, expected was a list of %s", show(got), rest)
		}
	case "num":
		number, ok := got.(json.Number)
		if !ok || !within(rest, string(number)) {
			return fmt.Sprintf("is %s, expected was a number of %s", show(got), rest)
		}
	case "time":
		at, err := time.Parse(time.RFC3339Nano, text)
		after, err2 := time.ParseDuration(rest)
		from := a.seen.from
		if a.login != "" { // it may be a time of the login
			from = a.started
		}
		if err != nil || err2 != nil || at.Before(from.Add(after-2*time.Second)) || at.After(a.seen.to.Add(after+2*time.Second)) {
			return fmt.Sprintf("is %s, expected was a time %s after the call", show(got), rest)
		}
	default:
		if text != "<"+pattern+">" {
			return fmt.Sprintf("is %s, expected was <%s>", show(got), pattern)
		}
	}
	return ""
}

// within reports whether a number is what a range says: 7 or 1..60.
func within(span, number string) bool {
	low, high, found := strings.Cut(span, "..")
	if !found {
		high = low
	}
	n, err := strconv.ParseFloat(number, 64)
	from, err2 := strconv.ParseFloat(low, 64)
	to, err3 := strconv.ParseFloat(high, 64)
	return err == nil && err2 == nil && err3 == nil && from <= n && n <= to
}

func show(v any) string {
	if v == (missing{}) {
		return "missing"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return shorten(string(text))
}

func shorten(text string) string {
	if len(text) > 600 {
		return text[:600] + "…"
	}
	return text
}

// judgeError compares a failure. As a step, a `once` action whose effect is not
// known ends with the kind unknown_outcome (docs/language.md, rule 11).
func (a *act) judgeError(w want, got *failure) []string {
	var wrong []string
	differs := func(what string, want, got any) {
		wrong = append(wrong, fmt.Sprintf("%s is %v, expected was %v", what, got, want))
	}
	kind := w.kind
	if a.way == byStep && w.applied == "unknown" && once[a.calls[len(a.calls)-1].action] {
		kind = "unknown_outcome"
	}
	if !slices.Contains(strings.Split(kind, "|"), got.Kind) {
		differs("the kind", kind, got.Kind+" ("+got.Message+")")
	}
	if w.status != nil && got.HTTPStatus != *w.status {
		differs("the status", *w.status, got.HTTPStatus)
	}
	if applied := got.Applied; w.applied != "" {
		if applied == "" {
			applied = "unknown"
		}
		if applied != w.applied {
			differs("applied", w.applied, applied)
		}
	}
	if w.pointer != nil && got.Pointer != *w.pointer {
		differs("the pointer", *w.pointer, got.Pointer)
	}
	if w.reason != nil && got.Reason != *w.reason {
		differs("the reason", *w.reason, got.Reason)
	}
	if w.retry != "" && !within(w.retry, strconv.FormatFloat(got.RetryAfter, 'f', -1, 64)) {
		differs("retry_after_s", w.retry, got.RetryAfter)
	}
	return append(wrong, a.judgeWords(w, got)...)
}

// goWords are how Go speaks of JSON and the network; a person does not.
var goWords = []string{"json: ", "cannot unmarshal", "Go struct", "Go value", "invalid character", "unexpected end of JSON", "net/http:", "interface {}", "strconv.", "EOF", "gzip: ", "malformed HTTP", "%!", "<nil>"}

func (a *act) judgeWords(w want, got *failure) []string {
	var wrong []string
	has := func(what, text string, parts []string, is bool) {
		for _, part := range parts {
			expanded, err := a.names.expand(part)
			if err != nil {
				expanded = err.Error()
			}
			if strings.Contains(strings.ToLower(text), strings.ToLower(string(unescaped(expanded)))) != is {
				wrong = append(wrong, fmt.Sprintf("the %s is %q, which must have %q: %v", what, text, expanded, is))
			}
		}
	}
	has("message", got.Message, w.message, true)
	has("message", got.Message, w.not, false)
	has("message", got.Message, goWords, false)
	has("hint", got.Hint, w.hint, true)
	return wrong
}

// once are the actions that are sent at most once (docs/services/tasks.md).
var once = map[string]bool{
	"tasks.invitation_delete": true, "tasks.users_invite": true, "tasks.label_remove": true, "tasks.label_rename": true,
	"tasks.migrate_personal_token": true, "tasks.usage_top_up": true,
}

// judgeTexts compares what a command printed.
func judgeTexts(a *act) []string {
	var wrong []string
	for _, text := range a.texts {
		if !strings.Contains(a.seen.text, text) {
			wrong = append(wrong, fmt.Sprintf("the output has no %q", text))
		}
	}
	for _, text := range a.absent {
		if strings.Contains(strings.ToLower(a.seen.text), strings.ToLower(text)) {
			wrong = append(wrong, fmt.Sprintf("the output has %q", text))
		}
	}
	return wrong
}

// judgeAlone compares what was printed where a connection or a workflow is
// refused: an exit code, the parts of the message, and no request.
func judgeAlone(a *act) []string {
	var wrong []string
	if a.seen.code == 0 {
		wrong = append(wrong, "it was not refused\n"+shorten(a.seen.text))
	}
	for _, part := range a.calls[0].want.message {
		if !strings.Contains(a.seen.text, part) {
			wrong = append(wrong, fmt.Sprintf("it does not say %q:\n%s", part, a.seen.text))
		}
	}
	if len(a.seen.requests) > 0 {
		wrong = append(wrong, "it was sent all the same: "+a.seen.requests[0].line)
	}
	return append(wrong, leaks(a)...)
}
