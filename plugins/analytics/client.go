package analytics

import (
	"errors"
	"net/url"

	"github.com/flowrun/flowrun/sdk"
)

// sitePlaceholder stands for the id of a site that is not known: that of an event
// which is named by its tracking code.
const sitePlaceholder = "{site_id}"

// token returns the access token, or the refusal of a connection without one
// (N-02).
func token(c *sdk.Call[Config]) (string, error) {
	text, err := c.AccessToken(c.Config.TokenSettings)
	if err != nil || text != "" {
		return text, err
	}
	return "", sdk.Invalid("", "connection `%s` has no credential: its setting `token` is empty and `token_from` is not set", c.ConnectionName()).
		WithHint("set `token` of the connection to a secret reference, or `token_from` to a connection that gives tokens")
}

// get sends the one request of an action. site is what the hint of a refusal
// names (N-04). The SDK sends `Accept: application/json` (N-03).
func get(c *sdk.Call[Config], site, path string, query url.Values) (*sdk.Response, error) {
	credential, err := token(c)
	if err != nil {
		return nil, err
	}
	response, err := c.HTTP().WithBearer(credential).Get(path, query)
	var refused *sdk.Error
	if errors.As(err, &refused) && refused.Hint == "" && (refused.Code == sdk.CodeUnauthorized || refused.Code == sdk.CodeForbidden) {
		return nil, refused.WithHint("%s", permissionHint(site))
	}
	return response, err
}

// permissionHint names the three permissions that allow reading a site (N-04).
func permissionHint(site string) string {
	return "check the connection's token; to read the site it needs the permission all-sites-readonly, read:" + site + " or manage:" + site
}
