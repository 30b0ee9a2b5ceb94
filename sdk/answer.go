package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/sdk/proto/document"
)

// Document returns the body of an answer that may be any JSON, as the service
// wrote it. A body that is no JSON, or that readers would read differently
// (bytes that are no UTF-8, a name twice in one object, a number that becomes
// Infinity or has more than 1,000 digits), is CodeUnexpectedResponse with the
// place.
func (r *Response) Document() (Value, error) {
	if problem := r.DocumentProblem(); problem != "" {
		return nil, r.Fail(CodeUnexpectedResponse, "%s", problem)
	}
	return r.Body, nil
}

// DocumentProblem says why the body is no JSON that all readers read alike, "" for
// nothing: for plugins that make an error of their own of it.
func (r *Response) DocumentProblem() string {
	switch {
	case len(bytes.TrimSpace(r.Body)) == 0:
		return "the answer is empty where JSON is due"
	case !json.Valid(r.Body):
		text := "the answer is no JSON" + r.kindOfBody()
		if problem := invalidText(r.Body); problem != "" {
			text += ": " + problem
		}
		return text
	}
	if problem := document.Problem(r.Body); problem != "" {
		return "the answer is no JSON that all read alike: " + r.Shown(problem, 400)
	}
	return ""
}

// DocumentOrNull is Document for the answer of a write whose shape the service's
// documents do not show: a whole answer of success without a body says that it
// was done, and is null.
func (r *Response) DocumentOrNull() (Value, error) {
	if r.Status >= 200 && r.Status < 300 && len(bytes.TrimSpace(r.Body)) == 0 {
		return Value("null"), nil
	}
	return r.Document()
}

// JSON decodes the body into a pointer; numbers in values of any type become
// json.Number, which keeps them as written, and a number without a fraction is
// an integer however it is written. What is no JSON, see Document, or has
// another shape is CodeUnexpectedResponse, with the field and what it is.
func (r *Response) JSON(into any) error {
	body, err := r.Document()
	if err != nil {
		return err
	}
	if problem := decodeAnswer(body, into); problem != "" {
		return r.Fail(CodeUnexpectedResponse, "the answer has another shape: %s", problem)
	}
	return nil
}

// Decode decodes a part of the answer into a pointer, such as the data of an
// envelope: it is JSON's, and the named fields must be there and not null.
func (r *Response) Decode(part Value, into any, required ...string) error {
	if problem := decodeAnswer(part, into); problem != "" {
		return r.Fail(CodeUnexpectedResponse, "the record has another shape: %s", problem)
	}
	if len(required) == 0 {
		return nil
	}
	fields, err := members(part)
	if err != nil {
		return r.Fail(CodeUnexpectedResponse, "the record is %s where an object is due", typeOf(part))
	}
	for _, name := range required {
		if err := r.lacks(fields, name, false); err != nil {
			return err
		}
	}
	return nil
}

// Fits is Decode for a part whose shape a schema says: what the schema requires at its top
// must be there, and not null where it does not take null. Elsewhere null and what is
// missing pass, as in Decode.
func (r *Response) Fits(part Value, shape *Schema) error {
	tree, err := decodeTree(part)
	if err != nil {
		return r.Fail(CodeUnexpectedResponse, "the record has another shape: it can't be read")
	}
	check := shapeCheck{}
	if check.value(tree, shape.schema, ""); check.problem != "" {
		return r.Fail(CodeUnexpectedResponse, "the record has another shape: %s", check.problem)
	}
	fields, _ := members(part)
	for _, p := range shape.schema.properties {
		if !p.required {
			continue
		}
		if err := r.lacks(fields, p.name, p.schema.nullable()); err != nil {
			return err
		}
	}
	return nil
}

// lacks is the failure of a record without a member, nil where it has one.
func (r *Response) lacks(fields Members, name string, mayBeNull bool) error {
	switch value, there := fields.get(name); {
	case !there:
		return r.Fail(CodeUnexpectedResponse, "the record has no `%s`", name)
	case isNull(value) && !mayBeNull:
		return r.Fail(CodeUnexpectedResponse, "`%s` of the record is null", name)
	}
	return nil
}

