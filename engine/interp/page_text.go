package interp

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// pageText are the items of a page as the plugin wrote them, and the type that
// they are read by. They are decoded where they are read.
type pageText struct {
	items   json.RawMessage // a list; of none: nil
	count   int
	element *schema.Type
}

// text returns the items of a page that keeps to a type. answers says that names
// which the type excludes are left out.
func (c *pageCode) text(output json.RawMessage, t *schema.Type, answers bool) (pageText, error) {
	page := pageText{items: bytes.TrimSpace(output), element: anyType}
	listed := t
	if c.field != "" {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(output, &fields); err != nil {
			return page, fmt.Errorf("read page: %w", err)
		}
		page.items, listed = fields[c.field], &schema.Type{}
		if field, there := t.Field(c.field); there {
			listed = field
		} else if answers && t.Kind == schema.Object && !t.Open {
			page.items = nil
		}
	}
	if listed.Kind == schema.List && listed.Elem != nil {
		page.element = listed.Elem
	}
	for range schema.Elements(page.items) {
		page.count++
	}
	if page.count == 0 {
		page.items = nil // null or absent: an empty page
	}
	return page, nil
}

// first is the page with its first n items alone.
func (p pageText) first(n int) pageText {
	size := 1
	buffer := bytes.NewBufferString("[")
	for item := range schema.Elements(p.items) {
		if size > n {
			break
		}
		if size++; buffer.Len() > 1 {
			buffer.WriteByte(',')
		}
		buffer.Write(item)
	}
	buffer.WriteByte(']')
	p.items, p.count = buffer.Bytes(), n
	return p
}

// decode reads a list of items of the page.
func (p pageText) decode(items []byte, answers bool) ([]any, error) {
	t := &schema.Type{Kind: schema.List, Elem: p.element}
	decode := t.Decode
	if answers {
		decode = t.DecodeAnswer
	}
	value, err := decode(items)
	values, _ := value.([]any)
	return values, err
}

// pagesJSON writes the outputs with the items as the plugin wrote them.
func pagesJSON(rest map[string]any, pages []pageText) (json.RawMessage, *runs.Error) {
	tail, failure := encodeResult(rest)
	if failure != nil {
		return nil, failure
	}
	size := len(tail) + 16
	for _, page := range pages {
		size += len(page.items)
	}
	b := bytes.NewBuffer(make([]byte, 0, size))
	b.WriteString(`{"items":[`)
	first := true
	for _, page := range pages {
		if page.count == 0 {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		text := bytes.TrimSpace(page.items)
		b.Write(text[1 : len(text)-1])
	}
	b.WriteString("],")
	b.Write(tail[1:]) // without its opening brace; it is never empty
	return b.Bytes(), nil
}

// decodePages reads what pagesJSON wrote, the items of each run of pages by its type.
func decodePages(raw json.RawMessage, runs []pageText, answers bool) (any, error) {
	members, ok := schema.Members(raw)
	if !ok {
		return nil, fmt.Errorf("read pages: not the outputs of pages")
	}
	object, items := make(map[string]any, len(members)), []any{}
	for name, text := range members {
		if name == "items" {
			continue
		}
		value, err := anyType.Decode(text)
		if err != nil {
			return nil, fmt.Errorf("read pages: %w", err)
		}
		object[name] = value
	}
	for i, list := range listsOf(members["items"], runs) {
		values, err := runs[i].decode(list, answers)
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			items = values
		} else {
			items = append(items, values...)
		}
	}
	object["items"] = items
	return object, nil
}

// listsOf cuts the items of all pages into a list for each run of pages.
func listsOf(items []byte, runs []pageText) [][]byte {
	if len(runs) == 1 {
		return [][]byte{items}
	}
	lists := make([][]byte, len(runs))
	at, left := 0, 0
	for item := range schema.Elements(items) {
		for left == 0 {
			left, lists[at] = runs[at].count, []byte{'['}
			at++
		}
		if list := &lists[at-1]; len(*list) > 1 {
			*list = append(*list, ',')
		}
		lists[at-1] = append(lists[at-1], item...)
		if left--; left == 0 {
			lists[at-1] = append(lists[at-1], ']')
		}
	}
	return lists
}

// alike are the runs of pages whose items have one type, without their texts.
func alike(pages []pageText) (runs []pageText) {
	for _, page := range pages {
		if last := len(runs) - 1; last >= 0 && runs[last].element == page.element {
			runs[last].count += page.count
		} else if page.count > 0 {
			runs = append(runs, pageText{count: page.count, element: page.element})
		}
	}
	return runs
}
