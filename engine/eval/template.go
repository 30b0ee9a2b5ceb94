package eval

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
)

// Text returns the form that a value has inside text: numbers as JSON, times as
// RFC 3339, durations as the language writes them. Null, lists, objects and
// secrets have none; the error is a *RunError.
func Text(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int:
		return strconv.Itoa(v), nil
	case json.Number:
		return string(v), nil
	case float64:
		encoded, err := schema.Encode(v)
		if err != nil {
			return "", &RunError{Message: err.Error(), Reason: reasonExpression}
		}
		return string(encoded), nil
	case time.Time:
		return schema.FormatTime(v), nil
	case time.Duration:
		return schema.FormatDuration(v), nil
	}
	err := &RunError{Message: fmt.Sprintf("%s can't stand inside text", schema.TypeOf(v)), Reason: reasonExpression}
	switch {
	case v == nil:
		err.Hint = diag.Say("give a value for that case with `??`")
	case schema.IsSecretRef(v):
		err.Message = "a secret can't stand inside text"
	default:
		err.Hint = diag.Say("toJSON(x) makes text of it")
	}
	return "", err
}

// FitsText reports whether a value of type t may stand inside text: nil when it
// may.
func FitsText(t *schema.Type) *schema.Misfit {
	switch {
	case t.HasSecret():
		return &schema.Misfit{Message: "a secret can't stand inside text"}
	case t.MayBeNull():
		return &schema.Misfit{Message: "this may be null, which can't stand inside text", Hint: diag.Say("give a value for that case with `??`")}
	}
	for _, one := range t.Each() {
		if one.Blob {
			return &schema.Misfit{Message: "a large value can't stand inside text", Hint: diag.Say("a step with `uses: core.read` reads a small one as text; its fields are digest, size, media_type and name")}
		}
		if one.Kind == schema.List || one.Kind == schema.Object {
			return &schema.Misfit{Message: one.Article() + " can't stand inside text", Hint: diag.Say("toJSON(x) makes text of it")}
		}
	}
	return nil
}

// The reasons of a RunError.
const (
	reasonExpression = "expression"
	reasonLimit      = "limit"
)
