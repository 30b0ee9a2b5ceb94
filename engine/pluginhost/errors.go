package pluginhost

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/lastwords"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// The reasons of a PluginError. They are also the `reason` of the runs.Error of
// a call that such a failure ended.
const (
	ReasonUnknownPlugin = "unknown_plugin" // no source has that name
	ReasonExecutable    = "executable"     // the file is missing or can't be copied
	ReasonGone          = "revision_gone"  // nothing is left of the revision that a run was accepted with
	ReasonStart         = "start"          // the process could not be started, or ended at once
	ReasonHandshake     = "handshake"      // it runs but does not speak the protocol
	ReasonDescribe      = "describe"       // what it says of itself is wrong
	ReasonSettings      = "settings"       // what the project tells it is wrong
	ReasonBackoff       = "backoff"        // it crashed and is not restarted yet
	ReasonCircuitOpen   = "circuit_open"   // it crashed too often
	ReasonClosed        = "closed"         // the host is closing
	ReasonSandbox       = "sandbox"        // the sandbox that is required is not to be had
	ReasonAttach        = "attach"         // the process that a person started can't be reached, or is not theirs
	ReasonLimit         = "limit"          // the host killed it: it used more than it is given
)

// PluginError says that a plugin can't be used, before anything was sent to it.
type PluginError struct {
	Plugin  string
	Reason  string
	Message string
	Hint    diag.Hint
	Stderr  string    // tail of what the process wrote, masked
	Until   time.Time // with backoff and circuit_open: when it is tried again

	// Refused is what a plugin has against its settings, with pointers into them, and Err
	// what the host has (a diag.List): with settings, exactly one is set.
	Refused []Diagnostic
	Err     error
}

// Unwrap returns what is wrong with the settings, nil for other reasons.
func (e *PluginError) Unwrap() error { return e.Err }

func (e *PluginError) Error() string { return fmt.Sprintf("plugin %s: %s", e.Plugin, e.Message) }

// LastWords are the last lines that mean something of what the process wrote.
func (e *PluginError) LastWords() []string { return lastwords.Lines(e.Stderr, lastwords.Shown) }

// Details are those of the failure of a call that the plugin should have taken.
func (e *PluginError) Details() json.RawMessage { return stderrDetails(e.Stderr) }

// kindsOfReasons are those of reasons other than that the plugin is not there now.
var kindsOfReasons = map[string]plan.ErrorKind{
	ReasonUnknownPlugin: plan.KindInvalid, ReasonStart: plan.KindCrashed, ReasonHandshake: plan.KindCrashed,
	ReasonDescribe: plan.KindUnexpectedResponse, ReasonSettings: plan.KindInvalid, ReasonClosed: plan.KindCanceled, ReasonGone: plan.KindInvalid,
}

// planError is the failure of a call that could not be sent.
func (e *PluginError) planError(now time.Time) *runs.Error {
	failure := &runs.Error{
		Kind: cmp.Or(kindsOfReasons[e.Reason], plan.KindUnavailable), Message: e.Error(), Reason: e.Reason, Applied: runs.NotApplied, Hint: e.Hint, Details: e.Details(),
	}
	if wait := e.Until.Sub(now); !e.Until.IsZero() && wait > 0 {
		failure.RetryAfterS = wait.Seconds()
	}
	return failure
}

// failureOf turns what acquire and describe return into a call's failure.
func (h *Host) failureOf(ctx context.Context, err error) *runs.Error {
	if plugin, ok := errors.AsType[*PluginError](err); ok {
		return plugin.planError(h.options.Now())
	}
	if failure := contextFailure(ctx); failure != nil {
		failure.Applied = runs.NotApplied
		return failure
	}
	return &runs.Error{Kind: plan.KindInternal, Message: err.Error(), Applied: runs.NotApplied}
}

// contextFailure is the failure of a call whose context ended, else nil.
func contextFailure(ctx context.Context) *runs.Error {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return runs.Failure(plan.KindTimeout, runs.AppliedUnknown, "the plugin did not answer in time")
	}
	return runs.Failure(plan.KindCanceled, runs.AppliedUnknown, "the call was canceled")
}

func stderrDetails(tail string) json.RawMessage {
	if tail == "" {
		return nil
	}
	details, err := json.Marshal(map[string]string{"stderr": tail})
	if err != nil {
		return nil
	}
	return details
}

// noUTF8 is how implementations of protobuf say, on either side, that a text of a
// message is none.
const noUTF8 = "invalid UTF-8"

// tooLarge is how grpc-go says that a received message was above the limit.
var tooLarge = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`received message (?:after decompression )?larger than max \(?(?:([0-9]+) vs\. )?([0-9]+)`)
})

