package interp

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
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

// items are those of a page's value.
func (c *pageCode) items(value any) []any {
	if object, ok := value.(map[string]any); ok && c.field != "" {
		value = object[c.field]
	}
	items, _ := value.([]any)
	return items
}

// paging is how far the reading of pages is.
type paging struct {
	page      int    // from 1, in the window at hand
	cursor    string // of the page at hand; "" = the first
	seen      map[string]bool
	known     pageItems
	note      []byte // what the page before left for the one at hand
	pages     int    // read, of all windows
	texts     []pageText
	items     int // in texts
	restarted int // the window, from 1, in which a cursor expired; 0 = none

	cut       *ranges // nil = the action has no range limit
	window    int     // from 0
	kept      int     // items of the windows before
	keptTexts int
	keptPages int
}

// suffix is what stands behind the step in the operation path of a page.
func (p *paging) suffix() string {
	path := ""
	if p.window > 0 {
		path = runs.PartPath(path, runs.PartWindow, p.window+1)
	}
	if p.restarted == p.window+1 {
		path = runs.PartPath(path, runs.PartRestart, 0)
	}
	if p.page > 1 {
		path = runs.PartPath(path, runs.PartPage, p.page)
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
	p.texts, p.items = p.texts[:p.keptTexts:p.keptTexts], p.kept
	return true
}

// pageDone adds a page of a type and decides what follows it. Its value is nil where
// it was not made.
func (s *step) pageDone(answer *runs.Completed, t *schema.Type, value any) {
	p := &s.action.paging
	before := *p
	page, err := s.code.page.text(answer.Output, t, s.list.m.since(3))
	if err != nil {
		s.attemptFailed(unreadable(err))
		return
	}
	if failure := s.repeated(page, value); failure != nil {
		s.fail(failure)
		return
	}
	defer func() {
		if s.status == runs.StepFailed && s.list.m.since(2) { // a resume reads the page again
			p.pages, p.texts, p.items = before.pages, before.texts, before.items
			p.known.drop(before.window+1, before.page)
		}
	}()
	p.pages++
	bounds := s.pageBounds()
	over := p.items + page.count - bounds.MaxItems
	if over > 0 {
		page = page.first(page.count - over)
	}
	p.texts, p.items = append(p.texts, page), p.items+page.count
	if over > 0 {
		next := p.cursor // reading on there gives items twice rather than losing some
		s.pagesDone(next, true)
		return
	}
	more := answer.NextCursor != "" || p.window+1 < p.cut.count()
	if more && (p.pages >= bounds.MaxPages || p.items == bounds.MaxItems) {
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

// chunkSize is how much of a page's text is decoded at a time.
const chunkSize = 64 << 10

// repeated notes the items of the page at hand; its error names one that an
// earlier page of the reading gave.
func (s *step) repeated(page pageText, value any) *runs.Error {
	by := s.code.page.identity
	if !s.list.m.since(3) || by == plan.IdentityNone {
		return nil
	}
	p := &s.action.paging
	if p.known == nil {
		p.known = pageItems{}
	}
	fresh, behind := make(pageItems, page.count), pagePlace{window: int32(p.window + 1), page: int32(p.page)}
	if value != nil {
		return p.known.add(s.code.page.items(value), by, p.window+1, p.page)
	}
	for chunk := range schema.Chunks(page.items, chunkSize) {
		values, err := page.decode(chunk, true)
		if err != nil {
			return unreadable(err)
		}
		if failure := p.known.look(fresh, values, by, behind); failure != nil {
			return failure
		}
		behind.item += int32(len(values))
	}
	p.known.take(fresh)
	return nil
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

func (s *step) nextPage(answer *runs.Completed) {
	p, cursor := &s.action.paging, answer.NextCursor
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	if p.seen[cursor] || cursor == p.cursor {
		s.fail(&runs.Error{
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
	p.kept, p.keptTexts, p.keptPages = p.items, len(p.texts), p.pages
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
		s.fail(&runs.Error{
			Kind:    plan.KindInvalid,
			Reason:  reasonLimit,
			Message: fmt.Sprintf("`paginate` cut the reading off after %d pages, so the cursor would pass over the rest", p.pages),
			Hint:    diag.Say("raise max_pages or max_items"),
		})
		return
	}
	result := map[string]any{"next_cursor": nil, "pages": p.pages, "truncated": truncated}
	if next != "" {
		result["next_cursor"] = next
	}
	if p.cut != nil {
		result["windows"] = p.cut.count()
	}
	if s.list.m.since(7) {
		long, err := newLongOutputs(result, p.texts, cmp.Or(s.list.m.longFrom, wholeAnswer))
		if err != nil {
			s.fail(unreadable(err))
			return
		}
		if long != nil {
			s.roundDone(long, nil)
			return
		}
	}
	raw, failure := pagesJSON(result, p.texts)
	if failure != nil {
		s.fail(failure)
		return
	}
	m, runs := s.list.m, alike(p.texts)
	s.roundDone(m.newOutput(raw, nil, func(raw json.RawMessage) (any, error) { return decodePages(raw, runs, m.since(3)) }), raw)
}
