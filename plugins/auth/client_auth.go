package auth

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// The places of the client's secret, as client_auth names them.
const (
	authAuto  = "auto"
	authBody  = "body"
	authBasic = "basic"
	authNone  = "none" // the id alone
)

// standardNames are those of RFC 7591 for what this plugin can do.
var standardNames = map[string]string{"client_secret_basic": authBasic, "client_secret_post": authBody}

// door is an endpoint with what it takes from a client.
type door struct {
	endpoint endpoint
	address  string
	standard bool     // the metadata of an issuer names it
	methods  []string // how the client says who it is; the next one after invalid_client
}

// doorOf finds an endpoint and how the client authenticates there.
func (p *plugin) doorOf(c *sdk.Call[Config], e endpoint) (door, error) {
	address, standard, err := p.urlOf(c, e)
	if err != nil {
		return door{}, err
	}
	methods, err := p.methodsOf(c, e)
	if err != nil {
		return door{}, err
	}
	return door{endpoint: e, address: address, standard: standard, methods: methods}, nil
}

// methodsOf lists the ways to authenticate at an endpoint, the best first. The
// issuer's metadata decides where there is one (RFC 8414, 8628 3.1); client_auth
// goes before its order, and "none" before everything.
func (p *plugin) methodsOf(c *sdk.Call[Config], e endpoint) ([]string, error) {
	config := c.Config
	switch {
	case config.ClientAuth == authNone || config.ClientSecret == "":
		return []string{authNone}, nil
	case config.Issuer == "":
		return withoutMetadata(config, e), nil
	}
	found, err := p.discover(c)
	if err != nil {
		return nil, err
	}
	listed := found.tokenAuth
	if e.name == revocationEndpoint.name {
		listed = found.revocationAuth
	}
	if listed == nil { // as RFC 8414 has it; servers that forgot to say so may take the other
		return preferred(config.ClientAuth, []string{authBasic, authBody}), nil
	}
	var known []string
	for _, method := range []string{"client_secret_basic", "client_secret_post"} {
		if slices.Contains(listed, method) {
			known = append(known, standardNames[method])
		}
	}
	switch {
	case len(known) > 0:
		return preferred(config.ClientAuth, known), nil
	case slices.Contains(listed, authNone):
		return []string{authNone}, nil
	}
	return nil, sdk.Refused(sdk.CodeUnsupported, "the issuer of connection %s takes no client secret: its metadata lists %s for the %s",
		c.ConnectionName(), sdk.Shown(strings.Join(listed, ", "), 128), e.name).
		WithHint("use a client of the type client_secret_basic or client_secret_post")
}

// withoutMetadata is what the service's document says: the secret in the form, but
// at the device endpoint, which knows the client by its id. Servers of the
// standard refuse that with invalid_client, and get the secret then.
func withoutMetadata(config Config, e endpoint) []string {
	method := authBody
	if config.ClientAuth == authBasic {
		method = authBasic
	}
	if e.name == deviceEndpoint.name && method == authBody {
		return []string{authNone, method}
	}
	return []string{method}
}

// preferred puts what client_auth asks for before the rest.
func preferred(wanted string, methods []string) []string {
	if !slices.Contains(methods, wanted) {
		return methods
	}
	return append([]string{wanted}, slices.DeleteFunc(slices.Clone(methods), func(m string) bool { return m == wanted })...)
}

// knock sends a request to an endpoint: build makes it for one way to
// authenticate. A refusal of the client alone is followed by the next way; nothing
// was done then.
func (p *plugin) knock(c *sdk.Call[Config], d door, build func(method string) *sdk.Request, secrets ...string) (exchange, error) {
	key := rememberedKey(c.Config, d.endpoint)
	remembered, _ := p.methods.Load(key)
	first, _ := remembered.(string)
	methods := preferred(first, d.methods)
	for i, method := range methods {
		request := build(method)
		if method == authBasic {
			request.Header = basicHeader(c.Config)
		}
		answer, err := p.do(c, request, secrets...)
		if answer.knowsClient() {
			p.methods.Store(key, method)
		}
		if err != nil || !answer.refusesClient() || i == len(methods)-1 {
			return answer, err
		}
	}
	return exchange{}, fmt.Errorf("no way to authenticate at the %s", d.endpoint.name)
}

// post sends a form with the client's credentials. secrets are the parts of it
// that an error must not repeat.
func (p *plugin) post(c *sdk.Call[Config], d door, form url.Values, secrets ...string) (exchange, error) {
	return p.knock(c, d, func(method string) *sdk.Request {
		return &sdk.Request{URL: d.address, Body: []byte(withClient(c.Config, method, form).Encode())}
	}, secrets...)
}

// withClient adds the client's own parameters: its id, unless a Basic header
// carries it, and its secret where the form is the place for it.
func withClient(config Config, method string, form url.Values) url.Values {
	full := maps.Clone(form)
	if method == authBasic || config.ClientID == "" {
		return full
	}
	full.Set("client_id", config.ClientID)
	if method == authBody {
		full.Set("client_secret", config.ClientSecret)
	}
	return full
}

// basicHeader holds id and secret, encoded as RFC 6749 2.3.1 wants it.
func basicHeader(config Config) http.Header {
	request := http.Request{Header: http.Header{}}
	request.SetBasicAuth(url.QueryEscape(config.ClientID), url.QueryEscape(config.ClientSecret))
	return request.Header
}

// refusesClient reports that the server does not know the client by what the
// request said of it: nothing else was looked at.
func (e exchange) refusesClient() bool {
	return e.Error == "invalid_client" && e.status < http.StatusInternalServerError
}

// knowsClient reports an answer of the server to the request itself: also an empty
// one, as revocations have.
func (e exchange) knowsClient() bool {
	return e.status != 0 && !e.refusesClient() && !e.isForeign()
}

// rememberedKey names an endpoint of a connection in plugin.methods.
func rememberedKey(config Config, e endpoint) string {
	return strings.Join([]string{config.Issuer, config.AuthURL, config.ClientID, e.override(config), e.name}, "\x00")
}
