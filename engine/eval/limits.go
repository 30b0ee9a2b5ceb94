package eval

// The limits of an expression (docs/reliability.md, "Limits"; ADR 6).
const (
	maxSource  = 8 << 10 // bytes
	maxNesting = 100     // open brackets, or unary operators in a row
	maxNodes   = 2000    // parts of the parsed tree

	// What one evaluation may use. All three are counted, never timed, so that
	// the same expression on the same values ends in the same way everywhere.
	maxSteps = 100_000 // turns of loops and comparisons; a step is at most about a microsecond
	maxBytes = 1 << 20 // of new text
	maxUnits = 200_000 // elements of new lists and objects

	maxResult      = 256 << 10 // bytes of a computed result as JSON, about
	maxResultDepth = 64

	bytesPerStep = 256 // text that is read in one step
)
