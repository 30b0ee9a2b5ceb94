package check

import (
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
)

// cycles reports steps that wait for each other by what is written, each circle
// once: at the first word under `needs` that belongs to it. The edge is then
// taken out, so that what comes later sees an order.
func (c *checker) cycles(l *list) {
	for _, s := range l.steps {
		for i := 0; i < len(s.needs); i++ {
			if !s.needs[i].written {
				continue
			}
			circle := pathTo(s.needs[i].to, s)
			if circle == nil {
				continue
			}
			c.cycle(s, s.needs[i], circle)
			s.needs = slices.Delete(s.needs, i, i+1)
			i--
		}
		if s.inner != nil {
			c.cycles(s.inner)
		}
	}
}

func (c *checker) cycle(s *step, e edge, circle []*step) {
	if e.to == s {
		c.errorAt(e.pos, CodeCycle, "step %s waits for itself", s.title())
		return
	}
	names := []string{s.title()}
	for _, step := range circle {
		names = append(names, step.title())
	}
	problem := c.errorAt(e.pos, CodeCycle, "the steps wait for each other: %s", strings.Join(names, " needs "))
	problem.Hint = diag.Say("take one of them out of `needs`")
	for _, at := range circle {
		for _, next := range at.needs {
			if !slices.Contains(circle, next.to) && next.to != s {
				continue
			}
			if !next.written {
				problem.Hint = diag.Say("step " + at.title() + " follows the step above it, since it has no `needs`: write what it needs, or `needs: []`")
			}
			problem.Related = append(problem.Related, diag.Related{Pos: next.pos, Message: at.title() + " follows " + next.to.title()})
		}
	}
}

// pathTo returns the steps from `from` to `to` along what they need, both
// included, or nil.
func pathTo(from, to *step) []*step {
	seen := map[*step]bool{}
	var visit func(*step) []*step
	visit = func(at *step) []*step {
		if at == to {
			return []*step{at}
		}
		if seen[at] {
			return nil
		}
		seen[at] = true
		for _, e := range at.needs {
			if rest := visit(e.to); rest != nil {
				return append([]*step{at}, rest...)
			}
		}
		return nil
	}
	return visit(from)
}
