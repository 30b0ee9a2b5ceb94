package upkeep

import (
	"context"
	"time"

	"github.com/flowrun/flowrun/engine/services"
)

// CheckKey opens every sealed value of the store with the key file. Values that
// it does not open are in the report; an error is one of the file or the store.
func (u *Upkeep) CheckKey(ctx context.Context) (*services.KeyReport, error) {
	report, err := u.project.Services().CheckKey(ctx)
	return report, u.Fault(err)
}

// RotateKey puts a new sealing key in the place of the old one and seals every
// value anew; a rotation that was interrupted is finished. Runs and logins go on
// meanwhile. The old key is kept in a file beside: backups from before need it.
// A *fault.ConflictError when a value can't be opened, before anything is changed.
func (u *Upkeep) RotateKey(ctx context.Context) (*services.KeyRotation, error) {
	rotation, err := u.project.Services().RotateKey(ctx, u.config.OnCommit)
	return rotation, u.Fault(err)
}

// PluginStates returns what plugins keep, the largest scope first: of all
// plugins, or of one.
func (u *Upkeep) PluginStates(_ context.Context, plugin string) ([]services.PluginState, error) {
	states, err := u.project.Services().States(plugin)
	return states, u.Fault(err)
}

// RemovePluginState removes what a plugin keeps, in all its scopes or in one. The
// plugin finds nothing then, as at its first call: a cache is filled anew, a
// login that it kept there is made anew. *fault.UnknownError where there is nothing.
func (u *Upkeep) RemovePluginState(_ context.Context, request services.PluginStateRequest) (*services.RemovedState, error) {
	removed, err := u.project.Services().RemoveState(request)
	return removed, u.Fault(err)
}

// sweepStates removes what of plugins' state belongs to nothing any more.
func (u *Upkeep) sweepStates(ctx context.Context, now time.Time) (removed int, err error) {
	return u.project.Services().SweepStates(ctx, now, func(id string) (bool, error) { return u.ownerIsGone(id, now) })
}
