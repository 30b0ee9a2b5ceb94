// Package content makes JSON of what files and programs hold, and bytes of JSON: text,
// lines, JSON, CSV with typed rows, bytes. It is shared by the plugins that read what no
// service has described: who uses them says in a JSON Schema what is expected.
package content

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/flowrun/flowrun/sdk"
)

// Format says how bytes are read.
type Format string

// The formats.
const (
	Text  Format = "text"  // the whole as one text
	Lines Format = "lines" // a list of texts, one a line, without line ends
	JSON  Format = "json"  // one JSON document
	CSV   Format = "csv"   // a list of objects, one a row (RFC 4180)
	Bytes Format = "bytes" // base64
)

// Field is the name of the output's field that has what was read.
func (f Format) Field() string {
	switch f {
	case JSON:
		return "json"
	case CSV:
		return "rows"
	case Bytes:
		return "base64"
	case Lines:
		return "lines"
	}
	return "text"
}

// Options say more of how bytes are read and written.
type Options struct {
	Format    Format
	Answer    *sdk.Schema // of the JSON document, or of one row of CSV; nil = any, and texts
	Columns   []string    // of CSV; nil = its first row names them
	Delimiter rune        // of CSV; 0 = a comma
	Comment   rune        // of CSV: lines that begin with it are none; 0 = there are no comments

	// Lenient reads CSV as answers of services are: columns that Answer excludes and empty
	// cells of those that need not be there are left out, Answer is held to it as
	// sdk.Schema.CheckAnswer does, problems repeat no cell. Nothing at all is a problem.
	Lenient bool
}

// Problem is why bytes are not what they should be.
type Problem struct {
	Pointer string // JSON Pointer into what is read; "" = the whole
	Message string
	Hint    string // what to do about it, may be empty
}

// Error is the message.
func (p *Problem) Error() string { return p.Message }

func problemf(format string, args ...any) *Problem {
	return &Problem{Message: fmt.Sprintf(format, args...)}
}

// Read makes a JSON value of bytes, by the format. The error is a *Problem.
func Read(raw []byte, o Options) (sdk.Value, error) {
	if o.Format == Bytes {
		return sdk.Text(base64.StdEncoding.EncodeToString(raw)), nil
	}
	text, err := decode(raw)
	if err != nil {
		return nil, err
	}
	switch o.Format {
	case Lines:
		return sdk.JSON(splitLines(text)), nil
	case JSON:
		return readJSON(text, o.Answer)
	case CSV:
		return ReadTable(text, o)
	}
	return sdk.Text(text), nil
}

// readJSON returns the one document of a text.
func readJSON(text string, answer *sdk.Schema) (sdk.Value, error) {
	raw := []byte(text)
	var document json.RawMessage
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, problemf("it is no JSON: %s", syntaxAt(text, err))
	}
	if answer == nil {
		return document, nil
	}
	for _, p := range answer.Check(document) {
		if !p.Warning {
			return nil, &Problem{Pointer: p.Pointer, Message: "it does not fit `answer`: " + at(p.Pointer) + p.Summary, Hint: p.Detail}
		}
	}
	return document, nil
}

// at begins a message with a place.
func at(pointer string) string {
	if pointer == "" {
		return ""
	}
	return pointer + " "
}

// syntaxAt says where a text stops being JSON.
func syntaxAt(text string, err error) string {
	offset := int64(-1)
	if syntax, ok := err.(*json.SyntaxError); ok { //nolint:errorlint // Unmarshal gives it bare
		offset = syntax.Offset
	}
	if offset < 0 || offset > int64(len(text)) {
		return err.Error()
	}
	line, column := position(text, int(max(offset-1, 0)))
	return fmt.Sprintf("line %d, column %d: %v", line, column, err)
}

// Write makes bytes of a JSON value, by the format. Text, lines and CSV are UTF-8 without
// a byte order mark; lines, CSV and JSON end with a line feed. The error is a *Problem
// with a pointer into the value.
func Write(value sdk.Value, o Options) ([]byte, error) {
	switch o.Format {
	case Bytes:
		var text string
		if json.Unmarshal(value, &text) != nil {
			return nil, problemf("must be text in base64")
		}
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, problemf("is no base64: %v", err)
		}
		return raw, nil
	case JSON:
		if !json.Valid(value) {
			return nil, problemf("is no JSON")
		}
		return append(append([]byte{}, value...), '\n'), nil
	case Lines:
		return writeLines(value)
	case CSV:
		return writeCSV(value, o)
	}
	var text string
	if sdk.IsNull(value) || json.Unmarshal(value, &text) != nil {
		return nil, &Problem{Message: "must be text", Hint: "say `format: json` to write any value"}
	}
	return []byte(text), nil
}
