package check

import (
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/spec"
)

// writtenIDs takes the ids that authors wrote. They are unique in the file.
func (c *checker) writtenIDs(l *list) {
	for _, s := range l.steps {
		if node := s.src.ID; node != nil {
			c.writtenID(s, node)
		}
		if s.inner != nil {
			c.writtenIDs(s.inner)
		}
	}
}

func (c *checker) writtenID(s *step, node *spec.Node) {
	id := node.Text
	if !isID(id) {
		problem := c.errorAt(node.Pos, CodeID, "`%s` is not an id", id)
		problem.Hint = diag.Say("an id starts with a small letter and has small letters, digits and `_`")
		if fixed := strings.ReplaceAll(strings.ToLower(id), "-", "_"); isID(fixed) {
			problem.Hint = diag.Say("write `" + fixed + "`: small letters, digits and `_`")
		}
	}
	if earlier, taken := c.byID[id]; taken {
		problem := c.errorAt(node.Pos, CodeDuplicateID, "the id `%s` is taken", id)
		problem.Hint = diag.Say("ids are unique in the file, inside loops and handlers too")
		problem.Related = []diag.Related{{Pos: earlier.src.ID.Pos, Message: "first used here"}}
		return
	}
	// A malformed id counts all the same: what reads it is not wrong too.
	s.id = id
	c.byID[id] = s
}

// defaultIDs names actions without an id by their last part, unless that is
// taken. Other steps without an id can't be read.
func (c *checker) defaultIDs(l *list) {
	for _, s := range l.steps {
		if s.id == "" && !s.src.Written("id") && s.src.Uses != nil {
			name := s.src.Uses.Text
			name = strings.ReplaceAll(name[strings.LastIndex(name, ".")+1:], "-", "_")
			if _, taken := c.byID[name]; !taken && isID(name) {
				s.id = name
				c.byID[name] = s
			}
		}
		if s.inner != nil {
			c.defaultIDs(s.inner)
		}
	}
}
