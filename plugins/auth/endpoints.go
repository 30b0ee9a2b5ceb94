package auth

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/sdk"
)

// endpoint is one of the addresses of the authorization server.
type endpoint struct {
	setting  string // which overrides it
	metadata string // its name in discovery metadata
	path     string // below auth_url
	override func(Config) string
}

var (
	deviceEndpoint = endpoint{"device_authorization_endpoint", "device_authorization_endpoint", "/device/code",
		func(c Config) string { return c.DeviceAuthorizationEndpoint }}
	tokenEndpoint = endpoint{"token_endpoint", "token_endpoint", "/token",
		func(c Config) string { return c.TokenEndpoint }}
	revocationEndpoint = endpoint{"revocation_endpoint", "revocation_endpoint", "/revoke",
		func(c Config) string { return c.RevocationEndpoint }}
)

// urlOf finds the address of an endpoint: the setting of its own, else what the
// issuer's metadata says, else the documented path below auth_url. Discovery is
// asked for only when an issuer is set.
func (p *plugin) urlOf(c *sdk.Call[Config], e endpoint) (string, error) {
	if own := e.override(c.Config); own != "" {
		return own, nil
	}
	if c.Config.Issuer != "" {
		found, err := p.discover(c)
		if err != nil {
			return "", err
		}
		if address := found[e.metadata]; address != "" {
			return address, nil
		}
	}
	if c.Config.AuthURL != "" {
		return strings.TrimRight(c.Config.AuthURL, "/") + e.path, nil
	}
	if c.Config.Issuer != "" {
		return "", lacks(c, e.setting, "the metadata of its issuer does not name one")
	}
	return "", lacks(c, "auth_url", "it is the root of the authorization server")
}

// discovery keeps what issuers say of themselves for as long as the process
// lives. Safe for concurrent use.
type discovery struct {
	mu    sync.Mutex
	known map[string]map[string]string
}

func (d *discovery) get(issuer string) map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[issuer]
}

func (d *discovery) put(issuer string, endpoints map[string]string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = map[string]map[string]string{}
	}
	d.known[issuer] = endpoints
}

// discover reads the metadata of the connection's issuer: OpenID Connect
// Discovery, and where that is not found RFC 8414.
func (p *plugin) discover(c *sdk.Call[Config]) (map[string]string, error) {
	issuer := strings.TrimRight(c.Config.Issuer, "/")
	if known := p.discovery.get(issuer); known != nil {
		return known, nil
	}
	root, err := url.Parse(issuer)
	if err != nil {
		return nil, sdk.Invalid("", "the issuer of connection %s is no URL", connectionName(c))
	}
	beside := *root
	beside.Path, beside.RawPath = "/.well-known/oauth-authorization-server"+root.Path, ""
	found, err := p.metadata(c, issuer, issuer+"/.well-known/openid-configuration")
	if isRefused(err) {
		found, err = p.metadata(c, issuer, beside.String())
	}
	if err != nil {
		return nil, notSent(err)
	}
	p.discovery.put(issuer, found)
	return found, nil
}

// isRefused reports whether a service answered that it does not serve something.
func isRefused(err error) bool {
	var failure *sdk.Error
	return errors.As(err, &failure) && failure.HTTPStatus >= 400 && failure.HTTPStatus < 500
}

// notSent says of an error before the request proper that this was not sent.
func notSent(err error) error {
	var failure *sdk.Error
	if errors.As(err, &failure) {
		failure.Applied = sdk.NotApplied
	}
	return err
}

// metadata reads one document and the endpoints in it.
func (p *plugin) metadata(c *sdk.Call[Config], issuer, address string) (map[string]string, error) {
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
	endpoints := map[string]string{}
	for _, e := range []endpoint{deviceEndpoint, tokenEndpoint, revocationEndpoint} {
		var text string
		if json.Unmarshal(document[e.metadata], &text) != nil || text == "" {
			continue
		}
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.User != nil || !isSafe(u) {
			return nil, response.Fail(sdk.CodeUnexpectedResponse, "the metadata's `%s` is no https URL", e.metadata)
		}
		endpoints[e.metadata] = text
	}
	return endpoints, nil
}
