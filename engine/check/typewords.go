package check

import (
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/spec"
)

// typeWords are what other products and languages call the types, "" for what they have
// and a word of ours says only with more beside it.
func typeWords() map[string]string {
	return map[string]string{
		"str": "string", "text": "string", "String": "string", "varchar": "string", "secret": "string", "password": "string",
		"int": "integer", "Integer": "integer", "long": "integer", "int32": "integer", "int64": "integer",
		"float": "number", "double": "number", "decimal": "number", "Number": "number",
		"bool": "boolean", "Boolean": "boolean", "checkbox": "boolean",
		"list": "array", "List": "array", "tuple": "array", "map": "object", "dict": "object", "json": "object", "hash": "object",
		choiceType: "string", "enum": "string", "select": "string", "dropdown": "string",
		"date": "string", "datetime": "string", "timestamp": "string", "time": "string",
	}
}

const (
	choiceType = "choice"
	optionsKey = "options"
)

// isChoice reports whether a schema says in the words of others that it is one of some
// texts: `type: choice` with `options`.
func isChoice(node *spec.Node) bool {
	kind := node.Get("type")
	if kind == nil || kind.Kind != spec.Scalar {
		return false
	}
	switch kind.Text {
	case choiceType, "enum", "select", "dropdown":
		return true
	}
	return false
}

// typeWord is the type that a word of others means, reported; "" where it is none.
func (r *inputReader) typeWord(node *spec.Node) string {
	meant := typeWords()[node.Text]
	if node.Kind != spec.Scalar || meant == "" {
		return ""
	}
	problem := r.c.errorAt(node.Pos, CodeWord, "`%s` is not a type", node.Text)
	r.bad = true
	problem.Hint = diag.Meant(meant)
	switch node.Text {
	case "date", "datetime", "timestamp", "time":
		problem.Hint = diag.Say("a time is `{type: string, format: date-time}`")
	case choiceType, "enum", "select", "dropdown":
		problem.Hint = diag.Say("one of some texts is `{type: string, enum: [a, b]}`")
	}
	return meant
}

// TypeMeant is the type that a word of other products and languages means, "" where it is
// none.
func TypeMeant(word string) string { return typeWords()[word] }
