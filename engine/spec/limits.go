package spec

import "github.com/flowrun/flowrun/engine/quota"

// Limits bound what a YAML file may hold (docs/reliability.md, "Limits"). They are
// kept before or while the file is walked once.
type Limits struct {
	Bytes       int // of the file
	Nodes       int // keys count too
	Depth       int // of maps and lists
	Keys        int // of one map
	ScalarBytes int

	Raise string // how bytes and nodes are raised; "" = not at all
}

// DefaultLimits returns the limits of workflow and project files.
func DefaultLimits() Limits {
	return Limits{Bytes: 256 << 10, Nodes: 50_000, Depth: 64, Keys: 1_000, ScalarBytes: 64 << 10}
}

// WorkflowLimits are those of workflow files that may have so many bytes: what else they
// may hold grows with them. What exceeds them says how they are raised.
func WorkflowLimits(bytes int) Limits {
	limits := DefaultLimits()
	limits.Nodes = max(limits.Nodes, limits.Nodes*bytes/limits.Bytes)
	limits.Bytes, limits.Raise = bytes, quota.Raise(quota.WorkflowFile, int64(bytes))
	return limits
}

// LargestLimits are those of the largest workflow file that a project may take, for those
// who read one that was judged before.
func LargestLimits() Limits { return WorkflowLimits(int(quota.Named(quota.WorkflowFile).Ceiling)) }

// DataLimits returns the limits of files that hold values alone, such as the
// inputs of a run.
func DataLimits() Limits {
	return Limits{Bytes: 8 << 20, Nodes: 500_000, Depth: 64, Keys: 100_000, ScalarBytes: 8 << 20}
}
