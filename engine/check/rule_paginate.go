package check

import (
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

const (
	defaultMaxPages = 100
	defaultMaxItems = 10_000
)

// paginate checks `paginate` and returns the type of what all pages give.
func (c *checker) paginate(s *step, output *schema.Type) *schema.Type {
	node := s.src.Paginate
	if node == nil {
		return c.pagesAnyway(s, output)
	}
	p := &plan.Paginate{MaxPages: defaultMaxPages, MaxItems: defaultMaxItems}
	c.fields(node, "paginate", map[string]reader{"max_pages": into(&p.MaxPages, c.integer), "max_items": into(&p.MaxItems, c.integer)})
	if s.action == nil {
		return output
	}
	paging := s.action.plan.Paging
	if paging == nil {
		pair, _ := s.src.Node.Pair("paginate")
		c.errorAt(pair.Key.Pos, CodeNotForAction, "`%s` has no pages", s.src.Uses.Text).Hint = diag.Say("leave `paginate` out")
		return output
	}
	item, ok := itemType(output, paging.ItemsField)
	if !ok {
		pair, _ := s.src.Node.Pair("paginate")
		if _, declared := itemType(s.action.output, paging.ItemsField); declared {
			c.errorAt(pair.Key.Pos, CodeNotForAction, "`%s` gives no pages with this input", s.src.Uses.Text).Hint =
				diag.Sayf("an input says what a page is: see %s", diag.Command{"explain", s.src.Uses.Text})
			return output
		}
		c.errorAt(pair.Key.Pos, CodeNotForAction, "which list of `%s` a page consists of is not known", s.src.Uses.Text).Hint =
			diag.Say("the plugin must say which field holds the items")
		return output
	}
	c.literalCursor(s, paging.CursorField)
	s.plan.Paginate = p
	c.longReading(s, item, p.MaxItems)
	return allPages(s, item)
}

// pagesAnyway is the type where `paginate` is written in a shape that was reported: what
// reads the pages is not wrong too.
func (c *checker) pagesAnyway(s *step, output *schema.Type) *schema.Type {
	if !s.src.Written("paginate") || s.action == nil || s.action.plan.Paging == nil {
		return output
	}
	item, ok := itemType(output, s.action.plan.Paging.ItemsField)
	if !ok {
		return output
	}
	return allPages(s, item)
}

// allPages is the type of what all pages give.
func allPages(s *step, item *schema.Type) *schema.Type {
	fields := []schema.Field{
		schema.Required("items", schema.ListOf(item)),
		schema.Required("next_cursor", schema.Nullable(schema.Of(schema.String))),
		schema.Required("pages", schema.Of(schema.Int)),
		schema.Required("truncated", schema.Of(schema.Bool)),
	}
	if s.action.plan.Range != nil {
		fields = append(fields, schema.Optional("windows", schema.Of(schema.Int)))
	}
	return schema.ObjectOf(fields...)
}

// longReading warns of `max_items` that make more than the run's journal holds, however
// short the items are: the reading would fail after all those pages.
func (c *checker) longReading(s *step, item *schema.Type, items int) {
	node := s.src.Paginate.Get("max_items")
	if node == nil || node.Bad {
		return
	}
	most := quota.Named(quota.Journal).Default
	if project, ok := c.catalog.(LimitCatalog); ok {
		most = project.JournalBytes()
	}
	least := schema.Least(item)
	if total := int64(items) * least; total > most {
		c.problems.Warnf(node.Pos, CodeLongReading, "so many items of at least %d bytes are %d MiB: the journal of a run holds %s", least, total>>20, quota.SizeText(most)).Hint =
			diag.Say("write a lower `max_items`; " + quota.Raise(quota.Journal, most))
	}
}

// literalCursor reports a cursor that is written out beside `paginate`: every
// run would begin in the middle, at a place that the service has forgotten.
func (c *checker) literalCursor(s *step, name string) {
	pair, written := s.src.With.Pair(name)
	if !written || pair.Value.Bad || pair.Value.Kind != spec.Scalar || pair.Value.IsNull() || pair.Value.Text == "" || c.text(pair.Value).hasExpr() {
		return
	}
	c.errorAt(pair.Key.Pos, CodeNotForAction, "`%s` can't be written out beside `paginate`", name).Hint =
		diag.Say("`paginate` begins at the first page and sets it for the others")
}

// itemType is the type of what a page lists: the elements of the named field, of
// the only list, or of the output itself. False when there is no such list; an
// output or a field of which nothing is known may be one.
func itemType(output *schema.Type, name string) (*schema.Type, bool) {
	unknown := schema.Of(schema.Any)
	if name != "" {
		t, ok := output.Field(name)
		switch {
		case !output.Known() || ok && !t.Known():
			return unknown, true
		case !ok || t.Kind != schema.List:
			return nil, false
		}
		return t.Element(), true
	}
	if output.Kind == schema.List {
		return output.Element(), true
	}
	var lists []*schema.Type
	for _, f := range output.Fields {
		if f.Type.Kind == schema.List {
			lists = append(lists, f.Type)
		}
	}
	if len(lists) != 1 {
		return nil, false
	}
	return lists[0].Element(), true
}
