package overlay

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/plugins/openapi/tree"
)

// step is one segment of a path.
type step struct {
	names  []string    // members to take; none with the others below
	places []int       // elements to take
	all    bool        // all of them
	filter []condition // those that all conditions take
	deep   bool        // in what lies below too
}

// condition is a comparison of a filter.
type condition struct {
	path []string // members below the value that is looked at
	op   string   // "", "==" or "!="; "" = it is there
	want []byte   // JSON
}

// from takes a step from what was selected.
func (s step) from(found []selected) []selected {
	var next []selected
	for _, one := range found {
		next = s.inside(next, one)
	}
	return next
}

func (s step) inside(next []selected, one selected) []selected {
	in := append(append([]*tree.Node{}, one.in...), one.node)
	for i, item := range one.node.Items() {
		if s.takesPlace(i, len(one.node.Items()), item) {
			next = append(next, selected{item, in})
		}
	}
	for _, member := range one.node.Members() {
		if s.takesName(member.Name, member.Value) {
			next = append(next, selected{member.Value, in})
		}
	}
	if !s.deep {
		return next
	}
	for _, item := range one.node.Items() {
		next = s.inside(next, selected{item, in})
	}
	for _, member := range one.node.Members() {
		next = s.inside(next, selected{member.Value, in})
	}
	return next
}

func (s step) takesPlace(place, length int, value *tree.Node) bool {
	for _, wanted := range s.places {
		if wanted == place || wanted < 0 && wanted+length == place {
			return true
		}
	}
	return s.all || len(s.filter) > 0 && s.passes(value)
}

func (s step) takesName(name string, value *tree.Node) bool {
	for _, wanted := range s.names {
		if wanted == name {
			return true
		}
	}
	return s.all || len(s.filter) > 0 && s.passes(value)
}

func (s step) passes(value *tree.Node) bool {
	for _, c := range s.filter {
		at := value
		for _, name := range c.path {
			at = at.Get(name)
		}
		switch same := at != nil && string(at.JSON()) == string(c.want); {
		case c.op == "" && at == nil, c.op == "==" && !same, c.op == "!=" && same:
			return false
		}
	}
	return true
}

// reader reads a path.
type reader struct {
	text string
	at   int
}

// parse reads a target: $ and then .name, ['name'], [0], .*, [*], ..name, [?...].
func parse(text string) ([]step, error) {
	r := &reader{text: strings.TrimSpace(text)}
	if !r.take("$") {
		return nil, fmt.Errorf("a target begins with $")
	}
	var steps []step
	for r.at < len(r.text) {
		s, err := r.step()
		if err != nil {
			return nil, fmt.Errorf("the target can't be read at %q: %w", r.text[min(r.at, len(r.text)):], err)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func (r *reader) take(sign string) bool {
	if !strings.HasPrefix(r.text[r.at:], sign) {
		return false
	}
	r.at += len(sign)
	return true
}

func (r *reader) blanks() {
	for r.take(" ") || r.take("\t") || r.take("\n") {
	}
}

func (r *reader) step() (step, error) {
	s := step{deep: r.take("..")}
	switch {
	case r.take("["):
		return r.bracket(s)
	case !s.deep && !r.take("."):
		return s, fmt.Errorf("a dot or a bracket is due")
	case r.take("*"):
		s.all = true
		return s, nil
	}
	name := r.name()
	if name == "" {
		return s, fmt.Errorf("a name is due; write one with other signs as ['name']")
	}
	s.names = []string{name}
	return s, nil
}

// name reads a name without quotes.
func (r *reader) name() string {
	end := r.at
	for end < len(r.text) {
		c := r.text[end]
		if c != '_' && c != '-' && c != '$' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c < 128 {
			break
		}
		end++
	}
	name := r.text[r.at:end]
	r.at = end
	return name
}

// bracket reads what stands in brackets.
func (r *reader) bracket(s step) (step, error) {
	r.blanks()
	if r.take("?") {
		return r.filters(s)
	}
	for {
		r.blanks()
		switch quoted, isText, err := r.quoted(); {
		case err != nil:
			return s, err
		case isText:
			s.names = append(s.names, quoted)
		case r.take("*"):
			s.all = true
		default:
			number := r.name()
			place, err := strconv.Atoi(number)
			if err != nil {
				return s, fmt.Errorf("a name in quotes, a place or * is due")
			}
			s.places = append(s.places, place)
		}
		r.blanks()
		if r.take("]") {
			return s, nil
		}
		if !r.take(",") {
			return s, fmt.Errorf("] is due")
		}
	}
}

// quoted reads a text in quotes.
func (r *reader) quoted() (string, bool, error) {
	var quote string
	for _, sign := range []string{"'", `"`} {
		if r.take(sign) {
			quote = sign
		}
	}
	if quote == "" {
		return "", false, nil
	}
	var out strings.Builder
	for r.at < len(r.text) {
		if r.take(`\`) && r.at < len(r.text) {
			out.WriteByte(r.text[r.at])
			r.at++
			continue
		}
		if r.take(quote) {
			return out.String(), true, nil
		}
		out.WriteByte(r.text[r.at])
		r.at++
	}
	return "", true, fmt.Errorf("the quote is not closed")
}

// filters reads ?@.name == 'value' && ..., with or without parentheses around it.
func (r *reader) filters(s step) (step, error) {
	r.blanks()
	inner := r.take("(")
	for {
		c, err := r.condition()
		if err != nil {
			return s, err
		}
		s.filter = append(s.filter, c)
		r.blanks()
		if !r.take("&&") {
			break
		}
	}
	if inner && !r.take(")") {
		return s, fmt.Errorf(") is due")
	}
	r.blanks()
	if !r.take("]") {
		return s, fmt.Errorf("] is due; filters compare with == and !=, joined by &&")
	}
	return s, nil
}

func (r *reader) condition() (condition, error) {
	var c condition
	r.blanks()
	if !r.take("@") {
		return c, fmt.Errorf("@ is due")
	}
	for {
		if r.take("['") || r.take(`["`) {
			r.at--
			name, _, err := r.quoted()
			if err != nil || !r.take("]") {
				return c, fmt.Errorf("a name in quotes and ] are due")
			}
			c.path = append(c.path, name)
			continue
		}
		if !r.take(".") {
			break
		}
		c.path = append(c.path, r.name())
	}
	r.blanks()
	for _, op := range []string{"==", "!="} {
		if r.take(op) {
			c.op = op
		}
	}
	if c.op == "" {
		return c, nil
	}
	r.blanks()
	text, isText, err := r.quoted()
	switch {
	case err != nil:
		return c, err
	case isText:
		c.want = tree.NewText(text).JSON()
	default:
		c.want = []byte(r.name())
	}
	return c, nil
}
