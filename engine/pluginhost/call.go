package pluginhost

import (
	"cmp"
	"context"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// Call makes one attempt of one page: it starts the plugin and opens the
// connection if need be, sends the input with its secrets in clear, and checks
// what comes back. It ends with exactly one answer; errors are answers too. A
// req.Timeout above 0 bounds the whole call beside ctx; when either ends, Call
// returns at once, and the process is ended later if it is still at work. sink
// may be nil.
func (h *Host) Call(ctx context.Context, req runs.Request, conn Connection, sink runs.Sink) runs.Answer {
	if until, ends := ctx.Deadline(); req.Timeout > 0 && (!ends || time.Until(until) > req.Timeout) {
		bounded, cancel := context.WithTimeout(ctx, req.Timeout)
		defer cancel()
		ctx = bounded
	}
	answer := h.call(ctx, req, conn, sink)
	if answer.Failed != nil {
		answer.Failed = h.dress(answer.Failed, req)
	}
	return answer
}

// dress fills in where a failure happened. What the plugin said in it has passed the
// gate when it came in; the message may quote what was sent or received, too.
func (h *Host) dress(failure *runs.Error, req runs.Request) *runs.Error {
	failure.Action, failure.Step, failure.Attempt = req.Action, req.Step, req.Attempt
	failure.Applied = cmp.Or(failure.Applied, runs.AppliedUnknown)
	if failure.Hint.Text == "" {
		failure.Hint = diag.Say(hintOf(failure, req.Connection))
	}
	failure.Details = withPlace(failure.Details, req.Action)
	failure.Message = h.gate.Text(failure.Message)
	return failure
}

func failed(failure *runs.Error) runs.Answer { return runs.Answer{Failed: failure} }

func (h *Host) call(ctx context.Context, req runs.Request, conn Connection, sink runs.Sink) runs.Answer {
	plugin, action := splitAction(req.Action)
	u, c, err := h.contract(ctx, plugin, req.PluginDigest)
	if err != nil {
		return failed(h.failureOf(ctx, err))
	}
	a, failure := u.action(ctx, c, action)
	if failure != nil {
		return failed(failure)
	}
	input, failure := h.reveal(ctx, req.Input, a.input, conn.Secrets)
	if failure != nil {
		return failed(failure)
	}
	// Once more after the service refused the token, with a new one: the only
	// repetition that is the host's.
	e := &execution{unit: u, contract: c, action: a, req: req, input: input, sink: sink}
	answer, _, refused := u.callOnce(ctx, e, conn)
	if refused == "" {
		return answer
	}
	e.rejected = refused
	answer, _, _ = u.callOnce(ctx, e, conn)
	return answer
}

// contract returns the supervisor and the contract of a plugin's revision; "" is the one
// in force.
func (h *Host) contract(ctx context.Context, plugin, digest string) (*unit, *contract, error) {
	p, err := h.plugin(plugin)
	if err != nil {
		return nil, nil, err
	}
	u, err := p.unit(ctx, digest)
	if err != nil {
		return nil, nil, err
	}
	if h.isClosed() {
		return nil, nil, u.closedError()
	}
	c, err := u.describe(ctx)
	if err == nil && digest == "" {
		p.settle(u)
	}
	return u, c, err
}

// callOnce executes once. used is the id of the token that the call had from
// the host; refused is that id when the service did not take it and the call may
// be repeated with another.
func (u *unit) callOnce(ctx context.Context, e *execution, conn Connection) (answer runs.Answer, used, refused string) {
	p, open, release, failure := u.reach(ctx, e.contract, conn, e.req.RunID)
	if failure != nil {
		return failed(failure), "", ""
	}
	defer release()
	e.blobs = e.blobsOf(open.name)
	tokens := p.beginCall(e.rejected, e.blobs)
	answer = tokens.withinQuotas(e, e.run(ctx, p, open.name, tokens))
	p.endCall(tokens)
	if err := e.blobs.end(answer); err != nil {
		u.host.options.Log.Warn("what a call left of large values is still there", "plugin", u.source.Name, "run", e.req.RunID, "error", err)
	}
	used, _ = tokens.state()
	if f := answer.Failed; f != nil && f.Kind == plan.KindUnauthorized && f.Applied == runs.NotApplied && e.rejected == "" {
		refused = p.refusedToken(tokens, open.name)
	}
	return answer, used, refused
}

// Test is what a plugin found when it tried a connection.
type Test struct {
	Account  string // whose it is; "" = the plugin does not tell
	NotTried bool   // the connection was opened, and nothing asked of the service
	Note     string // why not
}

// Check asks the plugin to test a connection.
func (h *Host) Check(ctx context.Context, conn Connection) (test Test, failure *runs.Error) {
	u, c, err := h.contract(ctx, conn.Plugin, "")
	if err != nil {
		return Test{}, h.dress(h.failureOf(ctx, err), runs.Request{})
	}
	p, open, release, failure := u.reach(ctx, c, conn, "")
	if failure == nil {
		defer release()
		test, failure = p.checkConnection(ctx, open.name)
	}
	if failure != nil {
		return Test{}, h.dress(failure, runs.Request{})
	}
	return test, nil
}

// Reconcile asks whether the effect of a lost call happened. A plugin that
// can't tell gives AppliedUnknown, and no failure.
func (h *Host) Reconcile(ctx context.Context, req runs.Request, conn Connection) (runs.Outcome, *runs.Error) {
	outcome, failure := h.reconcile(ctx, req, conn)
	if failure != nil {
		return runs.Outcome{Applied: runs.AppliedUnknown}, h.dress(failure, req)
	}
	return outcome, nil
}

// reach opens a connection in the plugin's process for a call of any kind, which is
// in flight until release.
func (u *unit) reach(ctx context.Context, c *contract, conn Connection, runID string) (_ *process, open opened, release func(), failure *runs.Error) {
	if open, failure = u.host.open(ctx, c, conn); failure != nil {
		return nil, opened{}, nil, failure
	}
	p, err := u.acquire(ctx, runID)
	if err != nil {
		return nil, opened{}, nil, u.host.failureOf(ctx, err)
	}
	release = func() { u.release(p, runID) }
	if failure := p.connect(ctx, open); failure != nil {
		release()
		return nil, opened{}, nil, failure
	}
	return p, open, release, nil
}
