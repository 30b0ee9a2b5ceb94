package spec

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

func (s *Step) slots() map[string]**Node {
	return map[string]**Node{
		"id": &s.ID, "name": &s.Name, "uses": &s.Uses, "with": &s.With, "connection": &s.Connection,
		"let": &s.Let, "set_state": &s.SetState, "foreach": &s.Foreach, "batch": &s.Batch, "as": &s.As, "key": &s.Key,
		"max_parallel": &s.MaxParallel, "collect": &s.Collect, "needs": &s.Needs, "if": &s.If,
		"run_if": &s.RunIf, "repeat": &s.Repeat, "retry": &s.Retry, "timeout": &s.Timeout,
		"within": &s.Within, "cache": &s.Cache, "paginate": &s.Paginate, "incremental": &s.Incremental,
		"on_error": &s.OnError, "on_unknown": &s.OnUnknown,
	}
}
