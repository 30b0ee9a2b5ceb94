package web

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// maxSaid is how many faults of a request its detail tells.
const maxSaid = 5

// refusal words what huma has found wrong with a request of an operation.
func refusal(op *huma.Operation, model *huma.ErrorModel) *Problem {
	switch model.Status {
	case http.StatusRequestEntityTooLarge:
		return wire.NewProblem(wire.CodeTooLarge, "the body is larger than this path takes")
	case http.StatusUnsupportedMediaType:
		return wire.NewProblem(wire.CodeMediaType, "the body must be application/json")
	}
	answer := wire.NewProblem(wire.CodeBadRequest, "")
	var said []string
	for _, detail := range model.Errors {
		fault := faultOf(op, detail)
		said = append(said, fault.Detail)
		answer.Faults = append(answer.Faults, fault)
	}
	if more := len(said) - maxSaid; more > 0 {
		said = append(said[:maxSaid], fmt.Sprintf("and %d more", more))
	}
	if answer.Detail = strings.Join(said, "; "); answer.Detail == "" {
		answer.Detail = "the request is not what this path takes"
	}
	if len(answer.Faults) > 0 {
		answer.Input, answer.Hint = answer.Faults[0].Input, answer.Faults[0].Hint
	}
	return answer
}

// faultOf words one fault. The value is told again where it is a parameter's: a
// body may hold what nobody should see twice.
func faultOf(op *huma.Operation, detail *huma.ErrorDetail) wire.InputFault {
	where, name, _ := strings.Cut(detail.Location, ".")
	name = shorten(name)
	message := plainMessage(detail.Message)
	switch {
	case where == "body" && name == "":
		return wire.InputFault{Detail: "the body is not what this path takes: " + message}
	case where == "body":
		return bodyFault(op, name, message)
	case detail.Message == unknownParameter:
		return wire.InputFault{Input: name, Detail: fmt.Sprintf("there is no parameter %q", name), Hint: parameterHint(op, name)}
	}
	fault := wire.InputFault{Input: name}
	switch value := detail.Value.(type) {
	case string:
		fault.Detail = fmt.Sprintf("%s %q: %s", name, shorten(value), message)
	case nil:
		fault.Detail = fmt.Sprintf("%s: %s", name, message)
	default:
		fault.Detail = fmt.Sprintf("%s %v: %s", name, value, message)
	}
	return fault
}

// What huma says of names that an operation does not know.
const (
	unknownParameter = "unknown query parameter"
	unknownField     = "unexpected property"
)

func bodyFault(op *huma.Operation, name, message string) wire.InputFault {
	fault := wire.InputFault{Input: name, Pointer: pointerOf(name), Detail: fmt.Sprintf("the body is not what this path takes: %s: %s", name, message)}
	if message == unknownField {
		fault.Detail = fmt.Sprintf("the body is not what this path takes: there is no field %q", name)
		fault.Hint = fieldHint(op, name)
	}
	return fault
}

// pointerOf makes a JSON pointer of huma's place: a.b[0].c.
func pointerOf(place string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1", ".", "/", "[", "/", "]", "").Replace(place)
}

// parameterHint names the parameters that an operation has in its query.
func parameterHint(op *huma.Operation, wrong string) diag.Hint {
	var names []string
	for _, p := range op.Parameters {
		if p.In == "query" {
			names = append(names, p.Name)
		}
	}
	return nameHint(wrong, names, "this path has no parameters")
}

// fieldHint names the fields that the body of an operation has beside a wrong one.
func fieldHint(op *huma.Operation, wrong string) diag.Hint {
	var names []string
	if op.RequestBody != nil && !strings.ContainsAny(wrong, ".[") {
		if media := op.RequestBody.Content["application/json"]; media != nil && media.Schema != nil {
			names = fieldNames(op, media.Schema)
		}
	}
	return nameHint(wrong, names, "its body has no fields")
}

func nameHint(wrong string, names []string, none string) diag.Hint {
	if hint := diag.DidYouMean(wrong, names); hint.Text != "" {
		return hint.Then("; there are " + strings.Join(names, ", "))
	}
	if len(names) == 0 {
		return diag.Say(none)
	}
	return diag.Say("there are " + strings.Join(names, ", "))
}

// oneOf is how huma begins the list of an enumeration.
const oneOf = "expected value to be one of "

// plainMessage says in our words what huma says in those of its types.
func plainMessage(message string) string {
	if list, ok := strings.CutPrefix(message, oneOf); ok {
		return "it is one of " + strings.Trim(list, `"`)
	}
	if _, isTime := strings.CutPrefix(message, "invalid date/time"); isTime || strings.Contains(message, "RFC 3339 date-time") {
		return "a time is written like 2026-03-02T09:00:00Z"
	}
	if ours, found := map[string]string{
		"invalid integer": "it is a whole number", "invalid float": "it is a number", "invalid floating value": "it is a number",
		"invalid boolean": "it is true or false", "expected integer": "it is a whole number", "expected number": "it is a number",
		"expected boolean": "it is true or false", "expected string": "it is a text", "expected array": "it is a list", "expected object": "it is an object",
	}[message]; found {
		return ours
	}
	for theirs, ours := range map[string]string{
		"expected string to be ": "it is a text that is ", "expected length ": "its length is ", "expected number ": "it is a number ",
	} {
		if rest, found := strings.CutPrefix(message, theirs); found {
			return ours + rest
		}
	}
	if name, found := strings.CutPrefix(message, "expected required property "); found {
		return strings.TrimSuffix(name, " to be present") + " is missing"
	}
	return message
}

// shorten bounds what is told again of a request.
func shorten(text string) string {
	const most = 120
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

var _ huma.StatusError = (*wire.Problem)(nil)
