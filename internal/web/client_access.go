package web

import (
	"context"
	"net/http"
	"net/url"

	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Connections lists the connections with what is known of their logins.
func (c *Client) Connections(ctx context.Context) ([]workspace.ConnectionStatus, error) {
	return fetchAll[workspace.ConnectionStatus](ctx, c, "/connections")
}

// TestConnection lets the plugin of a connection try it.
func (c *Client) TestConnection(ctx context.Context, name string) (connections.Test, error) {
	test, err := post[connections.Test](ctx, c, connectionPath(name, "/test"), struct{}{})
	return *test, err
}

// Login runs a login and tells sink what it says meanwhile. It ends with ctx:
// nothing is sent to the service afterwards.
func (c *Client) Login(ctx context.Context, name string, r connections.LoginRequest, sink Prompter) (calls.Result, error) {
	return c.follow(ctx, connectionPath(name, "/login"), r, sink)
}

// Logout withdraws a connection's token and forgets it.
func (c *Client) Logout(ctx context.Context, name string) (connections.LogoutResult, error) {
	result, err := post[connections.LogoutResult](ctx, c, connectionPath(name, "/logout"), struct{}{})
	return *result, err
}

// Plugins lists the plugins as they are in force, with what waits to be.
func (c *Client) Plugins(ctx context.Context) ([]workspace.PluginInfo, error) {
	return fetchAll[workspace.PluginInfo](ctx, c, "/plugins")
}

// SecretNames lists the names of the stored secrets.
func (c *Client) SecretNames(ctx context.Context) ([]string, error) {
	return fetchAll[string](ctx, c, "/local/secrets/names")
}

// Secrets lists the secrets without their values.
func (c *Client) Secrets(ctx context.Context) ([]workspace.SecretInfo, error) {
	return fetchAll[workspace.SecretInfo](ctx, c, "/local/secrets")
}

// SetSecret stores a secret.
func (c *Client) SetSecret(ctx context.Context, name, value string) (*workspace.SecretInfo, error) {
	return ask[workspace.SecretInfo](ctx, c, http.MethodPut, secretsPath(name), secretValue{Value: value}, nil)
}

// RemoveSecret deletes a stored secret.
func (c *Client) RemoveSecret(ctx context.Context, name string) error {
	_, err := ask[struct{}](ctx, c, http.MethodDelete, secretsPath(name), nil, nil)
	return err
}

func connectionPath(name, rest string) string { return "/connections/" + url.PathEscape(name) + rest }

func secretsPath(name string) string { return "/local/secrets/" + url.PathEscape(name) }
