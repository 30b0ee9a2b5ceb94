package web

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// maxSaid is how many faults of a request are told at once.
const maxSaid = 5

// refusal words what huma has found wrong with a request.
func refusal(model *huma.ErrorModel) *Problem {
	switch model.Status {
	case http.StatusRequestEntityTooLarge:
		return newProblem(CodeTooLarge, "the body is larger than this path takes")
	case http.StatusUnsupportedMediaType:
		return newProblem(CodeMediaType, "the body must be application/json")
	}
	var said []string
	for i, detail := range model.Errors {
		if i == maxSaid {
			said = append(said, fmt.Sprintf("and %d more", len(model.Errors)-maxSaid))
			break
		}
		said = append(said, saidOf(detail))
	}
	if len(said) == 0 {
		said = []string{model.Detail}
	}
	return newProblem(CodeBadRequest, strings.Join(said, "; "))
}

// saidOf words one fault. The value is told again where it is a parameter's: a
// body may hold what nobody should see twice.
func saidOf(detail *huma.ErrorDetail) string {
	where, name, _ := strings.Cut(detail.Location, ".")
	name = shorten(name)
	switch {
	case where == "body" && name == "":
		return "the body is not what this path takes: " + detail.Message
	case where == "body":
		return fmt.Sprintf("the body is not what this path takes: %s: %s", name, detail.Message)
	case detail.Message == "unknown query parameter":
		return fmt.Sprintf("there is no parameter %q", name)
	}
	switch value := detail.Value.(type) {
	case string:
		return fmt.Sprintf("%s %q: %s", name, shorten(value), detail.Message)
	case nil:
		return fmt.Sprintf("%s: %s", name, detail.Message)
	default:
		return fmt.Sprintf("%s %v: %s", name, value, detail.Message)
	}
}

// shorten bounds what is told again of a request.
func shorten(text string) string {
	const most = 120
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// GetStatus lets huma answer with a problem.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType lets huma name the type of a problem.
func (p *Problem) ContentType(string) string { return problemType }

var _ huma.StatusError = (*Problem)(nil)
