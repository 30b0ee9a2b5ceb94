package check

import (
	"regexp"
	"strings"
	"sync"

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
	if other := strings.ReplaceAll(id, "-", "_"); other != id && c.byID[other] == nil {
		c.byID[other] = s
	}
}

var dashedRead = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bsteps\.([A-Za-z_]\w*(?:-\w+)+)`) })

// withIDs returns an expression with the ids in it that have a `-`, which an id has not,
// as they can be read: expressions take the sign for a minus. One that is written so is
// told where it is written, and one that is only read so here.
func (c *checker) withIDs(node *spec.Node, offset int, source string) string {
	if !strings.Contains(source, "-") || !strings.Contains(source, "steps.") {
		return source
	}
	out := source
	for _, at := range dashedRead().FindAllStringSubmatchIndex(source, -1) {
		from, to := at[2], at[3]
		id := source[from:to]
		first, _, _ := strings.Cut(id, "-")
		meant := strings.ReplaceAll(id, "-", "_")
		if c.byID[first] != nil {
			continue
		}
		if c.byID[id] == nil {
			if meant = strings.ToLower(meant); c.byID[meant] == nil {
				continue
			}
			problem := c.errorAt(node.Span(offset+from, offset+to), CodeUnknownStep, "no step has the id `%s`", id)
			problem.Hint = diag.Meant(meant)
			problem.Mend = mendOf(true, node.Change(spec.Change{Start: offset + from, End: offset + to, Text: meant}))
		}
		out = out[:from] + meant + out[to:]
	}
	return out
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
