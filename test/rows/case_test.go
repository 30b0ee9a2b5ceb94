package rows

import (
	"encoding/json"
	"fmt"
	"time"
)

// example is one case of the table: what an action is given, what the service
// answers byte by byte, and what must have been sent and must come out.
type example struct {
	file string
	line int

	ids    []string // rows that it shows: T-36
	title  string
	name   string // by which others take it over with `like`
	broken string // class of a broken answer, "" = a good one
	today  string // why it fails today; the case must then fail
	noGap  string // only: why the other way in does not apply
	only   way    // "" = both ways in
	alone  bool   // in a workflow of its own: the workflow or the connection is refused
	runs   bool   // each call is a run of one workflow, with what the run before left
	base   bool   // only taken over, no case of its own

	config map[string]json.RawMessage // over the service's own settings
	login  string                     // the token response that was stored before; "" = nobody has logged in
	step   map[string]json.RawMessage // more keys of the workflow's step
	calls  []call

	command []string // arguments of flowrun, where a row is about what people can read
	absent  []string // what its output must not have
	texts   []string // what its output must have
}

// way is how a case goes through the binary.
type way string

const (
	byCall way = "call"
	byStep way = "step"
)

// call is one call of an action in a case.
type call struct {
	action   string
	with     map[string]json.RawMessage
	wait     time.Duration // before it
	file     bool          // the input comes from a file, since part of it is secret
	sends    []request
	quiet    bool // `> none`: nothing may be sent
	answers  []answer
	want     want
	declared bool // the case itself says what comes out
}

// request is what the service must have got.
type request struct {
	line    string // method and target
	headers [][2]string
	absent  []string
	exactly []string // names of all headers, when said
	body    *string
	secure  bool // by TLS
}

// want is what must come of a call.
type want struct {
	outputs  json.RawMessage // whole; nil = it fails
	bytes    bool            // the very bytes, apart from the space around them
	meta     map[string]json.RawMessage
	kind     string
	status   *int
	applied  string // not_applied, applied, unknown; "" = not looked at
	pointer  *string
	reason   *string
	retry    string // least and most seconds, such as 7 or 1..60
	message  []string
	not      []string // what the message must not have
	hint     []string
	logs     []string
	hasError bool
}

func (e *example) String() string {
	return fmt.Sprintf("%s:%d %v: %s", e.file, e.line, e.ids, e.title)
}

// goes reports whether a case takes a way.
func (e *example) goes(w way) bool {
	return len(e.calls) > 0 && (e.only == "" || e.only == w)
}

// refusedBefore reports a case in which nothing may be sent at all.
func (e *example) refusedBefore() bool {
	for _, c := range e.calls {
		if !c.quiet || !c.want.hasError {
			return false
		}
	}
	return true
}

// copied is a case that shares nothing with its base.
func (e *example) copied() *example {
	c := *e
	c.base, c.name = false, ""
	c.calls = append([]call(nil), e.calls...)
	for i := range c.calls {
		c.calls[i].sends = append([]request(nil), c.calls[i].sends...)
	}
	c.config = map[string]json.RawMessage{}
	for k, v := range e.config {
		c.config[k] = v
	}
	c.step = map[string]json.RawMessage{}
	for k, v := range e.step {
		c.step[k] = v
	}
	return &c
}
