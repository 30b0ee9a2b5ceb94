package services

import (
	"cmp"
	"context"
	"errors"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/secret"
)

// Acquire returns a token that is good for long enough, or the one lease to
// renew it (docs/reliability.md, P11).
func (s *Services) Acquire(ctx context.Context, r pluginhost.TokenRequest) (*secret.Token, *secret.Lease, error) {
	tokens, err := s.openTokens()
	if err != nil {
		return nil, nil, err
	}
	token, lease, err := tokens.Acquire(ctx, r.Plugin+"/"+r.Connection, r.Key, r.MinTTL, r.Reject)
	if refused, ok := errors.AsType[*secret.RefreshError](err); ok && refused.LostInCrash {
		return nil, nil, lostInCrash(r.Connection, err)
	}
	return token, lease, err
}

// Commit ends a lease; a new token is durable before it returns. After a failed
// renewal usable is the stored token where the caller may go on with it.
func (s *Services) Commit(_ context.Context, _, lease string, token *secret.Token, failure *runs.Error) (usable *secret.Token, err error) {
	tokens, err := s.openTokens()
	if err != nil {
		return nil, err
	}
	if failure == nil && token == nil {
		failure = &runs.Error{Kind: plan.KindInternal, Message: "the renewal gave no token"}
	}
	if failure != nil {
		return endLease(tokens, lease, failure)
	}
	return nil, tokens.Commit(lease, token, nil)
}

// endLease ends a lease whose renewal failed. The word of the authorization
// server that the grant is gone makes the token be forgotten, and nothing else.
func endLease(tokens *secret.Tokens, lease string, failure *runs.Error) (usable *secret.Token, err error) {
	switch failure.Kind {
	case plan.KindAuthRequired:
		if failure.Reason == pluginhost.ReasonTokenRefused { // nobody has ended the grant
			_, err := tokens.Fail(lease, failure)
			return nil, err
		}
		interrupted, err := tokens.Lose(lease, cmp.Or(failure.Reason, failure.Message), failure)
		if err == nil && interrupted {
			err = lostInCrash("", failure)
		}
		return nil, err
	case plan.KindCanceled, plan.KindTimeout:
		return nil, tokens.Release(lease, failure.Applied != runs.NotApplied)
	}
	return tokens.Fail(lease, failure)
}

// lostInCrash is the failure of a renewal whose refresh token may be gone since a
// renewal before it was cut off.
func lostInCrash(connection string, cause error) *runs.Error {
	failed := &runs.Error{
		Kind: plan.KindAuthRequired, Reason: "lost in crash", Applied: runs.NotApplied, Message: cause.Error(),
		Hint: diag.Say("log in again: the renewed token was lost in a crash"),
	}
	if connection != "" {
		failed.Hint = diag.Sayf("log in again with %s: the renewed token was lost in a crash", diag.Command{"connections", "login", connection})
	}
	return failed
}

// Stored tells what is known of a token without using it.
func (s *Services) Stored(_ context.Context, r pluginhost.TokenRequest) (secret.Status, error) {
	tokens, err := s.openTokens()
	if err != nil {
		return secret.Status{}, err
	}
	return tokens.Stored(r.Plugin+"/"+r.Connection, r.Key)
}

func (s *Services) openTokens() (*secret.Tokens, error) {
	return with(s, &s.tokens, func(tokens *secret.Tokens) (*secret.Tokens, error) { return tokens, nil })
}

// ForgetToken removes a connection's only token.
func (s *Services) ForgetToken(plugin, connection string) error {
	tokens, err := s.openTokens()
	if err != nil {
		return err
	}
	return tokens.Forget(plugin+"/"+connection, "")
}
