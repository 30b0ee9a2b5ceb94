package engine

import (
	"encoding/hex"
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/store"
)

// PageSession is a session of the web page as it is stored: under the hash of its
// secret, which is nowhere. A backup that is restored has none.
type PageSession struct {
	ID    string // SHA-256 of the secret, in hex
	Value []byte // the server's
	Ends  time.Time
}

// PageSessions returns the sessions that have not ended.
func (e *Engine) PageSessions() ([]PageSession, error) {
	rows, err := e.store.Sessions(e.config.Now())
	if err != nil {
		return nil, e.Fault(err)
	}
	sessions := make([]PageSession, 0, len(rows))
	for _, row := range rows {
		sessions = append(sessions, PageSession{ID: hex.EncodeToString(row.Hash[:]), Value: row.Value, Ends: row.Expires})
	}
	return sessions, nil
}

// PutPageSession stores a session; it is durable on return.
func (e *Engine) PutPageSession(s PageSession) error {
	hash, err := sessionHash(s.ID)
	if err != nil {
		return err
	}
	return e.Fault(e.store.PutSession(store.Session{Hash: hash, Value: s.Value, Expires: s.Ends}, e.config.Now()))
}

// RemovePageSessions forgets sessions for good, on return.
func (e *Engine) RemovePageSessions(ids ...string) error {
	hashes := make([]store.SessionHash, 0, len(ids))
	for _, id := range ids {
		hash, err := sessionHash(id)
		if err != nil {
			return err
		}
		hashes = append(hashes, hash)
	}
	return e.Fault(e.store.DeleteSessions(hashes...))
}

func sessionHash(id string) (hash store.SessionHash, err error) {
	data, err := hex.DecodeString(id)
	if err != nil || len(data) != len(hash) {
		return hash, fmt.Errorf("%q is not the id of a session", id)
	}
	return store.SessionHash(data), nil
}
