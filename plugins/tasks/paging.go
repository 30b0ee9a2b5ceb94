package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// PageOutput is one page: the output of every paginated action.
type PageOutput struct {
	Items      []sdk.Value `json:"items" doc:"The records of the page, unchanged; their fields are not documented."`
	NextCursor *string     `json:"next_cursor" doc:"Cursor of the next page, or null when this is the last."`
	Page       sdk.Value   `json:"page" doc:"The whole answer, unchanged."`
}

// page reads one page: the engine's cursor counts, else the one that the input
// gives, else none is sent (T-18, T-50).
func (s *service) page(c *sdk.Call[Config], r request, cursor, itemsField *string) (PageOutput, error) {
	at := c.PageCursor()
	if at == "" && cursor != nil {
		at = *cursor
	}
	scope := s.origins.scope(c.Config.BaseURL, r)
	if at != "" {
		if !s.origins.fits(at, scope) {
			return PageOutput{}, foreignCursor(c.PageCursor())
		}
		r.query.Set("cursor", at)
	}
	response, err := send(c, r)
	if err != nil {
		return PageOutput{}, expired(err, c.PageCursor())
	}
	out, err := readPage(response, itemsField)
	if err != nil {
		return PageOutput{}, err
	}
	if out.NextCursor != nil {
		s.origins.issued(*out.NextCursor, scope)
		c.Next(*out.NextCursor)
	}
	return out, nil
}

// foreignCursor is the error for a cursor of other parameters, found before
// anything is sent (T-20). The engine's own starts again: the connection was
// changed between two pages.
func foreignCursor(pageCursor string) error {
	if pageCursor != "" {
		return sdk.CursorExpired("the cursor of this page came from a request to another base_url or with other parameters")
	}
	return sdk.Invalid("/cursor", "this cursor came from a request with other parameters").
		WithHint("use it with the same parameters, limit included and what was left out left out, or start without a cursor")
}

// expired turns the refusal of a page into the error that starts the reading
// again. It is said of the engine's own cursors only: of one that the user gave
// with the first page nobody knows the origin, and there is nothing to restart.
func expired(err error, pageCursor string) error {
	var failure *sdk.Error
	if pageCursor == "" || !errors.As(err, &failure) || failure.HTTPStatus != http.StatusBadRequest {
		return err
	}
	failure.Code = sdk.CodeCursorExpired
	failure.Hint = "the service did not take the cursor of a later page; reading starts again from the first one, once"
	return err
}

// readPage finds the items and the next cursor in an answer (T-12, T-64).
func readPage(response *sdk.Response, itemsField *string) (PageOutput, error) {
	var body json.RawMessage
	if err := response.JSON(&body); err != nil {
		return PageOutput{}, err
	}
	if startsWith(body, '[') && itemsField == nil {
		return PageOutput{Items: elements(body), Page: body}, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return PageOutput{}, response.Fail(sdk.CodeUnexpectedResponse, "the page is no JSON object")
	}
	items, err := itemsOf(response, fields, itemsField)
	if err != nil {
		return PageOutput{}, err
	}
	next, err := nextCursor(response, fields["next_cursor"])
	return PageOutput{Items: items, NextCursor: next, Page: body}, err
}

// nextCursor reads the cursor of the next page: absent, null and "" all mean
// that there is none (T-12).
func nextCursor(response *sdk.Response, field json.RawMessage) (*string, error) {
	var next *string
	if len(field) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(field, &next); err != nil {
		return nil, response.Fail(sdk.CodeUnexpectedResponse, "`next_cursor` of the page is no text")
	}
	if next == nil || *next == "" {
		return nil, nil
	}
	return next, nil
}

// itemsOf finds the list of a page: the field that the input names, else the
// only list. Which name it has is not documented.
func itemsOf(response *sdk.Response, fields map[string]json.RawMessage, itemsField *string) ([]sdk.Value, error) {
	lists := listNames(fields)
	if itemsField != nil {
		value, there := fields[*itemsField]
		switch {
		case there && startsWith(value, '['):
			return elements(value), nil
		case there && string(bytes.TrimSpace(value)) == "null":
			return []sdk.Value{}, nil
		}
		failure := response.Fail(sdk.CodeUnexpectedResponse, "the page has no list `%s`", *itemsField).WithHint("%s", listHint(lists))
		failure.Pointer = "/items_field"
		return nil, failure
	}
	if len(lists) == 1 {
		return elements(fields[lists[0]]), nil
	}
	failure := response.Fail(sdk.CodeUnexpectedResponse, "which list the page consists of is not known").WithHint("%s", listHint(lists))
	failure.Pointer = "/items_field"
	return nil, failure
}

// listNames returns the names of the fields that hold lists, in order.
func listNames(fields map[string]json.RawMessage) []string {
	var names []string
	for name, value := range fields {
		if startsWith(value, '[') {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func listHint(lists []string) string {
	if len(lists) == 0 {
		return "the page has no list at its top level; the whole answer is in the error's details"
	}
	return "the page has the lists " + strings.Join(lists, ", ") + ": name one with items_field"
}

// elements splits a JSON list; never nil.
func elements(list json.RawMessage) []sdk.Value {
	items := []sdk.Value{}
	_ = json.Unmarshal(list, &items) // it is valid JSON and begins with a bracket
	return items
}

// setText adds a parameter that was given; an absent one is not sent.
func setText(query url.Values, name string, value *string) {
	if value != nil {
		query.Set(name, *value)
	}
}
