package dictionary

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// defaultPerPage is the documented length of a page without per_page (D-14).
const defaultPerPage = 20

// LetterInput is the input of letter. What is absent is not sent.
type LetterInput struct {
	Letter     string  `json:"letter" pattern:"^[A-Za-z]$" doc:"One letter A to Z, in either case." example:"S"`
	Page       *int64  `json:"page,omitempty" min:"1" doc:"Page to read, from 1; with paginate the page to begin with."`
	PerPage    *int64  `json:"per_page,omitempty" min:"1" max:"100" doc:"Words on a page; the service's default is 20."`
	ItemsField *string `json:"items_field,omitempty" min:"1" doc:"Name of the list inside data, where there are several. Without it the only list is taken."`
}

// LetterOutput is the output of letter.
type LetterOutput struct {
	Items      *[]sdk.Value `json:"items" doc:"The page's words; null when data has no list or several and items_field names none."`
	NextCursor *string      `json:"next_cursor" doc:"The next page, or null when this is the last."`
	Data       sdk.Value    `json:"data" doc:"The page as the service gives it; its shape is not documented."`
}

// letter is action dictionary.letter: one page (D-12 to D-15).
func (s *service) letter(c *sdk.Call[Config], in LetterInput) (LetterOutput, error) {
	page, err := pageOf(c.PageCursor(), in.Page)
	if err != nil {
		return LetterOutput{}, err
	}
	query := url.Values{}
	if page != nil {
		query.Set("page", strconv.FormatInt(*page, 10))
	}
	if in.PerPage != nil {
		query.Set("per_page", strconv.FormatInt(*in.PerPage, 10))
	}
	found, err := s.get(c, query, "letter", strings.ToUpper(in.Letter))
	if err != nil {
		if c.PageCursor() != "" && isNotFound(err) {
			// a full page was the last one, and the service has nothing behind it
			return LetterOutput{Items: &[]sdk.Value{}, Data: sdk.Value("null")}, nil
		}
		return LetterOutput{}, err
	}
	out := LetterOutput{Data: found.data}
	items, problem, err := itemsOf(found, in.ItemsField)
	if err != nil {
		return LetterOutput{}, err
	}
	if problem != "" {
		c.Log().Warn(problem)
		return out, nil
	}
	out.Items = &items
	if next := nextPage(page, in.PerPage, len(items)); next != "" {
		out.NextCursor = &next
		c.Next(next)
	}
	return out, nil
}

// pageOf returns the page to ask for: the cursor's, else the input's, else none.
func pageOf(cursor string, input *int64) (*int64, error) {
	if cursor == "" {
		return input, nil
	}
	page, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || page < 1 {
		return nil, sdk.Invalid("/page", "the cursor %q is no page number", cursor)
	}
	return &page, nil
}

// nextPage returns the page after this one, or "" when this is the last: one
// that is shorter than asked for, or empty (D-15).
func nextPage(page, perPage *int64, items int) string {
	current, size := int64(1), int64(defaultPerPage)
	if page != nil {
		current = *page
	}
	if perPage != nil {
		size = *perPage
	}
	if int64(items) < size {
		return ""
	}
	return strconv.FormatInt(current+1, 10)
}

// itemsOf finds the list of a page: the field that the input names, else the
// page itself when it is a list, else its only list. A named field that is not
// there is an error; otherwise the problem says why there is no list.
func itemsOf(page reply, field *string) (items []sdk.Value, problem string, err error) {
	if field == nil && bytes.HasPrefix(bytes.TrimSpace(page.data), []byte("[")) {
		return decodeList(page.data), "", nil
	}
	object := map[string]json.RawMessage{}
	if err := json.Unmarshal(page.data, &object); err != nil {
		object = nil // neither list nor object: has no fields
	}
	lists := listNames(object)
	switch {
	case field != nil && !slices.Contains(lists, *field):
		failure := page.response.Fail(sdk.CodeUnexpectedResponse, "the page has no list `%s`", *field).WithHint("%s", listHint(lists))
		failure.Pointer = "/items_field"
		return nil, "", failure
	case field != nil:
		return decodeList(object[*field]), "", nil
	case len(lists) == 1:
		return decodeList(object[lists[0]]), "", nil
	}
	return nil, "items stays empty: " + listHint(lists), nil
}

// listNames returns the names of the fields that hold lists, in order.
func listNames(object map[string]json.RawMessage) []string {
	var names []string
	for name, value := range object {
		if bytes.HasPrefix(bytes.TrimSpace(value), []byte("[")) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func listHint(lists []string) string {
	if len(lists) == 0 {
		return "the page has no list"
	}
	return "the page has the lists " + strings.Join(lists, ", ") + ": name one with items_field"
}

// decodeList splits a JSON list; never nil.
func decodeList(list json.RawMessage) []sdk.Value {
	items := []sdk.Value{}
	_ = json.Unmarshal(list, &items) // it is valid JSON and begins with a bracket
	return items
}

func isNotFound(err error) bool {
	var e *sdk.Error
	return errors.As(err, &e) && e.Code == sdk.CodeNotFound
}