// brokenCall is the failure of a call that ended without an answer. A call that
// was given up makes its process suspect: it may still be at work. gRPC notices
// the end of the time on its own clock, perhaps before ctx does.
func (p *process) brokenCall(ctx context.Context, err error) *runs.Error {
	if ctx.Err() != nil || status.Code(err) == codes.DeadlineExceeded {
		p.unit.abandon(p)
	}
	return p.transportFailure(ctx, err)
}

// transportFailure turns a gRPC status into a failure. gRPC statuses are for
// the transport only: a plugin's own failures are answers.
func (p *process) transportFailure(ctx context.Context, err error) *runs.Error {
	if over := excessIn(err); over != nil {
		return over.failure(p.unit.source.Name, runs.AppliedUnknown)
	}
	if fault := faultIn(err); fault != nil {
		return p.unit.faultFailure(fault)
	}
	state := status.Convert(err)
	if failure := contextFailure(ctx); failure != nil && state.Code() != codes.ResourceExhausted {
		return failure
	}
	switch state.Code() {
	case codes.ResourceExhausted:
		return p.sizeFailure(state)
	case codes.DeadlineExceeded: // before ctx: the plugin or gRPC was a little ahead
		return runs.Failure(plan.KindTimeout, runs.AppliedUnknown, "the plugin did not answer in time")
	case codes.Unimplemented:
		return runs.Failure(plan.KindUnsupported, runs.NotApplied, "plugin %s does not implement this call: %s", p.unit.source.Name, state.Message())
	case codes.Internal:
		if strings.Contains(state.Message(), noUTF8) {
			return runs.Failure(plan.KindUnexpectedResponse, runs.AppliedUnknown, "plugin %s sent text that is no UTF-8", p.unit.source.Name)
		}
	case codes.Unauthenticated:
		return runs.Failure(plan.KindInternal, runs.NotApplied, "plugin %s refused the launch token", p.unit.source.Name)
	}
	return p.crashFailure(state)
}

func (p *process) sizeFailure(state *status.Status) *runs.Error {
	limit := p.unit.host.options.Limits.Message
	match := tooLarge().FindStringSubmatch(state.Message())
	if match != nil && match[2] != strconv.Itoa(limit) {
		return runs.Failure(plan.KindInvalid, runs.NotApplied, "the input is too large for plugin %s, which takes %s bytes", p.unit.source.Name, match[2])
	}
	failure := &runs.Error{
		Kind: plan.KindUnexpectedResponse, Applied: runs.AppliedUnknown, Reason: runs.ReasonTooLarge,
		Message: fmt.Sprintf("the answer of plugin %s is larger than the limit of %d bytes", p.unit.source.Name, limit),
		Hint:    diag.Say("ask for less at a time: a page, a shorter range, fewer fields; its author can have it answer in pages"),
	}
	if match != nil && match[1] != "" {
		failure.Details = json.RawMessage(fmt.Sprintf(`{"size":%s,"limit":%d}`, match[1], limit)) // digits
		failure.Message = fmt.Sprintf("the answer of plugin %s has %s bytes, the limit is %d", p.unit.source.Name, match[1], limit)
	}
	return failure
}

// countTime is how long the failure of a call waits for the crash to be counted.
const countTime = 500 * time.Millisecond

// crashFailure waits a moment for the process's end, so that the failure can
// say how it died and what it wrote last.
func (p *process) crashFailure(state *status.Status) *runs.Error {
	name := p.unit.source.Name
	wait := 50 * time.Millisecond // the plugin answered: it most likely lives
	if state.Code() == codes.Unavailable {
		wait = 2 * time.Second
	}
	if !p.endsWithin(wait) {
		return runs.Failure(plan.KindCrashed, runs.AppliedUnknown, "plugin %s broke off the call: %s", name, state.Message())
	}
	select { // all that is said here is known; who asks for the plugin's state next should see the crash
	case <-p.gone:
	case <-time.After(countTime):
	}
	if p.stopping.Load() {
		return &runs.Error{
			Kind: plan.KindCanceled, Applied: runs.AppliedUnknown, Reason: ReasonClosed,
			Message: fmt.Sprintf("plugin %s was stopped during the call", name),
		}
	}
	tail := p.output.last()
	failure := &runs.Error{
		Kind: plan.KindCrashed, Applied: runs.AppliedUnknown, Details: stderrDetails(tail),
		Message: fmt.Sprintf("plugin %s died in the middle of the call (%s)", name, p.runner.ending()),
	}
	words := lastWords(tail)
	if p.runner.wasKilled() {
		failure.Reason = ReasonLimit
		words = "" // it was told nothing, and says nothing of it
	}
	if words != "" {
		failure.Message += ": " + words
	}
	return failure
}
