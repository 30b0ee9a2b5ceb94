package tasks

import (
	"net/url"

	"github.com/flowrun/flowrun/sdk"
)

// HistoryInput is the input of usage_history. What is absent is not sent.
type HistoryInput struct {
	Product    *string `json:"product,omitempty" min:"1" doc:"Product; the service's default is automations." example:"automations"`
	Cursor     *string `json:"cursor,omitempty" min:"1" pattern:"^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$" doc:"next_cursor of a page before, with otherwise the same inputs."`
	Limit      *int64  `json:"limit,omitempty" min:"1" max:"200" doc:"Entries on a page; the service's default is 50."`
	ItemsField *string `json:"items_field,omitempty" min:"1" doc:"Name of the list in the answer, where there are several. Without it the only list is taken."`
}

// usageHistory is action tasks.usage_history (E14): newest first, and with a
// watermark only what came since (T-61, T-62).
func (s *service) usageHistory(c *sdk.Call[Config], in HistoryInput) (sdk.Page, error) {
	seen, err := readWatermark(c.Watermark())
	if err != nil {
		return sdk.Page{}, err
	}
	query := url.Values{}
	sdk.SetText(query, "product", in.Product)
	sdk.SetInteger(query, "limit", in.Limit)
	out, err := s.page(c, request{path: []string{"usage_billing", "history"}, query: query}, in.Cursor, in.ItemsField)
	if err != nil {
		return sdk.Page{}, err
	}
	if c.PageCursor() == "" && in.Cursor == nil {
		// the first page alone holds the newest entries
		c.SetWatermark(seen.next(out.Items, out.NextCursor != nil).encode())
	}
	fresh, ended := seen.fresh(out.Items)
	if out.Items = fresh; ended {
		out.NextCursor = nil
		c.Next("")
	}
	return out, nil
}
