package sdk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	pluginv1 "github.com/flowrun/flowrun/proto/flowrun/plugin/v1"
)

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

	// Refresh gets a new token. It runs in one process at a time for all runs,
	// and the host stores what it returns before anybody uses it. stale is the
	// token before, nil when there was none. An *Error with CodeAuthRequired
	// pauses the run until somebody has logged in.
	Refresh func(ctx context.Context, stale *Token) (*Token, error)
}

// token asks the host: it answers with a valid token, or with the one lease to
// refresh it.
func (c *core) token(request TokenRequest) (*Token, error) {
	client, err := c.services.get("tokens")
	if err != nil {
		return nil, err
	}
	response, err := client.AcquireToken(c.hostContext(), &pluginv1.AcquireTokenRequest{
		Connection: c.conn.name, Key: request.Key, MinTtl: protoDuration(request.MinTTL), Reject: request.Reject,
	})
	if err != nil {
		return nil, hostError(c.ctx, "get a token", err)
	}
	if token := response.GetToken(); token != nil {
		c.masks.add(token.GetAccessToken(), token.GetRefreshToken())
		return goToken(token), nil
	}
	if lease := response.GetLease(); lease != nil {
		return c.refresh(client, lease, request.Refresh)
	}
	return nil, AuthRequired("connection %s has no token", c.conn.name)
}

// refresh uses the lease and always ends it: with the new token, durable
// before it is used, or with the error.
func (c *core) refresh(client pluginv1.HostClient, lease *pluginv1.RefreshLease, fn func(context.Context, *Token) (*Token, error)) (*Token, error) {
	fresh, err := refreshSafely(c.ctx, lease, fn)
	commit := &pluginv1.CommitTokenRequest{LeaseId: lease.GetId()}
	if err != nil {
		commit.Error = c.protoError(asError(err))
	} else {
		fresh.ID = tokenID(fresh)
		c.masks.add(fresh.AccessToken, fresh.RefreshToken)
		commit.Token = protoToken(fresh)
	}
	// a new token must not be lost because the call was canceled meanwhile
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.hostContext()), commitTimeout)
	defer cancel()
	if _, commitErr := client.CommitToken(ctx, commit); commitErr != nil && err == nil {
		return nil, hostError(ctx, "store the new token", commitErr)
	}
	return fresh, err
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
	defer func() {
		if text, _, panicked := panicText(recover()); panicked {
			fresh, err = nil, &Error{Code: CodeInternal, Message: "refresh the token: the plugin panicked: " + text}
		}
	}()
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
