package check

import (
	"strconv"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// handler says which list of handlers a list is, or that it is none.
type handler string

const (
	handlerNone      handler = ""
	handlerOnSuccess handler = "on_success"
	handlerOnFailure handler = "on_failure"
	handlerFinally   handler = "finally"
)

// list is a list of steps: the workflow's, a handler's or a loop's.
type list struct {
	loop    *step // whose steps these are; nil at the top
	handler handler
	steps   []*step
	ahead   bool    // some step needs itself, or one that stands below it
	order   []*step // by rank
}

// step is a step while it is checked.
type step struct {
	src        *spec.Step
	list       *list
	index      int            // in its list, from 0
	id         string         // "" = can't be read
	needs      []edge         // steps of the same list
	inner      *list          // of a loop
	follows    map[*step]bool // the steps of needs; nil = not asked for yet
	rank       int            // in the list's order
	circle     int            // two steps that share it follow each other
	round      int            // of the walk over edges that was here last
	reads      []read
	readsOnce  map[readKey]bool // what is in reads
	readsAll   bool             // reads `steps` as a whole: was reported
	scope      *eval.Scope      // what it sees, where that is not what a step does; nil = it is
	ownIf      *eval.Expression // parsed `if`, for what it proves
	action     *action
	proof      []*eval.Expression // what was asserted before it, once askedProof
	askedProof bool

	// Known once the step is checked.
	elem    *schema.Type // of a loop: type of one item
	foreach plan.Value   // of a loop
	batch   int          // of a loop
	output  *schema.Type // nil = not checked yet
	plan    *plan.Step   // nil = not begun
}

// edge is a step that must come before another. The place is that of the word
// that says so, or of the step itself when nothing is written.
type edge struct {
	to      *step
	pos     diag.Pos
	written bool // under needs
	read    bool // inferred from a read
}

// read is a step that an expression reads.
type read struct {
	node    *spec.Node
	pos     diag.Pos // of the id
	id      string
	target  *step // nil = unknown: reported
	collect bool  // stands in the loop's own collect
}

// readKey tells the reads of a step apart.
type readKey struct {
	id      string
	collect bool
}

// hasEdge reports whether the step needs another one by an edge of its own.
func (s *step) hasEdge(to *step) bool {
	if s.follows == nil {
		s.follows = make(map[*step]bool, len(s.needs))
		for _, e := range s.needs {
			s.follows[e.to] = true
		}
	}
	return s.follows[to]
}

func (c *checker) newList(from []*spec.Step, loop *step, h handler) *list {
	l := &list{loop: loop, handler: h}
	all := make([]step, len(from)) // of a file: kept and dropped together
	for i, src := range from {
		s := &all[i]
		s.src, s.list, s.index = src, l, i
		if src.Kind == spec.LoopStep {
			s.inner = c.newList(src.Steps, s, h)
		}
		l.steps = append(l.steps, s)
	}
	return l
}

// planID is the id in the plan: that of an unnamed step can't be written.
func (s *step) planID() string {
	if s.id != "" {
		return s.id
	}
	return "_" + strconv.Itoa(s.index+1)
}

// title names the step in messages.
func (s *step) title() string {
	if s.id != "" {
		return "`" + s.id + "`"
	}
	return "step " + strconv.Itoa(s.index+1)
}

// within returns the step of l that is s or contains it, or nil.
func (s *step) within(l *list) *step {
	for s != nil {
		if s.list == l {
			return s
		}
		s = s.list.loop
	}
	return nil
}

// loops returns the loops around s, the outermost first.
func (s *step) loops() []*step {
	var loops []*step
	for loop := s.list.loop; loop != nil; loop = loop.list.loop {
		loops = append([]*step{loop}, loops...)
	}
	return loops
}
