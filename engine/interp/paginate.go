package interp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
)

// The bounds of a `paginate` that names none.
const (
	defaultMaxPages = 100
	defaultMaxItems = 10_000
)

// pageCode says where one page's items are: in a field, or "" = the output is
// the list itself.
type pageCode struct {
	field    string
	identity string // what tells its items apart, as the plugin declared it
}

// compilePage finds the items of a page: the declared field, or the only list.
func compilePage(action *plan.Action, output *schema.Type) (*pageCode, error) {
	code := &pageCode{}
	if action.Paging != nil {
		code.identity = action.Paging.Identity
	}
	if action.Paging != nil && action.Paging.ItemsField != "" {
		code.field = action.Paging.ItemsField
		return code, nil
	}
	if output.Kind == schema.List {
		return code, nil
	}
	var lists []string
	for _, field := range output.Fields {
		if field.Type.Kind == schema.List {
			lists = append(lists, field.Name)
		}
	}
	if len(lists) != 1 {
		return nil, fmt.Errorf("the output of %s has %d lists: which one a page consists of is not known", action.FullName(), len(lists))
	}
	code.field = lists[0]
	return code, nil
}

// items returns the items of a page: as values and as they were written.
func (c *pageCode) items(result any, output json.RawMessage) ([]any, []json.RawMessage, error) {
	values, ok := result.([]any)
	written := output
	if c.field != "" {
		object, _ := result.(map[string]any)
		values, ok = object[c.field].([]any)
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(output, &fields); err != nil {
			return nil, nil, fmt.Errorf("read page: %w", err)
		}
		written = fields[c.field]
	}
	if !ok {
		return nil, nil, nil // null or absent: an empty page
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(written, &raw); err != nil {
		return nil, nil, fmt.Errorf("read the items of a page: %w", err)
	}
	return values, raw, nil
}

// paging is how far the reading of pages is.
type paging struct {
	page      int    // from 1, in the window at hand
	cursor    string // of the page at hand; "" = the first
	seen      map[string]bool
	known     pageItems
	note      []byte // what the page before left for the one at hand
	pages     int    // read, of all windows
	values    []any
	items     []json.RawMessage
	restarted int // the window, from 1, in which a cursor expired; 0 = none

	cut       *ranges // nil = the action has no range limit
	window    int     // from 0
	kept      int     // items of the windows before
	keptPages int
}

// suffix is what stands behind the step in the operation path of a page.
func (p *paging) suffix() string {
	path := ""
	if p.window > 0 {
		path += "#window" + strconv.Itoa(p.window+1)
	}
	if p.restarted == p.window+1 {
		path += "#restart"
	}
	if p.page > 1 {
		path += "#page" + strconv.Itoa(p.page)
	}
	return path
}

// fresh is the same reading from its beginning, for the next round.
func (p *paging) fresh() paging { return paging{page: 1, cut: p.cut} }

// restartPaging drops the pages of the window at hand, after their cursor
// expired; false when that happened before, or there is nothing to drop.
func (s *step) restartPaging() bool {
	p := &s.action.paging
	if s.code.page == nil || p.restarted > 0 || p.cursor == "" {
		return false
	}
	p.restarted = p.window + 1
	if s.list.m.since(2) {
		s.action.checkpoint, s.action.polls = nil, 0
	}
	p.known.drop(p.window+1, 0)
	p.page, p.cursor, p.seen, p.note = 1, "", nil, nil
	p.pages = p.keptPages
	p.values, p.items = p.values[:p.kept:p.kept], p.items[:p.kept:p.kept]
	return true
}

// pageDone adds a page and decides what follows it.
func (s *step) pageDone(answer *plan.Completed, result any) {
	p := &s.action.paging
	before := *p
	values, raw, err := s.code.page.items(result, answer.Output)
	if err != nil {
		s.attemptFailed(unreadable(err))
		return
	}
	if failure := s.repeated(values); failure != nil {
		s.fail(failure)
		return
	}
	defer func() {
		if s.status == plan.StepFailed && s.list.m.since(2) { // a resume reads the page again
			p.pages, p.values, p.items = before.pages, before.values, before.items
			p.known.drop(before.window+1, before.page)
		}
	}()
	p.values, p.items = append(p.values, values...), append(p.items, raw...)
	p.pages++
	bounds := s.pageBounds()
	if len(p.items) > bounds.MaxItems {
		next := p.cursor // reading on there gives items twice rather than losing some
		p.values, p.items = p.values[:bounds.MaxItems], p.items[:bounds.MaxItems]
		s.pagesDone(next, true)
		return
	}
	more := answer.NextCursor != "" || p.window+1 < p.cut.count()
	if more && (p.pages >= bounds.MaxPages || len(p.items) == bounds.MaxItems) {
		s.pagesDone(answer.NextCursor, true)
		return
	}
	switch {
	case answer.NextCursor != "":
		s.nextPage(answer)
	case more:
		s.nextWindow()
	default:
		s.pagesDone("", false)
	}
}

// repeated notes the items of the page at hand; its error names one that an
// earlier page of the reading gave.
func (s *step) repeated(values []any) *plan.Error {
	if !s.list.m.since(3) {
		return nil
	}
	p := &s.action.paging
	if p.known == nil {
		p.known = pageItems{}
	}
	return p.known.add(values, s.code.page.identity, p.window+1, p.page)
}

func (s *step) pageBounds() plan.Paginate {
	bounds := *s.code.step.Paginate
	if bounds.MaxPages <= 0 {
		bounds.MaxPages = defaultMaxPages
	}
	if bounds.MaxItems <= 0 {
		bounds.MaxItems = defaultMaxItems
	}
	return bounds
}

func (s *step) nextPage(answer *plan.Completed) {
	p, cursor := &s.action.paging, answer.NextCursor
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	if p.seen[cursor] || cursor == p.cursor {
		s.fail(&plan.Error{
			Kind:    plan.KindUnexpectedResponse,
			Reason:  "repeated_cursor",
			Message: fmt.Sprintf("page %d gave a cursor that an earlier page gave: the pages would never end", p.page),
		})
		return
	}
	p.seen[cursor] = true
	p.page++
	p.cursor, p.note = cursor, answer.PageNote
	s.nextCall()
}

func (s *step) nextWindow() {
	p := &s.action.paging
	p.window++
	p.page, p.cursor, p.seen = 1, "", nil
	p.kept, p.keptPages = len(p.items), p.pages
	s.nextCall()
}

// nextCall goes on with the next page, or leaves it to a resume.
func (s *step) nextCall() {
	s.action.attempt = 1
	if !s.list.live() {
		s.interrupt()
		return
	}
	s.send()
}

// pagesDone ends the reading.
func (s *step) pagesDone(next string, truncated bool) {
	p := &s.action.paging
	if truncated && s.code.step.Incremental != "" {
		s.fail(&plan.Error{
			Kind:    plan.KindInvalid,
			Reason:  reasonLimit,
			Message: fmt.Sprintf("`paginate` cut the reading off after %d pages, so the cursor would pass over the rest", p.pages),
			Hint:    "raise max_pages or max_items",
		})
		return
	}
	result := map[string]any{
		"items": p.values, "next_cursor": nil, "pages": p.pages, "truncated": truncated,
	}
	if p.values == nil {
		result["items"] = []any{}
	}
	if next != "" {
		result["next_cursor"] = next
	}
	if p.cut != nil {
		result["windows"] = p.cut.count()
	}
	raw, failure := pagesJSON(result, p.items)
	if failure != nil {
		s.fail(failure)
		return
	}
	s.roundDone(result, raw)
}

// pagesJSON writes the outputs with the items as the plugin wrote them.
func pagesJSON(result map[string]any, items []json.RawMessage) (json.RawMessage, *plan.Error) {
	rest := make(map[string]any, len(result))
	for name, value := range result {
		if name != "items" {
			rest[name] = value
		}
	}
	tail, failure := encodeResult(rest)
	if failure != nil {
		return nil, failure
	}
	var b bytes.Buffer
	b.WriteString(`{"items":[`)
	for i, item := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(item)
	}
	b.WriteString("],")
	b.Write(tail[1:]) // without its opening brace; it is never empty
	return b.Bytes(), nil
}
