package web

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/spec"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// checkSent refuses a workflow that was sent from another machine and that would read
// files of this one: the sender's file means those beside it, which are not here.
func checkSent(r engine.StartRequest) error {
	if r.Dir != "" || !filepath.IsLocal(filepath.FromSlash(r.File)) {
		return wire.NewProblem(wire.CodeBadRequest, "the body is not what this path takes: over TCP `dir` is left out, and `file` is a path below the project")
	}
	root, problems := spec.ParseNode(r.File, r.Source, spec.LargestLimits())
	if root == nil || problems.HasErrors() {
		return nil // who checks it tells what is wrong
	}
	used := usedFile(root)
	if used == nil {
		return nil
	}
	return wire.NewProblem(wire.CodeBadRequest, fmt.Sprintf("%s:%d: the workflow calls the file %s, which is not sent with it", r.File, used.Pos.Line, used.Text)).
		With(diag.Say("bring both files to the server's project: its triggers and its page start them there; or put the steps of the other one into this file"))
}

// usedFile finds a step's `uses` that names a file; nil = there is none.
func usedFile(n *spec.Node) *spec.Node {
	for _, pair := range n.Pairs {
		value := pair.Value
		if value == nil {
			continue
		}
		if pair.Key != nil && pair.Key.Text == "uses" && (strings.HasPrefix(value.Text, ".") || strings.HasPrefix(value.Text, "/")) {
			return value
		}
		if used := usedFile(value); used != nil {
			return used
		}
	}
	for _, item := range n.Items {
		if used := usedFile(item); used != nil {
			return used
		}
	}
	return nil
}
