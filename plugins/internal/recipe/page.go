package recipe

import (
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// atPage puts the page that is asked for into the input; a link is sent as it stands.
func (r *Recipe) atPage(c Call, with With, fields sdk.Members) (changed sdk.Members, link string, err error) {
	if r.Page == nil {
		return fields, "", nil
	}
	cursor := c.PageCursor()
	switch {
	case cursor == "" && r.Page.Kind == NextLink && !r.hasParam(r.Page.Input):
		link, err = sameOrigin(text(orNull(fields.Get(r.Page.Input))), with.BaseURL)
		return fields, link, at(sdk.Pointer(r.Page.Input), err)
	case cursor == "":
		return fields, "", nil
	case r.Page.Kind == NextLink:
		link, err = sameOrigin(cursor, with.BaseURL)
		return fields, link, at(sdk.Pointer(r.Page.Input), err)
	case r.Page.Kind == NextCursor:
		return fields.With(r.Page.Input, sdk.Text(cursor)), "", nil
	}
	first := int64(0)
	if r.Page.Kind == NextNumber {
		first = r.Page.From
	}
	if number, err := strconv.ParseInt(cursor, 10, 64); err != nil || number < first {
		return nil, "", sdk.Invalid(sdk.Pointer(r.Page.Input), "the cursor %q is no number of a page", sdk.Shown(cursor, 64))
	}
	return fields.With(r.Page.Input, sdk.Value(cursor)), "", nil
}

// sameOrigin refuses a link that leads to another scheme, host or port than base_url has:
// a workflow has it from somewhere, and asking for pages is no way to ask other services.
func sameOrigin(link, base string) (string, error) {
	if link == "" {
		return "", nil
	}
	there, err := url.Parse(link)
	root, baseErr := url.Parse(base)
	if err != nil || baseErr != nil || there.User != nil || !strings.EqualFold(there.Scheme, root.Scheme) || !strings.EqualFold(there.Host, root.Host) {
		return "", sdk.Invalid("", "the link of a page must lead to %s", base)
	}
	return link, nil
}

func orNull(value sdk.Value) sdk.Value {
	if sdk.IsNull(value) {
		return sdk.Value(`""`)
	}
	return value
}

func (r *Recipe) hasParam(input string) bool {
	for _, p := range r.Params {
		if p.Input == input {
			return true
		}
	}
	return false
}

// next tells the engine where the next page is, and gives the page as the output of a
// recipe that wraps pages. A page without items is the last.
func (p *Page) next(c Call, r *Recipe, response *sdk.Response, body, input sdk.Value) (sdk.Value, error) {
	shape := sdk.PageShape{Part: r.data(body), List: p.Items}
	fields, _ := sdk.ReadMembers(input)
	if p.ListInput != "" {
		shape.ListInput = sdk.Pointer(p.ListInput)
		shape.List = text(orNull(fields.Get(p.ListInput)))
	}
	switch p.Kind {
	case NextLink:
		if p.Next == "" {
			shape.Next = sdk.ByLink("")
		}
	case NextNumber:
		at, err := p.number(c, fields)
		if err != nil {
			return nil, err
		}
		shape.Next = sdk.ByNumber{At: at, From: p.From, Size: p.size(fields)}
	}
	page, err := c.ReadPage(response, shape)
	if uncertain, ok := errors.AsType[*sdk.UncertainListError](err); ok && p.Wrap != "" && shape.List == "" && !c.AllPages() {
		// the page alone is worth something: what it looks like is not documented
		c.Log().Warn("items stays empty: " + uncertain.Error())
		return p.wrapped(sdk.Value("null"), nil, shape.Part), nil
	}
	if err != nil {
		return nil, err
	}
	next := page.NextCursor
	if shape.Next == nil {
		cursor, err := p.cursor(c, response, body, page.Items, fields)
		if err != nil {
			return nil, err
		}
		if cursor != "" {
			c.Next(cursor)
			next = &cursor
		}
	}
	return p.wrapped(sdk.JSON(page.Items), next, page.Page), nil
}

// wrapped is a page as an output of its own; nil where the output is what the service
// gives.
func (p *Page) wrapped(items sdk.Value, next *string, page sdk.Value) sdk.Value {
	if p.Wrap == "" {
		return nil
	}
	return sdk.Members{{Name: "items", Value: items}, {Name: "next_cursor", Value: sdk.JSON(next)}, {Name: p.Wrap, Value: page}}.JSON()
}

// isPast reports whether a failure says that there is no page behind a full one.
func (p *Page) isPast(c Call, err error) bool {
	failure, ok := errors.AsType[*sdk.Error](err)
	return ok && p.End != 0 && c.PageCursor() != "" && failure.Code == sdk.CodeOfStatus(p.End)
}

// none is a page behind the last one: an empty list, in the shape of the output.
func (p *Page) none() sdk.Value {
	empty := sdk.Value("[]")
	switch {
	case p.Wrap != "":
		return p.wrapped(empty, nil, sdk.Value("null"))
	case p.Items != "":
		return sdk.Members{{Name: p.Items, Value: empty}}.JSON()
	}
	return empty
}

// cursor is where the next page begins, "" for none.
func (p *Page) cursor(c Call, response *sdk.Response, body sdk.Value, items []sdk.Value, fields sdk.Members) (string, error) {
	if p.More != "" && string(member(body, p.More)) != "true" {
		return "", nil
	}
	if p.Kind == NextOffset {
		at, err := p.number(c, fields)
		if err != nil || len(items) == 0 || int64(len(items)) < p.size(fields) {
			return "", err
		}
		start := int64(0)
		if at != nil {
			start = *at
		}
		return strconv.FormatInt(start+int64(len(items)), 10), nil
	}
	if p.Last != "" {
		if len(items) == 0 {
			return "", nil
		}
		return text(orNull(member(items[len(items)-1], "/"+p.Last))), nil
	}
	found := member(body, p.Next)
	if sdk.IsNull(found) || string(found) == "false" {
		return "", nil
	}
	if _, isObject := sdk.ReadMembers(found); isObject {
		return "", response.Fail(sdk.CodeUnexpectedResponse, "the cursor of the next page at %s is an object", p.Next)
	}
	if p.Kind == NextLink {
		return sdk.NextLink(response, text(found))
	}
	return text(found), nil
}

// number is the number or index of the page that was asked for, nil for the first.
func (p *Page) number(c Call, fields sdk.Members) (*int64, error) {
	said := c.PageCursor()
	if said == "" {
		said = text(orNull(fields.Get(p.Input)))
	}
	if said == "" {
		return nil, nil
	}
	number, err := strconv.ParseInt(said, 10, 64)
	if err != nil {
		return nil, sdk.Invalid(sdk.Pointer(p.Input), "%q is no number of a page", sdk.Shown(said, 64))
	}
	return &number, nil
}

// size is how many items a full page has, 0 where that is not known.
func (p *Page) size(fields sdk.Members) int64 {
	var asked int64
	if value := fields.Get(p.Size); p.Size != "" && json.Unmarshal(value, &asked) == nil && asked > 0 {
		return asked
	}
	return p.Full
}
