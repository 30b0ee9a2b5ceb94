package content

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxPage bounds the JSON of one page: rows carry the names of their columns each.
const maxPage = 4 << 20

// Page is what is read at a time of a list.
type Page struct {
	Output json.RawMessage // as OutputOf says
	Next   string          // the cursor of the page behind it; "" = this is the last one
}

// ReadPage reads the next page of a list: as many elements as there are in Options.MaxBytes,
// and at least one. cursor is what the page before says; "" = the first page. The error is a
// *Problem, or one of source.
func ReadPage(source Source, o Options, cursor string) (Page, error) {
	if !o.Format.IsList() {
		return Page{}, problemf("`as: %s` has no pages", o.Format)
	}
	if o.Encoding == UTF16 {
		p := problemf("UTF-16 is not read page by page")
		p.Hint = "leave `paginate` out for a small value, or convert it first"
		return Page{}, p
	}
	at, err := parsePlace(cursor, source.Size())
	if err != nil {
		return Page{}, err
	}
	return read(source, o, at)
}

// place is where a page begins: a byte, and the line that it stands in, from 1.
type place struct {
	offset int64
	line   int
}

func (p place) cursor() string {
	return strconv.FormatInt(p.offset, 10) + ":" + strconv.Itoa(p.line)
}

func parsePlace(cursor string, size int64) (place, error) {
	if cursor == "" {
		return place{line: 1}, nil
	}
	at := place{}
	offset, line, _ := strings.Cut(cursor, ":")
	var first, second error
	at.offset, first = strconv.ParseInt(offset, 10, 64)
	at.line, second = strconv.Atoi(line)
	if first != nil || second != nil || at.offset < 0 || at.offset > size || at.line < 1 {
		return place{}, problemf("the cursor %.40q is no place in a value of %d bytes", cursor, size)
	}
	return at, nil
}

// pageWriter gathers the elements of a page.
type pageWriter struct {
	out   bytes.Buffer
	count int
	field string
}

func (w *pageWriter) add(element json.RawMessage) {
	if w.count++; w.count > 1 {
		w.out.WriteByte(',')
	}
	w.out.Write(element)
}

func (w *pageWriter) full() bool { return w.out.Len() >= maxPage }

func (w *pageWriter) page(next string) Page {
	return Page{Output: json.RawMessage(`{"` + w.field + `":[` + w.out.String() + `]}`), Next: next}
}

// read reads one page from a place on.
func read(source Source, o Options, at place) (Page, error) {
	if o.Encoding == UTF16 { // a small value as a whole
		raw := make([]byte, source.Size())
		if _, err := io.ReadFull(io.NewSectionReader(source, 0, source.Size()), raw); err != nil {
			return Page{}, err
		}
		text, err := UTF16.decode(raw)
		if err != nil {
			return Page{}, err
		}
		source, o.Encoding, o.MaxBytes = strings.NewReader(text), UTF8, len(text)
	}
	if at.offset == 0 {
		at.offset = start(source, o)
	}
	if o.Format == CSV {
		return readRows(source, o, at)
	}
	return readLines(source, o, at)
}

// start is where the text begins, behind a byte order mark.
func start(source Source, o Options) int64 {
	mark := make([]byte, len(markUTF8))
	if _, err := source.ReadAt(mark, 0); err == nil && string(mark) == markUTF8 && o.Encoding.charmap() == nil {
		return int64(len(markUTF8))
	}
	return 0
}

// section is the part of a source that one page may read from an offset on, and whether
// the source ends with it.
func section(source Source, o Options, offset int64) (part *io.SectionReader, ends bool) {
	length := min(int64(o.most()), source.Size()-offset)
	return io.NewSectionReader(source, offset, length), offset+length == source.Size()
}

// endOf ends a page that began at a place, at another one.
func (o Options) endOf(w *pageWriter, source Source, begin, at place) (Page, error) {
	switch {
	case at.offset >= source.Size():
		return w.page(""), nil
	case at.offset > begin.offset:
		return w.page(at.cursor()), nil
	}
	p := problemf("what begins in line %d is larger than the %s that are read at a time", at.line, byteCount(int64(o.most())))
	p.TooLarge = true
	if p.Hint = fmt.Sprintf("`max_bytes` may be up to %d", MaxBytes); o.most() == MaxBytes {
		p.Hint = "is it what `as` says? A quote that is not closed makes one row of all that follows"
	}
	return Page{}, p
}
