package upkeep

import (
	"context"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
)

// What the tests of whole engines see of the upkeep in them.

func (u *Upkeep) Store() store.Store                 { return u.store }
func (u *Upkeep) Project() *workspace.Workspace      { return u.project }
func (u *Upkeep) Pass(ctx context.Context) int       { return u.keeper.pass(ctx) }
func (u *Upkeep) LastPassMayTake(most time.Duration) { u.keeper.last = most }
func (u *Upkeep) SweepOutputs(now time.Time) (int, error) {
	return u.sweepOutputs(context.Background(), now)
}

func (u *Upkeep) Expire(ctx context.Context, now time.Time) ([]string, error) {
	return u.expire(ctx, now)
}

// StopKeeper ends the worker: the passes are made by the test.
func (u *Upkeep) StopKeeper() {
	u.keeper.stop()
	u.keeper.done.Wait()
}

// KeepAt lets another worker make passes when a test says so, with all the time that
// they need, and returns what ends it.
func (u *Upkeep) KeepAt(ticks <-chan time.Time) (stop func()) {
	k := newKeeper(u, func(time.Duration) <-chan time.Time { return ticks })
	k.batch = time.Minute // nothing has ticked yet
	return func() {
		k.stop()
		k.done.Wait()
	}
}

// ExportUnmasked is the export of a run without what masks it.
func (u *Upkeep) ExportUnmasked(ctx context.Context, id string) (string, error) {
	var text strings.Builder
	x := &export{upkeep: u, masks: u.project.Redactor(), emit: func(line ExportLine) error { text.Write(line.Data); return nil }}
	x.run(ctx, id)
	return text.String(), x.err
}
