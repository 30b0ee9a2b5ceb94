package dispatch

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A wait before a call ends with the call's context, with admission, and with itself,
// whether somebody has asked for Done before or not.
func TestAWaitEndsWithWhatEndsIt(t *testing.T) {
	type key struct{}
	for name, end := range map[string]func(call, admission, wait context.CancelFunc){
		"the call":  func(call, _, _ context.CancelFunc) { call() },
		"admission": func(_, admission, _ context.CancelFunc) { admission() },
		"itself":    func(_, _, wait context.CancelFunc) { wait() },
	} {
		for _, asked := range []bool{true, false} {
			call, endCall := context.WithDeadline(context.WithValue(t.Context(), key{}, "v"), time.Now().Add(time.Hour))
			admission, endAdmission := context.WithCancel(t.Context())
			ctx, endWait := New(Options{}, t.Context(), admission).whileOpen(call)
			if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) < 0 || ctx.Value(key{}) != "v" || ctx.Err() != nil {
				t.Errorf("%s: the context is not that of the call", name)
			}
			var child context.Context
			if asked {
				derived, cancel := context.WithCancel(ctx)
				defer cancel()
				child = derived
			}
			end(endCall, endAdmission, endWait)
			<-ctx.Done()
			if !errors.Is(ctx.Err(), context.Canceled) {
				t.Errorf("%s, asked before %v: ended with %v", name, asked, ctx.Err())
			}
			if asked {
				if <-child.Done(); !errors.Is(child.Err(), context.Canceled) {
					t.Errorf("%s: what was derived ended with %v", name, child.Err())
				}
			}
			endWait()
			endCall()
			endAdmission()
		}
	}
}
