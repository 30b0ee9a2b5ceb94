package http

import (
	"github.com/flowrun/flowrun/sdk"
)

// narrowed is what is known of an output before the request is made.
type narrowed struct {
	reading
	as       bool // `as` is known
	answer   bool // `answer` is known
	nullable bool // the body may be null: of an expected status that is no success, and with pages
	pages    *pages
	paged    bool // whether there are pages is known
}

func (p *plugin) narrowGet(in getInput, unknown []string) sdk.Value {
	n := p.narrowing(in.target, in.reading, unknown)
	n.paged = !sdk.IsUnknown(unknown, "/pages")
	if n.pages = in.Pages; in.Pages != nil {
		n.nullable = true
	}
	if !n.paged {
		return nil
	}
	return n.schema()
}

func narrowHead(headInput, []string) sdk.Value {
	return sdk.Value(outputOf(`{"type": "null", "default": null}`, noBlob, "", ""))
}

func (p *plugin) narrowWrite(in writeInput, unknown []string) sdk.Value {
	return p.narrowing(in.target, in.reading, unknown).schema()
}

func (p *plugin) narrowKeyed(in keyedInput, unknown []string) sdk.Value {
	return p.narrowWrite(in.writeInput, unknown)
}

func (p *plugin) narrowing(t target, how reading, unknown []string) narrowed {
	statuses, err := expected(t.Expect)
	how.shape = p.shapes.of(how.Answer)
	return narrowed{
		reading: how, as: !sdk.IsUnknown(unknown, "/as"), answer: !sdk.IsUnknown(unknown, "/answer"),
		nullable: err != nil || beyond(statuses) || sdk.IsUnknown(unknown, "/expect"),
	}
}

// schema is the output's schema with what is known of the body and of the items.
func (n narrowed) schema() sdk.Value {
	definitions := ""
	if n.typed() {
		definitions = `{"answer": ` + string(rooted(n.Answer)) + `}`
	}
	items := ""
	if n.pages != nil {
		items = n.items()
	}
	return sdk.Value(outputOf(n.body(), n.blob(), items, definitions))
}

// typed reports whether the body's type is that of `answer`.
func (n narrowed) typed() bool {
	if !n.as || !n.answer || n.Answer == nil {
		return false
	}
	return n.As == kindAuto || n.As == kindJSON || n.As == kindCSV
}

// blob is the large value.
func (n narrowed) blob() string {
	switch {
	case !n.as || n.As == kindBlob && n.nullable:
		return anyBlob
	case n.As == kindBlob:
		return isBlob
	}
	return noBlob
}

func (n narrowed) body() string {
	if !n.as {
		return anyBody
	}
	var known string
	switch n.As {
	case kindNone, kindBlob:
		return `{"type": "null", "default": null}`
	case kindText, kindBytes:
		known = `{"type": "string"}`
	case kindCSV:
		row := `{"type": "object", "additionalProperties": {"type": "string"}}`
		switch {
		case n.typed() && n.shape.isList():
			return n.orNull(`{"$ref": "` + answerAt + `"}`)
		case n.typed():
			row = `{"$ref": "` + answerAt + `"}`
		case !n.answer:
			row = `{"type": "object"}`
		}
		known = `{"type": "array", "items": ` + row + `}`
	default:
		if !n.typed() {
			return anyBody
		}
		known = `{"$ref": "` + answerAt + `"}`
	}
	return n.orNull(known)
}

func (n narrowed) orNull(known string) string {
	if !n.nullable {
		return known
	}
	return `{"default": null, "anyOf": [` + known + `, {"type": "null"}]}`
}

// items are those of a page.
func (n narrowed) items() string {
	if !n.typed() {
		return anyItems
	}
	if n.As == kindCSV {
		if n.shape.isList() {
			return `{"$ref": "` + answerAt + `"}`
		}
		return `{"type": "array", "items": {"$ref": "` + answerAt + `"}}`
	}
	if at := schemaAt(n.Answer, n.pages.Items); at != "" {
		return `{"type": "array", "items": {"$ref": ` + string(sdk.Text(at)) + `}}`
	}
	return anyItems
}
