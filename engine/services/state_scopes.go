package services

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/quota"
)

// DefaultUnused is how long the state of a plugin or a connection is kept
// that nobody reads or writes: longer than from one yearly run to the next.
const DefaultUnused = 400 * 24 * time.Hour

// PluginState is the state of a plugin in one scope: "plugin", "connection/NAME"
// or "run/ID".
type PluginState struct {
	Plugin   string     `json:"plugin"`
	Scope    string     `json:"scope"`
	Keys     int        `json:"keys"`
	Bytes    int64      `json:"bytes"`             // as they are stored
	MaxKeys  int64      `json:"max_keys"`          // the quotas of the scope
	MaxBytes int64      `json:"max_bytes"`         //
	UsedAt   *time.Time `json:"used_at,omitempty"` // to a day; never of a run's, which end with their runs
}

// PluginStateRequest names the state of a plugin, all of it or that of a scope.
type PluginStateRequest struct {
	Plugin string `json:"plugin"`
	Scope  string `json:"scope,omitempty"`
}

// RemovedState tells what was removed of plugins' state.
type RemovedState struct {
	Removed []PluginState `json:"removed"`
}

// States returns what plugins keep, the largest scope first: of all plugins, or of
// one.
func (s *Services) States(plugin string) ([]PluginState, error) {
	return s.states(stateScope{Plugin: plugin})
}

// states measures the scopes that are wanted: empty parts stand for all.
func (s *Services) states(wanted stateScope) ([]PluginState, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.rows == nil {
		return nil, ErrNoStore
	}
	sizes, err := s.rows.Sizes(StateBucket, "")
	if err != nil {
		return nil, err
	}
	quotas, byScope := s.options.Quotas, map[stateScope]*PluginState{}
	for _, size := range sizes {
		scope, ok := scopeOfRow(size.Key)
		if !ok || wanted.Plugin != "" && scope.Plugin != wanted.Plugin || wanted.Name != "" && scope.Name != wanted.Name {
			continue
		}
		state := byScope[scope]
		if state == nil {
			state = &PluginState{Plugin: scope.Plugin, Scope: scope.Name, MaxKeys: quotas.Of(quota.StateKeys), MaxBytes: quotas.Of(quota.State)}
			byScope[scope] = state
			if at, exists := s.lastUse(scope); exists {
				state.UsedAt = &at
			}
		}
		state.Keys++
		state.Bytes += size.Bytes
	}
	states := make([]PluginState, 0, len(byScope))
	for _, state := range byScope {
		states = append(states, *state)
	}
	order.Sort(states, func(a, b PluginState) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.Scope, b.Scope))
	})
	return states, nil
}

// RemoveState is Engine.RemovePluginState.
func (s *Services) RemoveState(request PluginStateRequest) (*RemovedState, error) {
	if request.Plugin == "" {
		return nil, &fault.InputError{Input: "plugin", Message: "whose state is to be removed? Name the plugin"}
	}
	states, err := s.states(stateScope{Plugin: request.Plugin, Name: request.Scope})
	if err != nil {
		return nil, err
	}
	if len(states) == 0 {
		return nil, &fault.UnknownError{What: "state of plugin", Name: strings.TrimSuffix(request.Plugin+" "+request.Scope, " "), Hint: diag.Sayf("%s shows what plugins keep", diag.Command{"state", "plugins", "list"})}
	}
	for _, state := range states {
		if err := s.removeScope(stateScope{state.Plugin, state.Scope}); err != nil {
			return nil, err
		}
	}
	return &RemovedState{Removed: states}, nil
}

// scopeOfRow reads stateName backwards.
func scopeOfRow(name string) (stateScope, bool) {
	var parts []string
	if json.Unmarshal([]byte(name), &parts) != nil || len(parts) != 3 {
		return stateScope{}, false
	}
	return stateScope{parts[0], parts[1]}, true
}

// runOf returns the run whose scope this is.
func runOf(scope string) (id string, ok bool) { return strings.CutPrefix(scope, "run/") }

// removeScope removes the rows of a scope.
func (s *Services) removeScope(scope stateScope) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.rows == nil {
		return ErrNoStore
	}
	usage := s.usage.of(scope)
	usage.mu.Lock()
	defer usage.mu.Unlock()
	defer s.usage.forget(scope)
	usage.measured = false
	names, err := s.rows.List(StateBucket, scope.prefix())
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := s.rows.Delete(StateBucket, name, nil); err != nil {
			return fmt.Errorf("remove state of plugin %s: %w", scope.Plugin, err)
		}
	}
	return s.rows.Delete(usedBucket, scope.prefix(), nil)
}

// dropExpired removes a row whose time is over, unless it was written meanwhile.
func (s *Services) dropExpired(name string) (gone bool, err error) {
	version, err := s.expiredVersion(name)
	if err != nil || version == 0 {
		return false, err
	}
	err = s.sealed.Delete(StateBucket, name, &version)
	return err == nil, ignoreConflict(err)
}

// SweepStates removes what of plugins' state belongs to nothing any more: rows
// whose time is over, scopes of runs that are removed, and scopes that nobody has
// used for long. A scope whose use was never noted begins to count now. gone says
// whether a run or a single call is there no more.
func (s *Services) SweepStates(ctx context.Context, now time.Time, gone func(id string) (bool, error)) (removed int, err error) {
	states, err := s.states(stateScope{})
	if err != nil {
		return 0, err
	}
	for _, state := range states {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		scope := stateScope{state.Plugin, state.Scope}
		over, err := s.scopeIsOver(scope, state.UsedAt, now, gone)
		if err != nil {
			return removed, err
		}
		if over {
			if err := s.removeScope(scope); err != nil {
				return removed, err
			}
			removed += state.Keys
			continue
		}
		n, err := s.sweepRows(ctx, scope)
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// scopeIsOver reports whether nobody needs a scope any more.
func (s *Services) scopeIsOver(scope stateScope, used *time.Time, now time.Time, gone func(id string) (bool, error)) (bool, error) {
	if id, ofRun := runOf(scope.Name); ofRun {
		return gone(id)
	}
	if used == nil {
		return false, s.beginUse(scope, now)
	}
	return now.Sub(*used) > cmp.Or(max(0, s.options.Unused), DefaultUnused), nil
}

func (s *Services) beginUse(scope stateScope, now time.Time) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.rows == nil {
		return ErrNoStore
	}
	return s.putUse(scope, now)
}

// sweepRows removes the rows of a scope whose time is over.
func (s *Services) sweepRows(ctx context.Context, scope stateScope) (removed int, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.rows == nil {
		return 0, ErrNoStore
	}
	names, err := s.rows.List(StateBucket, scope.prefix())
	if err != nil {
		return 0, err
	}
	usage := s.usage.of(scope)
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		usage.mu.Lock()
		gone, err := s.dropExpired(name)
		if gone && usage.measured {
			usage.set(name, 0)
		}
		usage.mu.Unlock()
		if err != nil {
			return removed, err
		}
		if gone {
			removed++
		}
	}
	return removed, nil
}
