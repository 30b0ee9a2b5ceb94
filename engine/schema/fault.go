package schema

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// JSONFault says what is wrong with a JSON text, for people who write it: without a
// word of the package that reads it, and without the text itself, which may be a
// secret.
func JSONFault(err error) string {
	var (
		syntax *json.SyntaxError
		kind   *json.UnmarshalTypeError
		moment *time.ParseError
		binary base64.CorruptInputError
	)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), err != nil && strings.Contains(err.Error(), "unexpected end of JSON"):
		return "it ends too early"
	case errors.As(err, &syntax) && strings.Contains(syntax.Error(), "exceeded max depth"):
		return "its values lie too deep in one another"
	case errors.As(err, &syntax):
		return fmt.Sprintf("what stands at byte %d does not belong there", syntax.Offset)
	case errors.As(err, &kind):
		value, _, _ := strings.Cut(kind.Value, " ") // "number 1.5" is told as a number
		if kind.Field == "" {
			return "it can't be " + article(value)
		}
		return fmt.Sprintf("%s can't be %s", kind.Field, article(value))
	case errors.As(err, &moment):
		return "a time is written like 2026-03-02T09:00:00Z"
	case errors.As(err, &binary):
		return "bytes are written in base64"
	}
	if _, name, ok := strings.Cut(err.Error(), `unknown field "`); ok {
		return fmt.Sprintf("there is no field %s", strings.TrimSuffix(name, `"`))
	}
	return "it can't be read"
}

func article(kind string) string {
	switch kind {
	case "string":
		return "a text"
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	}
	return "a " + kind
}
