package dictionary

import (
	"errors"
	"net/url"
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
	Data       sdk.Value    `json:"data" doc:"The page as the service gives it; its shape is not documented. Null where all pages are read, since their items are what is kept."`
}

// letter is action dictionary.letter: one page (D-12 to D-15). A page that is
// shorter than asked for, or empty, is the last.
func (s *service) letter(c *sdk.Call[Config], in LetterInput) (LetterOutput, error) {
	page, err := c.PageNumber(in.Page, 1, "/page")
	if err != nil {
		return LetterOutput{}, err
	}
	query := url.Values{}
	sdk.SetInteger(query, "page", page)
	sdk.SetInteger(query, "per_page", in.PerPage)
	found, err := s.get(c, query, "letter", strings.ToUpper(in.Letter))
	if err != nil {
		if refused, ok := errors.AsType[*sdk.Error](err); ok && refused.Code == sdk.CodeNotFound && c.PageCursor() != "" {
			// a full page was the last one, and the service has nothing behind it
			return LetterOutput{Items: &[]sdk.Value{}, Data: sdk.Value("null")}, nil
		}
		return LetterOutput{}, err
	}
	shape := sdk.PageShape{Part: found.data, ListInput: "/items_field", Next: sdk.ByNumber{At: page, From: 1, Size: defaultPerPage}}
	if in.ItemsField != nil {
		shape.List = *in.ItemsField
	}
	if in.PerPage != nil {
		shape.Next = sdk.ByNumber{At: page, From: 1, Size: *in.PerPage}
	}
	read, err := c.ReadPage(found.response, shape)
	if uncertain, ok := errors.AsType[*sdk.UncertainListError](err); ok && in.ItemsField == nil && !c.AllPages() {
		// the page alone is worth something: its shape is not documented
		c.Log().Warn("items stays empty: " + uncertain.Error())
		return LetterOutput{Data: found.data}, nil
	}
	return LetterOutput{Items: &read.Items, NextCursor: read.NextCursor, Data: read.Page}, err
}
