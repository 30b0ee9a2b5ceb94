package analytics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/flowrun/flowrun/sdk"
)

const currentDoc = "How many visitors a site has right now; detailed also says on which pages they are and where they came from, up to 150 each."

// maxListed is how many pages and referrers the service lists at most (N-42).
const maxListed = 150

// VisitorsInput is the input of current_visitors.
type VisitorsInput struct {
	SiteID   string `json:"site_id" min:"1" doc:"Site to ask about." example:"ABCDEFGH"`
	Detailed bool   `json:"detailed,omitempty" doc:"Also list pages and referrers."`
}

// visitorsAnswer is the answer of /v1/current_visitors (N-40, N-41).
type visitorsAnswer struct {
	Total     json.RawMessage   `json:"total"`
	Content   []json.RawMessage `json:"content"`
	Referrers []json.RawMessage `json:"referrers"`
}

// visitorsOutput is the output of current_visitors; the pointers are nil unless
// detailed was asked for.
type visitorsOutput struct {
	Total              json.RawMessage    `json:"total"`
	Content            *[]json.RawMessage `json:"content,omitempty"`
	Referrers          *[]json.RawMessage `json:"referrers,omitempty"`
	ContentTruncated   *bool              `json:"content_truncated,omitempty"`
	ReferrersTruncated *bool              `json:"referrers_truncated,omitempty"`
}

// currentVisitors is action analytics.current_visitors.
func currentVisitors(c *sdk.Call[Config], in VisitorsInput) (visitorsOutput, error) {
	query := url.Values{"site_id": {in.SiteID}}
	if in.Detailed {
		query.Set("detailed", "true") // N-39: omitted otherwise
	}
	response, err := get(c, in.SiteID, "/current_visitors", query)
	if err != nil {
		return visitorsOutput{}, err
	}
	var answer visitorsAnswer
	if err := response.JSON(&answer); err != nil {
		return visitorsOutput{}, err
	}
	if !sdk.IsInteger(answer.Total) {
		return visitorsOutput{}, response.Fail(sdk.CodeUnexpectedResponse, "the answer has no integer `total`")
	}
	output := visitorsOutput{Total: answer.Total}
	if in.Detailed {
		if err := output.detail(answer); err != nil {
			return visitorsOutput{}, response.Fail(sdk.CodeUnexpectedResponse, "%v", err)
		}
	}
	return output, nil
}

// detail adds the lists of the detailed view; a missing one is empty (N-41).
func (o *visitorsOutput) detail(answer visitorsAnswer) error {
	content, err := listed("content", answer.Content, "hostname", "pathname")
	if err != nil {
		return err
	}
	referrers, err := listed("referrers", answer.Referrers, "referrer_hostname", "referrer_pathname")
	if err != nil {
		return err
	}
	full := func(list []json.RawMessage) *bool { is := len(list) >= maxListed; return &is }
	o.Content, o.Referrers = &content, &referrers
	o.ContentTruncated, o.ReferrersTruncated = full(content), full(referrers)
	return nil
}

// listed reads one list of the detailed view. Its text fields are text: one that
// is missing or null is empty, as for a visit without a referrer. total is a
// number, whether or not the service wrote it as text. Other fields stay.
func listed(list string, items []json.RawMessage, texts ...string) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, 0, len(items))
	for i, raw := range items {
		item, err := listedItem(raw, texts)
		if err != nil {
			return nil, fmt.Errorf("element %d of `%s` %w", i, list, err)
		}
		out = append(out, item)
	}
	return out, nil
}

func listedItem(raw json.RawMessage, texts []string) (json.RawMessage, error) {
	fields, isObject := sdk.ReadMembers(raw)
	if !isObject {
		return nil, errNoObject
	}
	total := json.RawMessage(bytes.Trim(fields.Get("total"), `"`))
	if !sdk.IsInteger(total) {
		return nil, fmt.Errorf("has no integer `total`")
	}
	fields = fields.With("total", total)
	for _, name := range texts {
		value := fields.Get(name)
		if value == nil {
			value = json.RawMessage("null")
		}
		value, err := fieldValue(value, false)
		if err != nil {
			return nil, fmt.Errorf("has %w as `%s`", err, name)
		}
		fields = fields.With(name, value)
	}
	return fields.JSON(), nil
}
