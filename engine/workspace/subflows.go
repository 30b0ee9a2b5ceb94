package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
)

// maxSubflows is how deep workflows may call each other (docs/language.md, rule 19),
// MaxWorkflowFile how large one may be in bytes.
const (
	maxSubflows     = 8
	MaxWorkflowFile = 1 << 20
)

// location is where the file lies that a catalog's checker is at.
type location struct {
	shown    string   // its name in messages
	path     string   // absolute; "" = not known, so that it can call no other
	above    []string // the paths of the workflows that lead to it
	subflows map[string]subflow
	files    map[string]bool // the files that inputs name and that were read
}

// subflow is a workflow that was checked because a step calls it.
type subflow struct {
	name     string
	workflow *plan.Workflow
	fault    *check.WorkflowFault
}

// locate finds the file that messages name so. dir is the folder that its name
// starts from; "" = the one of the configuration.
func (p *Workspace) locate(file, dir string) location {
	path := file
	if base := cmp.Or(dir, p.config.WorkDir, p.config.Dir); !filepath.IsAbs(file) {
		path = filepath.Join(base, filepath.FromSlash(file))
	}
	if !filepath.IsAbs(path) {
		path = ""
	}
	return location{shown: file, path: path, subflows: map[string]subflow{}, files: map[string]bool{}}
}

// Workflow checks the workflow that a step of the file at hand calls.
func (c *catalog) Workflow(ctx context.Context, uses string) (string, *plan.Workflow, *check.WorkflowFault) {
	at := c.location
	if at.path == "" {
		return "", nil, &check.WorkflowFault{Code: check.CodeWorkflowFile, Message: "`" + uses + "` is relative to a file that is not known here"}
	}
	target := filepath.Join(filepath.Dir(at.path), filepath.FromSlash(uses))
	child, ok := at.subflows[target]
	if !ok {
		child = c.subflow(ctx, uses, target)
		at.subflows[target] = child
	}
	return child.name, child.workflow, child.fault
}

func (c *catalog) subflow(ctx context.Context, uses, target string) subflow {
	at := c.location
	chain := append(slices.Clone(at.above), at.path)
	if slices.Contains(chain, target) {
		return subflow{fault: c.circle(append(chain, target))}
	}
	if len(chain) > maxSubflows {
		return subflow{fault: &check.WorkflowFault{
			Code: check.CodeWorkflowDepth, Message: fmt.Sprintf("workflows call each other more than %d deep here", maxSubflows),
			Hint: diag.Say(c.chainText(append(chain, target))),
		}}
	}
	name, src, fault := c.readWorkflow(uses, target)
	if fault != nil {
		return subflow{fault: fault}
	}
	shown := path.Join(path.Dir(at.shown), uses)
	tree, problems := c.project.parse(shown, src)
	below := &catalog{project: c.project, location: location{shown: shown, path: target, above: chain, subflows: map[string]subflow{}, files: map[string]bool{}}}
	workflow, more := check.Check(ctx, tree, below)
	problems = append(problems, more...)
	problems.Sort()
	if problems.HasErrors() {
		return subflow{fault: brokenWorkflow(uses, shown, problems)}
	}
	workflow.File, workflow.Source = shown, string(src)
	return subflow{name: name, workflow: workflow}
}

func (c *catalog) circle(chain []string) *check.WorkflowFault {
	fault := &check.WorkflowFault{Code: check.CodeWorkflowCycle, Message: "workflows call each other in a circle", Hint: diag.Say(c.chainText(chain))}
	if len(chain) > 1 && chain[len(chain)-1] == chain[len(chain)-2] {
		fault.Message = "the workflow calls itself"
	}
	return fault
}

// chainText names files by their place in the project.
func (c *catalog) chainText(chain []string) string {
	names := make([]string, len(chain))
	for i, file := range chain {
		names[i] = relative(c.project.config.Dir, file)
	}
	return strings.Join(names, " calls ")
}

