package ports

import (
	"context"
	"time"

	"github.com/flowrun/flowrun/engine/dispatch"
	"github.com/flowrun/flowrun/engine/store"
)

// spaceEvery is how often a call that waits for room looks again.
const spaceEvery = 2 * time.Second

// spaceGate holds calls back while the disk is almost full: what they answer
// could not be stored (docs/reliability.md, P12). They go on by themselves.
type spaceGate struct {
	pressure func() store.Pressure
	now      func() time.Time
	After    func(time.Duration) <-chan time.Time
}

var _ dispatch.Gate = (*spaceGate)(nil)

// NewSpaceGate returns the gate of a store with this pressure.
func NewSpaceGate(pressure func() store.Pressure, now func() time.Time, after func(time.Duration) <-chan time.Time) *spaceGate {
	return &spaceGate{pressure: pressure, now: now, After: after}
}

// Enter waits for room.
func (g *spaceGate) Enter(ctx context.Context, onWait func(reason string, until time.Time)) error {
	for g.pressure().Level == store.PauseDispatch {
		onWait("disk almost full", g.now().Add(spaceEvery))
		select {
		case <-g.After(spaceEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}
