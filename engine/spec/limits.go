package spec

// Limits bound what a YAML file may hold (docs/reliability.md, "Limits"). They are
// kept before or while the file is walked once.
type Limits struct {
	Bytes       int // of the file
	Nodes       int // keys count too
	Depth       int // of maps and lists
	Keys        int // of one map
	ScalarBytes int
}

// DefaultLimits returns the limits of workflow and project files.
func DefaultLimits() Limits {
	return Limits{Bytes: 256 << 10, Nodes: 50_000, Depth: 64, Keys: 1_000, ScalarBytes: 64 << 10}
}

// DataLimits returns the limits of files that hold values alone, such as the
// inputs of a run.
func DataLimits() Limits {
	return Limits{Bytes: 8 << 20, Nodes: 500_000, Depth: 64, Keys: 100_000, ScalarBytes: 8 << 20}
}
