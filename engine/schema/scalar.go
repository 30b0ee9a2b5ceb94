package schema

import (
	"encoding/json"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
)

// integerText reports whether a text is a whole number of JSON without an exponent.
func integerText(text string) bool {
	return jsonNumber(text) && strings.Trim(text, "-0123456789") == ""
}

// FromScalar turns the text of a YAML scalar into JSON of the type, by
// docs/language.md, "Files": the field decides, never YAML's guess. Plain says
// that the scalar stood without quotes. The error is a *Mismatch.
func (t *Type) FromScalar(text string, plain bool) (json.RawMessage, error) {
	raw, err := t.scalarJSON(text, plain)
	if err != nil {
		return nil, err
	}
	if string(raw) == "null" && t.AcceptsNull() {
		return raw, nil
	}
	if _, err := t.DecodeExact(raw); err != nil {
		return nil, err
	}
	return raw, nil
}

func (t *Type) scalarJSON(text string, plain bool) (json.RawMessage, error) {
	if t.Secret {
		return nil, (&Mismatch{Message: "expects a secret, got a clear value"}).
			hint("write ${{ secrets.NAME }} as the whole value")
	}
	if plain && isNullText(text) {
		return t.nullScalar(text)
	}
	if t.Alternatives != nil {
		return t.scalarOf(text, plain)
	}
	switch t.Kind {
	case String, Time, Duration:
		return Encode(text)
	case Any:
		if plain && (text == "true" || text == "false" || jsonNumber(text)) {
			return json.RawMessage(text), nil
		}
		return Encode(text)
	}
	if plain && t.takesPlain(text) {
		return json.RawMessage(text), nil
	}
	return nil, t.refuseScalar(text, plain)
}

func isNullText(text string) bool { return text == "" || text == "null" || text == "~" }

func (t *Type) nullScalar(text string) (json.RawMessage, error) {
	if t.AcceptsNull() {
		return json.RawMessage("null"), nil
	}
	shown := "null"
	if text == "" {
		shown = "nothing"
	}
	m := &Mismatch{Message: "expects " + t.Article() + ", got " + shown}
	if t.Kind == String {
		m.Hint = diag.Say(`write "` + text + `" in quotes for that text`)
	}
	return nil, m
}

func (t *Type) takesPlain(text string) bool {
	switch t.Kind {
	case Bool:
		return text == "true" || text == "false"
	case Int:
		return integerText(text)
	case Number:
		return jsonNumber(text)
	}
	return false
}

func (t *Type) refuseScalar(text string, plain bool) error {
	m := &Mismatch{Message: "expects " + t.Article() + ", got " + duration.Quote(text)}
	switch {
	case !plain && t.takesPlain(text):
		m.Message = "expects " + t.Article() + ", got text in quotes"
		m.Hint = diag.Say("write it without quotes")
	case t.Kind == Bool:
		m.Hint = diag.Say("write true or false")
	case t.Kind == Int:
		m.Hint = diag.Say("write digits only, such as 42")
	case t.Kind == Number:
		m.Hint = diag.Say("write a number such as 42 or 0.5")
	}
	return m
}
