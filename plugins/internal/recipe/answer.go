package recipe

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flowrun/flowrun/sdk"
)

// maxMessage bounds the service's own text in an error, in bytes.
const maxMessage = 500

// ErrRefused is the cause of failures that the service told in its own envelope: it
// tells them from those of a proxy or of a wrong base_url.
var ErrRefused = errors.New("refused by the service")

// classify says whether an answer is a failure: by its envelope, where the service has
// one, else by its status.
func (r *Recipe) classify(response *sdk.Response) error {
	fine := response.Status >= 200 && response.Status < 300
	if r.Envelope == nil {
		if fine {
			return nil
		}
		return r.named(response.StatusError(), response.Status)
	}
	failure, status := r.Envelope.failure(response, fine)
	if failure == nil {
		return nil
	}
	return r.named(failure, status)
}

// named gives a failure what the recipe says of its status, and the input that it is
// about.
func (r *Recipe) named(failure *sdk.Error, status int) *sdk.Error {
	i := slices.IndexFunc(r.Faults, func(f Fault) bool { return f.Status == status && f.Status != 0 })
	if i >= 0 && failure.Code != sdk.CodeUnexpectedResponse {
		failure.Code = r.Faults[i].Code
		failure.Reason = cmp.Or(r.Faults[i].Reason, failure.Reason)
	}
	about := func(f Fault) bool {
		return f.Input != "" && f.Code == failure.Code && (f.Status == 0 || f.Status == status)
	}
	if i := slices.IndexFunc(r.Faults, about); i >= 0 {
		failure.Pointer = sdk.Pointer(r.Faults[i].Input)
	}
	return failure
}

// failure reads an envelope: what it tells of, with the status that counts, nil for
// success. An answer without one comes from somebody else, such as a proxy.
func (e *Envelope) failure(response *sdk.Response, fine bool) (failure *sdk.Error, status int) {
	status = response.Status
	problem := response.DocumentProblem()
	switch absent := problem == "" && e.Mark != "" && !has(response.Body, e.Mark); {
	case problem == "" && !absent:
	case !fine:
		return response.StatusError(), status
	case absent:
		return response.Fail(sdk.CodeUnexpectedResponse, "the answer has no `%s`: it is not from this service", e.Mark).WithHint("check base_url"), status
	case e.Mark == "":
		return nil, status // the answer's own rules say what it must be
	default:
		return response.Fail(sdk.CodeUnexpectedResponse, "%s", problem), status
	}
	if e.Status != "" {
		said, isInteger := integer(member(response.Body, e.Status))
		if !isInteger {
			return response.Fail(sdk.CodeUnexpectedResponse, "%s where an integer is due: it is the status of the answer", is(response.Body, e.Status)), status
		}
		if said < 200 || said >= 300 {
			fine, status = false, said
		}
	}
	if e.OK != "" {
		said, due := member(response.Body, e.OK), e.Is
		if due == nil {
			due = json.RawMessage("true")
			if fine && !equal(said, due) && string(said) != "false" {
				return response.Fail(sdk.CodeUnexpectedResponse, "%s where true or false is due", is(response.Body, e.OK)), status
			}
		}
		fine = fine && equal(said, due)
	}
	switch {
	case !fine:
		return e.refusal(response, status), status
	case e.Filled && sdk.IsNull(member(response.Body, e.Data)):
		return response.Fail(sdk.CodeUnexpectedResponse, "the service says success, but `%s` is empty", nameOf(e.Data)), status
	}
	return nil, status
}

// refusal is an error with the service's own text.
func (e *Envelope) refusal(response *sdk.Response, status int) *sdk.Error {
	code := sdk.CodeUnexpectedResponse // it says no, and not why
	if status >= 400 && status < 600 {
		code = sdk.CodeOfStatus(status)
	}
	failure := response.Fail(code, "the service gives no reason (%d %s)", status, http.StatusText(status))
	failure.Err = ErrRefused
	switch {
	case e.Status != "":
		failure.Message = "the service answers with code " + strconv.Itoa(status) + " and no message"
	case code == sdk.CodeUnexpectedResponse:
		failure = failure.WithHint("the answer came with status %d, which is documented for success only", status)
	}
	if said, isText := textOf(member(response.Body, e.Message)); isText && e.Message != "" {
		if said = response.Shown(said, maxMessage); said != "" {
			failure.Message = said
		}
	}
	switch {
	case e.Reason != "" && e.Reason == e.Status:
		failure.Reason = strconv.Itoa(status)
	case e.Reason != "":
		failure.Reason = response.Shown(text(orNull(member(response.Body, e.Reason))), 64)
	}
	if status >= 400 && status < 500 && status != http.StatusRequestTimeout {
		failure.Applied = sdk.NotApplied // the HTTP status may say 200
	}
	return failure
}

// integer is a value that is an integer, however it is written: 200.0 is one.
func integer(value sdk.Value) (int, bool) {
	var number float64
	if !sdk.IsInteger(value) || json.Unmarshal(value, &number) != nil {
		return 0, false
	}
	return int(number), true
}

// is says of the value at a JSON Pointer what it is, for people: "`code` is text".
func is(body sdk.Value, pointer string) string {
	return "`" + nameOf(pointer) + "` is " + sdk.TypeName(member(body, pointer))
}

// nameOf is the last part of a JSON Pointer.
func nameOf(pointer string) string { return pointer[strings.LastIndex(pointer, "/")+1:] }

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
		page, err := r.Page.next(c, r, response, body, input)
		if err != nil || r.Page.Wrap != "" {
			return page, err
		}
	}
	return r.shaped(response, r.data(body))
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
