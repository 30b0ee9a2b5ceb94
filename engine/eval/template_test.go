package eval

import (
	"errors"
	"strings"
	"time"
)

// template is a compiled scalar: literal text, one expression whose result
// keeps its type, or text with expressions in it. It is immutable and safe for
// concurrent use.
type template struct {
	literal string
	whole   *Program
	parts   []templatePart
}

type templatePart struct {
	text    string
	program *Program // nil = text
}

// compileTemplate compiles a scalar's text; compile is Compile or a cache's.
// The error is a *Issue with offsets in text.
func compileTemplate(text string, compile func(source string) (*Program, error)) (*template, error) {
	segments, issue := Split(text)
	if issue != nil {
		return nil, issue
	}
	t := &template{}
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
			return &template{whole: program}, nil
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

// run evaluates the template; see Program.Run.
func (t *template) run(env map[string]any, at time.Time) (any, error) {
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
