package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
)

// Template is a compiled scalar: literal text, one expression whose result
// keeps its type, or text with expressions in it. It is immutable and safe for
// concurrent use.
type Template struct {
	literal string
	whole   *Program
	parts   []templatePart
}

type templatePart struct {
	text    string
	program *Program // nil = text
}

// CompileTemplate compiles a scalar's text; compile is Compile or a cache's.
// The error is a *Issue with offsets in text.
func CompileTemplate(text string, compile func(source string) (*Program, error)) (*Template, error) {
	segments, issue := Split(text)
	if issue != nil {
		return nil, issue
	}
	t := &Template{}
	whole, isWhole := Whole(segments)
	for _, segment := range segments {
		if !segment.IsExpr {
			t.parts = append(t.parts, templatePart{text: segment.Text})
			t.literal += segment.Text
			continue
		}
		program, err := compile(segment.Text)
		if err != nil {
			return nil, shifted(err, segment.Offset)
		}
		if isWhole && segment == whole {
			return &Template{whole: program}, nil
		}
		t.parts = append(t.parts, templatePart{program: program})
	}
	if !HasExpression(text) {
		t.parts = nil
	}
	return t, nil
}

func shifted(err error, offset int) error {
	var issue *Issue
	if !errors.As(err, &issue) {
		return err
	}
	moved := *issue
	moved.Start, moved.End = issue.Start+offset, issue.End+offset
	return &moved
}

// Run evaluates the template; see Program.Run.
func (t *Template) Run(env map[string]any, at time.Time) (any, error) {
	switch {
	case t.whole != nil:
		return t.whole.Run(env, at)
	case t.parts == nil:
		return t.literal, nil
	}
	var b strings.Builder
	for _, part := range t.parts {
		if part.program == nil {
			b.WriteString(part.text)
			continue
		}
		value, err := part.program.Run(env, at)
		if err != nil {
			return nil, err
		}
		text, err := Text(value)
		if err != nil {
			return nil, err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

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
