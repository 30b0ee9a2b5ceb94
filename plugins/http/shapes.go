package http

import (
	"sync"

	"github.com/flowrun/flowrun/sdk"
)

// mostShapes is how many schemas of answers a process remembers as read: those of the
// steps that it serves again and again.
const mostShapes = 256

// shape is a schema that a step gives, read; or what is wrong with it, and where.
type shape struct {
	*sdk.Schema
	pointer, problem string
}

// shapes are the schemas that were read. Safe for concurrent use; the zero value is empty.
type shapes struct {
	mu    sync.Mutex
	known map[string]shape
}

// of reads a schema, once; nothing is a shape without a schema.
func (s *shapes) of(answer sdk.Value) shape {
	if answer == nil {
		return shape{}
	}
	s.mu.Lock()
	read, known := s.known[string(answer)]
	s.mu.Unlock()
	if known {
		return read
	}
	read = readShape(answer)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= mostShapes {
		s.known = map[string]shape{}
	}
	s.known[string(answer)] = read
	return read
}

func readShape(answer sdk.Value) shape {
	if len(answer) > 0 && answer[0] == '"' { // in a workflow the host puts in its place what the file holds
		return shape{problem: "is a schema here; a file with one can be named in a workflow alone"}
	}
	if pointer, problem := wordProblem(answer); problem != "" {
		return shape{pointer: pointer, problem: problem}
	}
	schema, err := sdk.ParseSchema(answer)
	if err != nil {
		return shape{problem: err.Error()}
	}
	return shape{Schema: schema}
}

// isList reports whether the schema is that of a list.
func (s shape) isList() bool {
	return s.Schema != nil && s.Says() && s.Takes("array")
}
