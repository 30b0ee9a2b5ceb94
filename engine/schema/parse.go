package schema

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// sharedText is up to which size of a document its texts are parts of one copy of it: a
// text that is kept keeps all of it.
const sharedText = 1 << 10

// fastParse reads one JSON value as encoding/json does with UseNumber, but for whole
// numbers that fit 64 bits, which are int already. ok is false for what is no JSON, and
// for what is rare: encoding/json reads that, and says what is wrong with it.
func fastParse(data []byte) (v any, ok bool) {
	p := parser{data: data}
	if len(data) <= sharedText {
		p.text = string(data)
	}
	v, ok = p.value(0)
	p.space()
	return v, ok && p.at == len(p.data)
}

// parser reads a document from the front. Its methods return false where it does not go
// on.
type parser struct {
	data []byte
	text string // of all of data, where that is small
	at   int
	keys map[string]string // names that came before, of a large document
}

func (p *parser) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return
		}
	}
}

// next takes a byte behind white space.
func (p *parser) next(c byte) bool {
	p.space()
	if p.at < len(p.data) && p.data[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) value(depth int) (any, bool) {
	p.space()
	if p.at == len(p.data) || depth > maxDepth {
		return nil, false
	}
	switch c := p.data[p.at]; c {
	case '{':
		return p.object(depth)
	case '[':
		return p.list(depth)
	case '"':
		return boxed(p.string(false))
	case 't':
		return true, p.word("true")
	case 'f':
		return false, p.word("false")
	case 'n':
		return nil, p.word("null")
	default:
		return p.number()
	}
}

func boxed(text string, ok bool) (any, bool) {
	if !ok {
		return nil, false
	}
	return text, true
}

func (p *parser) word(word string) bool {
	if len(p.data)-p.at < len(word) || string(p.data[p.at:p.at+len(word)]) != word {
		return false
	}
	p.at += len(word)
	return true
}

func (p *parser) object(depth int) (any, bool) {
	p.at++
	object := map[string]any{}
	if p.next('}') {
		return object, true
	}
	for {
		p.space()
		if p.at == len(p.data) || p.data[p.at] != '"' {
			return nil, false
		}
		key, ok := p.string(true)
		if !ok || !p.next(':') {
			return nil, false
		}
		value, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		object[key] = value
		switch {
		case p.next(','):
		case p.next('}'):
			return object, true
		default:
			return nil, false
		}
	}
}

func (p *parser) list(depth int) (any, bool) {
	p.at++
	list := []any{}
	if p.next(']') {
		return list, true
	}
	for {
		value, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		list = append(list, value)
		switch {
		case p.next(','):
		case p.next(']'):
			return list, true
		default:
			return nil, false
		}
	}
}

// string reads a text that begins at a quote. One with an escape, or that is no UTF-8,
// is read by encoding/json.
func (p *parser) string(key bool) (string, bool) {
	begin, plain, ascii := p.at, true, true
	for p.at++; p.at < len(p.data); p.at++ {
		switch c := p.data[p.at]; {
		case c == '"':
			p.at++
			if plain && (ascii || utf8.Valid(p.data[begin+1:p.at-1])) {
				return p.copied(begin+1, p.at-1, key), true
			}
			var text string
			err := json.Unmarshal(p.data[begin:p.at], &text)
			return text, err == nil
		case c == '\\':
			p.at++
			plain = false
		case c < ' ':
			return "", false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return "", false
}

// copied is a part of the document as a text of its own.
func (p *parser) copied(from, to int, key bool) string {
	if p.text != "" {
		return p.text[from:to]
	}
	if !key {
		return string(p.data[from:to])
	}
	known, ok := p.keys[string(p.data[from:to])]
	if !ok {
		known = string(p.data[from:to])
		if p.keys == nil {
			p.keys = map[string]string{}
		}
		if len(p.keys) < sharedText { // names of an object that is a table come once
			p.keys[known] = known
		}
	}
	return known
}

// number reads a number: as int where that is exact.
func (p *parser) number() (any, bool) {
	begin := p.at
	whole, ok := p.numeral()
	if !ok {
		return nil, false
	}
	text := p.data[begin:p.at]
	if whole && string(text) != "-0" {
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			return int(n), true
		}
	}
	return json.Number(p.copied(begin, p.at, false)), true
}

// numeral passes by a number; whole says that it has neither a fraction nor an exponent.
func (p *parser) numeral() (whole, ok bool) {
	if p.peek() == '-' {
		p.at++
	}
	if p.peek() == '0' {
		p.at++
	} else if !p.digits() {
		return false, false
	}
	whole = true
	if p.peek() == '.' {
		p.at++
		if whole = false; !p.digits() {
			return false, false
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		if whole = false; !p.digits() {
			return false, false
		}
	}
	return whole, true
}

// peek is the next byte; 0 at the end.
func (p *parser) peek() byte {
	if p.at == len(p.data) {
		return 0
	}
	return p.data[p.at]
}

// digits passes by at least one digit.
func (p *parser) digits() bool {
	begin := p.at
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.at > begin
}
