// Package content reads large values as text, lines, JSON or typed rows: all of a small
// one, or a large one page by page, in the memory of a page. It is what core.read does.
package content

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/schema"
	strict "github.com/flowrun/flowrun/sdk/proto/document"
)

// Format says how bytes are read.
type Format string

// The formats.
const (
	Text      Format = "text"       // the whole as one text
	Lines     Format = "lines"      // a list of texts, one a line, without line ends
	JSON      Format = "json"       // one JSON document
	JSONLines Format = "json_lines" // a list of JSON documents, one a line
	CSV       Format = "csv"        // a list of objects, one a row (RFC 4180)
)

// Formats are all formats, in the order of the documents.
func Formats() []string {
	return []string{string(Text), string(Lines), string(JSON), string(JSONLines), string(CSV)}
}

// Field is the name of the output's field that has what was read: `text`, `json`, or
// `items` of lists.
func (f Format) Field() string {
	switch {
	case f.IsList():
		return "items"
	case f == JSON:
		return "json"
	}
	return "text"
}

// IsList reports whether the format gives a list, which can be read page by page.
func (f Format) IsList() bool { return f == Lines || f == JSONLines || f == CSV }

// The bounds of what is read at a time, in bytes.
const (
	DefaultBytes = 1 << 20
	MaxBytes     = 4 << 20
)

// Options say how a value is read.
type Options struct {
	Format    Format
	Encoding  Encoding     // "" = UTF-8
	MaxBytes  int          // of the value that is read at a time; 0 = DefaultBytes
	Answer    *schema.Type // of the document, or of one element of the list; nil = any, and texts in rows
	Columns   []string     // of CSV; nil = its first row names them
	Delimiter rune         // of CSV; 0 = a comma
}

func (o Options) most() int {
	if o.MaxBytes <= 0 {
		return DefaultBytes
	}
	return min(o.MaxBytes, MaxBytes)
}

// Source is a value that is read. Size is in bytes.
type Source interface {
	io.ReaderAt
	Size() int64
}

// Problem is why a value can't be read as it should be. TooLarge says that it is larger
// than what is read at a time.
type Problem struct {
	Message  string
	Hint     string
	TooLarge bool
}

// Error is the message.
func (p *Problem) Error() string { return p.Message }

func problemf(format string, args ...any) *Problem {
	return &Problem{Message: fmt.Sprintf(format, args...)}
}

// OutputOf is the type of what is read: of one page, where there are several.
func OutputOf(f Format, answer *schema.Type) *schema.Type {
	t := answer
	switch {
	case f == Text || f == Lines:
		t = schema.Of(schema.String)
	case t != nil:
	case f == CSV:
		t = schema.MapOf(schema.Of(schema.String))
	default:
		t = schema.Of(schema.Any)
	}
	if f.IsList() {
		t = schema.ListOf(t)
	}
	return schema.ObjectOf(schema.Required(f.Field(), t))
}

// Read reads a whole value, as OutputOf says. The error is a *Problem, or one of source.
func Read(source Source, o Options) (json.RawMessage, error) {
	if size := source.Size(); size > int64(o.most()) {
		return nil, tooLarge(size, o)
	}
	if o.Format.IsList() {
		page, err := read(source, o, place{line: 1})
		if err == nil && page.Next != "" {
			p := problemf("as JSON it has more than %s", byteCount(maxPage))
			p.Hint, p.TooLarge = pageByPage, true
			return nil, p
		}
		return page.Output, err
	}
	raw := make([]byte, source.Size())
	if _, err := io.ReadFull(io.NewSectionReader(source, 0, source.Size()), raw); err != nil {
		return nil, err
	}
	text, err := o.Encoding.decode(raw)
	if err != nil {
		return nil, err
	}
	if o.Format == JSON {
		document := json.RawMessage(text)
		if why := whyNot(document); why != "" {
			return nil, problemf("it is no JSON that can be read: %s", why)
		}
		if err := fits(document, o.Answer, ""); err != nil {
			return nil, err
		}
		return output(JSON, document), nil
	}
	encoded, err := schema.Encode(text)
	if err != nil {
		return nil, err
	}
	return output(Text, encoded), nil
}

// whyNot says why a text is no JSON document, or one that two readers would read in two
// ways; "" = it is one.
func whyNot(document json.RawMessage) string {
	if why := schema.WhyNoJSON(document); why != "" {
		return why
	}
	return strict.Problem(document)
}

func output(f Format, value json.RawMessage) json.RawMessage {
	return json.RawMessage(`{"` + f.Field() + `":` + string(value) + `}`)
}

const pageByPage = "read it page by page, with `paginate` in the step"

func tooLarge(size int64, o Options) *Problem {
	p := problemf("it has %s, and %s are read at a time", byteCount(size), byteCount(int64(o.most())))
	p.TooLarge = true
	switch {
	case o.Format.IsList():
		p.Hint = pageByPage
	case size <= MaxBytes:
		p.Hint = fmt.Sprintf("`max_bytes: %d` reads it", size)
	default:
		p.Hint = "hand it to an action as it is; lines, rows and JSON lines are read page by page, with `as: lines|csv|json_lines` and `paginate`"
	}
	return p
}

// byteCount writes a number of bytes for people, with its exact value.
func byteCount(n int64) string { return strconv.FormatInt(n, 10) + " bytes" }

// fits holds a document against its type; where begins what is wrong.
func fits(document json.RawMessage, t *schema.Type, where string) error {
	if t == nil {
		return nil
	}
	if err := t.CheckAnswer(document); err != nil {
		return problemf("%sit does not fit `answer`: %s", where, strings.TrimSpace(err.Error()))
	}
	return nil
}
