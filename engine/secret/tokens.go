package secret

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"
)

// Token is an access token with what renews it. A zero ExpiresAt means that it
// does not expire.
type Token struct {
	AccessToken  string    `json:"access_token"`
	TokenType    string    `json:"token_type,omitempty"`
	ExpiresAt    time.Time `json:"expires_at,omitzero"`
	RefreshToken string    `json:"refresh_token,omitempty"`
	Extra        []byte    `json:"extra,omitempty"`
	ID           string    `json:"id"` // names the token without showing it; for reject
}

// Lease is the right to renew a token, given to one caller at a time. Stale is
// the token to renew, nil when there has been none.
type Lease struct {
	ID    string
	Stale *Token
	Until time.Time // then another caller may get a lease
	// Interrupted says that an earlier renewal never reported its end, as after
	// a crash: the service may have rotated the refresh token already.
	Interrupted bool
}

// RefreshError is the failure of a renewal, as every caller that waited for it
// gets it. LostInCrash: an earlier renewal was cut off, and its answer may have
// held the refresh token that the service now wants (docs/reliability.md P11).
type RefreshError struct {
	Connection  string
	LostInCrash bool
	Err         error
}

func (e *RefreshError) Error() string {
	if e.LostInCrash {
		return fmt.Sprintf("renew token of %s: %v (a renewal was lost in a crash)", e.Connection, e.Err)
	}
	return fmt.Sprintf("renew token of %s: %v", e.Connection, e.Err)
}

// Unwrap returns what the renewer reported.
func (e *RefreshError) Unwrap() error { return e.Err }

// ErrNoLease says that a lease is not known: it was answered, or its token was
// renewed by another lease since.
var ErrNoLease = errors.New("no such refresh lease")

// tokensBucket holds one row for each credential.
const tokensBucket = "tokens"

// defaultLeaseTime is how long a renewal may take.
const defaultLeaseTime = time.Minute

// TokensOptions are what Tokens need. LeaseTime 0 = one minute.
type TokensOptions struct {
	KV        *SealedKV
	Now       func() time.Time
	After     func(time.Duration) <-chan time.Time
	Entropy   io.Reader // for lease ids
	LeaseTime time.Duration
	Redactor  *Redactor // hears of every token; may be nil
}

// Tokens holds the tokens of connections: one credential for each (connection,
// key), one renewal of it at a time. A new token is durable before any caller
// sees it. Safe for concurrent use.
type Tokens struct {
	options TokensOptions

	mu          sync.Mutex // also guards Entropy
	credentials map[string]*credential
	leases      map[string]*lease
}

// NewTokens returns Tokens over sealed rows.
func NewTokens(options TokensOptions) *Tokens {
	if options.LeaseTime == 0 {
		options.LeaseTime = defaultLeaseTime
	}
	return &Tokens{options: options, credentials: map[string]*credential{}, leases: map[string]*lease{}}
}

// credential serializes what happens to one row.
type credential struct {
	mu         sync.Mutex
	connection string
	row        string // key of the row
	lease      *lease // the one that is out; nil = none
	masked     []string
}

// lease is a lease that was given out.
type lease struct {
	id         string
	credential *credential
	generation uint64
	minTTL     time.Duration // what its holder asked for
	reject     string
	until      time.Time
	ended      chan struct{} // closed when waiters shall look again
	failure    error         // set before ended is closed
}

// tokenRow is the stored form. Previous is kept until its successor was used.
type tokenRow struct {
	Generation uint64          `json:"generation"`
	Token      *Token          `json:"token,omitempty"`
	Received   time.Time       `json:"received,omitzero"` // when Token was stored
	Previous   string          `json:"previous_refresh_token,omitempty"`
	Pending    *pendingRefresh `json:"refresh_pending,omitempty"`
	Gone       string          `json:"gone,omitempty"` // why the last token was forgotten
}

// pendingRefresh is written before a renewal may begin.
type pendingRefresh struct {
	OldHash     string    `json:"old_hash"` // of the refresh token that it uses
	At          time.Time `json:"at"`
	Interrupted bool      `json:"interrupted,omitempty"` // one before it never ended
}

