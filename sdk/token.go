package sdk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
	"github.com/flowrun/flowrun/sdk/proto/pluginv1/pluginv1connect"
)

// ReasonTokenRefused is the reason of a CodeAuthRequired after which the host
// keeps the token: a service has refused it, and nothing can renew it, but the
// authorization server has not said that the grant is gone.
const ReasonTokenRefused = "token_refused"

// Token is an access token of a connection. Its text is a secret.
type Token struct {
	ID           string // names it in TokenRequest.Reject; safe to log
	AccessToken  string
	TokenType    string
	RefreshToken string
	ExpiresAt    time.Time // zero = not known
	Extra        []byte    // JSON of the plugin's own
}

// TokenRequest asks for a token that is valid for at least MinTTL.
type TokenRequest struct {
	Key    string        // one of several tokens of the connection, "" = the only one
	MinTTL time.Duration // 0 = any that is not expired
	Reject string        // ID of a token that the service refused

	// Force runs Refresh whatever the age of the stored token: for a login, a
	// refresh on demand, a revocation.
	Force bool
	// Replace stores what Refresh returns as it stands. Else a new token without
	// a refresh token keeps the stale one's.
	Replace bool

	// Refresh gets a new token. It runs in one process at a time for all runs,
	// and the host stores what it returns before anybody uses it. stale is the
	// token before, nil when there was none. An *Error with CodeAuthRequired says
	// that the grant is gone: the host forgets the token, and the run pauses until
	// somebody has logged in. Only the authorization server's own word is a reason
	// for it, never the error page of a proxy. After any other error the stale
	// token is kept, and given as long as it is good: the next need tries again.
	// With ReasonTokenRefused the run pauses and the token is kept.
	Refresh func(ctx context.Context, stale *Token) (*Token, error)
}

// storedToken asks the host for what it knows of a token.
func (c *core) storedToken(key string) (StoredToken, error) {
	client, err := c.services.get("tokens")
	if err != nil {
		return StoredToken{}, err
	}
	response, err := client.AcquireToken(c.hostContext(), &pluginv1.AcquireTokenRequest{Connection: c.conn.name, Key: key, Peek: true})
	if err != nil {
		return StoredToken{}, hostError(c.ctx, "look at the token", err)
	}
	stored := response.GetStored()
	if stored == nil {
		c.giveBack(client, response.GetLease())
		return StoredToken{}, &Error{Code: CodeUnsupported, Applied: NotApplied, Message: "the host can't tell the state of a token"}
	}
	return StoredToken{
		State: stored.GetState(), ExpiresAt: goTime(stored.GetExpiresAt()), Renewable: stored.GetRenewable(),
		Extra: stored.GetExtra(), Reason: stored.GetReason(),
	}, nil
}

// giveBack ends a lease that nobody asked for, as hosts give that do not know Peek:
// others wait for its end.
func (c *core) giveBack(client pluginv1connect.HostClient, lease *pluginv1.RefreshLease) {
	if lease == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.hostContext()), commitTimeout)
	defer cancel()
	unused := c.protoError(Refused(CodeCanceled, "the token was only looked at"))
	_, _ = client.CommitToken(ctx, &pluginv1.CommitTokenRequest{LeaseId: lease.GetId(), Error: unused}) // else the lease runs out
}

// always is a validity that no token has: the host answers with the lease.
const always = 100 * 365 * 24 * time.Hour

// token asks the host: it answers with a valid token, or with the one lease to
// refresh it.
func (c *core) token(request TokenRequest) (*Token, error) {
	token, err := c.acquireToken(request)
	if err != nil && !c.wrote.Load() {
		// what the call is for was not begun
		failure := *asError(err)
		failure.Applied = NotApplied
		return nil, &failure
	}
	return token, err
}

func (c *core) acquireToken(request TokenRequest) (*Token, error) {
	client, err := c.services.get("tokens")
	if err != nil {
		return nil, err
	}
	asked := &pluginv1.AcquireTokenRequest{
		Connection: c.conn.name, Key: request.Key, MinTtl: protoDuration(request.MinTTL), Reject: request.Reject,
	}
	if request.Force {
		asked.MinTtl = protoDuration(always)
	}
	for {
		response, err := client.AcquireToken(c.hostContext(), asked)
		if err != nil {
			return nil, hostError(c.ctx, "get a token", err)
		}
		if lease := response.GetLease(); lease != nil {
			return c.refresh(client, lease, request)
		}
		token := response.GetToken()
		if token == nil {
			return nil, AuthRequired("connection %s has no token", c.conn.name)
		}
		c.learn(token.GetAccessToken(), token.GetRefreshToken())
		if !request.Force || asked.Reject == token.GetId() {
			return goToken(token), nil
		}
		asked.Reject = token.GetId() // a token that does not expire
	}
}

