package sdk

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Page is one page of a list: what ReadPage makes of an answer, and a ready
// output of a paged action:
//
//	sdk.Read("list", "All things", list, sdk.Paged("cursor", "items", "next_cursor"))
type Page struct {
	Items      []Value `json:"items" doc:"The records of the page, unchanged."`
	NextCursor *string `json:"next_cursor" doc:"Cursor of the next page, or null when this is the last."`
	Page       Value   `json:"page" doc:"The whole answer, unchanged; null where all pages are read, since their items are what is kept."`

	Total *int64 `json:"-"` // how many items there are in all, where the service says it
}

// PageShape says where a page has its items and how the next one is found.
type PageShape struct {
	// Part is the page where it is not the whole answer, such as the data of an
	// envelope.
	Part Value
	// List names the list of items. Without it the list is the page itself, or the
	// one that the first page had, or the only one. Where that is not certain,
	// ReadPage fails and names what it found.
	List string
	// ListInput is the JSON Pointer of the input that may name the list, for the
	// error: "/items_field".
	ListInput string
	// NotItems names lists that are never the items.
	NotItems []string
	// Next finds the next page: ByCursor, ByNumber, ByIndex, ByLink; nil = this is
	// the only page.
	Next NextPage
}

// NextPage is a way to find the next page.
type NextPage interface {
	next(page *readPage) (cursor string, err error)
}

// readPage is a page while it is read.
type readPage struct {
	response *Response
	members  Members // nil: the page is a list
	out      *Page
}

// UncertainListError is the cause of ReadPage's error where it is not certain
// which list a page consists of. Names are those of the lists that were found.
type UncertainListError struct{ Names []string }

func (e *UncertainListError) Error() string { return listHint(e.Names, "") }

// PageAt is the cursor of the page to read: the engine's, else the input's own,
// else "" for the first page.
func (c *Call[C]) PageAt(input *string) string {
	if cursor := c.PageCursor(); cursor != "" || input == nil {
		return cursor
	}
	return *input
}

// PageNumber is the number or index of the page to read: the engine's cursor,
// else the input's own, else nil. from is the number of the first page, pointer
// where the input stands.
func (c *Call[C]) PageNumber(input *int64, from int64, pointer string) (*int64, error) {
	cursor := c.PageCursor()
	if cursor == "" {
		return input, nil
	}
	number, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || number < from {
		return nil, Invalid(pointer, "the cursor %q is no number of a page", plain(cut(cursor, 64)))
	}
	return &number, nil
}

// CursorRefused turns the refusal (400) of a page that the engine's cursor asked
// for into CodeCursorExpired, after which the reading starts again, once. Other
// failures stay what they are; so does the refusal of a cursor that the input
// gave, for there is nothing to start again from.
func (c *Call[C]) CursorRefused(err error) error {
	var failure *Error
	if c.PageCursor() == "" || !errors.As(err, &failure) || failure.HTTPStatus != http.StatusBadRequest {
		return err
	}
	failure.Code = CodeCursorExpired
	failure.Hint = "the service did not take the cursor of a later page; reading starts again from the first one, once"
	return err
}

// ReadPage reads a page out of an answer and tells the engine where the next one
// is, so that a paged action is one request and this call. Items that a later
// page gives again are found by the engine, see Paged.
func (c *Call[C]) ReadPage(r *Response, shape PageShape) (Page, error) {
	body, err := r.Document()
	if err != nil {
		return Page{}, err
	}
	if shape.Part == nil {
		shape.Part = body
	}
	out := Page{Items: []Value{}, Page: shape.Part}
	if c.AllPages() {
		out.Page = Value("null")
	}
	page := &readPage{response: r, out: &out}
	if err := page.find(shape, c.core); err != nil {
		return Page{}, err
	}
	if shape.Next == nil {
		return out, nil
	}
	next, err := shape.Next.next(page)
	if err != nil {
		return Page{}, err
	}
	if next != "" {
		out.NextCursor = &next
		c.Next(next)
	}
	return out, nil
}

// maxListName is up to how long a name is remembered, in bytes.
const maxListName = 512

// pageNote is what a page leaves for the next: the name of its list, which a
// later page may only be known by.
type pageNote struct {
	List string `json:"list"`
}

// find takes the items out of a page.
func (p *readPage) find(shape PageShape, c *core) error {
	if firstSign(shape.Part) == '[' && shape.List == "" {
		p.out.Items = elements(shape.Part)
		return nil
	}
	fields, err := members(shape.Part)
	if err != nil {
		what := "the page is " + typeOf(shape.Part) + " where an object with a list, or a list, is due"
		if shape.List != "" {
			what = "the page is " + typeOf(shape.Part) + " and has no list `" + plain(cut(shape.List, 64)) + "`"
		}
		return p.uncertain(shape, nil, what)
	}
	p.members = fields
	name := shape.List
	if name == "" {
		var note pageNote
		_ = json.Unmarshal(c.pageNote, &note) // another's note is none
		name = note.List
	}
	lists := p.lists(shape.NotItems)
	if name == "" && len(lists) == 1 {
		name = lists[0]
	}
	if name == "" {
		return p.uncertain(shape, lists, "which list the page consists of is not known")
	}
	value, there := fields.get(name)
	if !there || !isNull(value) && firstSign(value) != '[' {
		return p.uncertain(shape, lists, "the page has no list `"+plain(cut(name, 64))+"`")
	}
	if !isNull(value) {
		p.out.Items = elements(value)
	}
	if shape.List == "" && len(name) <= maxListName {
		c.leaveNote(encoded(pageNote{List: name}))
	}
	return nil
}

// lists returns the names of the members that hold lists, in order.
func (p *readPage) lists(except []string) []string {
	var names []string
	for _, member := range p.members {
		if firstSign(member.Value) == '[' && !slices.Contains(except, member.Name) {
			names = append(names, member.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (p *readPage) uncertain(shape PageShape, lists []string, what string) error {
	failure := p.response.Fail(CodeUnexpectedResponse, "%s", what).WithHint("%s", listHint(lists, shape.ListInput))
	failure.Pointer, failure.Err = shape.ListInput, &UncertainListError{Names: lists}
	return failure
}

func listHint(lists []string, input string) string {
	if len(lists) == 0 {
		return "the page has no list at its top level"
	}
	shown := make([]string, 0, len(lists))
	for _, name := range lists[:min(len(lists), 20)] {
		shown = append(shown, plain(cut(name, 64)))
	}
	hint := "the page has the lists " + strings.Join(shown, ", ")
	if input != "" {
		hint += ": name one with " + strings.TrimPrefix(input, "/")
	}
	return hint
}

// elements splits a list; never nil.
func elements(list Value) []Value {
	items := []Value{}
	_ = json.Unmarshal(list, &items) // it is valid JSON and begins with a bracket
	return items
}
