package workspace

import (
	"strings"

	"github.com/flowrun/flowrun/engine/spec"
)

// UsedFile finds a step of a workflow that calls a file: what it calls, and in which line.
// "" = there is none, or the file can't be read: who checks it tells what is wrong.
func UsedFile(name string, src []byte) (uses string, line int) {
	root, problems := spec.ParseNode(name, src, spec.LargestLimits())
	if root == nil || problems.HasErrors() {
		return "", 0
	}
	used := usedFile(root)
	if used == nil {
		return "", 0
	}
	return used.Text, used.Pos.Line
}

// usedFile finds a `uses` that names a file; nil = there is none.
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
