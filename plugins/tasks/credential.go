package tasks

import (
	"context"

	"github.com/flowrun/flowrun/sdk"
)

// credentialUse says which of the connection's credentials a call sends.
type credentialUse int

const (
	currentToken  credentialUse = iota // stored_token when set, else token or token_from
	settingsToken                      // token or token_from: what a migration starts from
	optionalToken                      // as currentToken, and none is fine too (T-48)
)

// authorized returns the client that carries the connection's credential. A
// missing one is refused before anything is sent (T-65).
func authorized(c *sdk.Call[Config], use credentialUse) (*sdk.HTTPClient, error) {
	token, err := credential(c, use)
	if err != nil {
		return nil, err
	}
	client := c.HTTP()
	switch {
	case token != "":
		return client.WithHeader(c.Config.AuthHeader, c.Config.AuthPrefix+token), nil
	case use == optionalToken:
		return client, nil
	}
	return nil, noCredential(c)
}

func credential(c *sdk.Call[Config], use credentialUse) (string, error) {
	if c.Config.StoredToken == "" || use == settingsToken {
		return c.AccessToken(c.Config.TokenSettings)
	}
	stored, err := c.Token(sdk.TokenRequest{Key: c.Config.StoredToken, Refresh: func(_ context.Context, stale *sdk.Token) (*sdk.Token, error) {
		return nil, noStoredToken(c, stale)
	}})
	if err != nil {
		return "", err
	}
	return stored.AccessToken, nil
}

// noStoredToken says why there is no token to use. How to renew one is not
// documented, so a refused or expired one is an error that keeps it: the host
// would forget it with CodeAuthRequired, and it can't be had again.
func noStoredToken(c *sdk.Call[Config], stale *sdk.Token) error {
	name := c.Config.StoredToken
	if stale == nil {
		return sdk.AuthRequired("connection %s has no token stored under %q", c.ConnectionName(), name).
			WithHint("run tasks.migrate_personal_token with store_as: %s on this connection, or take the setting stored_token out", name)
	}
	return sdk.Refused(sdk.CodeUnauthorized, "the token that connection %s has stored under %q is expired or was refused by the service", c.ConnectionName(), name).
		WithHint("get a new one with tasks.migrate_personal_token, or replace the setting stored_token by token")
}

func noCredential(c *sdk.Call[Config]) error {
	return sdk.Invalid("", "connection %s has no credential: its setting `token` is empty", c.ConnectionName()).
		WithHint("set `token` of connection %s to a secret, or `token_from` to a connection that gives tokens", c.ConnectionName())
}
