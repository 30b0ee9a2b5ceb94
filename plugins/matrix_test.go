package plugins

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/simkit"
	"github.com/flowrun/flowrun/internal/suitesize"
	"github.com/flowrun/flowrun/plugins/auth/authsim"
)

// fault is one column of the matrix and what must come of it where it stays.
type fault struct {
	name   string
	fault  simkit.Fault
	kind   plan.ErrorKind // of a read that it never leaves alone
	status int            // HTTP status that the error must name; 0 = there was no answer
	once   string         // how a run with a `once` action ends: failed or paused
}

// slowTimeout is the timeout of a step whose service is slow.
const slowTimeout = 4 * time.Second

// faults are the columns: what a service, a proxy or the network may do to any
// request.
func faults() []fault {
	return []fault{
		{"429 with Retry-After", simkit.Fault{Status: 429, RetryAfter: "1"}, plan.KindRateLimited, 429, "failed"},
		{"429 without Retry-After", simkit.Fault{Status: 429}, plan.KindRateLimited, 429, "failed"},
		{"503", simkit.Fault{Status: 503}, plan.KindUnavailable, 503, "paused"},
		{"HTML with 200", simkit.Fault{HTML: true}, plan.KindUnexpectedResponse, 200, "paused"},
		{"truncated with 200", simkit.Fault{Truncate: 1}, plan.KindUnexpectedResponse, 200, "paused"},
		{"cut with 200", simkit.Fault{Truncate: 1, Cut: true}, plan.KindUnexpectedResponse, 200, "paused"},
		{"dropped before", simkit.Fault{Drop: simkit.DropBefore}, plan.KindUnavailable, 0, "paused"},
		{"dropped after", simkit.Fault{Drop: simkit.DropAfter}, plan.KindUnavailable, 0, "paused"},
		{"slow", simkit.Fault{DelayMS: 60_000}, plan.KindTimeout, 0, "paused"},
	}
}

// cell is one run: an action, a fault, and whether the fault stays.
type cell struct {
	action  string
	effect  plan.Effect
	fault   fault
	forever bool
	line    *line
	expect  expectation

	flow     string // of the login that a device action asks about
	mark     int    // length of the journal when the run began
	run      string
	result   *runs.Result
	requests []simkit.Request
	texts    string
}

func (c *cell) name() string {
	if c.forever {
		return c.action + " for ever"
	}
	return c.action + " at first"
}

// expectation is how a run must end.
type expectation struct {
	status   runs.Status
	paused   string           // why, with paused
	kinds    []plan.ErrorKind // of the error, with failed and paused: one of them
	http     int              // status that it names; anyStatus = whatever there was
	requests [2]int           // how many the service may have got: from, to
}

// anyStatus stands for an error that may name a status or not.
const anyStatus = -1

// attempts is what the step's retry allows.
const attempts = 3

// expected is the documented end (docs/language.md, rules 9 to 11), with the
// exceptions that the requirements name.
func expected(action string, effect plan.Effect, f fault, forever bool) expectation {
	if special, ok := exception(action, f, forever); ok {
		return special
	}
	switch {
	case effect == plan.EffectOnce && f.once == "paused":
		unknown := failed(plan.KindUnknownOutcome, f.status, 1, 1)
		unknown.status, unknown.paused = runs.RunPaused, runs.PausedUnknownOutcome
		return unknown
	case effect == plan.EffectOnce:
		return failed(f.kind, f.status, 1, 1)
	case forever && waitsForTheWindow(action, f): // its retry has one attempt
		return failed(f.kind, f.status, 1, 1)
	case forever:
		return failed(f.kind, f.status, attempts, attempts)
	}
	return succeeded(2, 2)
}

func succeeded(from, to int) expectation {
	return expectation{status: runs.RunSucceeded, requests: [2]int{from, to}}
}

func failed(kind plan.ErrorKind, status, from, to int) expectation {
	return expectation{status: runs.RunFailed, kinds: []plan.ErrorKind{kind}, http: status, requests: [2]int{from, to}}
}

// waitsForTheWindow reports the dictionary's answer to a 429 without Retry-After: it
// waits for the rest of the window (D-18).
func waitsForTheWindow(action string, f fault) bool {
	return strings.HasPrefix(action, "dictionary.") && f.name == "429 without Retry-After"
}

