package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"golang.org/x/net/http/httpguts"
)

// NoInput is the input of an action that takes none.
type NoInput struct{}

// Object is a JSON object of any fields that is passed on as it is, byte by
// byte: a body that a service's documents do not show. A pointer makes it
// optional.
type Object json.RawMessage

// MarshalJSON returns the object as it came.
func (o Object) MarshalJSON() ([]byte, error) {
	if len(o) == 0 {
		return []byte("null"), nil
	}
	return o, nil
}

// UnmarshalJSON keeps the object as it comes.
func (o *Object) UnmarshalJSON(raw []byte) error {
	*o = append((*o)[:0], raw...)
	return nil
}

// SetText adds a parameter that was given; an absent one is not sent.
func SetText(query url.Values, name string, value *string) {
	if value != nil {
		query.Set(name, *value)
	}
}

// SetInteger adds a parameter that was given; an absent one is not sent.
func SetInteger(query url.Values, name string, value *int64) {
	if value != nil {
		query.Set(name, strconv.FormatInt(*value, 10))
	}
}

// IsUnknown reports whether the input at a JSON Pointer is not known yet while a
// workflow is checked; unknown is what ValidateWith and NarrowWith hand over.
func IsUnknown(unknown []string, pointer string) bool {
	return newUnknownSet(unknown).touches(pointer)
}

// Pointer is the JSON Pointer (RFC 6901) of a value: names of fields and places in
// lists, from the outside in.
func Pointer(steps ...any) string {
	pointer := ""
	for _, step := range steps {
		pointer += nameToken(fmt.Sprint(step))
	}
	return pointer
}

// IsHeaderName reports whether a text can be the name of a header (RFC 9110, 5.6.2).
func IsHeaderName(name string) bool { return httpguts.ValidHeaderFieldName(name) }

// IsHeaderValue reports whether a header can carry a text: one without line breaks and
// other control characters.
func IsHeaderValue(text string) bool { return httpguts.ValidHeaderFieldValue(text) }

// IsInteger reports whether a value is an integer of 64 bits, however it is
// written: 3320.0 is one.
func IsInteger(value Value) bool {
	sign := firstSign(value)
	if sign != '-' && (sign < '0' || sign > '9') {
		return false
	}
	_, whole := wholeNumber(json.Number(bytes.TrimSpace(value)))
	return whole
}

// IsNull reports whether a value is null or missing.
func IsNull(value Value) bool { return isNull(value) }

// Shown makes a text fit for a message: on one line, without control characters,
// at most limit bytes. Response.Shown masks the secrets of the call besides.
func Shown(text string, limit int) string { return plain(cut(text, limit)) }

// NotSent says of an error that the request it is about was not sent: a write is
// then known not to have happened.
func NotSent(err error) error {
	if failure, ok := errors.AsType[*Error](err); ok {
		failure.Applied = NotApplied
	}
	return err
}

// WithoutBody takes the excerpt of the answer's body out of an error: for answers
// that may hold a token, even where they are cut short.
func WithoutBody(err error) error {
	if failure, ok := errors.AsType[*Error](err); ok {
		delete(failure.Details, "body")
	}
	return err
}

// ConnectionName names the connection as flowrun.yaml does: without a name it is
// the plugin's own.
func (c *Call[C]) ConnectionName() string {
	if name := c.Connection(); name != "" {
		return name
	}
	return c.core.plugin.name
}
