package check

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// AheadCatalog is a Catalog that can be told which questions are coming, so that it asks
// many of them at a time: what a plugin is asked about an input depends on what is written
// there alone, and on no answer before.
type AheadCatalog interface {
	// Asks reports whether a plugin is asked about inputs of an action. What its schemas
	// decide is not.
	Asks(ctx context.Context, action string) bool
	// AskAhead asks what ValidateOn will ask. Failures are told by ValidateOn.
	AskAhead(ctx context.Context, questions []Question)
}

// Question is what ConnectionCatalog.ValidateOn is asked.
type Question struct {
	Action, Connection string // "" = the connection is not known
	Input              json.RawMessage
	Unknown            []string // JSON Pointers of what is known only when the step runs
}

// key tells questions apart.
func (q Question) key() string {
	return q.Action + "\x00" + q.Connection + "\x00" + string(q.Input) + "\x00" + strings.Join(q.Unknown, "\x00")
}

// askAhead tells the catalog what its plugins will be asked about the steps of lists.
func (c *checker) askAhead(lists []*list) {
	ahead, ok := c.catalog.(AheadCatalog)
	if !ok {
		return
	}
	asks, known := map[string]bool{}, map[string]bool{}
	var questions []Question
	each(lists, func(s *step) {
		name := s.src.Uses
		if s.src.Kind != spec.ActionStep || name == nil || name.Kind != spec.Scalar || strings.Contains(name.Text, "${{") || isWorkflowPath(name) {
			return
		}
		if _, asked := asks[name.Text]; !asked {
			asks[name.Text] = !strings.HasPrefix(name.Text, corePlugin+".") && ahead.Asks(c.ctx, name.Text)
		}
		if !asks[name.Text] {
			return
		}
		if q, ok := c.question(s); ok && !known[q.key()] {
			known[q.key()] = true
			questions = append(questions, q)
		}
	})
	if len(questions) > 1 {
		ahead.AskAhead(c.ctx, questions)
	}
}

// each visits the steps of lists and of the loops in them.
func each(lists []*list, visit func(*step)) {
	for _, l := range lists {
		for _, s := range l.steps {
			visit(s)
			if s.inner != nil {
				each([]*list{s.inner}, visit)
			}
		}
	}
}

// question is what the plugin of a step will be asked, by what is written; false where it
// won't be asked. Nothing is reported: that is done when the step is checked.
func (c *checker) question(s *step) (Question, bool) {
	a := c.quietAction(s.src.Uses.Text)
	if a == nil {
		return Question{}, false
	}
	before := s.action
	s.action = a
	defer func() { s.action = before }()
	q := Question{Action: s.src.Uses.Text, Connection: c.connectionKnown(s), Input: json.RawMessage("{}")}
	if node := s.src.With; node != nil {
		v := &valuer{c: c, field: true, quiet: true}
		q.Input = v.value(node, a.input, "", false).json
		q.Unknown = v.unknown
		if v.bad || q.Input == nil {
			return Question{}, false
		}
	} else if s.src.Written("with") || requiresSome(a.input) {
		return Question{}, false
	}
	q.Input, q.Unknown = c.cutRange(s, q.Input, q.Unknown)
	return q, true
}

// quietAction is an action without a word about it; nil where there is none.
func (c *checker) quietAction(name string) *action {
	if known := c.actions[name]; known != nil {
		return known
	}
	found, ok := c.catalog.Action(name)
	if !ok {
		return nil
	}
	a, err := actionTypes(found)
	if err != nil {
		return nil
	}
	c.actions[name] = a
	return a
}

// requiresSome reports whether an input has fields that must be written.
func requiresSome(t *schema.Type) bool {
	for _, f := range t.Fields {
		if f.Required {
			return true
		}
	}
	return false
}
