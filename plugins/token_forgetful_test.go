package plugins

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/flowrun/flowrun/sdk"
)

type forgetfulConfig struct {
	AuthURL      string   `json:"auth_url"`
	ClientID     string   `json:"client_id"`
	ClientSecret string   `json:"client_secret" secret:"true"`
	AllowHosts   []string `json:"allow_hosts"`
}

type forgetfulInput struct {
	Scopes []string `json:"scopes,omitempty"`
	FlowID string   `json:"flow_id,omitempty"`
	MinTTL int64    `json:"min_ttl_s,omitempty"`
	URL    string   `json:"url,omitempty"`
}

type forgetfulOutput struct {
	FlowID    string `json:"flow_id,omitempty"`
	State     string `json:"state,omitempty"`
	Refreshed bool   `json:"refreshed"`
}

type forgetfulCall = sdk.Call[forgetfulConfig]

// forgetful is a plugin with the actions of auth that takes any 4xx of the token
// endpoint for the end of the grant.
func forgetful() *sdk.Plugin {
	token := func(c *forgetfulCall, request sdk.TokenRequest, grantType string) (forgetfulOutput, error) {
		out := forgetfulOutput{}
		request.Refresh = func(_ context.Context, stale *sdk.Token) (*sdk.Token, error) {
			form := url.Values{"grant_type": {grantType}}
			if stale != nil {
				form.Set("refresh_token", stale.RefreshToken)
			}
			response, err := c.HTTP().WithBase(c.Config.AuthURL).Do(&sdk.Request{
				Method: http.MethodPost, Path: "/token", Body: []byte(form.Encode()), ContentType: "application/x-www-form-urlencoded",
			})
			if response != nil && response.Status >= 400 && response.Status < 500 {
				return nil, sdk.AuthRequired("the login has ended").WithReason("refused")
			}
			if err != nil {
				return nil, err
			}
			var answer struct {
				AccessToken  string `json:"access_token"`
				RefreshToken string `json:"refresh_token"`
			}
			if err := response.JSON(&answer); err != nil {
				return nil, err
			}
			out.Refreshed = true
			return &sdk.Token{AccessToken: answer.AccessToken, RefreshToken: answer.RefreshToken, ExpiresAt: time.Now().Add(time.Hour)}, nil
		}
		_, err := c.Token(request)
		return out, err
	}
	return sdk.New("forgetful", "1.0.0", "forgets its login too soon", sdk.TokenAction("token"),
		sdk.HostsFrom(func(c forgetfulConfig) []string { return []string{c.AuthURL} }),
		sdk.Read("device_start", "begin", func(*forgetfulCall, forgetfulInput) (forgetfulOutput, error) {
			return forgetfulOutput{FlowID: "flow"}, nil
		}),
		sdk.Read("device_wait", "log in", func(c *forgetfulCall, _ forgetfulInput) (forgetfulOutput, error) {
			return token(c, sdk.TokenRequest{Force: true, Replace: true}, "device")
		}),
		sdk.Read("token", "a token", func(c *forgetfulCall, in forgetfulInput) (forgetfulOutput, error) {
			return token(c, sdk.TokenRequest{MinTTL: time.Duration(in.MinTTL) * time.Second}, "refresh_token")
		}),
		sdk.Read("refresh", "renew", func(c *forgetfulCall, _ forgetfulInput) (forgetfulOutput, error) {
			return token(c, sdk.TokenRequest{Force: true}, "refresh_token")
		}),
		sdk.Read("status", "state", func(c *forgetfulCall, _ forgetfulInput) (forgetfulOutput, error) {
			stored, err := c.StoredToken()
			return forgetfulOutput{State: stored.State}, err
		}),
		sdk.Read("resource_get", "read", func(c *forgetfulCall, in forgetfulInput) (forgetfulOutput, error) {
			_, err := token(c, sdk.TokenRequest{}, "refresh_token")
			return forgetfulOutput{}, err
		}))
}
