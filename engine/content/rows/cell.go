package rows

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// numberGrammar is what a cell must look like to be a number: as JSON writes it, with a
// plus or zeros in front and a point at either end besides.
var numberGrammar = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([+-]?)([0-9]{0,400})(\.[0-9]{0,400})?([eE][+-]?[0-9]{1,3})?$`)
})

// typed makes a value of a cell, by the type of its column: the first of null, number,
// boolean and text that the column takes and the cell is.
func typed(cell string, t Column) (value json.RawMessage, wrong string) {
	if t == nil {
		return text(cell), ""
	}
	bare := strings.TrimSpace(cell)
	if bare == "" && t.Takes("null") {
		return json.RawMessage("null"), ""
	}
	if t.Takes("integer") || t.Takes("number") {
		if plain, whole := number(bare); plain != nil && (whole || t.Takes("number")) {
			return plain, ""
		}
	}
	switch word := strings.ToLower(bare); {
	case t.Takes("boolean") && (word == "true" || word == "false"):
		return json.RawMessage(word), ""
	case t.Takes("string"):
		return text(cell), ""
	case t.Takes("null") && word == "null":
		return json.RawMessage("null"), ""
	case bare == "":
		return nil, "is empty, and must be " + wanted(t)
	}
	return nil, fmt.Sprintf("must be %s, is \"%s\"", wanted(t), shown(cell, 60))
}

// wanted names what a column takes, for people.
func wanted(t Column) string {
	var words []string
	for _, w := range []struct{ jsonType, word string }{{"number", "a number"}, {"integer", "an integer"}, {"boolean", "true or false"}, {"array", "a list"}, {"object", "an object"}} {
		if t.Takes(w.jsonType) && (w.jsonType != "integer" || !t.Takes("number")) {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, " or ")
}

// number writes a number as JSON does: without a plus and without zeros in front; nil for
// a text that is none. whole says that it has neither a fraction nor an exponent.
func number(digits string) (value json.RawMessage, whole bool) {
	parts := numberGrammar().FindStringSubmatch(digits)
	if parts == nil {
		return nil, false
	}
	sign, integer, fraction, exponent := strings.TrimPrefix(parts[1], "+"), parts[2], parts[3], parts[4]
	if integer == "" && len(fraction) < 2 {
		return nil, false // a point alone
	}
	if integer = strings.TrimLeft(integer, "0"); integer == "" {
		integer = "0"
	}
	if fraction == "." {
		fraction = ""
	}
	written := json.RawMessage(sign + integer + fraction + exponent)
	return written, fraction == "" && exponent == ""
}
