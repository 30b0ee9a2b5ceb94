package runs

import "time"

// ParentStep names the step that a sub-workflow's run belongs to.
type ParentStep struct {
	Run  string `json:"run"`
	Step string `json:"step"` // Step.Path
	Path string `json:"path"` // the operation path, which names the start of the run
}

// Decision is what a person, or whoever sent a signal, did to a waiting step.
// At is UTC.
type Decision struct {
	By       string    `json:"by,omitempty"`
	At       time.Time `json:"at"`
	Comment  string    `json:"comment,omitempty"`
	Rejected bool      `json:"rejected,omitempty"`
	// Held says that no process drove the run when it was recorded: the run goes
	// by it as soon as one does.
	Held bool `json:"held,omitempty"`
}
