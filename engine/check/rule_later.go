package check

import (
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/spec"
)

// laterActions are the built-in actions of the language that this version does
// not run. Those that the catalog has are not asked here.
func laterActions() []string { return []string{"core.approve", "core.wait", "core.notify"} }

// later reports a part of the language that this version does not run.
func (c *checker) later(pos diag.Pos, what string) {
	c.errorAt(pos, CodeLater, "%s comes with a later version of flowrun", what)
}

// laterTop reports the workflow's keys of later versions. `triggers` is kept
// unread: a run by hand always works.
func (c *checker) laterTop() {
	for _, key := range []string{"state", "concurrency"} {
		if pair, ok := c.tree.Root.Pair(key); ok {
			c.later(pair.Key.Pos, "`"+key+"`")
		}
	}
}

// laterKeys reports an action's keys of later versions.
func (c *checker) laterKeys(s *step) {
	for _, key := range []string{"cache", "incremental"} {
		if pair, ok := s.src.Node.Pair(key); ok {
			c.later(pair.Key.Pos, "`"+key+"`")
		}
	}
}

// laterStep reports a `set_state` step, and the mistakes in its expressions.
func (c *checker) laterStep(s *step) {
	pair, _ := s.src.Node.Pair("set_state")
	c.later(pair.Key.Pos, "`set_state`")
	v := &valuer{c: c, scope: c.scopeOf(s, true)}
	if node := s.src.SetState; node != nil && node.Kind == spec.Mapping {
		v.value(node, anyType(), "")
	}
}
