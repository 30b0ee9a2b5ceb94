package secret

import "time"

// Renew is a validity that no token has: who asks for it wants a new token,
// whatever the age of the stored one.
const Renew = 50 * 365 * 24 * time.Hour

// good reports whether the stored token may be given to a caller.
func (r *tokenRow) good(now time.Time, minTTL time.Duration, reject string) bool {
	t := r.Token
	if t == nil || t.AccessToken == "" || (reject != "" && t.ID == reject) {
		return false
	}
	return t.ExpiresAt.IsZero() || t.ExpiresAt.Sub(now) > r.atMost(minTTL)
}

// atMost cuts what a caller asks for at half of the token's lifetime: a token
// that lives a minute would else be renewed at each call that wants it for one.
func (r *tokenRow) atMost(minTTL time.Duration) time.Duration {
	if minTTL >= Renew || r.Received.IsZero() {
		return minTTL
	}
	return min(minTTL, max(r.Token.ExpiresAt.Sub(r.Received)/2, 0))
}

// Fail ends a lease with the failure of its renewal, after which the stored token
// is kept. usable is that token where the holder of the lease may go on with it:
// its time is not over, and the service has not refused it. ErrNoLease.
func (t *Tokens) Fail(leaseID string, failure error) (usable *Token, err error) {
	l, row, version, unlock, err := t.begin(leaseID)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := t.commitFailure(l, row, version, failure); err != nil {
		return nil, err
	}
	return t.usable(l.credential, row, l.minTTL, l.reject), nil
}

// fallback is what a caller gets whose renewal by another one has failed.
func (t *Tokens) fallback(c *credential, minTTL time.Duration, reject string, failure error) (*Token, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	row, _, err := t.read(c)
	if err != nil {
		return nil, err
	}
	if token := t.usable(c, row, minTTL, reject); token != nil {
		return token, nil
	}
	return nil, failure
}

// usable is the stored token after a renewal that failed, nil where it is of no
// use. The credential's lock is held.
func (t *Tokens) usable(c *credential, row *tokenRow, minTTL time.Duration, reject string) *Token {
	if minTTL >= Renew || !row.good(t.options.Now(), 0, reject) {
		return nil
	}
	return t.shown(c, row.Token)
}
