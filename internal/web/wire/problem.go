// Package wire is how the server answers: in JSON, and with problems. The guard and
// the API behind it share it.
package wire

import (
	"encoding/json"
	"maps"
	"net/http"

	"github.com/flowrun/flowrun/engine/diag"
)

// Problem is an error answer (RFC 9457, application/problem+json) and the error
// that the client returns for it.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   Code   `json:"code"`
	diag.Hint
	Input string `json:"input,omitempty"`
	// Problems are those of a workflow or a query, Faults those of the request: both
	// are sent as `problems`.
	Problems diag.List    `json:"-"`
	Faults   []InputFault `json:"-"`
}

// InputFault is one thing that is wrong with what was sent.
type InputFault struct {
	Input   string `json:"input,omitempty" doc:"The input, the field or the parameter that is wrong."`
	Pointer string `json:"pointer,omitempty" doc:"A JSON pointer (RFC 6901) to the place in the body of the request; not of parameters."`
	Detail  string `json:"detail" doc:"What is wrong with it."`
	diag.Hint
}

// NewProblem returns a problem with the status of its code.
func NewProblem(code Code, detail string) *Problem {
	status := statusOf[code]
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: code}
}

// With returns the problem with a hint.
func (p *Problem) With(hint diag.Hint) *Problem {
	p.Hint = hint
	return p
}

// Error returns the detail.
func (p *Problem) Error() string { return p.Detail }

// Place points the faults of inputs into the body of a request: where the input is
// among the texts, and else among the values.
func (p *Problem) Place(values string, texts map[string]string, textsName string) {
	for i, fault := range p.Faults {
		switch _, isText := texts[fault.Input]; {
		case fault.Pointer == "":
		case isText:
			p.Faults[i].Pointer = "/" + textsName + fault.Pointer
		default:
			p.Faults[i].Pointer = "/" + values + fault.Pointer
		}
	}
}

// problemFields are those of Problem, for its own encoding.
type problemFields Problem

// MarshalJSON writes what is wrong as `problems`.
func (p Problem) MarshalJSON() ([]byte, error) {
	var list any
	switch {
	case len(p.Problems) > 0:
		list = p.Problems
	case len(p.Faults) > 0:
		list = p.Faults
	}
	return json.Marshal(struct {
		problemFields
		List any `json:"problems,omitempty"`
	}{problemFields(p), list})
}

// UnmarshalJSON reads `problems` by what they are: only those of a text have a
// message.
func (p *Problem) UnmarshalJSON(data []byte) error {
	var read struct {
		*problemFields
		List json.RawMessage `json:"problems"`
	}
	read.problemFields = (*problemFields)(p)
	if err := json.Unmarshal(data, &read); err != nil || len(read.List) == 0 {
		return err
	}
	var kinds []struct{ Message *string }
	if err := json.Unmarshal(read.List, &kinds); err != nil {
		return err
	}
	if len(kinds) > 0 && kinds[0].Message != nil {
		return json.Unmarshal(read.List, &p.Problems)
	}
	return json.Unmarshal(read.List, &p.Faults)
}

// ProblemType is the media type of a problem.
const ProblemType = "application/problem+json"

// retryAfter is when a request that could not be taken may be sent again, in
// seconds, where nobody knows better.
const retryAfter = "5"

// GetHeaders returns what the answer has besides its body. huma asks for it too.
func (p *Problem) GetHeaders() http.Header {
	if p.Status != http.StatusTooManyRequests && p.Status != http.StatusServiceUnavailable {
		return nil
	}
	return http.Header{"Retry-After": {retryAfter}}
}

// GetStatus lets huma answer with a problem.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType lets huma name the type of a problem.
func (p *Problem) ContentType(string) string { return ProblemType }

// Write answers with the problem. A Retry-After that stands in the header stays.
func (p *Problem) Write(w http.ResponseWriter) {
	if w.Header().Get("Retry-After") == "" {
		maps.Copy(w.Header(), p.GetHeaders())
	}
	w.Header().Set("Content-Type", ProblemType)
	w.WriteHeader(p.Status)
	if data, err := EncodeJSON(p); err == nil { // plain data
		_, _ = w.Write(data) // the client is gone: nobody is left to tell
	}
}
