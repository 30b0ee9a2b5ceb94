package auth

import (
	"errors"
	"net/url"

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
	Response   sdk.Value   `json:"response" doc:"The page as it came; its shape is not documented. Null where all pages are read, since their users are what is kept."`
}

// scimUsersList is action auth.scim_users_list (M2): one page, read by the names
// of RFC 7644.
func (p *plugin) scimUsersList(c *sdk.Call[Config], in UsersInput) (UsersOutput, error) {
	start, err := c.PageNumber(in.StartIndex, 1, "/start_index")
	if err != nil {
		return UsersOutput{}, err
	}
	response, err := p.scimUsers(c, in.SCIMScheme, in.Count, start)
	if err != nil {
		return UsersOutput{}, err
	}
	page, err := c.ReadPage(response, usersShape(response.Body, in.Count, start))
	if uncertain, ok := errors.AsType[*sdk.UncertainListError](err); ok {
		return UsersOutput{}, response.Fail(sdk.CodeUnexpectedResponse, "the page has no list `Resources`, and no single other one").
			WithHint("%s", uncertain.Error())
	}
	if err != nil {
		return UsersOutput{}, err
	}
	if twice := userTwice(page.Items); twice != "" {
		return UsersOutput{}, response.Fail(sdk.CodeUnexpectedResponse, "the page has the user %s twice", twice).
			WithHint("the pages can't be put together; ask for all users at once with a larger count")
	}
	out := UsersOutput{Users: page.Items, Total: page.Total, NextCursor: page.NextCursor, Response: response.Body}
	if c.AllPages() {
		out.Response = sdk.Value("null")
	}
	return out, nil
}

// usersShape says where the users of a page are: in `Resources`, or the page
// itself when it is a list, or its only list. A total of 0, or a count of 0 that
// was asked for, needs none. A list of another kind than RFC 7644's without a
// total says nothing of further pages.
func usersShape(body sdk.Value, count, start *int64) sdk.PageShape {
	const users, total = "Resources", "totalResults"
	shape := sdk.PageShape{
		Part: body, NotItems: []string{"schemas"},
		Next: sdk.ByIndex{Asked: start, From: 1, Start: "startIndex", Total: total},
	}
	fields, isObject := sdk.ReadMembers(body)
	none := string(fields.Get(total)) == "0" || count != nil && *count == 0
	switch {
	case !isObject:
		shape.Next = nil
	case fields.Get(users) != nil:
		shape.List = users
	case none:
		shape.Part, shape.List = fields.With(users, sdk.Value("[]")).JSON(), users
	case sdk.IsNull(fields.Get(total)):
		shape.Next = nil
	}
	return shape
}

// userTwice is the id that two users of a page have, "" for none.
func userTwice(users []sdk.Value) string {
	seen := map[string]bool{}
	for _, user := range users {
		fields, _ := sdk.ReadMembers(user)
		id := fields.Get("id")
		if sdk.IsNull(id) {
			continue // no id to compare
		}
		if seen[string(id)] {
			return sdk.Shown(string(id), 64)
		}
		seen[string(id)] = true
	}
	return ""
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
	sdk.SetInteger(query, "count", count)
	sdk.SetInteger(query, "startIndex", start)
	return manage(c, "/api/scim/v2/Users", query, word+c.Config.SCIMToken, "application/scim+json, application/json")
}
