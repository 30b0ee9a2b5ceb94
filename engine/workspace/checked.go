package workspace

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/mend"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// maxCheckedPlans bounds the checked workflows that a project keeps.
const maxCheckedPlans = 16

// Checked is a workflow without errors, and the form in which a run of it is
// stored. It is only read, so that all runs of it share it.
type Checked struct {
	Workflow *plan.Workflow
	Stored   func() (storedPlan, error)
	Pins     func() []plan.PluginPin // of the plugins that the workflow and its sub-workflows use
}

// storedPlan is an encoded plan and its hash.
type storedPlan struct {
	Encoded []byte
	Hash    string
}

// NewChecked returns a checked workflow that is encoded once, at its first run.
func NewChecked(workflow *plan.Workflow) *Checked {
	return &Checked{
		Workflow: workflow,
		Stored:   sync.OnceValues(func() (storedPlan, error) { return encodePlan(workflow) }),
		Pins:     sync.OnceValue(func() []plan.PluginPin { return PinsOf(workflow) }),
	}
}

// ActionsOf collects the actions of a workflow and of those that it calls.
func ActionsOf(workflow *plan.Workflow) map[string]*plan.Action {
	actions := map[string]*plan.Action{}
	EachWorkflow(workflow, func(w *plan.Workflow) { maps.Copy(actions, w.Actions) })
	return actions
}

// PinsOf returns the plugins that a workflow and its sub-workflows use.
func PinsOf(workflow *plan.Workflow) []plan.PluginPin {
	return plan.PinsOf(ActionsOf(workflow), runs.CorePlugin)
}

func encodePlan(workflow *plan.Workflow) (storedPlan, error) {
	encoded, err := workflow.Encode()
	if err != nil {
		return storedPlan{}, fmt.Errorf("encode plan of %s: %w", workflow.Name, err)
	}
	return storedPlan{Encoded: encoded, Hash: plan.HashOf(encoded)}, nil
}

// Check parses and checks a workflow. The plan is nil when there are errors; it
// is shared: do not change it.
func (p *Workspace) Check(ctx context.Context, file string, src []byte) (*plan.Workflow, diag.List) {
	workflow, problems := p.CheckedIn(ctx, file, "", src)
	if workflow == nil {
		return nil, problems
	}
	return workflow.Workflow, problems
}

// CheckedIn is Check with what a run stores, for a file whose name starts from the
// folder dir, which matters to the workflows that it calls; "" = the configuration's.
// A workflow without any problem is kept until another plugin comes into force: the project
// file stays the same as long as the project does, so that the same bytes give the same plan. One that depends on other files is not: they may change.
func (p *Workspace) CheckedIn(ctx context.Context, file, dir string, src []byte) (*Checked, diag.List) {
	key := p.plans.keyOf(file, src)
	hit, checked := p.plans.begin(ctx, key)
	if hit != nil {
		return hit, nil
	}
	defer checked()
	at := p.locate(file, dir)
	workflow, problems := p.checkAt(ctx, at, src)
	if workflow == nil {
		return nil, problems
	}
	fresh := NewChecked(workflow)
	if len(problems) == 0 && len(workflow.Workflows) == 0 && len(at.files) == 0 && !followsAnother(workflow) {
		p.plans.keep(key, fresh)
	}
	return fresh, problems
}

// CheckText is Check for the text of a workflow that lies nowhere: name is for
// messages, and no file is read. A step that calls another workflow is a problem.
func (p *Workspace) CheckText(ctx context.Context, name string, src []byte) (*plan.Workflow, diag.List) {
	return p.checkAt(ctx, location{shown: name, subflows: map[string]subflow{}, files: map[string]bool{}}, src)
}

// Advise tells what is probably not meant in the text of a workflow without errors:
// warnings that only who asks for them gets (check.Advise).
func (p *Workspace) Advise(file string, src []byte) diag.List {
	tree, problems := p.parse(file, src)
	if problems.HasErrors() {
		return nil
	}
	return mend.Of(src, tree, check.Advise(tree), nil)
}

