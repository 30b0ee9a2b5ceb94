// Package upgrade says what another revision of a plugin would change, and whom of a
// project that would hit: workflows, tests, connections and open runs (ADR 55).
package upgrade

import (
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/pluginhost"
)

// Change is one difference between what two revisions of a plugin say of themselves.
type Change struct {
	// Rule is the stable name of the kind of change: part and what, such as input-enum.
	Rule    string `json:"rule"`
	Action  string `json:"action,omitempty"`  // with the plugin's name; "" = the plugin as a whole
	Pointer string `json:"pointer,omitempty"` // of the part of input, output or config
	Message string `json:"message"`
	Breaks  bool   `json:"breaks"` // one of the hits does not work any more
	Hits    []Hit  `json:"hits"`

	may  bool                          // somebody's work may not fit any more
	uses func(with stepInput) bool     // whose steps act otherwise; nil = nobody's
	hard bool                          // acting otherwise is a break
	make func(*pluginhost.Description) // makes this change alone; nil = no check sees it
}

// The kinds of hits.
const (
	HitWorkflow   = "workflow"
	HitTest       = "test"
	HitConnection = "connection" // of flowrun.yaml
	HitProject    = "project"    // flowrun.yaml
	HitRun        = "run"
)

// Hit is one place of a project that a change hits.
type Hit struct {
	Kind string `json:"kind"`
	diag.Pos
	Code    string `json:"code,omitempty"` // of the problem there
	Message string `json:"message"`
	diag.Hint
	Run      string `json:"run,omitempty"`
	Workflow string `json:"workflow,omitempty"`
	Step     string `json:"step,omitempty"`
	// Keeps is the version of the plugin that an open run goes on with, whatever is in
	// force: the change does not break it.
	Keeps  string `json:"keeps,omitempty"`
	Breaks bool   `json:"breaks"`
}

// Revision is one of the two that are compared.
type Revision struct {
	Version string `json:"version"`
	Digest  string `json:"digest"`
}

// Report is what a revision of a plugin would change in a project.
type Report struct {
	Plugin  string   `json:"plugin"`
	From    Revision `json:"from"`
	To      Revision `json:"to"`
	Breaks  bool     `json:"breaks"`
	Changes []Change `json:"changes"`  // that hit somebody
	Others  []Change `json:"harmless"` // that hit nobody here
	Looked  Looked   `json:"looked"`
}

// Looked is what was looked at.
type Looked struct {
	Workflows int `json:"workflows"`
	Tests     int `json:"tests"`
	Runs      int `json:"runs"`
}
