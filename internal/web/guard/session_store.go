package guard

import (
	"log/slog"
	"time"
)

// SessionStore keeps sessions over a restart of the server. Of the cookie it gets the
// hash alone.
type SessionStore interface {
	// Sessions returns those that have not ended.
	Sessions() ([]StoredSession, error)
	// PutSession stores a session, or writes it anew. It is durable on return, and gone
	// after ends.
	PutSession(s StoredSession, ends time.Time) error
	// DeleteSessions forgets sessions for good, on return.
	DeleteSessions(ids ...string) error
}

// StoredSession is a session as it is kept.
type StoredSession struct {
	ID      string    `json:"-"` // the hash of the cookie's value, in hex
	Name    string    `json:"name"`
	Token   string    `json:"token,omitempty"` // id of the token that it was made with; "" = a login link
	Scope   Scope     `json:"scope"`
	Created time.Time `json:"created"`
	Used    time.Time `json:"used"`
}

// usedStep is how exact the stored time of the last use is: each change is a commit.
const usedStep = 5 * time.Minute

// noStore is where nothing is kept.
type noStore struct{}

func (noStore) Sessions() ([]StoredSession, error)        { return nil, nil }
func (noStore) PutSession(StoredSession, time.Time) error { return nil }
func (noStore) DeleteSessions(...string) error            { return nil }

// stored is a session in the form that is kept, and when it ends there.
func (s *session) stored() (StoredSession, time.Time) {
	ends := s.created.Add(sessionLife)
	if idle := s.used.Add(sessionIdle + usedStep); idle.Before(ends) {
		ends = idle
	}
	return StoredSession{ID: s.id, Name: s.name, Token: s.grant, Scope: s.scope, Created: s.created, Used: s.used}, ends
}

// load takes up the sessions of the server before. Without them it goes on: who had
// one logs in again.
func (s *sessions) load(log *slog.Logger) {
	rows, err := s.store.Sessions()
	if err != nil {
		log.Error("the sessions of the page can't be read; who was logged in must log in again", "error", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, row := range rows {
		found := &session{id: row.ID, name: row.Name, grant: row.Token, scope: row.Scope, created: row.Created, used: row.Used, saved: row.Used}
		if !found.over(s.now()) && Admin.Allows(found.scope) && len(s.byID) < maxSessions {
			s.byID[row.ID] = found
		}
	}
}

// save stores when sessions were used last, of those that were used since.
func (s *sessions) save(log *slog.Logger) {
	s.mu.Lock()
	var changed []session
	for _, found := range s.byID {
		if found.used.Sub(found.saved) >= usedStep {
			found.saved = found.used
			changed = append(changed, *found)
		}
	}
	s.mu.Unlock()
	for _, one := range changed {
		row, ends := one.stored()
		if err := s.store.PutSession(row, ends); err != nil {
			log.Debug("use of a session not noted", "error", err)
		}
	}
}
