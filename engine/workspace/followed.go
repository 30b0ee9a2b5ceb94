package workspace

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/spec"
)

var _ check.ProjectCatalog = (*catalog)(nil)

// WorkflowNames returns the names of the project's workflows, which an `after`
// may follow; nil without a project file.
func (c *catalog) WorkflowNames() []string {
	files := c.project.workflowsByName()
	if files == nil {
		return nil
	}
	return append([]string{}, slices.Sorted(maps.Keys(files))...)
}

// WorkflowOutputs returns the schema of a workflow's outputs, empty when the
// workflow has errors. What that workflow follows in turn is not asked, so that
// two may follow each other.
func (c *catalog) WorkflowOutputs(name string) json.RawMessage {
	file := c.project.workflowsByName()[name]
	src, err := ReadWorkflowFile(filepath.Join(c.project.Root(), file))
	if err != nil {
		return nil
	}
	tree, problems := c.project.parse(file, src)
	if tree == nil || problems.HasErrors() {
		return nil
	}
	workflow, _ := check.Check(context.Background(), tree, &unfollowed{catalog{project: c.project, location: c.project.locate(file, c.project.Root())}})
	if workflow == nil {
		return nil
	}
	return workflow.OutputSchema
}

// unfollowed is a catalog that knows no other workflows by name.
type unfollowed struct{ catalog }

func (*unfollowed) WorkflowNames() []string { return nil }

// workflowsByName maps the names of the project's workflows to their files.
func (p *Workspace) workflowsByName() map[string]string {
	if p.File() == "" {
		return nil
	}
	files, err := p.Workflows()
	if err != nil {
		return nil
	}
	names := map[string]string{}
	for _, file := range files {
		names[p.names.of(filepath.Join(p.Root(), file), file, p.config.Now())] = file
	}
	return names
}

// NamedWorkflows maps the names of the project's workflows to their files, relative to
// its root. Of several files with one name it is the one that is called like it.
func (p *Workspace) NamedWorkflows() (map[string]string, error) {
	files, err := p.Workflows()
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, file := range files {
		name := p.names.of(filepath.Join(p.Root(), file), file, p.config.Now())
		if _, taken := names[name]; !taken || NameOfFile(file) == name {
			names[name] = file
		}
	}
	return names, nil
}

// fileNames remembers what workflow files call their workflows, so that checking
// many that follow others does not parse all files each time. Safe for concurrent
// use.
type fileNames struct {
	mu    sync.Mutex
	names map[string]fileName
}

type fileName struct {
	stamp Stamp
	name  string
}

// nameSettles is how old a change must be for its stamp to tell all later ones apart.
const nameSettles = 2 * time.Second

// of returns the name that a file's workflow has.
func (n *fileNames) of(path, file string, now time.Time) string {
	seen := StampOf(path)
	n.mu.Lock()
	entry, ok := n.names[path]
	n.mu.Unlock()
	if ok && entry.stamp.Same(seen) {
		return entry.name
	}
	name := NameOfFile(file)
	if src, err := ReadWorkflowFile(path); err == nil {
		if tree, _ := spec.V1().ParseWithin(file, src, spec.LargestLimits()); tree != nil && tree.Name != nil {
			name = tree.Name.Text
		}
	}
	if now.Sub(seen.modified) > nameSettles {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.names == nil {
			n.names = map[string]fileName{}
		}
		n.names[path] = fileName{seen, name}
	}
	return name
}

// ReadWorkflowFile reads a file that is not larger than a workflow may be; one that is
// gives os.ErrInvalid.
func ReadWorkflowFile(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.Size() > MaxWorkflowFile {
		return nil, os.ErrInvalid
	}
	return os.ReadFile(file)
}

// CheckStrict is Check that also refuses what may fail by a type, by null or by a
// place that a list has not (`validate --strict`). What was a warning before is
// told once.
func (p *Workspace) CheckStrict(ctx context.Context, file string, src []byte) diag.List {
	_, problems := p.Check(ctx, file, src)
	if problems.HasErrors() {
		return problems
	}
	tree, _ := p.parse(file, src)
	if tree == nil {
		return problems
	}
	refused := check.Strict(ctx, tree, &catalog{project: p, location: p.locate(file, "")})
	problems = slices.DeleteFunc(slices.Clone(problems), func(warning diag.Problem) bool {
		return slices.ContainsFunc(refused, func(p diag.Problem) bool { return p.Code == warning.Code && p.Pos == warning.Pos })
	})
	problems = append(problems, refused...)
	problems.Sort()
	return problems
}
