package dispatch

import (
	"context"
	"fmt"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// recall makes a call with what earlier ones left: the watermark of its cursor,
// or the answer of the same call before.
func (a *attempt) recall(ctx context.Context) runs.Answer {
	options := &a.dispatcher.options
	switch {
	case a.Action == nil || options.Identifier == nil:
	case a.Command.Cursor != "" && options.Memory != nil:
		return a.fromCursor(ctx)
	case a.Command.Cache > 0 && options.Cache != nil && len(a.Request.Checkpoint) == 0:
		return a.fromCache(ctx)
	}
	return a.execute(ctx)
}

// fromCursor gives a call the watermark of its cursor, and the answer the
// version that it was read from.
func (a *attempt) fromCursor(ctx context.Context) runs.Answer {
	options, name, request := &a.dispatcher.options, a.Command.Cursor, &a.Request
	identity, err := options.Identifier.Identify(a.Action, request.Connection, request.Input, true)
	if err != nil {
		return Failure(plan.KindInvalid, runs.NotApplied, "name the cursor %s: %v", name, err)
	}
	read := runs.CursorRead{Key: runs.CursorKey(request.Workflow, name, identity)}
	stored, err := options.Memory.Cursor(read.Key)
	if err != nil {
		return Failure(plan.KindInternal, runs.NotApplied, "read the cursor %s: %v", name, err)
	}
	if stored != nil {
		request.Watermark, read.Version = stored.Value, stored.Version
	} else if request.PageCursor == "" && request.Attempt == 1 {
		a.warnOfOtherCursors()
	}
	answer := a.execute(ctx)
	if answer.Completed != nil {
		answer.Completed.Cursor = &read
	}
	return answer
}

// warnOfOtherCursors tells that a reading begins from the start, although one of
// its name was there: with other parameters.
func (a *attempt) warnOfOtherCursors() {
	name := a.Command.Cursor
	others, err := a.dispatcher.options.Memory.Cursors(a.Request.Workflow, name)
	if err != nil || len(others) == 0 {
		return
	}
	a.Listener.Log(runs.Log{Level: "warn", Message: fmt.Sprintf(
		"the cursor `%s` belongs to other parameters: a new one begins at the start, the old one is kept", name)})
}

// fromCache answers a read from the cache, or puts its answer there.
func (a *attempt) fromCache(ctx context.Context) runs.Answer {
	options, request := &a.dispatcher.options, &a.Request
	identity, err := options.Identifier.Identify(a.Action, request.Connection, request.Input, false)
	if err != nil {
		return Failure(plan.KindInvalid, runs.NotApplied, "name the cached answer: %v", err)
	}
	key := identity + "#" + request.PageCursor
	if request.AllPages {
		key += "#items" // a page of which only the items are kept is another answer
	}
	if completed := options.Cache.Get(key, a.Command.Cache); completed != nil {
		answer := *completed
		answer.Cached = true
		return runs.Answer{Completed: &answer}
	}
	answer := a.execute(ctx)
	if answer.Completed != nil {
		options.Cache.Put(key, answer.Completed, a.Command.Cache)
	}
	return answer
}
