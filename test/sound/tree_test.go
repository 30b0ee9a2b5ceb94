// Package sound holds the proof by trial that what the strict check accepts does
// not fail by a type, by null or by a missing field: random schemas, random
// programs and workflows over them, random values that conform.
package sound

import (
	"strings"
)

// part is a part of a generated program: source text with parts in it. Its tag is
// the operator or function that it is there for.
type part struct {
	tag   string
	items []any // string or *part
}

func node(tag string, items ...any) *part { return &part{tag: tag, items: items} }

// String is the source.
func (p *part) String() string {
	var b strings.Builder
	p.write(&b)
	return b.String()
}

func (p *part) write(b *strings.Builder) {
	for _, item := range p.items {
		switch item := item.(type) {
		case string:
			b.WriteString(item)
		case *part:
			item.write(b)
		}
	}
}

func (p *part) walk(visit func(*part)) {
	visit(p)
	for _, item := range p.items {
		if child, ok := item.(*part); ok {
			child.walk(visit)
		}
	}
}

// replaced returns a copy in which one part stands for another.
func (p *part) replaced(old, with *part) *part {
	if p == old {
		return with
	}
	out := &part{tag: p.tag, items: make([]any, len(p.items))}
	for i, item := range p.items {
		if child, ok := item.(*part); ok {
			item = child.replaced(old, with)
		}
		out.items[i] = item
	}
	return out
}

// shrink makes a program smaller as long as it goes on failing: each part is
// replaced by one inside it or by a literal.
func shrink(p *part, fails func(*part) bool) *part {
	for {
		smaller := smallerOne(p, fails)
		if smaller == nil {
			return p
		}
		p = smaller
	}
}

func smallerOne(p *part, fails func(*part) bool) *part {
	var all []*part
	p.walk(func(one *part) { all = append(all, one) })
	for _, old := range all {
		var candidates []*part
		old.walk(func(inner *part) {
			if inner != old {
				candidates = append(candidates, inner)
			}
		})
		if len(old.String()) > 3 {
			for _, literal := range []string{"nil", "0", `""`, "true", "[]"} {
				candidates = append(candidates, node("", literal))
			}
		}
		for _, candidate := range candidates {
			if try := p.replaced(old, candidate); len(try.String()) < len(p.String()) && fails(try) {
				return try
			}
		}
	}
	return nil
}
