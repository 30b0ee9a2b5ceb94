package recipe

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// request makes the request of an input.
func (r *Recipe) request(c Call, with With, input sdk.Value) (*sdk.Request, error) {
	fields, ok := sdk.ReadMembers(input)
	if !ok {
		return nil, sdk.Invalid("", "the input is no object")
	}
	fields, link, err := r.atPage(c, with, fields)
	if err != nil {
		return nil, err
	}
	request := &sdk.Request{Method: r.Method, Query: url.Values{}, Header: http.Header{}}
	path := r.Path
	for _, p := range r.Params {
		value := fields.Get(p.Input)
		if p.Input == "" || value == nil {
			value = p.Fixed
		}
		if sdk.IsNull(value) {
			if p.In == InPath {
				return nil, sdk.Invalid(sdk.Pointer(p.Input), "`%s` is required: it is a part of the path", p.Input)
			}
			continue
		}
		if value, err = p.as(value); err != nil {
			return nil, at(sdk.Pointer(p.Input), err)
		}
		if p.In == InPath {
			segment, err := p.segment(value)
			if err != nil {
				return nil, at(sdk.Pointer(p.Input), err)
			}
			path = strings.ReplaceAll(path, "{"+p.Name+"}", segment)
			continue
		}
		if err := p.add(request, value); err != nil {
			return nil, at(sdk.Pointer(p.Input), err)
		}
	}
	if link != "" {
		request.URL, request.Query = link, nil
	} else {
		request.Path = path
	}
	if r.Accept != "" {
		request.Header.Set("Accept", r.Accept)
	}
	request.KeyHeader = r.Key
	return request, r.Body.add(request, fields)
}

// at gives an error the place of the input that it is about, where it has none.
func at(pointer string, err error) error {
	if failure, ok := errors.AsType[*sdk.Error](err); ok && failure.Pointer == "" {
		failure.Pointer = pointer
	}
	return err
}

// add puts a parameter that is none of the path into the request.
func (p Param) add(request *sdk.Request, value sdk.Value) error {
	switch p.In {
	case InQuery:
		for _, one := range p.pairs(value) {
			request.Query.Add(one.name, one.text)
		}
	case InHeader:
		text := p.joined(value, ",", "=")
		if !sdk.IsHeaderValue(text) {
			return sdk.Invalid("", "must not have line breaks and control characters: it is sent as the header %s", p.Name)
		}
		request.Header.Set(p.Name, text)
	case InCookie:
		for _, one := range p.pairs(value) {
			request.Cookies = append(request.Cookies, &http.Cookie{Name: one.name, Value: url.QueryEscape(one.text)})
		}
	}
	return nil
}

// client is the connection's client with the credential that the action wants.
func (r *Recipe) client(c Call, with With, request *sdk.Request) (*sdk.HTTPClient, error) {
	client := c.HTTP()
	if r.Base != nil && strings.TrimRight(with.BaseURL, "/") == strings.TrimRight(r.Base.Of, "/") && request.URL == "" {
		client = client.WithOrigin(r.Base.URL).WithBase(r.Base.URL)
	}
	for name, value := range with.Headers {
		client = client.WithHeader(name, value)
	}
	return with.Credentials.authorize(c, client, r.Security, request)
}
