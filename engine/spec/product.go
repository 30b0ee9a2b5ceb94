package spec

import (
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
)

// product is another program whose files are YAML too.
type product struct {
	name string // "a GitHub Actions workflow"
	page string // of docs/coming-from
	made func(root *Node) bool
}

// products are those that have a page of their own.
func products() []product {
	return []product{
		{"a GitHub Actions workflow", "github-actions", isActions},
		{"a Dagu workflow", "dagu", isDagu},
		{"an Argo workflow", "argo", isArgo},
		{"a Kestra flow", "kestra", isKestra},
	}
}

// otherProduct reports a file that is another product's as a whole: one problem, for
// each of its words is meant otherwise.
func otherProduct(root *Node, problems *diag.List) bool {
	if _, ours := root.Pair("flowrun"); ours {
		return false
	}
	for _, p := range products() {
		if !p.made(root) {
			continue
		}
		problems.Errorf(root.FirstKey(), CodeOtherProduct, "this is %s: docs/coming-from/%s.md", p.name, p.page).Hint =
			diag.Sayf("%s writes the workflow of flowrun for what it can, with a comment for each thing that it can't", diag.Command{"import", root.Pos.File})
		return true
	}
	return false
}

func isActions(root *Node) bool {
	jobs := root.Get("jobs")
	if jobs == nil || jobs.Kind != Mapping {
		return false
	}
	if root.has("on") {
		return true
	}
	return slices.ContainsFunc(jobs.Pairs, func(job Pair) bool {
		return job.Value.has("runs-on") || job.Value.has("steps")
	})
}

func isArgo(root *Node) bool {
	version := root.Get("apiVersion")
	return version != nil && strings.HasPrefix(version.Text, "argoproj.io/")
}

func isKestra(root *Node) bool {
	tasks := root.Get("tasks")
	return tasks != nil && tasks.Kind == Sequence && (root.has("namespace") || slices.ContainsFunc(tasks.Items, func(task *Node) bool {
		kind := task.Get("type")
		return kind != nil && strings.HasPrefix(kind.Text, "io.kestra.")
	}))
}

// isDagu goes by the steps: none does what a step of ours does, and one does what one of
// Dagu's does.
func isDagu(root *Node) bool {
	steps := root.Get("steps")
	if steps == nil {
		return false
	}
	items := steps.Items
	for _, pair := range steps.Pairs { // a map of steps by their names
		items = append(items, pair.Value)
	}
	own := func(step *Node) bool {
		return slices.ContainsFunc([]string{"uses", "let", "set_state", "foreach"}, step.has)
	}
	theirs := func(step *Node) bool {
		return slices.ContainsFunc([]string{"command", "script", "executor", "depends", "call", "exec"}, step.has)
	}
	return !slices.ContainsFunc(items, own) && slices.ContainsFunc(items, theirs)
}

func (n *Node) has(key string) bool {
	_, ok := n.Pair(key)
	return ok
}