// Fix makes the certain mends of a workflow's file (ADR 89).
func (p *Workspace) Fix(ctx context.Context, file string, src []byte) mend.Fixed {
	return mend.Fix(src, func(text []byte) diag.List {
		_, problems := p.Check(ctx, file, text)
		return problems
	})
}

// checkAt checks the workflow at a place.
func (p *Workspace) checkAt(ctx context.Context, at location, src []byte) (*plan.Workflow, diag.List) {
	tree, problems := p.ahead.parse(at.shown, src, p.parse)
	if tree == nil {
		return nil, mend.Of(src, nil, problems, nil)
	}
	p.demandUsed(tree)
	known := &catalog{project: p, location: at}
	workflow, more := check.Check(ctx, tree, known)
	problems = p.withTold(append(problems, more...), tree)
	if workflow != nil {
		problems = append(problems, p.checkSettings(workflow)...)
	}
	problems.Sort()
	problems = mend.Of(src, tree, problems, known)
	if problems.HasErrors() {
		return nil, problems
	}
	p.giveTime(workflow)
	workflow.File, workflow.Source = at.shown, string(src)
	return workflow, problems
}

// followsAnother reports whether a trigger follows another workflow, whose file may
// change.
func followsAnother(workflow *plan.Workflow) bool {
	return slices.ContainsFunc(workflow.Triggers, func(t plan.Trigger) bool { return t.Kind == plan.TriggerAfter })
}

type planKey [sha256.Size]byte

// keyOf names what is checked: other plugins make other plans of the same bytes.
func (c *checkedPlans) keyOf(file string, src []byte) planKey {
	c.mu.Lock()
	round := c.round
	c.mu.Unlock()
	sum := sha256.New()
	fmt.Fprintf(sum, "%d ", round)
	sum.Write([]byte(file))
	sum.Write([]byte{0}) // no file name holds it
	sum.Write(src)
	return planKey(sum.Sum(nil))
}

// checkedPlans keeps the workflows that were checked last. Safe for concurrent
// use.
type checkedPlans struct {
	mu    sync.Mutex
	plans map[planKey]*Checked
	order []planKey // the one kept first at the front
	round int       // rises with each change of a plugin

	checking map[planKey]chan struct{} // what somebody checks at this moment; closed when it is
}

// forget drops what was checked, also what is being checked at this moment.
func (c *checkedPlans) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.round++
	c.plans, c.order = nil, nil
}

// begin returns a plan that is kept. Where it is not, the caller checks and calls checked
// when it has. Who asks for what somebody checks already waits for that, so that many runs
// of a file which is new check it once; what is not kept, each checks for itself.
func (c *checkedPlans) begin(ctx context.Context, key planKey) (hit *Checked, checked func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if hit = c.plans[key]; hit != nil {
		return hit, nil
	}
	if other := c.checking[key]; other != nil {
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done(): // the check will say so
		}
		c.mu.Lock()
		return c.plans[key], func() {}
	}
	if c.checking == nil {
		c.checking = map[planKey]chan struct{}{}
	}
	done := make(chan struct{})
	c.checking[key] = done
	return nil, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.checking, key)
		close(done)
	}
}

func (c *checkedPlans) keep(key planKey, p *Checked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plans == nil {
		c.plans = map[planKey]*Checked{}
	}
	if !slices.Contains(c.order, key) {
		c.order = append(c.order, key)
	}
	c.plans[key] = p
	if len(c.order) > maxCheckedPlans {
		delete(c.plans, c.order[0])
		c.order = c.order[1:]
	}
}

// NewTransient is a checked plan that is encoded anew for each run: those of all
// files together would fill the memory.
func NewTransient(workflow *plan.Workflow) *Checked {
	return &Checked{
		Workflow: workflow,
		Stored:   func() (storedPlan, error) { return encodePlan(workflow) },
		Pins:     func() []plan.PluginPin { return PinsOf(workflow) },
	}
}
