package http

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// pages says how a list is read page by page.
type pages struct {
	By        string  `json:"by"`
	Items     string  `json:"items"`
	Next      *string `json:"next"`
	Query     string  `json:"query"`
	Size      int64   `json:"size"`
	SizeQuery string  `json:"size_query"`
	First     *int64  `json:"first"`
	Total     *string `json:"total"`
	More      *string `json:"more"`
	NamedBy   string  `json:"named_by"`
}

// namedBy says what tells the items of a list apart: it is the input that names the list.
func namedBy(in getInput, _ []string) string {
	if in.Pages == nil {
		return ""
	}
	return in.Pages.NamedBy
}

// The ways to the next page.
const (
	byLink   = "link"
	byCursor = "cursor"
	byOffset = "offset"
	byPage   = "page"
)

// problems are what its schema can't say.
func (p *pages) problems() []sdk.Problem {
	var all []sdk.Problem
	say := func(name, format string, args ...any) {
		all = append(all, sdk.Problemf(sdk.Pointer("pages", name), format, args...))
	}
	for _, pointer := range []struct {
		name string
		at   *string
	}{{"items", &p.Items}, {"next", p.Next}, {"total", p.Total}, {"more", p.More}} {
		if pointer.at != nil && *pointer.at != "" && (*pointer.at)[0] != '/' {
			say(pointer.name, "must be a JSON Pointer, which begins with /")
		}
	}
	switch {
	case p.By == byLink && p.Query != "":
		say("query", "does not belong to pages by link: the link says it all")
	case p.By != byLink && p.Query == "":
		say("query", "is needed: the parameter that takes the %s", map[string]string{byCursor: "cursor", byOffset: "index", byPage: "number"}[p.By])
	}
	switch {
	case p.By == byCursor && p.Next == nil:
		say("next", "is needed: the JSON Pointer of the cursor in the body")
	case (p.By == byOffset || p.By == byPage) && p.Next != nil:
		say("next", "does not belong to pages by %s", p.By)
	}
	if p.First != nil && p.By != byOffset && p.By != byPage {
		say("first", "belongs to pages by offset and page alone")
	}
	if (p.Size > 0) != (p.SizeQuery != "") {
		say("size", "and size_query belong together")
	}
	return all
}

// number is the index or the number of the page at a cursor.
func (p *pages) number(cursor string) (int64, error) {
	first := int64(0)
	if p.By == byPage {
		first = 1
	}
	if p.First != nil {
		first = *p.First
	}
	if cursor == "" {
		return first, nil
	}
	at, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || at < first {
		return 0, sdk.Invalid("/cursor", "is no %s of a page: a number from %d on is due", p.By, first)
	}
	return at, nil
}

// ask puts the place of the page into a request.
func (p *pages) ask(request *sdk.Request, cursor string) error {
	if p.By == byLink {
		if cursor != "" {
			request.URL, request.Path, request.Query = cursor, "", nil
		}
		return nil
	}
	if p.SizeQuery != "" {
		request.Query.Set(p.SizeQuery, strconv.FormatInt(p.Size, 10))
	}
	if p.By == byCursor {
		if cursor != "" {
			request.Query.Set(p.Query, cursor)
		}
		return nil
	}
	at, err := p.number(cursor)
	request.Query.Set(p.Query, strconv.FormatInt(at, 10))
	return err
}

// read takes the items out of a page and finds the next one; "" = this was the last. body
// is what was read of the answer, a document or rows.
func (p *pages) read(r *sdk.Response, body sdk.Value, cursor string) (items []sdk.Value, next string, err error) {
	list := body
	if p.Items != "" {
		list = atPointer(body, p.Items)
	}
	if items, err = itemsOf(list); err != nil {
		return nil, "", r.Fail(sdk.CodeUnexpectedResponse, "the page has no list at %s: %s", place(p.Items), err.Error()).
			WithHint("pages.items is the JSON Pointer of the list in the body")
	}
	if next, err = p.next(r, body, items, cursor); err != nil {
		return nil, "", err
	}
	return items, next, nil
}

func place(pointer string) string {
	if pointer == "" {
		return "its top"
	}
	return shown(pointer)
}

type textError string

func (e textError) Error() string { return string(e) }

func itemsOf(list sdk.Value) ([]sdk.Value, error) {
	switch {
	case list == nil:
		return nil, textError("there is nothing")
	case sdk.IsNull(list):
		return nil, nil
	case strings.TrimLeft(string(list[:1]), " \t\r\n") != "[":
		return nil, textError("there is something else")
	}
	var items []sdk.Value
	err := json.Unmarshal(list, &items)
	return items, err
}

// next is the cursor of the next page.
func (p *pages) next(r *sdk.Response, body sdk.Value, items []sdk.Value, cursor string) (string, error) {
	if p.More != nil {
		more := strings.TrimSpace(string(atPointer(body, *p.More)))
		switch more {
		case "false", "", "null":
			return "", nil
		case "true":
		default:
			return "", r.Fail(sdk.CodeUnexpectedResponse, "%s of the page is neither true nor false", place(*p.More))
		}
	}
	switch {
	case p.By == byLink && p.Next == nil:
		return sdk.NextLink(r, sdk.LinkTo(r, "next"))
	case p.By == byLink, p.By == byCursor:
		return p.named(r, body)
	}
	return p.counted(r, body, len(items), cursor)
}

// named is the cursor, or the link, that the page names. null, false, "" and nothing are
// none.
func (p *pages) named(r *sdk.Response, body sdk.Value) (string, error) {
	value := atPointer(body, *p.Next)
	var next string
	switch {
	case sdk.IsNull(value), string(value) == "false":
		return "", nil
	case value[0] == '"':
		next = text(value)
	case p.By == byCursor && sdk.IsInteger(value):
		next = string(value)
	default:
		return "", r.Fail(sdk.CodeUnexpectedResponse, "%s of the page is neither text nor an integer", place(*p.Next))
	}
	if p.By == byLink {
		return sdk.NextLink(r, next)
	}
	return next, nil
}

// counted is the index or the number of the next page. An empty page is the last, and the
// one with which the total is reached. A short one is not: services give fewer than they
// were asked for.
func (p *pages) counted(r *sdk.Response, body sdk.Value, received int, cursor string) (string, error) {
	at, err := p.number(cursor)
	if err != nil || received == 0 {
		return "", err
	}
	next := at + 1
	if p.By == byOffset {
		next = at + int64(received)
	}
	if p.Total == nil {
		return strconv.FormatInt(next, 10), nil
	}
	total, err := strconv.ParseInt(text(atPointer(body, *p.Total)), 10, 64)
	if err != nil {
		return "", r.Fail(sdk.CodeUnexpectedResponse, "%s of the page is no number of items", place(*p.Total))
	}
	first, _ := p.number("")
	if p.By == byOffset && next-first >= total {
		return "", nil
	}
	if p.By == byPage && p.Size > 0 && (next-first)*p.Size >= total && int64(received) <= p.Size {
		return "", nil
	}
	return strconv.FormatInt(next, 10), nil
}
