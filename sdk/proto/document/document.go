// Package document says what a JSON document of the protocol may hold beyond the
// grammar of JSON, so that all readers read it alike. Plugins hold the answers of
// their services against it, and the host what plugins say.
package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// MaxDigits is the most digits of a number: more is no number that anybody
// reads.
const MaxDigits = 1000

// MaxDepth is how deep the values of a document may lie in one another, as the
// engine takes them.
const MaxDepth = 1000

// Problem looks for what is JSON by its grammar and would be read
// differently by different readers, or by none: bytes that are no UTF-8, a name
// that stands twice in one object, a number that becomes Infinity or has more
// than 1,000 digits, values nested too deep. It returns what is wrong and where,
// "" for nothing. The document is valid JSON by encoding/json.
func Problem(doc []byte) string {
	s := scans.Get().(*documentScan)
	s.doc = doc
	for s.at < len(doc) && s.problem == "" {
		s.token()
	}
	problem := s.problem
	s.reset()
	scans.Put(s)
	return problem
}

// scans are kept for the next document, with their room.
var scans = sync.Pool{New: func() any { return new(documentScan) }}

// maxRoom bounds what a scan keeps, in levels and names.
const maxRoom = 64

// reset lets go of a document.
func (s *documentScan) reset() {
	stack, names := s.stack[:cap(s.stack)], s.names[:cap(s.names)]
	*s = documentScan{}
	if len(stack) <= maxRoom && len(names) <= maxRoom {
		clear(stack)
		clear(names)
		s.stack, s.names = stack[:0], names[:0]
	}
}

// documentScan walks over the tokens of a document.
type documentScan struct {
	doc     []byte
	at      int
	stack   []openValue
	names   [][]byte // of the objects of stack, those of the innermost last
	problem string
}

// openValue is an object or a list that the scan is inside of.
type openValue struct {
	object bool
	name   []byte          // of the member at hand
	index  int             // of the element at hand
	value  bool            // the member's name was read, its value comes next
	from   int             // where its names begin
	known  map[string]bool // of many names
}

// pointerNames writes names into JSON Pointers.
var pointerNames = strings.NewReplacer("~", "~0", "/", "~1")

// fewNames is up to how many names are compared one by one.
const fewNames = 16

func (s *documentScan) top() *openValue {
	if len(s.stack) == 0 {
		return nil
	}
	return &s.stack[len(s.stack)-1]
}

func (s *documentScan) token() {
	switch c := s.doc[s.at]; c {
	case ' ', '\t', '\r', '\n':
		s.at++
	case '{', '[':
		if len(s.stack) >= MaxDepth {
			s.problem = fmt.Sprintf("its values lie more than %d deep in one another", MaxDepth)
			return
		}
		s.stack = append(s.stack, openValue{object: c == '{', from: len(s.names)})
		s.at++
	case '}', ']':
		s.names = s.names[:s.top().from]
		s.stack = s.stack[:len(s.stack)-1]
		s.at++
	case ':':
		s.top().value = true
		s.at++
	case ',':
		s.top().value = false
		s.top().index++
		s.at++
	case '"':
		s.text()
	case 't', 'f', 'n':
		for s.at < len(s.doc) && s.doc[s.at] >= 'a' && s.doc[s.at] <= 'z' {
			s.at++
		}
	default:
		s.number()
	}
}

// text reads one text: a value, or the name of a member.
func (s *documentScan) text() {
	start, escaped := s.at, false
	s.at++
	for s.doc[s.at] != '"' {
		switch c := s.doc[s.at]; {
		case c == '\\':
			escaped = true
			s.at += 2
		case c < utf8.RuneSelf:
			s.at++
		default:
			r, size := utf8.DecodeRune(s.doc[s.at:])
			if r == utf8.RuneError && size == 1 {
				s.problem = fmt.Sprintf("byte %d (0x%02x) is no UTF-8%s", s.at, c, s.place())
				return
			}
			s.at += size
		}
	}
	s.at++
	if top := s.top(); top != nil && top.object && !top.value {
		s.member(top, s.doc[start:s.at], escaped)
	}
}

// member notes the name of a member.
func (s *documentScan) member(of *openValue, quoted []byte, escaped bool) {
	name := quoted[1 : len(quoted)-1]
	if escaped {
		var text string
		if err := json.Unmarshal(quoted, &text); err != nil {
			return // it is valid JSON
		}
		name = []byte(text)
	}
	if s.knows(of, name) {
		s.problem = fmt.Sprintf("`%s` stands twice%s", shown(string(name), 64), s.placeOf(len(s.stack)-1))
		return
	}
	of.name = name
}

// knows reports whether the innermost object has had this name, and notes it.
func (s *documentScan) knows(of *openValue, name []byte) bool {
	if of.known != nil {
		twice := of.known[string(name)]
		of.known[string(name)] = true
		return twice
	}
	for _, other := range s.names[of.from:] {
		if bytes.Equal(other, name) {
			return true
		}
	}
	s.names = append(s.names, name)
	if len(s.names)-of.from > fewNames {
		of.known = make(map[string]bool, 4*fewNames)
		for _, other := range s.names[of.from:] {
			of.known[string(other)] = true
		}
	}
	return false
}

func (s *documentScan) number() {
	start, digits := s.at, 0
	for s.at < len(s.doc) && bytes.IndexByte([]byte("+-.eE0123456789"), s.doc[s.at]) >= 0 {
		if s.doc[s.at] >= '0' && s.doc[s.at] <= '9' {
			digits++
		}
		s.at++
	}
	text := s.doc[start:s.at]
	switch {
	case digits > MaxDigits:
		s.problem = fmt.Sprintf("a number of %d digits, more than %d%s", digits, MaxDigits, s.place())
	case endless(text):
		s.problem = fmt.Sprintf("the number %s, which most readers turn into Infinity%s", shown(string(text), 64), s.place())
	case s.at == start:
		s.at++ // not in valid JSON
	}
}

// endless reports whether a number with an exponent is beyond what 64 bits of
// floating point hold. One that is written out is an exact number of so many
// digits.
func endless(number []byte) bool {
	if !bytes.ContainsAny(number, "eE") {
		return false
	}
	f, err := strconv.ParseFloat(string(number), 64)
	return err != nil && math.IsInf(f, 0)
}

// place tells where the value at hand stands.
func (s *documentScan) place() string { return s.placeOf(len(s.stack)) }

func (s *documentScan) placeOf(depth int) string {
	pointer := ""
	for i := range depth {
		v := &s.stack[i]
		switch {
		case !v.object:
			pointer += "/" + strconv.Itoa(v.index)
		case len(v.name) > 0 || v.value:
			pointer += "/" + pointerNames.Replace(string(v.name))
		}
	}
	if pointer == "" {
		return ""
	}
	return " at " + shown(pointer, 200)
}

// shown makes foreign text fit for a message: at most so many bytes on one line,
// without control characters that a terminal would obey.
func shown(text string, limit int) string {
	if len(text) > limit {
		for limit > 0 && !utf8.RuneStart(text[limit]) {
			limit--
		}
		text = text[:limit] + "..."
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}