// Acquire returns a token that is good for at least minTTL and whose id is not
// reject, without its refresh token; or, to one caller, the lease to renew it.
// Half of a token's lifetime is the most that minTTL asks for, so that one that
// lives a minute is not renewed at each call; Renew and above asks for a renewal
// whatever its age. All others wait for that renewal, until ctx ends. When it
// fails they get the stored token as long as that is good at all, else a
// *RefreshError; the next call may try again.
func (t *Tokens) Acquire(ctx context.Context, connection, key string, minTTL time.Duration, reject string) (*Token, *Lease, error) {
	c := t.credential(connection, key)
	for {
		token, given, pending, err := t.look(c, minTTL, reject)
		if err != nil || token != nil || given != nil {
			return token, given, err
		}
		select {
		case <-pending.ended:
			if pending.failure != nil {
				token, err := t.fallback(c, minTTL, reject, pending.failure)
				return token, nil, err
			}
		case <-t.options.After(max(pending.until.Sub(t.options.Now()), time.Millisecond)):
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// look returns one of a good token, a new lease, and the lease to wait for.
func (t *Tokens) look(c *credential, minTTL time.Duration, reject string) (*Token, *Lease, *lease, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	row, version, err := t.read(c)
	if err != nil {
		return nil, nil, nil, err
	}
	now := t.options.Now()
	if row.good(now, minTTL, reject) {
		return t.shown(c, row.Token), nil, nil, nil
	}
	if c.lease != nil && now.Before(c.lease.until) {
		return nil, nil, c.lease, nil
	}
	given, err := t.give(c, row, version, &lease{minTTL: minTTL, reject: reject}, now)
	return nil, given, nil, err
}

// shown is what a user of the token gets.
func (t *Tokens) shown(c *credential, token *Token) *Token {
	copied := *token
	copied.RefreshToken = ""
	t.redact(c, token)
	return &copied
}

// give writes the marker, durably, then gives the lease out.
func (t *Tokens) give(c *credential, row *tokenRow, version uint64, l *lease, now time.Time) (*Lease, error) {
	interrupted := row.Pending != nil
	pending := &pendingRefresh{At: now.UTC(), Interrupted: interrupted}
	if row.Token != nil {
		sum := sha256.Sum256([]byte(row.Token.RefreshToken))
		pending.OldHash = hex.EncodeToString(sum[:])
		t.redact(c, row.Token)
	}
	row.Pending = pending
	if err := t.write(c, row, version); err != nil {
		return nil, err
	}
	id, err := t.newID()
	if err != nil {
		return nil, err
	}
	l.id, l.credential, l.generation = id, c, row.Generation
	l.until, l.ended = now.Add(t.options.LeaseTime), make(chan struct{})
	t.mu.Lock()
	maps.DeleteFunc(t.leases, func(_ string, old *lease) bool {
		return old.credential == c && (old.generation != l.generation || now.After(old.until.Add(10*t.options.LeaseTime)))
	})
	t.leases[l.id] = l
	t.mu.Unlock()
	c.lease = l
	return &Lease{ID: l.id, Stale: row.Token, Until: l.until, Interrupted: interrupted}, nil
}

// Commit ends a lease: with the new token, which is durable when Commit returns
// and before any waiter sees it, or with the failure of the renewal, after which
// the stale token is kept. A late token is taken as long as no other was stored
// since the lease was given. ErrNoLease.
func (t *Tokens) Commit(leaseID string, token *Token, failure error) error {
	l, row, version, unlock, err := t.begin(leaseID)
	if err != nil {
		return err
	}
	defer unlock()
	c := l.credential
	if token == nil || token.AccessToken == "" {
		return t.commitFailure(l, row, version, failure)
	}
	stored := *token
	if row.Token != nil {
		row.Previous = row.Token.RefreshToken
	}
	row.Gone = ""
	if stored.ID == "" {
		sum := sha256.Sum256([]byte(stored.AccessToken))
		stored.ID = hex.EncodeToString(sum[:8])
	}
	row.Token, row.Received, row.Pending = &stored, t.options.Now().UTC(), nil
	row.Generation++
	t.redact(c, &stored)
	if err := t.write(c, row, version); err != nil {
		return l.end(err)
	}
	if current := c.lease; current != l && current != nil {
		_ = current.end(nil) // its waiters find the new token
	}
	return l.end(nil)
}

// begin takes a lease out of the open ones and reads its row, under the lock of
// the credential.
func (t *Tokens) begin(leaseID string) (l *lease, row *tokenRow, version uint64, unlock func(), err error) {
	t.mu.Lock()
	l = t.leases[leaseID]
	delete(t.leases, leaseID)
	t.mu.Unlock()
	if l == nil {
		return nil, nil, 0, nil, ErrNoLease
	}
	l.credential.mu.Lock()
	row, version, err = t.read(l.credential)
	switch {
	case err != nil:
		err = l.end(err)
	case row.Generation != l.generation:
		// Another renewal was faster: its token is the one to use.
		_ = l.end(nil)
		err = ErrNoLease
	default:
		return l, row, version, l.credential.mu.Unlock, nil
	}
	l.credential.mu.Unlock()
	return nil, nil, 0, nil, err
}

// Lose ends a lease because the grant is gone: the token is forgotten, and until
// the next Commit of a token Stored says auth_required with the reason. Waiters
// get a *RefreshError. interrupted reports whether a crash may have lost it, see
// Interrupted.
func (t *Tokens) Lose(leaseID, reason string, failure error) (interrupted bool, err error) {
	l, row, version, unlock, err := t.begin(leaseID)
	if err != nil {
		return false, err
	}
	defer unlock()
	interrupted = row.Pending != nil && row.Pending.Interrupted && reason != reasonRevoked
	switch {
	case reason == reasonRevoked:
		row.Gone, row.Pending = "", nil
	case row.Token == nil: // as it was
	case interrupted:
		row.Gone = reasonLostInCrash
	default:
		row.Gone = reason
	}
	row.Token, row.Previous = nil, ""
	return interrupted, t.commitFailure(l, row, version, failure)
}

// reasonRevoked is the reason of a grant that its user gave up here: nothing
// needs a login until somebody wants one.
const reasonRevoked = "revoked"

// reasonLostInCrash is why a grant is gone whose renewal was cut off (P11).
const reasonLostInCrash = "lost in crash"

// Release ends a lease whose holder could not bring it to an end, because its own
// call was canceled or ran out of time: the next caller that waits takes it over.
// sent tells whether the service may have renewed the token meanwhile.
func (t *Tokens) Release(leaseID string, sent bool) error {
	l, row, version, unlock, err := t.begin(leaseID)
	if err != nil {
		return err
	}
	defer unlock()
	if !sent && row.Pending != nil && !row.Pending.Interrupted {
		row.Pending = nil
		if err := t.write(l.credential, row, version); err != nil {
			return l.end(err)
		}
	}
	return l.end(nil)
}

// The states of a Status.
const (
	StateNone         = "none"          // there never was a token, or it was revoked by its user here
	StateValid        = "valid"         // can be used now
	StateExpired      = "expired"       // has run out
	StateAuthRequired = "auth_required" // the grant is gone
)

// Status is what is known of a credential without its token.
type Status struct {
	State     string
	ExpiresAt time.Time
	Renewable bool // there is a refresh token
	Extra     []byte
	Reason    string // with StateAuthRequired
}

// Stored tells the state of a credential. It takes no lease.
func (t *Tokens) Stored(connection, key string) (Status, error) {
	c := t.credential(connection, key)
	c.mu.Lock()
	defer c.mu.Unlock()
	row, _, err := t.read(c)
	switch {
	case err != nil:
		return Status{}, err
	case row.Token == nil && row.Gone != "":
		return Status{State: StateAuthRequired, Reason: row.Gone}, nil
	case row.Token == nil:
		return Status{State: StateNone}, nil
	}
	s := Status{State: StateExpired, ExpiresAt: row.Token.ExpiresAt, Renewable: row.Token.RefreshToken != "", Extra: row.Token.Extra}
	if row.good(t.options.Now(), 0, "") {
		s.State = StateValid
	}
	return s, nil
}

// commitFailure keeps the marker of an interrupted renewal: what it may have
// lost is as unknown as before.
func (t *Tokens) commitFailure(l *lease, row *tokenRow, version uint64, failure error) error {
	if failure == nil {
		failure = errors.New("the renewal gave no token")
	}
	interrupted := row.Pending != nil && row.Pending.Interrupted
	if !interrupted {
		row.Pending = nil
	}
	if err := t.write(l.credential, row, version); err != nil {
		return l.end(err)
	}
	_ = l.end(&RefreshError{Connection: l.credential.connection, LostInCrash: interrupted, Err: failure})
	return nil
}

// end wakes the waiters and returns failure. The credential's lock is held.
func (l *lease) end(failure error) error {
	select {
	case <-l.ended: // a late answer after all had gone on
		return failure
	default:
	}
	l.failure = failure
	close(l.ended)
	if l.credential.lease == l {
		l.credential.lease = nil
	}
	return failure
}

// Interrupted tells whether a renewal of the credential never reported its end,
// so that a refusal now may be the loss of a rotated refresh token.
func (t *Tokens) Interrupted(connection, key string) (bool, error) {
	c := t.credential(connection, key)
	c.mu.Lock()
	defer c.mu.Unlock()
	row, _, err := t.read(c)
	return err == nil && row.Pending != nil && row.Pending.Interrupted, err
}

// Forget removes a credential, as a logout does.
func (t *Tokens) Forget(connection, key string) error {
	c := t.credential(connection, key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lease != nil {
		_ = c.lease.end(nil)
	}
	t.mu.Lock()
	maps.DeleteFunc(t.leases, func(_ string, l *lease) bool { return l.credential == c })
	t.mu.Unlock()
	return t.options.KV.Delete(tokensBucket, c.row, nil)
}
