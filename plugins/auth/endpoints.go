package auth

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// endpoint is one of the addresses of the authorization server.
type endpoint struct {
	name     string // of the setting that overrides it, and in discovery metadata
	path     string // below auth_url
	override func(Config) string
}

var (
	deviceEndpoint     = endpoint{"device_authorization_endpoint", "/device/code", func(c Config) string { return c.DeviceAuthorizationEndpoint }}
	tokenEndpoint      = endpoint{"token_endpoint", "/token", func(c Config) string { return c.TokenEndpoint }}
	revocationEndpoint = endpoint{"revocation_endpoint", "/revoke", func(c Config) string { return c.RevocationEndpoint }}
)

// urlOf finds the address of an endpoint: the setting of its own, else what the
// issuer's metadata says, else the documented path below auth_url. Discovery is
// asked for only when an issuer is set. standard tells that the metadata
// names it.
func (p *plugin) urlOf(c *sdk.Call[Config], e endpoint) (address string, standard bool, err error) {
	if own := e.override(c.Config); own != "" {
		return own, false, nil
	}
	if c.Config.Issuer != "" {
		found, err := p.discover(c)
		if err != nil {
			return "", false, err
		}
		if address := found.endpoints[e.name]; address != "" {
			return address, true, nil
		}
	}
	if c.Config.AuthURL != "" {
		return strings.TrimRight(c.Config.AuthURL, "/") + e.path, false, nil
	}
	if c.Config.Issuer != "" {
		return "", false, lacks(c, e.name, "the metadata of its issuer does not name one")
	}
	return "", false, lacks(c, "auth_url", "it is the root of the authorization server")
}

// issuerMetadata is what an issuer says of itself.
type issuerMetadata struct {
	endpoints      map[string]string
	tokenAuth      []string // how clients authenticate at the token endpoint; nil = it does not say
	revocationAuth []string
}

// discover reads the metadata of the connection's issuer: OpenID Connect
// Discovery, and where that is not found RFC 8414.
func (p *plugin) discover(c *sdk.Call[Config]) (*issuerMetadata, error) {
	issuer := strings.TrimRight(c.Config.Issuer, "/")
	if metadata, ok := p.issuers.Load(issuer); ok {
		return metadata.(*issuerMetadata), nil
	}
	found, err := p.readMetadata(c)
	if err != nil {
		return nil, err
	}
	p.issuers.Store(issuer, found)
	return found, nil
}

// readMetadata is discover without what is known already.
func (p *plugin) readMetadata(c *sdk.Call[Config]) (*issuerMetadata, error) {
	issuer := strings.TrimRight(c.Config.Issuer, "/")
	root, err := url.Parse(issuer)
	if err != nil {
		return nil, sdk.Invalid("", "the issuer of connection %s is no URL", c.ConnectionName())
	}
	beside := *root
	beside.Path, beside.RawPath = "/.well-known/oauth-authorization-server"+root.Path, ""
	found, err := p.metadata(c, issuer, issuer+"/.well-known/openid-configuration")
	if isRefused(err) {
		found, err = p.metadata(c, issuer, beside.String())
	}
	if err != nil {
		return nil, sdk.NotSent(err)
	}
	return found, nil
}

// isRefused reports whether a service answered that it does not serve something.
func isRefused(err error) bool {
	var failure *sdk.Error
	return errors.As(err, &failure) && failure.HTTPStatus >= 400 && failure.HTTPStatus < 500
}

// metadata reads one document and the endpoints in it.
func (p *plugin) metadata(c *sdk.Call[Config], issuer, address string) (*issuerMetadata, error) {
	response, err := c.HTTP().Do(&sdk.Request{URL: address, Close: true, MaxBody: maxTokenResponse})
	if err != nil {
		return nil, hinted(err)
	}
	var document map[string]json.RawMessage
	if err := response.JSON(&document); err != nil {
		return nil, err
	}
	var named string
	_ = json.Unmarshal(document["issuer"], &named) // another type is another issuer
	if strings.TrimRight(named, "/") != issuer {
		return nil, response.Fail(sdk.CodeUnexpectedResponse, "the metadata is that of another issuer").
			WithHint("set issuer to exactly what the server calls itself")
	}
	found := &issuerMetadata{
		endpoints: map[string]string{}, tokenAuth: listOf(document["token_endpoint_auth_methods_supported"]),
		revocationAuth: listOf(document["revocation_endpoint_auth_methods_supported"]),
	}
	for _, e := range []endpoint{deviceEndpoint, tokenEndpoint, revocationEndpoint} {
		var text string
		if json.Unmarshal(document[e.name], &text) != nil || text == "" {
			continue
		}
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.User != nil || !isSafe(u) {
			return nil, response.Fail(sdk.CodeUnexpectedResponse, "the metadata's `%s` is no https URL", e.name)
		}
		found.endpoints[e.name] = text
	}
	return found, nil
}

// listOf reads a list of texts; anything else counts as absent.
func listOf(raw json.RawMessage) []string {
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}
