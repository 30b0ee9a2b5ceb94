package check

// rank gives the steps of a list places in an order that all their edges keep: what a
// step follows has a lower rank. No edges may make a circle.
func (c *checker) rank(l *list) {
	l.order = make([]*step, 0, len(l.steps))
	c.round++
	var place func(s *step)
	place = func(s *step) {
		if s.round == c.round {
			return
		}
		s.round = c.round
		for _, e := range s.needs {
			c.walked++
			place(e.to)
		}
		s.rank = len(l.order)
		l.order = append(l.order, s)
	}
	for _, s := range l.steps {
		place(s)
		if s.inner != nil {
			c.rank(s.inner)
		}
	}
}

// letFollow makes room in the order for an edge from s to a target of the same list;
// false when the target follows s. An edge that keeps the order, as those do that lead
// up in the file, costs nothing; else what is looked at is what the target follows and
// the order has behind s.
func (c *checker) letFollow(s, target *step) bool {
	if target.rank < s.rank {
		return true
	}
	c.round++
	if c.reaches(target, s) {
		return false
	}
	var before, after []*step
	for _, between := range s.list.order[s.rank : target.rank+1] {
		if c.walked++; between.round == c.round {
			before = append(before, between)
		} else {
			after = append(after, between)
		}
	}
	for i, moved := range append(before, after...) {
		at := target.rank - len(before) - len(after) + 1 + i
		s.list.order[at] = moved
	}
	first := s.rank
	for i, moved := range s.list.order[first : first+len(before)+len(after)] {
		moved.rank = first + i
	}
	return true
}

// reaches reports whether a step follows another one, along steps that the order has
// behind that one. It marks what it finds with the round.
func (c *checker) reaches(from, to *step) bool {
	if from == to {
		return true
	}
	if from.round == c.round || from.rank < to.rank {
		return false
	}
	from.round = c.round
	for _, e := range from.needs {
		if c.walked++; c.reaches(e.to, to) {
			return true
		}
	}
	return false
}

// circles numbers the steps of a list so that two share a number when each follows the
// other: by Tarjan's algorithm, in one walk over the edges. A step by itself has one of
// its own.
func (c *checker) circles(l *list) {
	t := tarjan{c: c, found: make(map[*step]int, len(l.steps))}
	for _, s := range l.steps {
		if t.found[s] == 0 {
			t.visit(s)
		}
	}
}

type tarjan struct {
	c     *checker
	found map[*step]int // when, from 1
	stack []*step       // whose circle is not complete
	count int           // of circles
}

// visit returns the earliest of the steps that are still open which s leads to.
func (t *tarjan) visit(s *step) int {
	t.found[s] = len(t.found) + 1
	own, lowest, at := t.found[s], t.found[s], len(t.stack)
	t.stack = append(t.stack, s)
	s.circle = 0
	for _, e := range s.needs {
		t.c.walked++
		switch when := t.found[e.to]; {
		case when == 0:
			lowest = min(lowest, t.visit(e.to))
		case e.to.circle == 0: // still open
			lowest = min(lowest, when)
		}
	}
	if lowest == own {
		t.count++
		for _, member := range t.stack[at:] {
			member.circle = t.count
		}
		t.stack = t.stack[:at]
	}
	return lowest
}
