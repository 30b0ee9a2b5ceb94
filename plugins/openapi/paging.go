package openapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/plugins/openapi/tree"
)

// ownCursor is the input of an action whose pages follow each other by links, where the
// service has no parameter for them: the link of the page to begin with.
const ownCursor = "page_link"

// paging says how the pages of an operation follow each other: as the settings say, else
// as the document shows. nil = it has none.
func (d *document) paging(o *Operation) *PagingRule {
	rule := o.Paging
	if rule == nil {
		rule = d.seenPaging(o)
	}
	if rule == nil || rule.Next == "none" {
		return nil
	}
	full := *rule
	items, ok := d.itemsOf(o, full.Items)
	if !ok {
		if o.Paging != nil {
			d.notes.add(o.place, "the answer has no list %q: the pages are not read", full.Items)
		}
		return nil
	}
	full.Items = items
	if full.Input == "" && full.Next == recipe.NextLink {
		full.Input = d.inputOf(o, pageNames, ownCursor)
	}
	if full.Input == "" {
		full.Input = map[string]string{recipe.NextCursor: "cursor", recipe.NextNumber: "page", recipe.NextOffset: "offset"}[full.Next]
	}
	if full.Input != ownCursor && !d.hasQuery(o, full.Input) {
		d.notes.add(o.place, "there is no parameter %q that names a page: the pages are not read", full.Input)
		return nil
	}
	if full.Size == "" {
		full.Size = d.inputOf(o, sizeNames, "")
	}
	if full.Full == 0 && full.Size != "" {
		full.Full, _ = d.query(o, full.Size).Get("schema").Get("default").Number()
	}
	return &full
}

// The names by which documents show pages.
var (
	pageNames   = []string{"page", "page_number", "pageNumber", "page_no"}
	sizeNames   = []string{"per_page", "perPage", "page_size", "pageSize", "limit", "page_limit", "size", "count", "max_results", "maxResults"}
	offsetNames = []string{"offset", "skip", "start_index", "startIndex"}
	cursorNames = []string{"cursor", "page_token", "pageToken", "next_token", "nextToken", "next_cursor", "continuation_token", "after", "starting_after", "page_cursor"}
	nextNames   = []string{"next_cursor", "nextCursor", "next_page_token", "nextPageToken", "next_token", "nextToken", "continuation_token", "cursor", "after"}
)

// seenPaging looks for pages in the document: a Link header, a cursor that an answer has
// and a parameter takes, a number or an offset. Only reads have pages.
func (d *document) seenPaging(o *Operation) *PagingRule {
	if o.EffectWord() != effectRead || o.Method != http.MethodGet {
		return nil
	}
	good := successes(d.responses(o))
	if len(good) == 0 || good[0].kind != recipe.AnswerJSON {
		return nil
	}
	for _, header := range good[0].node.Get("headers").Members() {
		if strings.EqualFold(header.Name, "Link") {
			return &PagingRule{Next: recipe.NextLink}
		}
	}
	fields := d.fields(good[0].schema, good[0].place, 0)
	for _, next := range nextNames {
		i := slices.IndexFunc(fields, func(m tree.Member) bool { return m.Name == next })
		input := d.inputOf(o, append([]string{next}, cursorNames...), "")
		if i < 0 || input == "" {
			continue
		}
		node, _ := d.deref(fields[i].Value, good[0].place)
		if types := typesOf(node); len(types) == 0 || types[0] == "string" {
			return &PagingRule{Next: recipe.NextCursor, Input: input, At: child("", next)}
		}
	}
	if input := d.inputOf(o, pageNames, ""); input != "" {
		return &PagingRule{Next: recipe.NextNumber, Input: input}
	}
	if input := d.inputOf(o, offsetNames, ""); input != "" {
		return &PagingRule{Next: recipe.NextOffset, Input: input}
	}
	return nil
}

// itemsOf finds the member of the answer with the items: the answer itself where it is a
// list, the named one, or the only list.
func (d *document) itemsOf(o *Operation, named string) (string, bool) {
	good := successes(d.responses(o))
	if len(good) == 0 {
		return "", false
	}
	schema, place := good[0].schema, good[0].place
	if o.Envelope != nil && o.Envelope.Data != "" {
		schema, place = d.inside(schema, place, o.Envelope.Data)
	}
	node, place := d.deref(schema, place)
	if named == "" && isList(node) {
		return "", true
	}
	var lists []string
	for _, field := range d.fields(node, place, 0) {
		if inner, _ := d.deref(field.Value, place); isList(inner) && !slices.Contains(lists, field.Name) {
			lists = append(lists, field.Name)
		}
	}
	switch {
	case named != "":
		return named, slices.Contains(lists, named)
	case len(lists) == 1:
		return lists[0], true
	}
	return "", false
}

func isList(n *tree.Node) bool {
	types := typesOf(n)
	return slices.Contains(types, "array") || len(types) == 0 && n.Has("items")
}

// inputOf is the first of the names that the query of an operation has a parameter of.
func (d *document) inputOf(o *Operation, names []string, otherwise string) string {
	for _, name := range names {
		if d.hasQuery(o, name) {
			return name
		}
	}
	return otherwise
}

func (d *document) hasQuery(o *Operation, name string) bool { return d.query(o, name) != nil }

// query finds a parameter of the query by its name.
func (d *document) query(o *Operation, name string) *tree.Node {
	for _, from := range []*tree.Node{o.node.Get("parameters"), o.item.Get("parameters")} {
		for _, item := range from.Items() {
			node, _ := d.deref(item, o.place)
			if node.Get("in").Text() == recipe.InQuery && node.Get("name").Text() == name {
				return node
			}
		}
	}
	return nil
}

// recipePage is the paging of an operation as its recipe has it.
func recipePage(rule *PagingRule) *recipe.Page {
	page := &recipe.Page{
		Kind: rule.Next, Input: rule.Input, Items: rule.Items, Next: rule.At, More: rule.More, Last: rule.Last, Size: rule.Size, Full: rule.Full, From: 1,
	}
	if rule.From != nil {
		page.From = *rule.From
	}
	page.End, page.Wrap, page.ListInput = rule.End, rule.Wrap, rule.List
	if page.Wrap != "" {
		page.Items = "" // the service's own list is found in each page
	}
	return page
}
