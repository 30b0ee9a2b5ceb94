package content

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/flowrun/flowrun/engine/schema"
)

// readLines reads texts or JSON documents, one a line.
func readLines(source Source, o Options, at place) (Page, error) {
	begin := at
	part, ends := section(source, o, at.offset)
	reader := bufio.NewReader(part)
	w := pageWriter{field: o.Format.Field()}
	for !w.full() {
		raw, err := reader.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return Page{}, err
		}
		if err != nil && (len(raw) == 0 || !ends) { // at the end, or in the middle of a line
			break
		}
		element, problem := o.element(raw, at.line)
		if problem != nil {
			return Page{}, problem
		}
		if element != nil {
			w.add(element)
		}
		at.offset += int64(len(raw))
		at.line++
	}
	return o.endOf(&w, source, begin, at)
}

// element makes an element of a line; nil for a blank line between JSON documents.
func (o Options) element(raw []byte, line int) (json.RawMessage, error) {
	raw = bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte{'\n'}), []byte{'\r'})
	text, wrong := o.Encoding.part(string(raw))
	if wrong != "" {
		p := problemf("line %d: %s", line, wrong)
		p.Hint = sayEncoding(raw)
		return nil, p
	}
	if o.Format == Lines {
		return schema.Encode(text)
	}
	document := json.RawMessage(strings.TrimSpace(text))
	if len(document) == 0 {
		return nil, nil
	}
	if why := strings.TrimPrefix(whyNot(document), "line 1, "); why != "" {
		return nil, problemf("line %d is no JSON that can be read: %s", line, why)
	}
	return document, fits(document, o.Answer, fmt.Sprintf("line %d: ", line))
}
