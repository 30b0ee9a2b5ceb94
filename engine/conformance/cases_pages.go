package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/flowrun/flowrun/engine/schema"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// pagesRead is how many pages of one reading are looked at.
const pagesRead = 25

// page is one page of a reading, with what its call was given.
type page struct {
	cursor string
	note   []byte
	answer *pluginv1.Completed
}

func pageCases() []testCase {
	return []testCase{
		pagedCase("pages.ends", "comes to the end of its pages",
			"`next_cursor` names the next page; empty = this one is the last.",
			"give an empty next_cursor with the last page, and never the one that the call came with", func(_ context.Context, _ *kit, c *call, pages []page) error {
				for i, p := range pages {
					next := p.answer.GetNextCursor()
					if next != "" && slices.ContainsFunc(pages[:i+1], func(before page) bool { return before.cursor == next }) {
						return fault(c.String()+", page by page", "page %d has the next_cursor %q, which is one of before", i+1, next)
					}
				}
				return nil
			}),
		pagedCase("pages.resume", "gives the same page for the same cursor in a new process",
			"`next_cursor` and `page_note` of one page go with the call of the next, with all its attempts, after a crash too.",
			"put into next_cursor, or into page_note, all that the next page needs; keep nothing of a reading in memory", resumesPages),
		pagedCase("pages.identity", "gives no item on two pages",
			"`paging.identity` says what tells items apart: the host fails a reading in which a later page gives an item again.",
			"begin the next page behind the last item of this one; where items may repeat, say identity \"-\"", distinctItems),
		pagedCase("pages.shown", "shows the cursor that it gives",
			"`paging.next_field` names the output field that shows next_cursor.",
			"write the same text into the field and into next_cursor", func(_ context.Context, _ *kit, c *call, pages []page) error {
				field := c.action.GetPaging().GetNextField()
				if field == "" {
					return skip("its paging names no next_field")
				}
				for i, p := range pages {
					if shown, ok := textAt(p.answer.GetOutput().GetJson(), "/"+field); ok && shown != p.answer.GetNextCursor() {
						return fault(c.String()+", page by page", "page %d shows %q in %s, and its next_cursor is %q", i+1, shown, field, p.answer.GetNextCursor())
					}
				}
				return nil
			}),
		pagedCase("pages.begin", "begins at the cursor that its input names",
			"`paging.cursor_field` is the input that names the first page; page_cursor is empty then.",
			"read the input's cursor where page_cursor is empty", beginsAtCursor),
		pagedCase("pages.note", "keeps its page notes small",
			"`page_note` is the plugin's own and has at most 4 KiB.",
			"keep a key into the service's own state, not the items", func(_ context.Context, _ *kit, c *call, pages []page) error {
				for i, p := range pages {
					if size := len(p.answer.GetPageNote()); size > 4<<10 {
						return fault(c.String()+", page by page", "page %d has a page_note of %d bytes", i+1, size)
					}
				}
				return nil
			}),
	}
}

func isPaged(c *call) bool { return c.action.GetPaging() != nil }