// readWorkflow reads a file inside the project: links that lead out of it count
// as outside.
func (c *catalog) readWorkflow(uses, target string) (name string, src []byte, fault *check.WorkflowFault) {
	refuse := func(hint diag.Hint, format string, args ...any) *check.WorkflowFault {
		return &check.WorkflowFault{Code: check.CodeWorkflowFile, Message: fmt.Sprintf(format, args...), Hint: hint}
	}
	root, err := filepath.EvalSymlinks(c.project.config.Dir)
	if err != nil {
		return "", nil, refuse(diag.Hint{}, "the project's folder can't be read: %v", err)
	}
	outside := refuse(diag.Say("a workflow calls files of its own project"), "`%s` lies outside the project", uses)
	if !lexicallyInside(target, c.project.config.Dir, root) {
		return "", nil, outside
	}
	real, err := filepath.EvalSymlinks(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, refuse(nearWorkflow(uses, target, c.location.path), "there is no file `%s`", uses)
	case err != nil:
		return "", nil, refuse(diag.Hint{}, "`%s` can't be read", uses)
	}
	inside, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(inside) {
		return "", nil, outside
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return "", nil, refuse(diag.Hint{}, "`%s` can't be read", uses)
	case !info.Mode().IsRegular():
		return "", nil, refuse(diag.Hint{}, "`%s` is not a file", uses)
	case info.Size() > MaxWorkflowFile:
		return "", nil, refuse(diag.Hint{}, "`%s` is larger than %d bytes", uses, MaxWorkflowFile)
	}
	if src, err = os.ReadFile(real); err != nil {
		return "", nil, refuse(diag.Hint{}, "`%s` can't be read", uses)
	}
	return filepath.ToSlash(inside), src, nil
}

// lexicallyInside reports whether a path stands below one of the folders, as it
// is written.
func lexicallyInside(target string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		inside, err := filepath.Rel(folder, target)
		return err == nil && filepath.IsLocal(inside)
	})
}

// nearWorkflow suggests a file of the folder that was meant.
func nearWorkflow(uses, target, from string) diag.Hint {
	other := diag.Say("the path is relative to the file that says it")
	entries, err := os.ReadDir(filepath.Dir(target))
	if err != nil {
		return other
	}
	var names []string
	for _, entry := range entries {
		extension := path.Ext(entry.Name())
		isTest := strings.HasSuffix(entry.Name(), ".test"+extension)
		if (extension == ".yaml" || extension == ".yml") && !isTest && filepath.Join(filepath.Dir(target), entry.Name()) != from {
			names = append(names, strings.TrimSuffix(uses, path.Base(uses))+entry.Name())
		}
	}
	if len(names) > 0 && len(names) <= 8 {
		other = diag.Say("the path is relative to the file that says it; beside it there are " + strings.Join(names, ", "))
	}
	return diag.DidYouMean(uses, names).Or(other)
}

// maxRelated is how many problems of a sub-workflow are named at its caller.
const maxRelated = 5

func brokenWorkflow(uses, shown string, problems diag.List) *check.WorkflowFault {
	fault := &check.WorkflowFault{Code: check.CodeWorkflowBroken, Hint: diag.Sayf("%s shows them", diag.Command{"validate", shown})}
	errorCount := 0
	for _, problem := range problems {
		if problem.Severity != diag.Error {
			continue
		}
		if errorCount++; errorCount <= maxRelated {
			fault.Related = append(fault.Related, diag.Related{Pos: problem.Pos, Message: problem.Message})
		}
	}
	fault.Message = fmt.Sprintf("`%s` has %d errors", uses, errorCount)
	if errorCount == 1 {
		fault.Message, fault.Hint = fmt.Sprintf("`%s` has an error", uses), diag.Sayf("%s shows it", diag.Command{"validate", shown})
	}
	return fault
}

// EachWorkflow visits a workflow and those that its steps call, each before those
// below it.
func EachWorkflow(workflow *plan.Workflow, visit func(*plan.Workflow)) {
	visit(workflow)
	for _, name := range slices.Sorted(maps.Keys(workflow.Workflows)) {
		EachWorkflow(workflow.Workflows[name], visit)
	}
}