// afterTheWrite reports a fault that lets the service do its work and spoils the
// answer.
func (f fault) afterTheWrite() bool {
	return f.fault.Drop == simkit.DropAfter || f.fault.Truncate > 0
}

// exception returns the ends that the requirements document as different.
func exception(action string, f fault, forever bool) (expectation, bool) {
	unread := f.kind == plan.KindUnexpectedResponse
	switch action {
	case "http.head": // its answer has no body that a fault could spoil
		if unread {
			return succeeded(1, 1), true
		}
	case "auth.status": // sends nothing
		return succeeded(0, 0), true
	case "tasks.invitation_accept", "tasks.invitation_reject":
		return invitationException(f, forever)
	case "auth.revoke":
		switch {
		case unread: // after a 200 the body does not matter
			return succeeded(1, 1), true
		case f.fault.Drop == simkit.DropAfter && !forever: // section 3, A4: it may be revoked already
			return failed(plan.KindInvalid, 400, 2, 2), true
		}
	case "auth.resource_get":
		if f.fault.HTML { // the body may be anything
			return succeeded(1, 1), true
		}
	case "auth.device_poll": // too early for another poll it says pending without a request
		switch {
		case !forever:
			return succeeded(1, 2), true
		case unread, f.kind == plan.KindTimeout:
			return succeeded(1, 1), true
		}
	case "auth.device_wait":
		return waitException(f, forever)
	}
	return expectation{}, false
}

// invitationException is what a second answer to an invitation gets: the
// simulator refuses it, and that is reported, not guessed (T-15).
func invitationException(f fault, forever bool) (expectation, bool) {
	switch {
	case !f.afterTheWrite(), f.fault.Drop == simkit.DropAfter && forever:
		return expectation{}, false
	case f.fault.Cut && forever: // the refusal is cut as well
		return failed(plan.KindUnexpectedResponse, 400, attempts, attempts), true
	}
	return failed(plan.KindInvalid, 400, 2, 2), true
}

