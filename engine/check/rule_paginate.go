package check

import (
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

const (
	defaultMaxPages = 100
	defaultMaxItems = 10_000
	maxPages        = 1_000_000
	maxItems        = 100_000_000
)

// paginate checks `paginate` and returns the type of what all pages give.
func (c *checker) paginate(s *step, output *schema.Type) *schema.Type {
	node := s.src.Paginate
	if node == nil {
		return output
	}
	p := &plan.Paginate{MaxPages: defaultMaxPages, MaxItems: defaultMaxItems}
	c.fields(node, "`paginate`",
		field{"max_pages", func(n *spec.Node) {
			if v, ok := c.integer(n, 1, maxPages); ok {
				p.MaxPages = v
			}
		}},
		field{"max_items", func(n *spec.Node) {
			if v, ok := c.integer(n, 1, maxItems); ok {
				p.MaxItems = v
			}
		}},
	)
	if s.action == nil {
		return output
	}
	paging := s.action.plan.Paging
	if paging == nil {
		pair, _ := s.src.Node.Pair("paginate")
		c.errorAt(pair.Key.Pos, CodeNotForAction, "`%s` has no pages", s.src.Uses.Text).Hint = "leave `paginate` out"
		return output
	}
	s.plan.Paginate = p
	fields := []schema.Field{
		schema.Required("items", schema.ListOf(itemType(output, paging.ItemsField))),
		schema.Required("next_cursor", schema.Nullable(schema.Of(schema.String))),
		schema.Required("pages", schema.Of(schema.Int)),
		schema.Required("truncated", schema.Of(schema.Bool)),
	}
	if s.action.plan.Range != nil {
		fields = append(fields, schema.Optional("windows", schema.Of(schema.Int)))
	}
	return schema.ObjectOf(fields...)
}

// itemType is the type of what a page lists: the named field's elements, or the
// only list's.
func itemType(output *schema.Type, name string) *schema.Type {
	var lists []*schema.Type
	for _, f := range output.Fields {
		if f.Type.Kind == schema.List && (name == "" || f.Name == name) {
			lists = append(lists, f.Type)
		}
	}
	if len(lists) != 1 {
		return schema.Of(schema.Any)
	}
	return lists[0].Element()
}
