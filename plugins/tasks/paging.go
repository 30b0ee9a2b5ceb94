package tasks

import (
	"github.com/flowrun/flowrun/sdk"
)

// page reads one page: the engine's cursor counts, else the one that the input
// gives, else none is sent (T-18, T-50). The name of the list is not documented,
// that of the cursor is (T-12).
func (s *service) page(c *sdk.Call[Config], r request, cursor, itemsField *string) (sdk.Page, error) {
	at := c.PageAt(cursor)
	scope := s.origins.scope(c.Config.BaseURL, r)
	if at != "" {
		if !s.origins.fits(at, scope) {
			return sdk.Page{}, foreignCursor(c.PageCursor())
		}
		r.query.Set("cursor", at)
	}
	response, err := send(c, r)
	if err != nil {
		return sdk.Page{}, c.CursorRefused(err)
	}
	shape := sdk.PageShape{ListInput: "/items_field", Next: sdk.ByCursor("next_cursor")}
	if itemsField != nil {
		shape.List = *itemsField
	}
	out, err := c.ReadPage(response, shape)
	if err == nil && out.NextCursor != nil {
		s.origins.issued(*out.NextCursor, scope)
	}
	return out, err
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
