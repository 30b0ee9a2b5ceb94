package testrun

import (
	"encoding/json"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/spec"
)

// defaultAt is the virtual time of acceptance where a case names none: a Monday
// morning.
var defaultAt = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

// suite is a test file as its author wrote it, before the workflow is known.
type suite struct {
	file     string
	workflow *spec.Node
	recorded bool // written by --record: what does not fit any more is stale
	shared   caseNode
	cases    []caseNode
}

// caseNode is one case as written. answers are in written order.
type caseNode struct {
	name    string
	pos     diag.Pos
	inputs  *spec.Node
	trigger *spec.Node
	at      time.Time
	state   *spec.Node
	answers []spec.Pair
	events  []*spec.Node
	expect  *spec.Node
}

// answer is one mocked end of one call.
type answer struct {
	pos     diag.Pos
	answer  runs.Answer
	after   time.Duration
	never   bool
	crash   bool
	pages   []*answer     // of one reading, chosen by the cursor of the call
	problem *diag.Problem // a recorded answer that does not fit any more
}

// answers are those of one step: a list is used up call by call, a single one
// answers every call.
type answers struct {
	key     string
	pos     diag.Pos
	list    []*answer
	forever bool
	strict  bool // of the case itself: what is left over is a failure
	used    int
}

// event is what a person does, or what happens to the process, in a case.
type event struct {
	pos   diag.Pos
	kind  string // cancel, resume, crash, resolve, approve, reject, signal
	timed bool
	after time.Duration
	step  string
	name  string // of a signal
	value json.RawMessage
	text  string // outcome of resolve, comment of reject
}

// expectation is one expression that must be true.
type expectation struct {
	node   *spec.Node
	offset int // of the source in the node's text
	source string
	parsed *eval.Expression
}

// wanted are the expectations of a case.
type wanted struct {
	pos     diag.Pos
	status  string
	at      diag.Pos // of the status
	paused  *spec.Node
	failure []spec.Pair
	outputs []wantedOutput
	steps   []spec.Pair
	that    []expectation
}

type wantedOutput struct {
	name  string
	pos   diag.Pos
	value any
}

// testCase is a case that is ready to run.
type testCase struct {
	name    string
	pos     diag.Pos
	inputs  json.RawMessage
	trigger string
	at      time.Time
	state   map[string]json.RawMessage
	answers map[string]*answers
	events  []event
	want    wanted
	blobs   *blobs // of the whole file
}