// pagedCase is a case of the readings that the plugin can do.
func pagedCase(id, title, contract, change string, judge func(context.Context, *kit, *call, []page) error) testCase {
	return testCase{
		id: id, title: title, needs: needsConnection, section: "pages", contract: contract, change: change,
		run: func(ctx context.Context, k *kit) error {
			if !slices.ContainsFunc(k.actions, func(a *action) bool { return a.GetPaging() != nil }) {
				return skip("no action of it has pages")
			}
			calls := k.working(isPaged)
			if len(calls) == 0 {
				return k.noCall("an action with pages", isPaged)
			}
			for _, c := range calls[:min(len(calls), 4)] {
				pages, err := k.readPages(ctx, c)
				if err != nil {
					return err
				}
				if err := judge(ctx, k, c, pages); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// readPages reads a call's pages, up to a bound.
func (k *kit) readPages(ctx context.Context, c *call) ([]page, error) {
	if pages, ok := k.readings[c]; ok {
		return pages, nil
	}
	var pages []page
	p, err := k.connected(ctx)
	if err != nil {
		return nil, err
	}
	for next := (page{}); len(pages) < pagesRead; {
		ended := k.executePage(ctx, p, c, next)
		if !ended.ok() {
			return nil, fault(fmt.Sprintf("%s, page_cursor %q", c, next.cursor), "%s", ended)
		}
		next.answer = ended.completed
		pages = append(pages, next)
		again := func(before page) bool { return before.cursor == ended.completed.GetNextCursor() }
		if ended.completed.GetNextCursor() == "" || slices.ContainsFunc(pages, again) {
			break // pages.ends tells of a cursor that comes back
		}
		next = page{cursor: ended.completed.GetNextCursor(), note: ended.completed.GetPageNote()}
	}
	k.readings[c] = pages
	return pages, nil
}

func (k *kit) executePage(ctx context.Context, p *process, c *call, at page) *answer {
	r := k.request(c, k.key())
	r.PageCursor, r.PageNote = at.cursor, at.note
	return k.execute(ctx, p, r)
}

func resumesPages(ctx context.Context, k *kit, c *call, pages []page) error {
	if len(pages) < 2 {
		return skip("the reading has one page: there is no cursor to go on from")
	}
	p, err := k.fresh(ctx)
	if err != nil {
		return err
	}
	// From the last to the first: what a process keeps of a reading is of no use.
	for i := len(pages) - 1; i > 0; i-- {
		ended := k.executePage(ctx, p, c, pages[i])
		sent := fmt.Sprintf("%s, page_cursor %q, in a process after kill -9", c, pages[i].cursor)
		if !ended.ok() {
			return fault(sent, "%s", ended)
		}
		was, is := pages[i].answer, ended.completed
		if !bytes.Equal(was.GetOutput().GetJson(), is.GetOutput().GetJson()) || was.GetNextCursor() != is.GetNextCursor() {
			return fault(sent, "%s; in one reading that page was %s", ended, brief(was.GetOutput().GetJson()))
		}
	}
	return nil
}

func distinctItems(_ context.Context, _ *kit, c *call, pages []page) error {
	identity := c.action.GetPaging().GetIdentity()
	if identity == "-" {
		return skip("its items may repeat (identity \"-\")")
	}
	seen := map[string]int{}
	for i, p := range pages {
		for _, item := range itemsOf(c.action, p.answer.GetOutput().GetJson()) {
			object, isObject := item.(map[string]any)
			if identity != "*" && !isObject {
				continue
			}
			what := item
			if name, ok := object[identity]; ok && identity != "" {
				what = name
			}
			text, _ := json.Marshal(what) // of JSON values
			if before, ok := seen[string(text)]; ok && before != i {
				return fault(c.String()+", page by page", "page %d gives %s again, which page %d had", i+1, brief(text), before+1)
			}
			seen[string(text)] = i
		}
	}
	return nil
}

// itemsOf is the list of a page.
func itemsOf(a *action, output []byte) []any {
	var v map[string]any
	if json.Unmarshal(output, &v) != nil {
		return nil
	}
	name := a.GetPaging().GetItemsField()
	if name == "" && a.output != nil {
		for _, f := range a.output.Fields {
			if f.Type.Kind == schema.List {
				name = f.Name
			}
		}
	}
	items, _ := v[name].([]any)
	return items
}

func beginsAtCursor(ctx context.Context, k *kit, c *call, pages []page) error {
	field := c.action.GetPaging().GetCursorField()
	var input map[string]any
	if field == "" || c.action.input == nil || len(pages) < 2 || json.Unmarshal(c.input, &input) != nil {
		return skip("its paging names no cursor_field, or the reading has one page")
	}
	if len(pages[1].note) > 0 {
		return skip("its cursors need the note of the page before")
	}
	p, err := k.connected(ctx)
	if err != nil {
		return err
	}
	input[field] = pages[1].cursor
	if t, ok := c.action.input.Field(field); ok && (t.Kind == schema.Int || t.Kind == schema.Number) {
		input[field] = json.Number(pages[1].cursor)
	}
	doc, err := json.Marshal(input)
	if err != nil {
		return fault(c.String()+", page by page", "the next_cursor %q, which the input %s can't take", pages[1].cursor, field)
	}
	from := &call{action: c.action, input: doc}
	ended := k.executePage(ctx, p, from, page{})
	if !ended.ok() || !bytes.Equal(ended.completed.GetOutput().GetJson(), pages[1].answer.GetOutput().GetJson()) {
		return fault(from.String(), "%s; the page of that cursor was %s", ended, brief(pages[1].answer.GetOutput().GetJson()))
	}
	return nil
}

// textAt is the text at a pointer of a document.
func textAt(doc []byte, pointer string) (string, bool) {
	var v any
	if json.Unmarshal(doc, &v) != nil {
		return "", false
	}
	part, _ := at(v, pointer)
	text, ok := part.(string)
	return text, ok
}
