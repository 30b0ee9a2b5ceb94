package importer

import (
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/spec"
)

// Detect tells by its documents whose file one is; "" where it is nobody's.
func Detect(documents []*spec.Foreign) Product {
	for _, d := range documents {
		switch {
		case d.Get("flowrun") != nil:
			return ""
		case strings.HasPrefix(textOf(d.Get("apiVersion")), "argoproj.io/"):
			return Argo
		case d.Get("jobs") != nil && (d.Get("on") != nil || d.Get("true") != nil || hasJobs(d)):
			return GitHubActions
		case d.Get("tasks") != nil && (d.Get("namespace") != nil || hasTypes(d.Get("tasks"))):
			return Kestra
		case d.Get("steps") != nil && !(d.Get("inputs") != nil && d.Get("triggers") != nil):
			if isDagu(d) {
				return Dagu
			}
		}
	}
	return ""
}

func hasJobs(d *spec.Foreign) bool {
	return slices.ContainsFunc(pairsOf(d.Get("jobs")), func(p spec.ForeignPair) bool {
		return p.Value.Get("runs-on") != nil || p.Value.Get("steps") != nil || p.Value.Get("uses") != nil
	})
}

func hasTypes(tasks *spec.Foreign) bool {
	return slices.ContainsFunc(itemsOf(tasks), func(task *spec.Foreign) bool { return strings.Contains(textOf(task.Get("type")), ".") })
}

// daguKeys are those that a step of Dagu has at least one of.
var daguKeys = []string{"command", "script", "run", "call", "executor", "type", "parallel", "depends", "exec", "action"}

// isDagu reports whether the steps are Dagu's: commands as texts, or maps with its keys.
func isDagu(d *spec.Foreign) bool {
	steps := d.Get("steps")
	for _, step := range itemsOf(steps) {
		if step.Kind == spec.Scalar || step.Kind == spec.Sequence {
			return true
		}
		if step.Get("uses") != nil {
			return false
		}
		for _, key := range daguKeys {
			if step.Get(key) != nil {
				return true
			}
		}
	}
	for _, p := range pairsOf(steps) { // steps as a map of names
		for _, key := range daguKeys {
			if p.Value.Get(key) != nil {
				return true
			}
		}
	}
	return false
}
