package auth

import "github.com/flowrun/flowrun/sdk"

// checkConnection is `flowrun connections test`: a read with each credential of
// the management side that is set, else the state of the stored token, for which
// nothing is sent. The service has no name for the holder of a credential.
func (p *plugin) checkConnection(c *sdk.Call[Config]) (account string, err error) {
	asked := false
	if c.Config.ManagementURL != "" && c.Config.APIKey != "" {
		asked = true
		if _, err := p.deployments(c, "api_key"); err != nil {
			return "", err
		}
	}
	if c.Config.ManagementURL != "" && c.Config.SCIMToken != "" {
		asked = true
		one := int64(1)
		if _, err := p.scimUsers(c, "bearer", &one, nil); err != nil {
			return "", err
		}
	}
	if asked && c.Config.ClientID == "" {
		return "", nil
	}
	stored, err := c.StoredToken()
	switch {
	case err != nil:
		return "", err
	case stored.State == sdk.TokenValid || stored.State == sdk.TokenExpired && p.renewable(stored):
		return "", nil
	case asked && stored.State == sdk.TokenNone:
		return "", nil // nobody needs the login for these credentials
	case stored.State == sdk.TokenExpired:
		return "", loginRequired(c, "no_refresh_token", "the login of connection %s has ended", connectionName(c))
	case c.Config.ClientID == "" && stored.State == sdk.TokenNone:
		return "", lacks(c, "client_id", "there is nothing to try: set it for a login, or management_url with api_key or scim_token")
	}
	return "", p.noLogin(c)
}
