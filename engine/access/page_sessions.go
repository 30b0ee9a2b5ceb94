package access

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
func (c *Control) PageSessions() ([]PageSession, error) {
	rows, err := c.store.Sessions(c.now())
	if err != nil {
		return nil, c.fault(err)
	}
	sessions := make([]PageSession, 0, len(rows))
	for _, row := range rows {
		sessions = append(sessions, PageSession{ID: hex.EncodeToString(row.Hash[:]), Value: row.Value, Ends: row.Expires})
	}
	return sessions, nil
}

// PutPageSession stores a session; it is durable on return.
func (c *Control) PutPageSession(s PageSession) error {
	hash, err := sessionHash(s.ID)
	if err != nil {
		return err
	}
	return c.fault(c.store.PutSession(store.Session{Hash: hash, Value: s.Value, Expires: s.Ends}, c.now()))
}

// RemovePageSessions forgets sessions for good, on return.
func (c *Control) RemovePageSessions(ids ...string) error {
	hashes := make([]store.SessionHash, 0, len(ids))
	for _, id := range ids {
		hash, err := sessionHash(id)
		if err != nil {
			return err
		}
		hashes = append(hashes, hash)
	}
	return c.fault(c.store.DeleteSessions(hashes...))
}

func sessionHash(id string) (hash store.SessionHash, err error) {
	data, err := hex.DecodeString(id)
	if err != nil || len(data) != len(hash) {
		return hash, fmt.Errorf("%q is not the id of a session", id)
	}
	return store.SessionHash(data), nil
}
