package http

import (
	"encoding/base64"
	"maps"
	"net/url"
	"slices"

	"github.com/flowrun/flowrun/sdk"
)

// checker collects what is wrong with an input, about what is known of it.
type checker struct {
	shapes   *shapes
	unknown  []string
	problems []sdk.Problem
}

func (c *checker) knows(pointer string) bool { return !sdk.IsUnknown(c.unknown, pointer) }

func (c *checker) say(pointer, format string, args ...any) {
	c.problems = append(c.problems, sdk.Problemf(pointer, format, args...))
}

func (p *plugin) checkGet(in getInput, unknown []string) []sdk.Problem {
	c := &checker{shapes: &p.shapes, unknown: unknown}
	c.target(in.target)
	c.reading(in.reading)
	if in.Pages != nil && c.knows("/pages") {
		c.problems = append(c.problems, in.Pages.problems()...)
		if c.knows("/as") && slices.Contains([]string{kindText, kindBytes, kindNone, kindBlob}, in.As) {
			c.say("/as", "must be json or csv beside pages: a list is due")
		}
		if in.As == kindCSV && (in.Pages.Items != "" || in.Pages.Next != nil || in.Pages.Total != nil || in.Pages.More != nil) {
			c.say("/pages", "of a CSV has no pointers: its rows are the items")
		}
	}
	if in.Cursor != nil && in.Pages == nil && c.knows("/pages") && c.knows("/cursor") {
		c.say("/cursor", "belongs to pages, which is not given")
	}
	return c.problems
}

func checkHead(in headInput, unknown []string) []sdk.Problem {
	c := &checker{unknown: unknown}
	c.target(in.target)
	return c.problems
}

func (p *plugin) checkWrite(in writeInput, unknown []string) []sdk.Problem {
	c := &checker{shapes: &p.shapes, unknown: unknown}
	c.target(in.target)
	c.reading(in.reading)
	c.body(in)
	return c.problems
}

func (p *plugin) checkKeyed(in keyedInput, unknown []string) []sdk.Problem {
	problems := p.checkWrite(in.writeInput, unknown)
	if in.KeyHeader != "" && !sdk.IsUnknown(unknown, "/key_header") && headerProblem(in.KeyHeader, "") != "" {
		problems = append(problems, sdk.Problemf("/key_header", "%s", headerProblem(in.KeyHeader, "")))
	}
	return problems
}

