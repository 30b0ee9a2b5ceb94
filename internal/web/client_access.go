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
	var page Page[workspace.ConnectionStatus]
	err := c.get(ctx, "/connections", &page)
	return page.Items, err
}

// TestConnection lets the plugin of a connection try it.
func (c *Client) TestConnection(ctx context.Context, name string) (connections.Test, error) {
	var test connections.Test
	err := c.post(ctx, connectionPath(name, "/test"), struct{}{}, &test)
	return test, err
}

// Login runs a login and tells sink what it says meanwhile. It ends with ctx:
// nothing is sent to the service afterwards.
func (c *Client) Login(ctx context.Context, name string, r connections.LoginRequest, sink Prompter) (calls.Result, error) {
	return c.follow(ctx, connectionPath(name, "/login"), r, sink)
}

// Logout withdraws a connection's token and forgets it.
func (c *Client) Logout(ctx context.Context, name string) (connections.LogoutResult, error) {
	var result connections.LogoutResult
	err := c.post(ctx, connectionPath(name, "/logout"), struct{}{}, &result)
	return result, err
}

// Secrets lists the secrets without their values.
func (c *Client) Secrets(ctx context.Context) ([]workspace.SecretInfo, error) {
	var page Page[workspace.SecretInfo]
	err := c.get(ctx, "/local/secrets", &page)
	return page.Items, err
}

// SetSecret stores a secret.
func (c *Client) SetSecret(ctx context.Context, name, value string) (*workspace.SecretInfo, error) {
	response, err := c.send(ctx, http.MethodPut, secretsPath(name), secretValue{Value: value}, nil)
	if err != nil {
		return nil, err
	}
	info := new(workspace.SecretInfo)
	return info, readJSON(response, info)
}

// RemoveSecret deletes a stored secret.
func (c *Client) RemoveSecret(ctx context.Context, name string) error {
	response, err := c.send(ctx, http.MethodDelete, secretsPath(name), nil, nil)
	if err != nil {
		return err
	}
	return readJSON(response, new(struct{}))
}

func connectionPath(name, rest string) string { return "/connections/" + url.PathEscape(name) + rest }

func secretsPath(name string) string { return "/local/secrets/" + url.PathEscape(name) }
