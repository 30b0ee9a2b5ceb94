package auth

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"

	"github.com/flowrun/flowrun/sdk"
)

// UsersInput is the input of scim_users_list. What is absent is not sent.
type UsersInput struct {
	Count      *int64 `json:"count,omitempty" min:"0" doc:"Users on a page."`
	StartIndex *int64 `json:"start_index,omitempty" min:"1" doc:"First user, from 1; with paginate the one to begin with."`
	SCIMScheme string `json:"scim_scheme" enum:"bearer,api-key" default:"bearer" doc:"How the SCIM token is sent; the service takes both."`
}

// UsersOutput is the output of scim_users_list.
type UsersOutput struct {
	Users      []sdk.Value `json:"users" doc:"The page's users."`
	Total      *int64      `json:"total,omitempty" doc:"How many there are in all, where the service says it."`
	NextCursor *string     `json:"next_cursor" doc:"The next start_index, or null when this is the last page."`
	Response   sdk.Value   `json:"response" doc:"The page as it came; its shape is not documented."`
}

// usersPage is what is read of a page, by the names of RFC 7644.
type usersPage struct {
	Resources    *[]json.RawMessage `json:"Resources"`
	TotalResults *int64             `json:"totalResults"`
	StartIndex   *int64             `json:"startIndex"`

	named bool // the users are in Resources, as in RFC 7644
}

// scimUsersList is action auth.scim_users_list (M2): one page.
func (p *plugin) scimUsersList(c *sdk.Call[Config], in UsersInput) (UsersOutput, error) {
	start := in.StartIndex
	if cursor := c.PageCursor(); cursor != "" {
		n, err := strconv.ParseInt(cursor, 10, 64)
		if err != nil || n < 1 {
			return UsersOutput{}, sdk.Invalid("/start_index", "the cursor %q is no index", shown(cursor, 64))
		}
		start = &n
	}
	response, err := p.scimUsers(c, in.SCIMScheme, in.Count, start)
	if err != nil {
		return UsersOutput{}, err
	}
	page, err := readUsers(response)
	if err != nil {
		return UsersOutput{}, err
	}
	users := *page.Resources
	if problem := page.problem(start); problem != "" {
		return UsersOutput{}, response.Fail(sdk.CodeUnexpectedResponse, "%s", problem).
			WithHint("the pages can't be put together; ask for all users at once with a larger count")
	}
	out := UsersOutput{Users: users, Total: page.TotalResults, Response: response.Body}
	if next := page.next(start); next != "" {
		out.NextCursor = &next
		c.Next(next)
	}
	return out, nil
}

// scimUsers sends the request: https only, the SCIM token in one of the two
// documented forms.
func (p *plugin) scimUsers(c *sdk.Call[Config], scheme string, count, start *int64) (*sdk.Response, error) {
	if err := manageable(c); err != nil {
		return nil, err
	}
	if c.Config.SCIMToken == "" {
		return nil, lacks(c, "scim_token", "SCIM takes no other credential")
	}
	word := "Bearer "
	if scheme == "api-key" {
		word = "Api-Key "
	}
	query := url.Values{}
	if count != nil {
		query.Set("count", strconv.FormatInt(*count, 10))
	}
	if start != nil {
		query.Set("startIndex", strconv.FormatInt(*start, 10))
	}
	return manage(c, "/api/scim/v2/Users", query, word+c.Config.SCIMToken, "application/scim+json, application/json")
}

// readUsers finds the users of a page: `Resources`, or the page itself when it is
// a list, or its only list. A total of 0 needs none.
func readUsers(r *sdk.Response) (usersPage, error) {
	var page usersPage
	if bytes.HasPrefix(bytes.TrimSpace(r.Body), []byte("[")) {
		var list []json.RawMessage
		err := json.Unmarshal(r.Body, &list)
		page.Resources = &list
		return page, err
	}
	if err := r.JSON(&page); err != nil {
		return page, err
	}
	if page.Resources != nil {
		page.named = true
		return page, nil
	}
	if page.TotalResults != nil && *page.TotalResults == 0 {
		page.Resources = &[]json.RawMessage{}
		return page, nil
	}
	list := onlyList(r.Body)
	if list == nil {
		return page, r.Fail(sdk.CodeUnexpectedResponse, "the page has no list `Resources`, and no single other one")
	}
	page.Resources = &list
	return page, nil
}

// onlyList returns the single list of an object, nil when there is none or are
// several. `schemas` is no list of users.
func onlyList(body []byte) []json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return nil
	}
	var found []json.RawMessage
	for name, value := range fields {
		var list []json.RawMessage
		if name == "schemas" || json.Unmarshal(value, &list) != nil || list == nil {
			continue
		}
		if found != nil {
			return nil
		}
		found = list
	}
	return found
}

// problem says why a page does not belong where it was asked for, or "": another
// start than asked, more users than there are behind it, one user twice.
func (page usersPage) problem(asked *int64) string {
	users := *page.Resources
	if len(users) == 0 {
		return ""
	}
	switch {
	case asked == nil:
	case page.StartIndex != nil && *page.StartIndex != *asked:
		return "the page starts at " + strconv.FormatInt(*page.StartIndex, 10) + ", asked for was " + strconv.FormatInt(*asked, 10)
	case page.StartIndex == nil && page.TotalResults != nil && *asked+int64(len(users))-1 > *page.TotalResults:
		return "the page has more users than there are behind " + strconv.FormatInt(*asked, 10) + ": it seems to start elsewhere"
	}
	seen := map[string]bool{}
	for _, user := range users {
		var record struct {
			ID json.RawMessage `json:"id"`
		}
		if json.Unmarshal(user, &record) != nil || len(record.ID) == 0 || string(record.ID) == "null" {
			continue // no id to compare
		}
		if seen[string(record.ID)] {
			return "the page has the user " + shown(string(record.ID), 64) + " twice"
		}
		seen[string(record.ID)] = true
	}
	return ""
}

// next is the index behind the page: where it started plus what was received. ""
// is the end: an empty page, one that reaches the total, or a list of another
// kind than RFC 7644's, which says nothing of further pages.
func (page usersPage) next(asked *int64) string {
	received := int64(len(*page.Resources))
	if received == 0 || page.TotalResults == nil && !page.named {
		return ""
	}
	start := int64(1)
	switch {
	case asked != nil:
		start = *asked
	case page.StartIndex != nil:
		start = max(*page.StartIndex, 1)
	}
	next := start + received
	if page.TotalResults != nil && next > *page.TotalResults {
		return ""
	}
	return strconv.FormatInt(next, 10)
}