// refresh uses the lease and always ends it: with the new token, durable
// before it is used, or with the error.
func (c *core) refresh(client pluginv1connect.HostClient, lease *pluginv1.RefreshLease, request TokenRequest) (*Token, error) {
	if stale := lease.GetStale(); stale != nil {
		c.learn(stale.GetAccessToken(), stale.GetRefreshToken())
	}
	fresh, err := refreshSafely(c.ctx, lease, request.Refresh)
	commit := &pluginv1.CommitTokenRequest{LeaseId: lease.GetId()}
	if err != nil {
		failure := c.failedRenewal(err)
		commit.Error, err = c.protoError(failure), failure
	} else {
		if fresh.RefreshToken == "" && !request.Replace {
			fresh.RefreshToken = lease.GetStale().GetRefreshToken()
		}
		fresh.ID = tokenID(fresh)
		c.learn(fresh.AccessToken, fresh.RefreshToken)
		commit.Token = protoToken(fresh)
	}
	// a new token must not be lost because the call was canceled meanwhile
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.hostContext()), commitTimeout)
	defer cancel()
	committed, commitErr := client.CommitToken(ctx, commit)
	switch {
	case commitErr == nil && committed.GetToken() != nil:
		return c.goOnWith(committed.GetToken(), err), nil
	case commitErr == nil:
		return fresh, err
	case err == nil:
		return nil, hostError(ctx, "store the new token", commitErr)
	}
	if known := errorInStatus(commitErr); known != nil {
		return nil, known // the host knows more of why it was refused
	}
	return nil, err
}

// learn notes tokens as credentials of the connection.
func (c *core) learn(tokens ...string) {
	c.masks.add(tokens...)
	c.credentials.add(tokens...)
}

// failedRenewal is what the host hears of a renewal that failed. When the call
// itself has time left, a request without an answer is the service's failure and
// no end of the call: those that wait for the renewal hear of it at once.
func (c *core) failedRenewal(err error) *Error {
	failure := *asError(err)
	if failure.Code == CodeTimeout && c.ctx.Err() == nil {
		failure.Code = CodeUnavailable
	}
	return &failure
}

// goOnWith uses the stored token, which is still good, after a renewal failed.
func (c *core) goOnWith(stored *pluginv1.Token, err error) *Token {
	c.learn(stored.GetAccessToken())
	c.log(pluginv1.Log_LEVEL_WARN, "the token could not be renewed, and is used for as long as it lasts: "+asError(err).Message, nil)
	return goToken(stored)
}

// tokenID names a token in logs and in TokenRequest.Reject, unless the author
// has a name for it: the start of a hash tells nothing about the token.
func tokenID(t *Token) string {
	if t.ID != "" {
		return t.ID
	}
	sum := sha256.Sum256([]byte(t.AccessToken))
	return hex.EncodeToString(sum[:8])
}

// commitTimeout bounds the wait for the host's disk.
const commitTimeout = 10 * time.Second

func refreshSafely(ctx context.Context, lease *pluginv1.RefreshLease, fn func(context.Context, *Token) (*Token, error)) (fresh *Token, err error) {
	if fn == nil {
		return nil, AuthRequired("there is no valid token and no way to get one")
	}
	defer onPanic(func(text, _ string) {
		fresh, err = nil, &Error{Code: CodeInternal, Message: "refresh the token: the plugin panicked: " + text}
	})
	var stale *Token
	if lease.GetStale() != nil {
		stale = goToken(lease.GetStale())
	}
	fresh, err = fn(ctx, stale)
	if !failed(err) {
		err = nil
	}
	if err == nil && (fresh == nil || fresh.AccessToken == "") {
		return nil, &Error{Code: CodeInternal, Message: "refresh the token: the plugin gave none"}
	}
	return fresh, err
}

func goToken(t *pluginv1.Token) *Token {
	return &Token{
		ID: t.GetId(), AccessToken: t.GetAccessToken(), TokenType: t.GetTokenType(), RefreshToken: t.GetRefreshToken(),
		ExpiresAt: goTime(t.GetExpiresAt()), Extra: t.GetExtra(),
	}
}

func protoToken(t *Token) *pluginv1.Token {
	return &pluginv1.Token{
		Id: t.ID, AccessToken: t.AccessToken, TokenType: t.TokenType, RefreshToken: t.RefreshToken,
		ExpiresAt: protoTime(t.ExpiresAt), Extra: t.Extra,
	}
}
