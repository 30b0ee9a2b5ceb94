package content

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/sdk"
)

// cell makes a value of a cell, by the type of its column; nil is left out. What is wrong
// repeats no cell of a service's answer: it may be a secret.
func (t *table) cell(name, text string) (value sdk.Value, wrong string) {
	if t.Answer == nil {
		return sdk.Text(text), ""
	}
	column := t.Answer.Property(name)
	if column == nil {
		column = t.Answer.Additional()
	}
	bare := strings.TrimSpace(text)
	switch {
	case column == nil && t.Answer.Closed():
		return nil, ""
	case column == nil || !column.Says():
		return sdk.Text(text), ""
	case bare == "" && !column.Takes("null") && !column.Takes("string"):
		if t.Lenient && !t.Answer.Required(name) {
			return nil, ""
		}
		return nil, "is empty, and must be " + wanted(column)
	}
	if value := typed(text, bare, column); value != nil {
		return value, ""
	}
	if t.Lenient {
		return nil, "must be " + wanted(column) + ", is text"
	}
	return nil, fmt.Sprintf("must be %s, is %q", wanted(column), sdk.Shown(text, 60))
}

// typed is the first of null, number, boolean and text that a column takes and a cell is;
// nil = none. bare is the cell without blanks around it.
func typed(text, bare string, column *sdk.Schema) sdk.Value {
	if bare == "" && column.Takes("null") {
		return sdk.Value("null")
	}
	if column.Takes("integer") || column.Takes("number") {
		if plain := number(bare); plain != nil && (column.Takes("number") || sdk.IsInteger(plain)) {
			return plain
		}
	}
	switch word := strings.ToLower(bare); {
	case column.Takes("boolean") && (word == "true" || word == "false"):
		return sdk.Value(word)
	case column.Takes("string"):
		return sdk.Text(text)
	case column.Takes("null") && word == "null":
		return sdk.Value("null")
	}
	return nil
}

// wanted names what a column takes, for people.
func wanted(column *sdk.Schema) string {
	var words []string
	for _, w := range []struct{ jsonType, word string }{
		{"number", "a number"}, {"integer", "an integer"}, {"boolean", "true or false"}, {"array", "a list"}, {"object", "an object"},
	} {
		if column.Takes(w.jsonType) && (w.jsonType != "integer" || !column.Takes("number")) {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, " or ")
}

// numberGrammar is what a cell must look like to be a number: as JSON writes it, with a
// plus or zeros in front and a point at either end besides.
var numberGrammar = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([+-]?)([0-9]{0,400})(\.[0-9]{0,400})?([eE][+-]?[0-9]{1,3})?$`)
})

// number writes a number as JSON does: without a plus and without zeros in front; nil for
// a text that is none.
func number(text string) sdk.Value {
	parts := numberGrammar().FindStringSubmatch(text)
	if parts == nil {
		return nil
	}
	sign, whole, fraction, exponent := strings.TrimPrefix(parts[1], "+"), parts[2], parts[3], parts[4]
	if whole == "" && len(fraction) < 2 {
		return nil // a point alone
	}
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if fraction == "." {
		fraction = ""
	}
	written := sdk.Value(sign + whole + fraction + exponent)
	if !json.Valid(written) {
		return nil
	}
	return written
}
