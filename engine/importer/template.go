package importer

import (
	"regexp"
	"strings"
	"sync"
)

// part is a piece of a text: literal, or an expression of the product's.
type part struct {
	text   string
	isExpr bool
}

// split cuts a text at the signs of expressions; without an end they are text.
func split(source, open, end string) []part {
	var parts []part
	for {
		from := strings.Index(source, open)
		if from < 0 {
			break
		}
		length := endOf(source[from+len(open):], end)
		if length < 0 {
			break
		}
		if from > 0 {
			parts = append(parts, part{text: source[:from]})
		}
		inner := source[from+len(open) : from+len(open)+length]
		parts = append(parts, part{text: inner, isExpr: true})
		source = source[from+len(open)+length+len(end):]
	}
	if source != "" || len(parts) == 0 {
		parts = append(parts, part{text: source})
	}
	return parts
}

// endOf is where the sign of the end stands, outside of texts; -1 where it does not.
func endOf(source, end string) int {
	quote := byte(0)
	for i := 0; i < len(source); i++ {
		b := source[i]
		switch {
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '\'' || b == '"':
			quote = b
		case strings.HasPrefix(source[i:], end):
			return i
		}
	}
	return strings.Index(source, end)
}

// translated is a part of a text, as flowrun's expression or literally.
type translated struct {
	text   string
	expr   expr
	isExpr bool
	left   bool // an expression that could not be translated
}

// template is a text whose expressions are translated. What can't be is in gaps, one a
// reason, and stands in the text as it was.
type template struct {
	parts []translated
	gaps  []string
}

// literal reports whether there is no expression in the template.
func (t template) literal() bool {
	for _, p := range t.parts {
		if p.isExpr {
			return false
		}
	}
	return true
}

// only is the template's expression, where it is one and nothing else.
func (t template) only() (expr, bool) {
	if len(t.parts) == 1 && t.parts[0].isExpr {
		return t.parts[0].expr, true
	}
	return expr{}, false
}

// render is the template as flowrun has it. A single expression keeps its type.
func (t template) render() string {
	t = t.flat()
	if e, ok := t.only(); ok {
		if e.secret != "" {
			return "${{ secrets." + e.secret + " }}"
		}
		return "${{ " + e.source + " }}"
	}
	var b strings.Builder
	for _, p := range t.parts {
		if !p.isExpr {
			b.WriteString(p.literal())
			continue
		}
		e := p.expr.present()
		if e.kind == kindList || e.kind == kindObject {
			e.source = e.asText()
		}
		b.WriteString("${{ " + e.source + " }}")
	}
	return b.String()
}

var ownRoot = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\{\{-?|\$\{)\s*\.?(?:run|inputs|state|steps|trigger|request|item|index|result|error|output|connections|secrets)\b`)
})

// literal is a literal part as flowrun has it. What was left of another product's
// expression and begins with a name of the language loses its signs: the checker would take
// it for a mistake, and the comment above has it whole.
func (p translated) literal() string {
	if p.left && ownRoot().MatchString(p.text) {
		return "<" + strings.TrimSpace(strings.Trim(p.text, "${}- ")) + ">"
	}
	return literalSigns(p.text)
}

// shown is a literal part within an expression.
func (p translated) shown() string {
	if p.left {
		return p.literal()
	}
	return p.text
}

// flat is the template with texts that were joined in another place taken apart again.
func (t template) flat() template {
	out := template{gaps: t.gaps}
	for _, p := range t.parts {
		if p.isExpr && len(p.expr.parts) > 0 {
			out.parts = append(out.parts, template{parts: p.expr.parts}.flat().parts...)
			continue
		}
		out.parts = append(out.parts, p)
	}
	return out
}

// literalSigns writes what would begin an expression so that it begins none.
func literalSigns(text string) string { return strings.ReplaceAll(text, "${{", "$${{") }

// text is the template as flowrun has it where text is wanted.
func (t template) text() string {
	t = t.flat()
	if e, ok := t.only(); ok && e.secret == "" {
		return "${{ " + e.asText() + " }}"
	}
	return t.render()
}

// source is the template as an expression: a text joined of its parts.
func (t template) source() expr {
	if e, ok := t.only(); ok {
		return e
	}
	parts := make([]string, 0, len(t.parts))
	for _, p := range t.parts {
		if p.isExpr {
			parts = append(parts, p.expr.asTextOperand())
		} else if p.text != "" {
			parts = append(parts, quoteText(p.shown()))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, `""`)
	}
	return expr{source: strings.Join(parts, " + "), kind: kindText, joined: len(parts) > 1, parts: t.parts}
}

func (e expr) asTextOperand() string {
	if source := e.asText(); source != e.source || e.joined {
		if strings.HasPrefix(source, "string(") || strings.HasPrefix(source, "toJSON(") {
			return source
		}
		return "(" + source + ")"
	}
	return e.source
}

// hasSecret reports whether a secret stands in the template.
func (t template) hasSecret() bool {
	for _, p := range t.parts {
		if p.isExpr && p.expr.secret != "" {
			return true
		}
	}
	return false
}

// translate makes a template of parts. written is how an expression stood in its text, so
// that one that can't be translated stays what it was.
func (t *translator) translate(parts []part, written func(string) string) template {
	var made template
	for _, p := range parts {
		if !p.isExpr {
			made.parts = append(made.parts, translated{text: p.text})
			continue
		}
		e, err := t.expression(p.text)
		if err == nil && e.secret != "" && len(parts) > 1 {
			err = secretAlone(e)
		}
		if err != nil {
			made.gaps = append(made.gaps, "`"+oneLine(written(p.text))+"`: "+err.Error())
			made.parts = append(made.parts, translated{text: written(p.text), left: true})
			continue
		}
		made.parts = append(made.parts, translated{expr: e, isExpr: true})
	}
	return made
}
