package memstore

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/store"
)

// bucket are the rows of one name.
type bucket struct {
	rows map[string]row
	last uint64 // version
}

type row struct {
	value   []byte
	version uint64
}

// kvRows are the rows for others.
type kvRows struct{ store *Store }

// KV is that of store.Store.
func (s *Store) KV() store.KV { return kvRows{s} }

func (d *data) row(name, key string) (row, bool) {
	if b := d.rows[name]; b != nil {
		r, ok := b.rows[key]
		return r, ok
	}
	return row{}, false
}

func (kv kvRows) Get(name, key string) (value []byte, version uint64, ok bool, err error) {
	err = kv.store.view(func(d *data) error {
		var r row
		r, ok = d.row(name, key)
		value, version = bytes.Clone(r.value), r.version
		return nil
	})
	return value, version, ok, err
}

// matches is the condition of a write.
func (d *data) matches(name, key string, ifVersion *uint64) error {
	if r, _ := d.row(name, key); ifVersion != nil && r.version != *ifVersion {
		return fmt.Errorf("version is %d, not %d: %w", r.version, *ifVersion, store.ErrConflict)
	}
	return nil
}

func (kv kvRows) Put(name, key string, value []byte, ifVersion *uint64) (version uint64, err error) {
	if err := store.CheckRow(name, key, value); err != nil {
		return 0, err
	}
	err = kv.store.update(func(t *tx) error {
		if err := t.matches(name, key, ifVersion); err != nil {
			return err
		}
		b := t.rows[name]
		if b == nil {
			b = &bucket{rows: map[string]row{}}
			t.rows[name] = b
		}
		b.last++
		version, t.wrote = b.last, true
		b.rows[key] = row{append([]byte{}, value...), version}
		return nil
	})
	return version, err
}

func (kv kvRows) Delete(name, key string, ifVersion *uint64) error {
	return kv.store.update(func(t *tx) error {
		if err := t.matches(name, key, ifVersion); err != nil {
			return err
		}
		if _, ok := t.row(name, key); ok {
			delete(t.rows[name].rows, key)
			t.wrote = true
		}
		return nil
	})
}

// keys returns the keys of a bucket, in order.
func (d *data) keys(name, prefix string) (keys []string) {
	if b := d.rows[name]; b != nil {
		for _, key := range slices.Sorted(maps.Keys(b.rows)) {
			if strings.HasPrefix(key, prefix) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func (kv kvRows) DeleteBefore(name, key string) error {
	return kv.store.update(func(t *tx) error {
		for _, one := range t.keys(name, "") {
			if one < key {
				delete(t.rows[name].rows, one)
				t.wrote = true
			}
		}
		return nil
	})
}

func (kv kvRows) List(name, prefix string) (keys []string, err error) {
	err = kv.store.view(func(d *data) error {
		keys = d.keys(name, prefix)
		return nil
	})
	return keys, err
}

func (kv kvRows) Sizes(name, prefix string) (sizes []store.KVSize, err error) {
	err = kv.store.view(func(d *data) error {
		for _, key := range d.keys(name, prefix) {
			sizes = append(sizes, store.KVSize{Key: key, Bytes: int64(len(key) + len(d.rows[name].rows[key].value))})
		}
		return nil
	})
	return sizes, err
}

func (kv kvRows) Rewrite(name, after string, limit int, change func(key string, value []byte) ([]byte, error)) (last string, rewritten int, err error) {
	err = kv.store.update(func(t *tx) error {
		keys := slices.DeleteFunc(t.keys(name, ""), func(key string) bool { return after != "" && key <= after })
		changed := map[string][]byte{}
		for _, key := range keys[:min(limit, len(keys))] {
			value, err := change(key, bytes.Clone(t.rows[name].rows[key].value))
			if err != nil {
				return err
			}
			if value != nil {
				changed[key] = bytes.Clone(value)
			}
		}
		if limit < len(keys) {
			last = keys[limit-1]
		}
		for key, value := range changed {
			t.rows[name].rows[key] = row{value, t.rows[name].rows[key].version}
		}
		rewritten, t.wrote = len(changed), len(changed) > 0
		return nil
	})
	return last, rewritten, err
}

// PutSession is that of store.Sessions.
func (s *Store) PutSession(session store.Session, now time.Time) error {
	if err := store.CheckSession(session); err != nil {
		return err
	}
	session.Value, session.Expires = bytes.Clone(session.Value), session.Expires.UTC().Truncate(time.Millisecond)
	return s.update(func(t *tx) error {
		maps.DeleteFunc(t.sessions, func(_ store.SessionHash, one store.Session) bool { return !now.Before(one.Expires) })
		if len(t.sessions) >= store.MaxSessions {
			first := slices.MinFunc(slices.Collect(maps.Values(t.sessions)), func(a, b store.Session) int { return a.Expires.Compare(b.Expires) })
			delete(t.sessions, first.Hash)
		}
		t.sessions[session.Hash] = session
		t.wrote = true
		return nil
	})
}

// Sessions is that of store.Sessions.
func (s *Store) Sessions(now time.Time) (sessions []store.Session, err error) {
	err = s.view(func(d *data) error {
		for _, one := range d.sessions {
			if now.Before(one.Expires) {
				one.Value = bytes.Clone(one.Value)
				sessions = append(sessions, one)
			}
		}
		return nil
	})
	slices.SortFunc(sessions, func(a, b store.Session) int { return cmp.Or(bytes.Compare(a.Hash[:], b.Hash[:])) })
	return sessions, err
}

// DeleteSessions is that of store.Sessions.
func (s *Store) DeleteSessions(hashes ...store.SessionHash) error {
	return s.update(func(t *tx) error {
		for _, hash := range hashes {
			if _, ok := t.sessions[hash]; ok {
				delete(t.sessions, hash)
				t.wrote = true
			}
		}
		return nil
	})
}
