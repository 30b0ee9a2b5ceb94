package check

import (
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
)

// maxCycles bounds how many circles of a list are told one by one.
const maxCycles = 100

// maxRelated bounds how many edges of a circle are shown with it.
const maxRelated = 50

// cycles reports steps that wait for each other by what is written, each circle
// once: at the first word under `needs` that belongs to it. The edge is then
// taken out, so that what comes later sees an order.
func (c *checker) cycles(l *list) {
	if l.ahead {
		c.circles(l)
	}
	told := 0
	for _, s := range l.steps {
		for i := 0; l.ahead && i < len(s.needs); i++ {
			e := s.needs[i]
			c.walked++
			if !e.written || e.to.circle != s.circle || told == maxCycles && e.to.index < s.index {
				continue // each circle has an edge that leads ahead
			}
			tell := told < maxCycles
			if tell {
				c.cycle(s, e)
				told++
			}
			s.needs = slices.Delete(s.needs, i, i+1)
			i--
			if tell {
				c.circles(l)
			}
		}
		if s.inner != nil {
			c.cycles(s.inner)
		}
	}
}

func (c *checker) cycle(s *step, e edge) {
	if e.to == s {
		c.errorAt(e.pos, CodeCycle, "step %s waits for itself", s.title())
		return
	}
	circle := c.pathTo(e.to, s)
	names := []string{s.title()}
	for _, step := range circle {
		names = append(names, step.title())
	}
	problem := c.errorAt(e.pos, CodeCycle, "the steps wait for each other: %s", strings.Join(names, " needs "))
	problem.Hint = diag.Say("take one of them out of `needs`")
	c.round++
	for _, at := range circle {
		at.round = c.round
	}
	for _, at := range circle {
		for _, next := range at.needs {
			if c.walked++; next.to.round != c.round || len(problem.Related) == maxRelated {
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
func (c *checker) pathTo(from, to *step) []*step {
	c.round++
	var visit func(*step) []*step
	visit = func(at *step) []*step {
		if at == to {
			return []*step{at}
		}
		if at.round == c.round {
			return nil
		}
		at.round = c.round
		for _, e := range at.needs {
			c.walked++
			if rest := visit(e.to); rest != nil {
				return append(rest, at)
			}
		}
		return nil
	}
	path := visit(from)
	slices.Reverse(path)
	return path
}
