package workspace

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/spec"
)

// prestarted is how many plugins of a workflow are started before they are called.
const prestarted = 4

// Prestart reads a workflow that a run is about to be asked of, and begins to start the
// plugins that it is sure to call soon: they get ready while it is checked and its run is
// stored. One that is refused by what stands in it besides has started them in vain: they
// end with the project. In a sandbox, where each call is decided upon, none is started
// before its call. What was read is kept for the check.
func (p *Workspace) Prestart(file string, src []byte) {
	tree, problems := p.parse(file, src)
	if tree == nil {
		return
	}
	p.ahead.keep(file, src, tree, problems)
	if problems.HasErrors() || p.sandbox != nil {
		return
	}
	for _, plugin := range calledFirst(tree) {
		p.host.Prestart(plugin)
	}
}

// calledFirst are the plugins that a run of the workflow calls whatever its inputs are, and
// before it may wait for long, in the order of the file.
func calledFirst(tree *spec.Workflow) []string {
	var plugins []string
	for _, step := range tree.Steps {
		if step.Uses == nil || step.If != nil || step.RunIf != nil || step.Cache != nil {
			continue
		}
		plugin, action, _ := strings.Cut(step.Uses.Text, ".")
		switch {
		case plugin == "" || slices.Contains(plugins, plugin): // "./other.yaml": another workflow
		case plugin != "core":
			plugins = append(plugins, plugin)
		case action == "approve" || action == "wait" || action == "sleep":
			return plugins
		}
		if len(plugins) == prestarted {
			break
		}
	}
	return plugins
}

// readAhead is a workflow that was read before it is checked. Safe for concurrent use.
type readAhead struct {
	mu       sync.Mutex
	file     string
	src      []byte
	tree     *spec.Workflow // nil = there is none
	problems diag.List
}

func (r *readAhead) keep(file string, src []byte, tree *spec.Workflow, problems diag.List) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file, r.src, r.tree, r.problems = file, src, tree, problems
}

// parse reads a workflow, or takes what was read ahead of the same bytes.
func (r *readAhead) parse(file string, src []byte, read func(file string, src []byte) (*spec.Workflow, diag.List)) (*spec.Workflow, diag.List) {
	r.mu.Lock()
	tree, problems := r.tree, r.problems
	if tree == nil || r.file != file || !bytes.Equal(r.src, src) {
		r.mu.Unlock()
		return read(file, src)
	}
	r.tree, r.src, r.problems = nil, nil, nil // the check may write to it
	r.mu.Unlock()
	return tree, problems
}
