package recipe

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flowrun/flowrun/sdk"
)

// maxMessage bounds the service's own text in an error, in bytes.
const maxMessage = 500

// classify says whether an answer is a failure: by its envelope, where the service has
// one, else by its status.
func (r *Recipe) classify(response *sdk.Response) error {
	fine := response.Status >= 200 && response.Status < 300
	if r.Envelope == nil {
		if fine {
			return nil
		}
		return r.named(response.StatusError())
	}
	failure := r.Envelope.failure(response, fine)
	if failure == nil {
		return nil
	}
	return r.named(failure)
}

// named gives a failure what the recipe says of its status.
func (r *Recipe) named(failure *sdk.Error) *sdk.Error {
	i := slices.IndexFunc(r.Faults, func(f Fault) bool { return f.Status == failure.HTTPStatus })
	if i >= 0 && failure.Code != sdk.CodeUnexpectedResponse {
		failure.Code = r.Faults[i].Code
		failure.Reason = cmp.Or(r.Faults[i].Reason, failure.Reason)
	}
	return failure
}

// failure reads an envelope. An answer without one comes from somebody else, such as a
// proxy.
func (e *Envelope) failure(response *sdk.Response, fine bool) *sdk.Error {
	var body any
	if json.Unmarshal(response.Body, &body) != nil || e.Mark != "" && !has(response.Body, e.Mark) {
		if !fine {
			return response.StatusError()
		}
		if e.Mark == "" {
			return nil // the answer's own rules say what it must be
		}
		return response.Fail(sdk.CodeUnexpectedResponse, "the answer has no `%s`: it is not from this service", e.Mark).WithHint("check base_url")
	}
	status := response.Status
	if e.Status != "" {
		said, err := strconv.Atoi(text(member(response.Body, e.Status)))
		if err != nil {
			return response.Fail(sdk.CodeUnexpectedResponse, "the answer has no status at %s", e.Status)
		}
		fine, status = fine && said >= 200 && said < 300, said
	}
	if e.OK != "" {
		is := e.Is
		if is == nil {
			is = json.RawMessage("true")
		}
		fine = fine && equal(member(response.Body, e.OK), is)
	}
	if fine {
		return nil
	}
	return e.refusal(response, status)
}

// refusal is an error with the service's own text.
func (e *Envelope) refusal(response *sdk.Response, status int) *sdk.Error {
	code := sdk.CodeOfStatus(status)
	if status >= 200 && status < 300 {
		code = sdk.CodeUnexpectedResponse // it says no, and not why
	}
	failure := response.Fail(code, "the service gives no reason (%d %s)", status, http.StatusText(status))
	failure.HTTPStatus = status
	if e.Message != "" {
		if said := response.Shown(text(member(response.Body, e.Message)), maxMessage); said != "" {
			failure.Message = said
		}
	}
	if e.Reason != "" {
		failure.Reason = response.Shown(text(member(response.Body, e.Reason)), 64)
	}
	if status >= 400 && status < 500 && status != http.StatusRequestTimeout {
		failure.Applied = sdk.NotApplied // the HTTP status may say 200
	}
	return failure
}

// Text is the text, number or boolean at a JSON Pointer of an output, "" for none.
func Text(output sdk.Value, pointer string) string {
	value := member(output, pointer)
	if _, isObject := sdk.ReadMembers(value); isObject || sdk.IsNull(value) {
		return ""
	}
	return text(value)
}

func has(object sdk.Value, name string) bool {
	members, _ := sdk.ReadMembers(object)
	return !sdk.IsNull(members.Get(name))
}

// equal compares two values as they are written, blanks aside.
func equal(a, b sdk.Value) bool {
	var left, right bytes.Buffer
	return json.Compact(&left, a) == nil && json.Compact(&right, b) == nil && bytes.Equal(left.Bytes(), right.Bytes())
}

// member returns the value at a JSON Pointer, null where there is none.
func member(value sdk.Value, pointer string) sdk.Value {
	if pointer == "" {
		return value
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		if items, ok := list(value); ok {
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(items) {
				return sdk.Value("null")
			}
			value = items[i]
			continue
		}
		members, _ := sdk.ReadMembers(value)
		if value = members.Get(token); value == nil {
			return sdk.Value("null")
		}
	}
	return value
}

// output makes the output of a success.
func (r *Recipe) output(c Call, response *sdk.Response, input sdk.Value) (sdk.Value, error) {
	switch r.kindOf(response) {
	case AnswerNone:
		return sdk.Value("null"), nil
	case AnswerText:
		if !utf8.Valid(response.Body) {
			return nil, response.Fail(sdk.CodeUnexpectedResponse, "the answer is no text in UTF-8")
		}
		return sdk.Text(string(response.Body)), nil
	case AnswerAny:
		if response.DocumentProblem() != "" {
			return anyText(response)
		}
	case AnswerBytes:
		return sdk.Text(base64.StdEncoding.EncodeToString(response.Body)), nil
	}
	body, err := response.DocumentOrNull()
	if err != nil {
		return nil, err
	}
	if r.Page != nil {
		if err := r.Page.next(c, r, response, body, input); err != nil {
			return nil, err
		}
	}
	return r.data(body), nil
}

// anyText is an answer that is no JSON and of which nothing is documented.
func anyText(response *sdk.Response) (sdk.Value, error) {
	switch {
	case len(bytes.TrimSpace(response.Body)) == 0:
		return sdk.Value("null"), nil
	case !utf8.Valid(response.Body):
		return nil, response.Fail(sdk.CodeUnexpectedResponse, "the answer is neither JSON nor text, and the document says nothing of it")
	}
	return sdk.Text(string(response.Body)), nil
}

// data is the part of an answer that is the output.
func (r *Recipe) data(body sdk.Value) sdk.Value {
	if r.Envelope == nil || r.Envelope.Data == "" {
		return body
	}
	return member(body, r.Envelope.Data)
}

// kindOf is what an answer should hold by its status: the exact one, else its class,
// else the default.
func (r *Recipe) kindOf(response *sdk.Response) string {
	empty := len(bytes.TrimSpace(response.Body)) == 0
	if r.Method == http.MethodHead || response.Status == http.StatusNoContent && empty {
		return AnswerNone
	}
	status := strconv.Itoa(response.Status)
	for _, wanted := range []string{status, status[:1] + "XX", "default"} {
		for _, a := range r.Answers {
			if strings.EqualFold(a.Status, wanted) {
				return a.Kind
			}
		}
	}
	return AnswerJSON
}