// waitException is how device_wait ends: its polls go on as long as the codes
// live, and a grant whose answer was lost shows as invalid_grant.
func waitException(f fault, forever bool) (expectation, bool) {
	switch {
	case forever:
		e := failed(plan.KindExpired, anyStatus, 1, 40)
		e.kinds = append(e.kinds, plan.KindInvalid, plan.KindUnexpectedResponse)
		return e, true
	case f.afterTheWrite():
		return failed(plan.KindInvalid, 400, 2, 3), true
	}
	return succeeded(2, 3), true
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// column is the cells of one fault.
func column(f fault, actions []string) (cells []*cell) {
	for _, action := range actions {
		for _, forever := range []bool{false, true} {
			effect := effectOf(action)
			if forever && effect == plan.EffectOnce || forever && action == "auth.status" {
				continue // one request is all that there is
			}
			cells = append(cells, &cell{action: action, effect: effect, fault: f, forever: forever, expect: expected(action, effect, f, forever)})
		}
	}
	return cells
}

// matrix is every action under every fault.
func matrix() (cells []*cell) {
	for _, f := range faults() {
		cells = append(cells, column(f, actionNames())...)
	}
	return cells
}

// connect gives the cell a service of its own.
func (c *cell) connect(t *testing.T, name string) {
	t.Helper()
	plugin, _, _ := strings.Cut(c.action, ".")
	c.line = newLine(t, name, plugin, authOptions(c.action, c.forever))
	c.line.keepPending = c.action == "auth.device_poll"
}

// expires reports whether the run lasts until its codes have ended.
func (c *cell) expires() bool { return c.action == "auth.device_wait" && c.forever }

// authOptions are those of an authorization server under a test of the matrix:
// codes that nobody can use end soon.
func authOptions(action string, forever bool) authsim.Options {
	if action == "auth.device_wait" && forever {
		return authsim.Options{ExpiresIn: 10 * time.Second} // a busy machine takes some of it before the first poll
	}
	if action == "auth.token" {
		return authsim.Options{AccessTTL: time.Nanosecond} // each token has ended when it comes, so that it must be renewed
	}
	return authsim.Options{}
}

// prepare logs in and begins logins where an action needs one.
func prepare(t *testing.T, b *bench, cells []*cell) {
	t.Helper()
	var wg sync.WaitGroup
	failures := make([]error, len(cells))
	for i, c := range cells {
		switch c.action {
		case "auth.token", "auth.refresh", "auth.revoke", "auth.resource_get", "auth.status":
			wg.Go(func() { failures[i] = b.tryLogin(c.line) })
		case "auth.device_poll", "auth.device_wait":
			wg.Go(func() { c.flow, failures[i] = b.startFlow(c.line) })
		}
	}
	wg.Wait()
	for i, err := range failures {
		if err != nil {
			t.Fatalf("prepare %s: %v", cells[i].action, err)
		}
	}
	if slices.ContainsFunc(cells, func(c *cell) bool { return c.flow != "" }) {
		time.Sleep(1100 * time.Millisecond) // until the first poll is due
	}
}

// begin arms the fault and starts the run.
func (c *cell) begin(t *testing.T, b *bench, action *plan.Action) {
	t.Helper()
	if action == nil {
		t.Fatalf("there is no action %s", c.action)
	}
	armed := c.fault.fault
	if c.forever || c.effect == plan.EffectOnce {
		armed.Count = simkit.Forever
	}
	if err := c.line.kit.Add(armed); err != nil {
		t.Fatal(err)
	}
	input := goodInput(c.action, c.line, c.flow)
	if input == nil && len(action.Examples) > 0 {
		input = exampleInput(t, action, action.Examples[0])
	}
	c.mark = c.line.kit.Count("")
	c.run = b.start(t, step{c.action, c.line.name, input, c.keys()}.source(t))
}

// keys are the step's further keys: a `once` step gets no retry.
func (c *cell) keys() map[string]any {
	keys := map[string]any{}
	if c.fault.name == "slow" {
		keys["timeout"] = slowTimeout.String()
	}
	if c.effect != plan.EffectOnce {
		limit := attempts
		if c.forever && waitsForTheWindow(c.action, c.fault) {
			limit = 1
		}
		keys["retry"] = map[string]any{"attempts": limit, "delay": "10ms", "max_delay": "50ms"}
	}
	return keys
}

// end waits for the run and reads what there is to judge.
func (c *cell) end(t *testing.T, b *bench) {
	t.Helper()
	c.result = b.wait(t, c.run)
	c.requests = c.line.since(c.mark)
	c.texts = b.texts(t, c.result)
	c.expect = c.onABusyMachine()
}

// onABusyMachine is what is expected of device_poll where no answer can be read:
// its retry comes within the interval and says pending without a request. Where
// the interval had passed by then the retry polls too. The requests tell which of
// the two it was; judge looks at their pace in each case.
func (c *cell) onABusyMachine() expectation {
	switch n := len(c.requests); {
	case c.action != "auth.device_poll" || !c.forever || c.expect.status != runs.RunSucceeded || n <= 1:
		return c.expect
	case n < attempts:
		return succeeded(n, n)
	}
	return failed(c.fault.kind, anyStatus, attempts, attempts)
}

// report fails the test with what judge has found, and with what it was.
func (c *cell) report(t *testing.T, wrong []string) {
	t.Helper()
	if len(wrong) == 0 {
		return
	}
	for _, problem := range wrong {
		t.Error(problem)
	}
	t.Logf("run is %s %s, error %s", c.result.Run.Status, c.result.Run.Paused, errorText(c.result))
	for _, r := range c.requests {
		t.Logf("request %s %s %d %s", r.Method, r.Path, r.Status, r.Outcome)
	}
}

// TestFaultMatrix runs every action under every fault, all on one engine and at the
// same time: most of it is waiting.
func TestFaultMatrix(t *testing.T) {
	t.Parallel()
	var lines []*line
	cells := suitesize.Part(t, matrix())
	for i, c := range cells {
		c.connect(t, fmt.Sprintf("l%d", i))
		lines = append(lines, c.line)
	}
	b := openBench(t, lines, lineSecrets())
	all := described(t, b)
	// Codes that end soon are asked for when the rest has begun.
	for _, late := range []bool{false, true} {
		some := slices.DeleteFunc(slices.Clone(cells), func(c *cell) bool { return c.expires() != late })
		prepare(t, b, some)
		for _, c := range some {
			c.begin(t, b, all[c.action])
		}
	}
	for _, c := range cells {
		t.Run(c.fault.name+"/"+c.name(), func(t *testing.T) {
			c.end(t, b)
			c.report(t, judge(c))
		})
	}
}