// target checks where a request goes.
func (c *checker) target(t target) {
	switch known := c.knows("/path") && c.knows("/url"); {
	case known && t.Path == "" && t.URL == "":
		c.say("", "`path` or `url` is needed")
	case known && t.Path != "" && t.URL != "":
		c.say("/url", "can't stand beside path")
	}
	if t.Path != "" && c.knows("/path") {
		c.path(t)
	}
	if t.URL != "" && c.knows("/url") {
		u, err := url.Parse(t.URL)
		switch {
		case err != nil || u.Host == "":
			c.say("/url", "is no absolute URL such as https://api.example.com/things")
		case u.User != nil:
			c.say("/url", "must not have a user or a password: they belong in the connection")
		case u.Fragment != "":
			c.say("/url", "must not have a fragment: it is never sent")
		}
		if len(t.Params) > 0 {
			c.say("/params", "belong to path")
		}
	}
	if c.knows("/expect") {
		if _, err := expected(t.Expect); err != nil {
			failure, _ := isFailure(err)
			c.say(failure.Pointer, "%s", failure.Message)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		value := ""
		if !sdk.IsNull(t.Headers[name]) && c.knows(sdk.Pointer("headers", name)) {
			value = text(t.Headers[name])
		}
		if wrong := headerProblem(name, value); wrong != "" {
			c.say(sdk.Pointer("headers", name), "%s", wrong)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Secrets.Headers)) {
		if wrong := headerProblem(name, t.Secrets.Headers[name]); wrong != "" {
			c.say(sdk.Pointer("secrets", "headers", name), "%s", wrong)
		}
	}
}

// path checks a path and the values for it. A value that is not given may be one of the
// connection's params.
func (c *checker) path(t target) {
	if wrong := pathProblem(t.Path); wrong != "" {
		c.say("/path", "%s", wrong)
		return
	}
	names := namesIn(t.Path)
	for _, name := range slices.Sorted(maps.Keys(t.Params)) {
		if !slices.Contains(names, name) {
			problem := sdk.Problemf(sdk.Pointer("params", name), "there is no {%s} in the path", sdk.Shown(name, 64))
			if len(names) > 0 {
				problem.Detail = "the path has " + sdk.Shown("{"+names[0]+"}", 64)
			}
			c.problems = append(c.problems, problem)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Secrets.Params)) {
		if !slices.Contains(names, name) {
			c.say(sdk.Pointer("secrets", "params", name), "there is no {%s} in the path", sdk.Shown(name, 64))
		}
	}
	known := map[string]string{}
	for name, value := range t.Params {
		if known[name] = text(value); !c.knows(sdk.Pointer("params", name)) {
			known[name] = "x"
		}
	}
	for _, name := range names {
		if _, given := known[name]; !given {
			known[name] = "x" // of the connection, or secret
		}
	}
	if _, err := fill(t.Path, known, func(name string) string { return sdk.Pointer("params", name) }); err != nil {
		failure, _ := isFailure(err)
		c.say(failure.Pointer, "%s", failure.Message)
	}
}

// reading checks how the answer is read.
func (c *checker) reading(how reading) {
	as := c.knows("/as")
	if how.CSV != nil && as && how.As != kindCSV {
		c.say("/csv", "belongs to `as: csv`")
	}
	if how.CSV != nil && c.knows("/csv") {
		switch {
		case how.CSV.Separator == "\n" || how.CSV.Separator == "\r" || how.CSV.Separator == `"`:
			c.say("/csv/separator", "must be no quote and no line break")
		case how.CSV.Comment != "" && how.CSV.Comment == or(how.CSV.Separator, ","):
			c.say("/csv/comment", "must be another sign than the separator")
		}
	}
	if how.Digest != "" && as && c.knows("/digest") && how.As != kindBlob {
		c.say("/digest", "belongs to `as: blob`")
	}
	if how.Answer == nil || !c.knows("/answer") {
		return
	}
	if as && slices.Contains([]string{kindText, kindBytes, kindNone}, how.As) {
		c.say("/answer", "says the shape of a document or of rows: it can't stand beside `as: %s`", how.As)
		return
	}
	if read := c.shapes.of(how.Answer); read.problem != "" {
		c.say("/answer"+read.pointer, "%s", read.problem)
	}
}

// body checks what is sent.
func (c *checker) body(in writeInput) {
	forms := in.forms()
	if len(forms) > 1 {
		c.say("/"+forms[1], "can't stand beside %s: a request has one body", forms[0])
	}
	has := func(form string) bool { return len(forms) > 0 && forms[0] == form }
	if in.ContentType != "" && (has("form") || has("multipart")) {
		c.say("/content_type", "is that of a form or of its parts")
	}
	if in.ContentType != "" && c.knows("/content_type") && !sdk.IsHeaderValue(in.ContentType) {
		c.say("/content_type", "must not hold line breaks or control characters")
	}
	if in.Base64 != nil && c.knows("/base64") {
		if _, err := base64.StdEncoding.DecodeString(*in.Base64); err != nil {
			c.say("/base64", "is no base64")
		}
	}
	if len(in.Secrets.JSON) > 0 && len(forms) > 0 && !has("json") {
		c.say("/secrets/json", "belongs to a body of JSON")
	}
	if len(in.Secrets.Form) > 0 && len(forms) > 0 && !has("form") {
		c.say("/secrets/form", "belongs to a form")
	}
	for _, pointer := range slices.Sorted(maps.Keys(in.Secrets.JSON)) {
		if pointer == "" || pointer[0] != '/' {
			c.say(sdk.Pointer("secrets", "json", pointer), "is no JSON Pointer: write /user/password")
		}
	}
	for i, p := range in.Multipart {
		at := sdk.Pointer("multipart", i)
		if !c.knows(at) {
			continue
		}
		if _, err := p.content(); err != nil {
			c.say(at, "%s", err.Error())
		}
		if !sdk.IsHeaderValue(p.ContentType) {
			c.say(at+"/content_type", "must not hold line breaks or control characters")
		}
	}
}
