package access

import (
	"fmt"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
)

// maxMadeWith is how many tokens may stand above one: each is looked at whenever it is used.
const maxMadeWith = 8

// boundByMaker holds a request for a token against the one that asks: it gets no scope that
// the maker lacks, and no later end. Who names no end gets the maker's.
func boundByMaker(r *NewToken, tokens []storedToken, now time.Time) error {
	maker := byID(tokens, r.MadeWith)
	if maker == nil || !holdsAmong(tokens, maker, now) {
		return &fault.ConflictError{Message: "the token that asks is good no more"}
	}
	scopes := TokenScopes()
	switch {
	case slices.Index(scopes, r.Scope) > slices.Index(scopes, maker.Scope):
		return &fault.InputError{Message: fmt.Sprintf("a token of scope %s makes none of scope %s", maker.Scope, r.Scope)}
	case maker.ExpiresAt != nil && (r.ExpiresAt.IsZero() || r.Shorten && r.ExpiresAt.After(*maker.ExpiresAt)):
		r.ExpiresAt = *maker.ExpiresAt
	case maker.ExpiresAt != nil && r.ExpiresAt.After(*maker.ExpiresAt):
		return &fault.InputError{
			Message: "the token would outlive " + maker.Name + ", which it is made with: that one ends at " + maker.ExpiresAt.Format(time.RFC3339),
			Hint:    diag.Say("leave out the time: it ends with that one then; or make it at the server's machine"),
		}
	}
	above := 1
	for next := byID(tokens, maker.MadeWith); next != nil && above < maxMadeWith; next = byID(tokens, next.MadeWith) {
		above++
	}
	if above >= maxMadeWith {
		return &fault.ConflictError{Message: fmt.Sprintf("%s was made with a token that was made with one, %d times over: no more is made with it", maker.Name, maxMadeWith-1), Hint: diag.Say("make the token at the server's machine")}
	}
	return nil
}

// holdsAmong reports whether one of the tokens is good: it has not expired,
// and its maker is good too.
func holdsAmong(tokens []storedToken, token *storedToken, now time.Time) bool {
	holds, _ := chainHolds(token, now, func(id string) (*storedToken, error) { return byID(tokens, id), nil })
	return holds
}

// holds is holdsAmong for a token alone: those above it are read.
func (c *Control) holds(token *storedToken, now time.Time) (bool, error) {
	return chainHolds(token, now, c.tokenOf)
}

func chainHolds(token *storedToken, now time.Time, find func(id string) (*storedToken, error)) (bool, error) {
	for range maxMadeWith + 1 {
		if token.expired(now) {
			return false, nil
		}
		if token.MadeWith == "" {
			return true, nil
		}
		maker, err := find(token.MadeWith)
		if err != nil || maker == nil {
			return false, err
		}
		token = maker
	}
	return false, nil
}

// madeWith returns the tokens that were made with one, and those that were made with these.
func madeWith(tokens []storedToken, id string) []storedToken {
	var made []storedToken
	for next := []string{id}; len(next) > 0; next = next[1:] {
		for _, token := range tokens {
			if token.MadeWith == next[0] && byID(made, token.ID) == nil {
				made, next = append(made, token), append(next, token.ID)
			}
		}
	}
	return made
}

func byID(tokens []storedToken, id string) *storedToken {
	at := slices.IndexFunc(tokens, func(t storedToken) bool { return id != "" && t.ID == id })
	if at < 0 {
		return nil
	}
	return &tokens[at]
}

// tokenOf returns the row of an id, nil when there is none.
func (c *Control) tokenOf(id string) (*storedToken, error) {
	if len(id) != idLength {
		return nil, nil
	}
	keys, err := c.store.KV().List(tokenBucket, id)
	if err != nil || len(keys) != 1 {
		return nil, err
	}
	row, _, err := c.storedToken(keys[0])
	return row, err
}

// idLength is how many letters of a token's hash are its id.
const idLength = 12
