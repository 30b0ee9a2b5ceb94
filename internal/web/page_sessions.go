package web

import (
	"encoding/json"
	"time"

	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/internal/web/guard"
)

// PageSessions is what the server needs of an engine to keep sessions over a
// restart.
type PageSessions interface {
	PageSessions() ([]access.PageSession, error)
	PutPageSession(s access.PageSession) error
	RemovePageSessions(ids ...string) error
}

// sessionStore is the guard's, over an engine.
type sessionStore struct{ sessions PageSessions }

// Sessions returns those that can be read: another version may have written others.
func (s sessionStore) Sessions() ([]guard.StoredSession, error) {
	rows, err := s.sessions.PageSessions()
	if err != nil {
		return nil, err
	}
	var list []guard.StoredSession
	for _, row := range rows {
		one := guard.StoredSession{}
		if json.Unmarshal(row.Value, &one) == nil {
			one.ID = row.ID
			list = append(list, one)
		}
	}
	return list, nil
}

// PutSession stores a session.
func (s sessionStore) PutSession(one guard.StoredSession, ends time.Time) error {
	value, err := json.Marshal(one)
	if err != nil {
		return err
	}
	return s.sessions.PutPageSession(access.PageSession{ID: one.ID, Value: value, Ends: ends})
}

// DeleteSessions forgets sessions.
func (s sessionStore) DeleteSessions(ids ...string) error {
	return s.sessions.RemovePageSessions(ids...)
}

// storeOf is where sessions are kept; nil = nowhere.
func storeOf(sessions PageSessions) guard.SessionStore {
	if sessions == nil {
		return nil
	}
	return sessionStore{sessions}
}
