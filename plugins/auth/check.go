package auth

import "github.com/flowrun/flowrun/sdk"

// checkConnection is `flowrun connections test`: a read with each credential of
// the management side that is set, and of the issuer's metadata where one is set;
// then the state of the stored token. Nothing else can be asked without using up
// something, and a login without these is told as not tried. The service has no name
// for the holder of a credential.
func (p *plugin) checkConnection(c *sdk.Call[Config]) (account string, err error) {
	managed, err := p.tryManagement(c)
	if err != nil || managed && c.Config.ClientID == "" {
		return "", err
	}
	if c.Config.Issuer != "" {
		if _, err := p.readMetadata(c); err != nil {
			return "", err
		}
	} else if !managed {
		c.NotTried("the login is stored, and nothing can try it without using it")
	}
	stored, err := c.StoredToken()
	switch {
	case err != nil:
		return "", err
	case stored.State == sdk.TokenValid || stored.State == sdk.TokenExpired && p.renewable(stored):
		return "", nil
	case managed && stored.State == sdk.TokenNone:
		return "", nil // nobody needs the login for these credentials
	case stored.State == sdk.TokenExpired:
		return "", loginRequired(c, "no_refresh_token", "the login of connection %s has ended", c.ConnectionName())
	case c.Config.ClientID == "" && stored.State == sdk.TokenNone:
		return "", lacks(c, "client_id", "there is nothing to try: set it for a login, or management_url with api_key or scim_token")
	}
	return "", p.noLogin(c)
}

// tryManagement reads something with each credential of the management side.
func (p *plugin) tryManagement(c *sdk.Call[Config]) (asked bool, err error) {
	if c.Config.ManagementURL == "" {
		return false, nil
	}
	if c.Config.APIKey != "" {
		asked = true
		if _, err := p.deployments(c, "api_key"); err != nil {
			return asked, err
		}
	}
	if c.Config.SCIMToken != "" {
		asked = true
		one := int64(1)
		if _, err := p.scimUsers(c, "bearer", &one, nil); err != nil {
			return asked, err
		}
	}
	return asked, nil
}
