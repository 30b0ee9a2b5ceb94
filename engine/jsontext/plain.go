package jsontext

import "encoding/binary"

// plainDepth is how deep the values of a plain text lie in one another at most.
const plainDepth = 1000

// Plain reports whether a JSON text is stored as it is: valid, without white space
// between its parts, and without a letter that json.Marshal escapes. So no copy of a
// large one is made to find out how it is stored. false costs a copy, nothing else. All of
// it is found out in one pass: the journal asks it of each byte that a plugin gives.
func Plain(text []byte) bool {
	p := plainText{text: text}
	return p.value(0) && p.at == len(text)
}

// plainText passes by the parts of a text. Its methods return false where it is not plain.
type plainText struct {
	text []byte
	at   int
}

// peek is the next byte; 0 at the end.
func (p *plainText) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *plainText) next(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.at++
	return true
}

func (p *plainText) value(depth int) bool {
	if depth > plainDepth {
		return false
	}
	switch p.peek() {
	case '{':
		return p.parts('}', depth)
	case '[':
		return p.parts(']', depth)
	case '"':
		return p.string()
	case 't':
		return p.word("true")
	case 'f':
		return p.word("false")
	case 'n':
		return p.word("null")
	}
	return p.number()
}

// parts passes by an object or a list, which ends with a bracket.
func (p *plainText) parts(end byte, depth int) bool {
	p.at++
	if p.next(end) {
		return true
	}
	for {
		if end == '}' && !(p.peek() == '"' && p.string() && p.next(':')) {
			return false
		}
		if !p.value(depth + 1) {
			return false
		}
		if !p.next(',') {
			return p.next(end)
		}
	}
}

func (p *plainText) word(word string) bool {
	if len(p.text)-p.at < len(word) || string(p.text[p.at:p.at+len(word)]) != word {
		return false
	}
	p.at += len(word)
	return true
}

func (p *plainText) string() bool {
	for p.at++; ; p.at++ {
		for p.at+8 <= len(p.text) && ordinary(binary.LittleEndian.Uint64(p.text[p.at:])) {
			p.at += 8
		}
		switch c := p.peek(); {
		case c == '"':
			p.at++
			return true
		case c < ' ', c == '<', c == '>', c == '&': // the end is one too
			return false
		case c == '\\':
			if !p.escape() {
				return false
			}
		case c == 0xe2: // U+2028 and U+2029 begin with it
			if after := p.text[p.at+1:]; len(after) > 1 && after[0] == 0x80 && after[1]&^1 == 0xa8 {
				return false
			}
		}
	}
}

// ordinary reports whether eight bytes of a text are ASCII, and none of them ends the text
// or is escaped: 0x20 and above, and none of " & < > \.
func ordinary(bytes uint64) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	less := (bytes - ones*' ') &^ bytes
	none := func(x uint64) uint64 { return (x - ones) &^ x } // has a high bit where a byte is 0
	found := bytes | less | none(bytes^ones*'"') | none(bytes^ones*'&') | none(bytes^ones*'\\') |
		none((bytes|ones*2)^ones*'>') // '<' is '>' without a bit
	return found&highs == 0
}

// escape passes by what is escaped, but for its last byte.
func (p *plainText) escape() bool {
	p.at++
	switch p.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			p.at++
			if c := p.peek(); (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return false
			}
		}
		return true
	}
	return false
}

func (p *plainText) number() bool {
	p.next('-')
	if !p.next('0') && !p.digits() {
		return false
	}
	if p.next('.') && !p.digits() {
		return false
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		if !p.next('+') {
			p.next('-')
		}
		return p.digits()
	}
	return true
}

// digits passes by at least one digit.
func (p *plainText) digits() bool {
	begin := p.at
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.at > begin
}
