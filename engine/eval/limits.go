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

	// What more steps bring with them goes no further than this.
	mostBytes = 16 << 20
	mostUnits = 1_000_000

	bytesPerStep = 256 // text that is read in one step
)

// The defaults and ceilings of what a project may set.
const (
	DefaultSteps = maxSteps
	MostSteps    = 2_000_000

	DefaultResult = maxResult
	MostResult    = 4 << 20
)

// Limits are what an evaluation may use, as a project sets it. The zero Limits are the
// defaults.
type Limits struct {
	Steps  int // 0 = DefaultSteps; at most MostSteps. New text and new elements grow with them
	Result int // bytes of a computed result as JSON, about; 0 = DefaultResult, at most MostResult

	// Plain is the evaluation of before lists were kept once (ADR 80): what is chosen of
	// a stored list is a new value, `in` compares with each element, and a result grows by
	// nothing that is read.
	Plain bool
}

// budget is what an evaluation begins with.
type budget struct {
	steps, bytes, units, result int
	plain                       bool
}

func (l Limits) budget() budget {
	b := budget{steps: maxSteps, bytes: maxBytes, units: maxUnits, result: maxResult, plain: l.Plain}
	if l.Result > 0 {
		b.result = min(l.Result, MostResult)
	}
	if l.Steps > 0 {
		b.steps = min(l.Steps, MostSteps)
		b.bytes = min(maxBytes*max(b.steps, maxSteps)/maxSteps, mostBytes)
		b.units = min(maxUnits*max(b.steps, maxSteps)/maxSteps, mostUnits)
	}
	return b
}
