package spec

import "sync"

// Workflow is a workflow as its author wrote it. A field is nil when the key is
// not there or its value has the wrong shape, which was reported.
type Workflow struct {
	File     string
	Source   []byte
	Root     *Node
	Language *Language // the table by which it was read
	Others   []Other   // keys of the table without a field of their own

	Version     *Node
	Name        *Node
	Description *Node
	Labels      *Node
	Inputs      *Node
	Triggers    *Node
	Concurrency *Node
	Timeout     *Node
	Defaults    *Node
	State       *Node
	Outputs     *Node

	Steps     []*Step
	OnSuccess []*Step
	OnFailure []*Step
	Finally   []*Step
}

// Step is a step as its author wrote it. A field is nil when the key is not
// there, is not allowed for this kind of step or has the wrong shape; the
// latter two were reported.
type Step struct {
	Node *Node // the step's map
	Kind StepKind

	ID          *Node
	Name        *Node
	Uses        *Node
	With        *Node
	Connection  *Node
	Let         *Node
	SetState    *Node
	Foreach     *Node
	Batch       *Node
	As          *Node
	Key         *Node
	MaxParallel *Node
	Collect     *Node
	Needs       *Node
	If          *Node
	RunIf       *Node
	Repeat      *Node
	Retry       *Node
	Timeout     *Node
	Within      *Node
	Cache       *Node
	Paginate    *Node
	Incremental *Node
	OnError     *Node
	OnUnknown   *Node

	Steps  []*Step // of a loop
	Others []Other // keys of the table without a field of their own
}

// Other is a key of the table that no field is made for, with what was written.
type Other struct {
	Key  *Key
	Pair Pair
}

// Written reports whether the author wrote the key, right or wrong.
func (s *Step) Written(key string) bool {
	_, ok := s.Node.Pair(key)
	return ok
}

func (w *Workflow) slots() map[string]**Node {
	return map[string]**Node{
		"flowrun": &w.Version, "name": &w.Name, "description": &w.Description, "labels": &w.Labels, "inputs": &w.Inputs, "triggers": &w.Triggers,
		"concurrency": &w.Concurrency, "timeout": &w.Timeout, "defaults": &w.Defaults, "state": &w.State, "outputs": &w.Outputs,
	}
}

func (w *Workflow) lists() map[string]*[]*Step {
	return map[string]*[]*Step{"steps": &w.Steps, "on_success": &w.OnSuccess, "on_failure": &w.OnFailure, "finally": &w.Finally}
}

// stepSlots are the fields of a step by the keys that they are made for.
var stepSlots = sync.OnceValue(func() map[string]func(*Step) **Node {
	return map[string]func(*Step) **Node{
		"id":           func(s *Step) **Node { return &s.ID },
		"name":         func(s *Step) **Node { return &s.Name },
		"uses":         func(s *Step) **Node { return &s.Uses },
		"with":         func(s *Step) **Node { return &s.With },
		"connection":   func(s *Step) **Node { return &s.Connection },
		"let":          func(s *Step) **Node { return &s.Let },
		"set_state":    func(s *Step) **Node { return &s.SetState },
		"foreach":      func(s *Step) **Node { return &s.Foreach },
		"batch":        func(s *Step) **Node { return &s.Batch },
		"as":           func(s *Step) **Node { return &s.As },
		"key":          func(s *Step) **Node { return &s.Key },
		"max_parallel": func(s *Step) **Node { return &s.MaxParallel },
		"collect":      func(s *Step) **Node { return &s.Collect },
		"needs":        func(s *Step) **Node { return &s.Needs },
		"if":           func(s *Step) **Node { return &s.If },
		"run_if":       func(s *Step) **Node { return &s.RunIf },
		"repeat":       func(s *Step) **Node { return &s.Repeat },
		"retry":        func(s *Step) **Node { return &s.Retry },
		"timeout":      func(s *Step) **Node { return &s.Timeout },
		"within":       func(s *Step) **Node { return &s.Within },
		"cache":        func(s *Step) **Node { return &s.Cache },
		"paginate":     func(s *Step) **Node { return &s.Paginate },
		"incremental":  func(s *Step) **Node { return &s.Incremental },
		"on_error":     func(s *Step) **Node { return &s.OnError },
		"on_unknown":   func(s *Step) **Node { return &s.OnUnknown },
	}
})

// slot is the field of a key, nil where none is made for it.
func (s *Step) slot(key string) **Node {
	field := stepSlots()[key]
	if field == nil {
		return nil
	}
	return field(s)
}
