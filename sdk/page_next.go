package sdk

import (
	"strconv"
)

// ByCursor finds the next page by a cursor that the page names at its top:
// absent, null and "" mean that this is the last page.
func ByCursor(field string) NextPage { return byCursor(field) }

type byCursor string

func (field byCursor) next(page *readPage) (string, error) { return page.text(string(field)) }

// text reads a text at the top of the page, "" where there is none.
func (p *readPage) text(field string) (string, error) {
	value := p.members.Get(field)
	if isNull(value) {
		return "", nil
	}
	var text string
	if problem := decodeAnswer(value, &text); problem != "" {
		return "", p.response.Fail(CodeUnexpectedResponse, "`%s` of the page is %s where text is due", field, typeOf(value))
	}
	return text, nil
}

// ByNumber finds the next page by counting pages. A page with fewer items than
// were asked for is the last.
type ByNumber struct {
	At   *int64 // the page that was asked for; nil = the first
	From int64  // number of the first page: 1, or 0
	Size int64  // items that were asked for; 0 = not known, and then an empty page is the last
}

func (n ByNumber) next(page *readPage) (string, error) {
	received := int64(len(page.out.Items))
	if received == 0 || received < n.Size {
		return "", nil
	}
	at := n.From
	if n.At != nil {
		at = *n.At
	}
	return strconv.FormatInt(at+1, 10), nil
}

// ByIndex finds the next page by the index of its first item: where this page
// started and what it brought. The reading ends with an empty page and with the
// total. A page that starts elsewhere than asked for, or holds more than there
// is behind its start, fails: put together such pages would count items twice or
// lose some.
type ByIndex struct {
	Asked *int64 // index that was asked for; nil = the first
	From  int64  // index of the first item of all: 1, or 0
	Start string // name of the field with the index of the page's first item; "" = there is none
	Total string // name of the field with the number of all items; "" = there is none
}

func (n ByIndex) next(page *readPage) (string, error) {
	start, err := page.count(n.Start)
	if err != nil {
		return "", err
	}
	if page.out.Total, err = page.count(n.Total); err != nil {
		return "", err
	}
	received := int64(len(page.out.Items))
	if received == 0 {
		return "", nil
	}
	at := n.From
	switch {
	case n.Asked != nil && start != nil && *start != *n.Asked:
		return "", page.misplaced("the page starts at %d, asked for was %d", *start, *n.Asked)
	case n.Asked != nil:
		at = *n.Asked
	case start != nil:
		at = max(*start, n.From)
	}
	next := at + received
	total := page.out.Total
	switch {
	case next < at:
		return "", page.misplaced("the page starts at %d, which is no index of a list", at)
	case total == nil:
		return strconv.FormatInt(next, 10), nil
	case next-n.From > *total:
		return "", page.misplaced("the page holds %d items from %d on, and there are %d in all: it starts elsewhere, or goes past its total", received, at, *total)
	case next-n.From == *total:
		return "", nil
	}
	return strconv.FormatInt(next, 10), nil
}

func (p *readPage) misplaced(format string, args ...any) error {
	return p.response.Fail(CodeUnexpectedResponse, format, args...).
		WithHint("the pages can't be put together; ask for all items at once with a larger page")
}

// count reads a number of items at the top of the page, nil where there is none.
func (p *readPage) count(field string) (*int64, error) {
	value := p.members.Get(field)
	if field == "" || isNull(value) {
		return nil, nil
	}
	var n int64
	if problem := decodeAnswer(value, &n); problem != "" {
		return nil, p.response.Fail(CodeUnexpectedResponse, "`%s` of the page has another shape: %s", field, problem)
	}
	return &n, nil
}
