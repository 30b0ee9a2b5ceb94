package http

import (
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// credential puts the connection's credential on a client, and names the parameters that
// carry it in the query. It belongs to the origin of base_url: a request to another one
// gets none.
func credential(c *sdk.Call[Config], absolute string) (*sdk.HTTPClient, url.Values, error) {
	client, config := c.HTTP(), c.Config
	if absolute != "" && !sameOrigin(absolute, config.BaseURL) {
		return client, nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(config.Headers)) {
		client = client.WithHeader(name, config.Headers[name])
	}
	switch {
	case config.Basic != nil:
		pair := config.Basic.User + ":" + config.Basic.Password
		return client.WithHeader("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair))), nil, nil
	case config.APIKey != nil && config.APIKey.In == "query":
		return client, url.Values{config.APIKey.Name: {config.APIKey.Value}}, nil
	case config.APIKey != nil:
		return client.WithHeader(config.APIKey.Name, config.APIKey.Value), nil, nil
	case config.OAuth != nil:
		return client.WithGrant(config.OAuth.grant()), nil, nil
	case config.Token == "" && config.TokenFrom == nil:
		return client, nil, nil
	}
	token, err := c.AccessToken(config.TokenSettings)
	if err != nil {
		return nil, nil, sdk.NotSent(err)
	}
	return client.WithBearer(token), nil, nil
}

// grant is how the connection's access tokens are got.
func (o *OAuth) grant() sdk.Grant {
	more := url.Values{}
	for name, value := range o.Params {
		more.Set(name, value)
	}
	if o.Refresh != "" {
		return sdk.RefreshToken{
			TokenURL: o.TokenURL, ClientID: o.ClientID, ClientSecret: o.ClientSecret, RefreshToken: o.Refresh, Scopes: o.Scopes, InBody: o.InBody, Params: more,
		}
	}
	return sdk.ClientCredentials{TokenURL: o.TokenURL, ClientID: o.ClientID, ClientSecret: o.ClientSecret, Scopes: o.Scopes, InBody: o.InBody, Params: more}
}

// sameOrigin reports whether two URLs have scheme, host and port in common.
func sameOrigin(one, other string) bool {
	a, errA := url.Parse(one)
	b, errB := url.Parse(other)
	if errA != nil || errB != nil {
		return false
	}
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
}

// checkConnection makes the harmless request that the connection names.
func checkConnection(c *sdk.Call[Config]) (string, error) {
	switch {
	case c.Config.Test == "" && c.Config.OAuth != nil:
		_, err := c.TokenOf(c.Config.OAuth.grant())
		return "", err
	case c.Config.Test == "":
		c.NotTried("the connection's setting `test` names no harmless path")
		return "", nil
	}
	client, query, err := credential(c, "")
	if err != nil {
		return "", err
	}
	_, err = client.Do(&sdk.Request{Path: escaped(c.Config.Test), Query: query, SecretQuery: slices.Collect(maps.Keys(query)), Classify: limited(nil)})
	return "", err
}
