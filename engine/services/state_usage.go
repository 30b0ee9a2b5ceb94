package services

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/quota"
)

// usedBucket is the store's bucket of when the scopes of plugins' state were used
// last.
const usedBucket = "plugin.state.used"

// usedEvery is how exactly that is known: a use is noted once in this time.
const usedEvery = 24 * time.Hour

// stateScope is what a quota of a plugin's state is of.
type stateScope struct{ Plugin, Name string }

func scopeName(key pluginhost.StateKey) stateScope { return stateScope{key.Plugin, key.Scope} }

// prefix begins the names of the scope's rows: see stateName.
func (s stateScope) prefix() string {
	name, _ := json.Marshal([]string{s.Plugin, s.Name}) // texts always can be encoded
	return string(name[:len(name)-1]) + ","
}

// stateUsage counts what the scopes take in the store. A scope is measured once,
// at its first write; after that all writes go through here. Safe for concurrent
// use.
type stateUsage struct {
	mu     sync.Mutex
	scopes map[stateScope]*scopeUsage
	used   map[stateScope]time.Time // as it is noted in the store
}

// scopeUsage is one scope. Its writes are one after the other, so that none slips
// in between the look at the room and the commit.
type scopeUsage struct {
	mu       sync.Mutex
	measured bool
	rows     map[string]int64 // StoredSecrets bytes by name
	bytes    int64
}

func (u *stateUsage) of(scope stateScope) *scopeUsage {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.scopes == nil {
		u.scopes = map[stateScope]*scopeUsage{}
	}
	usage := u.scopes[scope]
	if usage == nil {
		usage = &scopeUsage{}
		u.scopes[scope] = usage
	}
	return usage
}

// forget lets a scope be measured anew.
func (u *stateUsage) forget(scope stateScope) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.scopes, scope)
	delete(u.used, scope)
}

// measure reads what the scope takes. Its lock is held.
func (u *scopeUsage) measure(s *Services, scope stateScope) error {
	sizes, err := s.rows.Sizes(StateBucket, scope.prefix())
	if err != nil {
		return err
	}
	u.rows, u.bytes, u.measured = make(map[string]int64, len(sizes)), 0, true
	for _, size := range sizes {
		u.rows[size.Key] = size.Bytes
		u.bytes += size.Bytes
	}
	return nil
}

// set notes that a row takes so much now; 0 = it is gone.
func (u *scopeUsage) set(name string, bytes int64) {
	u.bytes += bytes - u.rows[name]
	if bytes == 0 {
		delete(u.rows, name)
		return
	}
	u.rows[name] = bytes
}

// over returns the quota that a row of this size would break.
func (u *scopeUsage) over(quotas quota.Values, scope stateScope, name string, bytes int64) *pluginhost.StateQuotaError {
	keys := int64(len(u.rows))
	if _, there := u.rows[name]; !there {
		keys++
	}
	if limit := quotas.Of(quota.StateKeys); keys > limit {
		return &pluginhost.StateQuotaError{Quota: quota.StateKeys, Scope: scope.Name, Size: keys, Limit: limit}
	}
	if limit, after := quotas.Of(quota.State), u.bytes-u.rows[name]+bytes; after > limit && bytes > u.rows[name] {
		return &pluginhost.StateQuotaError{Quota: quota.State, Scope: scope.Name, Size: after, Limit: limit}
	}
	return nil
}

// sealedSize is what a row takes beside its name and its encoded value: version,
// nonce, checksums.
const sealedSize = 64

// admit makes room for a row of a scope, or refuses it. Its lock is held.
func (u *scopeUsage) admit(s *Services, scope stateScope, name string, bytes int64) error {
	if !u.measured {
		if err := u.measure(s, scope); err != nil {
			return err
		}
	}
	quotas := s.options.Quotas
	over := u.over(quotas, scope, name, bytes)
	if over == nil {
		return nil
	}
	for row := range u.rows {
		gone, err := s.dropExpired(row)
		if err != nil {
			return err
		}
		if gone {
			u.set(row, 0)
		}
	}
	if over = u.over(quotas, scope, name, bytes); over != nil {
		return over
	}
	return nil
}

// noteUse remembers that a scope is in use. Those of runs end with their runs.
func (s *Services) noteUse(scope stateScope) {
	if _, ofRun := runOf(scope.Name); ofRun {
		return
	}
	now := s.options.Now()
	s.usage.mu.Lock()
	noted, ok := s.usage.used[scope]
	if ok && now.Sub(noted) < usedEvery && !now.Before(noted) {
		s.usage.mu.Unlock()
		return
	}
	if s.usage.used == nil {
		s.usage.used = map[stateScope]time.Time{}
	}
	s.usage.used[scope] = now
	s.usage.mu.Unlock()
	if stored, exists := s.lastUse(scope); exists && now.Sub(stored) < usedEvery && !now.Before(stored) {
		return
	}
	if err := s.putUse(scope, now); err != nil {
		s.options.Log.Warn("use of plugin state not noted", "plugin", scope.Plugin, "scope", scope.Name, "error", err)
	}
}

func (s *Services) putUse(scope stateScope, at time.Time) error {
	_, err := s.rows.Put(usedBucket, scope.prefix(), []byte(at.UTC().Format(time.RFC3339)), nil)
	return err
}

// lastUse returns when the scope was used, to a day.
func (s *Services) lastUse(scope stateScope) (at time.Time, ok bool) {
	stored, _, ok, err := s.rows.Get(usedBucket, scope.prefix())
	if err != nil || !ok {
		return time.Time{}, false
	}
	at, err = time.Parse(time.RFC3339, string(stored))
	return at, err == nil
}