// Envelope decodes an answer that the service wraps in an object. mark is a field that
// all its answers have: one without it comes from somebody else, such as a proxy.
func (r *Response) Envelope(into any, mark string) error {
	body, err := r.Document()
	if err != nil {
		return err
	}
	if fields, _ := members(body); isNull(fields.Get(mark)) {
		return r.Fail(CodeUnexpectedResponse, "the answer has no `%s`: it is not from this service", mark).WithHint("check base_url")
	}
	return r.JSON(into)
}

// Record decodes a part of an answer into a new T, see Response.Decode.
func Record[T any](r *Response, part Value, required ...string) (T, error) {
	var record T
	err := r.Decode(part, &record, required...)
	return record, err
}

// decodeAnswer decodes a document and returns what is wrong with it, in words
// for people, "" for nothing. No value is shown: it may be a token.
func decodeAnswer(doc []byte, into any) string {
	err := decodeExact(doc, into)
	if err == nil {
		return ""
	}
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) {
		return "it can't be read"
	}
	s, schemaErr := reflectSchema(reflect.TypeOf(into).Elem(), answerObjects)
	tree, treeErr := decodeTree(doc)
	if schemaErr != nil || treeErr != nil {
		return mismatchText(mismatch)
	}
	shape := shapeCheck{}
	tree = shape.value(tree, s, "")
	if shape.problem != "" {
		return shape.problem
	}
	// integers that are written with a fraction or an exponent
	fresh := reflect.New(reflect.TypeOf(into).Elem())
	if err := decodeExact(encoded(tree), fresh.Interface()); err != nil {
		return mismatchText(mismatch)
	}
	reflect.ValueOf(into).Elem().Set(fresh.Elem())
	return ""
}

// mismatchText says what a type could not take, where its schema does not tell.
func mismatchText(mismatch *json.UnmarshalTypeError) string {
	word, _, _ := strings.Cut(mismatch.Value, " ")
	what := map[string]string{"string": "text", "bool": "true or false", "array": "a list", "object": "an object", "number": "a number that does not fit"}[word]
	if what == "" {
		what = "another value"
	}
	if mismatch.Field == "" {
		return "it is " + what
	}
	return "`" + plain(cut(mismatch.Field, 200)) + "` is " + what
}

// shapeCheck compares a document with the schema of an answer, leniently: null
// and what is missing pass. It brings whole numbers into the form of integers.
type shapeCheck struct{ problem string }

func (c *shapeCheck) value(v any, s *schema, at string) any {
	if s == nil || v == nil || c.problem != "" {
		return v
	}
	if number, ok := v.(json.Number); ok && !s.takes("number") && s.takes("integer") {
		if whole, is := wholeNumber(number); is {
			return whole
		}
		c.report(at, s, "a number with a fraction, or beyond 64 bits")
		return v
	}
	if !s.allows(v) {
		c.report(at, s, typeName(v))
		return v
	}
	switch typed := v.(type) {
	case []any:
		for i := range typed {
			typed[i] = c.value(typed[i], s.items, at+"["+indexToken(i)[1:]+"]")
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(typed)) {
			inner := name
			if at != "" {
				inner = at + "." + name
			}
			typed[name] = c.value(typed[name], s.member(name), inner)
		}
	}
	return v
}

func (c *shapeCheck) report(at string, s *schema, got string) {
	if at == "" {
		c.problem = "it is " + got + " where " + s.describe() + " is due"
		return
	}
	c.problem = "`" + plain(cut(at, 200)) + "` is " + got + " where " + s.describe() + " is due"
}

// typeName names the type of a value for people.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case bool:
		return "true or false"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	}
	return "an object"
}

// TypeName names the type of a document for people: "text", "a list", "true or false". What
// is no JSON counts as null.
func TypeName(document Value) string { return typeOf(document) }

// typeOf names the type of a document; what is no JSON counts as null.
func typeOf(doc Value) string {
	tree, _ := decodeTree(doc)
	return typeName(tree)
}

// firstSign is the sign that a document begins with, 0 for none.
func firstSign(doc Value) byte {
	doc = bytes.TrimSpace(doc)
	if len(doc) == 0 {
		return 0
	}
	return doc[0]
}

func isNull(doc Value) bool {
	sign := firstSign(doc)
	return sign == 0 || sign == 'n'
}
