package upgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/workspace"
)

// File is a file of the project as it is now.
type File struct {
	Name   string
	Source []byte
}

// Run is a run that is open, by the plan that it was accepted with.
type Run struct {
	ID            string
	Plan          *plan.Workflow
	Version, Held string // of the plugin; Held says why its revision is gone, "" = it is there
	// Done reports whether a step of the plan has ended.
	Done func(step string) bool
}

// Material is what a project has.
type Material struct {
	Workflows, Tests []File
	Runs             []Run
	Read             func(name string) ([]byte, error) // a workflow's file, for tests
}

// stepInput is what a step gives to its action.
type stepInput struct {
	with    plan.Value
	timeout time.Duration
}

// has reports whether the step writes the field out that a pointer leads to, or may give it
// by an expression.
func (s stepInput) has(pointer string) bool {
	value := s.with
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if value.Kind == plan.ValueLiteral {
			members, _ := schema.Members(value.Literal)
			literal, there := members[name]
			if !there {
				return false
			}
			value = plan.Value{Kind: plan.ValueLiteral, Literal: literal}
			continue
		}
		if value.Kind != plan.ValueObject {
			return !value.IsZero()
		}
		i := slices.IndexFunc(value.Object, func(b plan.Binding) bool { return b.Name == name })
		if i < 0 {
			return false
		}
		value = value.Object[i].Value
	}
	return true
}

// unit is one thing of the project that is checked by itself.
type unit struct {
	kind string
	file File
	run  *Run
}

// look is what a unit looks like with one revision of the plugin.
type look struct {
	hits []Hit
	plan *plan.Workflow // nil = it has errors, or is no workflow
}

// keys tell hits apart.
func (h Hit) key() string {
	return fmt.Sprintf("%s %s %s %s %s %s", h.Kind, h.Pos, h.Code, h.Message, h.Run, h.Step)
}

type checker struct {
	plugin   string
	material Material
}

func (c *checker) units() []unit {
	units := []unit{{kind: HitConnection}}
	for _, file := range c.material.Workflows {
		units = append(units, unit{kind: HitWorkflow, file: file})
	}
	for _, file := range c.material.Tests {
		units = append(units, unit{kind: HitTest, file: file})
	}
	for i := range c.material.Runs {
		units = append(units, unit{kind: HitRun, run: &c.material.Runs[i]})
	}
	return units
}

// look checks a unit in a project.
func (c *checker) look(ctx context.Context, w *workspace.Workspace, u unit) look {
	switch u.kind {
	case HitConnection:
		return look{hits: hitsOf(HitConnection, w.CheckConnections())}
	case HitWorkflow:
		workflow, problems := w.Check(ctx, u.file.Name, u.file.Source)
		l := look{hits: hitsOf(HitWorkflow, problems), plan: workflow}
		if workflow != nil { // what its connections lack keeps its runs from beginning
			l.hits = append(l.hits, hitsOf(HitConnection, w.Lacking(ctx, workflow, nil))...)
		}
		return l
	case HitTest:
		return c.test(ctx, w, u.file)
	}
	return c.run(ctx, w, u.run)
}

func hitsOf(kind string, problems diag.List) []Hit {
	var hits []Hit
	for _, p := range problems {
		hits = append(hits, Hit{Kind: kind, Pos: p.Pos, Code: p.Code, Message: p.Message, Hint: p.Hint, Breaks: p.Severity == diag.Error})
	}
	return hits
}

// test runs the cases of a file of tests: what their workflow says is told with it.
func (c *checker) test(ctx context.Context, w *workspace.Workspace, file File) look {
	result := w.Test(ctx, []workspace.TestFile{{Name: file.Name, Source: file.Source}}, workspace.TestOptions{Read: c.material.Read})[0]
	var l look
	for _, hit := range hitsOf(HitTest, result.Problems) {
		if hit.File == file.Name {
			l.hits = append(l.hits, hit)
		}
	}
	if len(l.hits) == 0 && result.Problems.HasErrors() {
		l.hits = append(l.hits, Hit{Kind: HitTest, Pos: diag.Pos{File: file.Name, Line: 1, Column: 1}, Message: "its workflow does not pass, so that no case of it runs", Breaks: true})
	}
	for _, one := range result.Cases {
		if one.Status == workspace.TestPassed {
			continue
		}
		hit := Hit{Kind: HitTest, Pos: diag.Pos{File: file.Name, Line: one.Line, Column: 1}, Message: fmt.Sprintf("the case %q does not pass any more", one.Name), Breaks: true}
		if len(one.Failures) > 0 {
			first := one.Failures[0]
			if first.File == file.Name && first.Line > 0 {
				hit.Pos = first.Pos
			}
			hit.Message += ": " + first.Message
		}
		l.hits = append(l.hits, hit)
	}
	return l
}

// run checks the file that a run was accepted with: its steps that have not ended.
func (c *checker) run(ctx context.Context, w *workspace.Workspace, run *Run) look {
	checked, problems := w.CheckedIn(ctx, run.Plan.File, w.Root(), []byte(run.Plan.Source))
	l := look{plan: run.Plan}
	if checked == nil {
		l.plan = nil
	}
	for _, hit := range hitsOf(HitRun, problems) {
		step := stepAt(run.Plan, hit.Line, hit.Column)
		if hit.File != run.Plan.File || step == "" || run.Done(step) || !hit.Breaks {
			continue
		}
		l.hits = append(l.hits, ofRun(hit, run, step))
	}
	return l
}

// ofRun is a hit of an open run, which goes on with its own revision.
func ofRun(hit Hit, run *Run, step string) Hit {
	hit.Kind, hit.Run, hit.Workflow, hit.Step = HitRun, run.ID, run.Plan.Name, step
	hit.Breaks = run.Held != ""
	if run.Held == "" {
		hit.Keeps = run.Version
	} else {
		hit.Message = run.Held
	}
	return hit
}

// stepList is a list of steps of a workflow; prefix stands before their paths.
type stepList struct {
	prefix string
	steps  []plan.Step
}

func lists(w *plan.Workflow) []stepList {
	return []stepList{{"", w.Steps}, {"on_success:", w.OnSuccess}, {"on_failure:", w.OnFailure}, {"finally:", w.Finally}}
}

// stepAt is the step of a plan's own list in which a place lies.
func stepAt(workflow *plan.Workflow, line, column int) (step string) {
	at := plan.Pos{}
	for _, list := range lists(workflow) {
		for _, s := range list.steps {
			before := s.Pos.Line < line || s.Pos.Line == line && s.Pos.Column <= column
			if before && (s.Pos.Line > at.Line || s.Pos.Line == at.Line && s.Pos.Column > at.Column) {
				step, at = list.prefix+s.ID, s.Pos
			}
		}
	}
	return step
}

// usesOf gives the steps of a workflow that use an action: `top` is the one of the
// workflow's own list that it is in.
func usesOf(workflow *plan.Workflow, action string, visit func(top string, step plan.Step)) {
	var walk func(prefix, top string, steps []plan.Step)
	walk = func(prefix, top string, steps []plan.Step) {
		for _, step := range steps {
			first := top
			if first == "" {
				first = prefix + step.ID
			}
			if step.Uses == action {
				visit(first, step)
			}
			if step.Loop != nil {
				walk(prefix, first, step.Loop.Steps)
			}
		}
	}
	for _, list := range lists(workflow) {
		walk(list.prefix, "", list.steps)
	}
}
