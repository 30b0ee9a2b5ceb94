package sdk

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// WithOrigin returns a client that may send credentials to the origin (scheme,
// host and port) of a URL too: for an address that a source which the config names
// vouches for, such as the metadata of its issuer. Never give it one that an
// answer, a redirect or a link has named.
func (h *HTTPClient) WithOrigin(address string) *HTTPClient {
	changed := *h
	u, err := url.Parse(address)
	if err != nil {
		return &changed // goes nowhere; the request will say why
	}
	if o, ok := originOf(u); ok {
		changed.granted = h.granted.with(o)
	}
	return &changed
}

// confine keeps credentials at the origins that the config grants. The headers of
// the client are taken from a request to another one; a request that would carry
// a credential there is refused.
func (h *HTTPClient) confine(outgoing *http.Request, request *Request, body []byte) error {
	if h.granted.has(outgoing.URL) {
		return nil
	}
	what := h.credentialOf(outgoing, request, body)
	if what == "" {
		for name := range h.header {
			if _, own := request.Header[name]; !own {
				outgoing.Header.Del(name)
			}
		}
		return nil
	}
	leads := "another origin"
	if o, ok := originOf(outgoing.URL); ok {
		leads = o.String()
	}
	return Invalid("", "the request to %s would carry a credential (%s) of the connection: it may go to base_url and the hosts that the plugin declares only", leads, what).
		WithHint("check base_url; a plugin grants further origins with sdk.Hosts, and those of its config with sdk.HostsFrom")
}

// credentialOf names the part of a request that carries a credential, "" for none.
func (h *HTTPClient) credentialOf(outgoing *http.Request, request *Request, body []byte) string {
	mask := h.core.credentials.now()
	for name, values := range outgoing.Header {
		for _, value := range values {
			if value != "" && isCredentialHeader(name) || mask.text(value) != value {
				return "header " + name
			}
		}
	}
	if len(request.SecretQuery) > 0 {
		return "the query"
	}
	if text := outgoing.URL.String(); mask.text(text) != text {
		return "the URL"
	}
	if len(body) > 0 && string(mask.bytes(body)) != string(body) {
		return "the body"
	}
	return ""
}

// isCredentialHeader reports a header whose name says that its value is a secret.
func isCredentialHeader(name string) bool {
	switch strings.ToLower(name) {
	case "authorization", "proxy-authorization", "cookie":
		return true
	case "idempotency-key": // names a request, and opens nothing
		return false
	}
	return isSecretParam(name)
}

// redirecting is the pool with the rule for the redirects of one request.
func (h *HTTPClient) redirecting(outgoing *http.Request, request *Request) *http.Client {
	client := *h.pool
	client.CheckRedirect = h.follow(len(h.header) > 0 || h.credentialOf(outgoing, request, nil) != "")
	if request.Stay {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &client
}

// follow decides about the redirects of one request: reads go on at the same
// origin and at those that the config grants. Without a credential they also go
// on at the same host. Where ReachSettings list hosts, they go on there too, and leave
// the credential behind. Everything else is answered with the redirect itself.
func (h *HTTPClient) follow(carries bool) func(next *http.Request, via []*http.Request) error {
	return func(next *http.Request, via []*http.Request) error {
		first := via[0]
		if !isRead(first.Method) || len(via) > maxRedirects || h.reach.check(next.URL) != nil {
			return http.ErrUseLastResponse
		}
		next.Header.Del("Referer") // would carry the query of the first URL
		if h.reach != nil && !h.granted.has(next.URL) {
			return h.leaveBehind(next)
		}
		if !h.mayFollow(first.URL, next.URL, carries) {
			return http.ErrUseLastResponse
		}
		for name, values := range first.Header {
			if isCredentialHeader(name) {
				next.Header[name] = values // net/http drops some of them at another host
			}
		}
		return nil
	}
}

// leaveBehind takes from a redirected request all that belongs to the origins of the
// connection. One that would still carry a credential is not followed.
func (h *HTTPClient) leaveBehind(next *http.Request) error {
	mask := h.core.credentials.now()
	for name, values := range next.Header {
		_, own := h.header[name]
		if own || isCredentialHeader(name) || slices.ContainsFunc(values, func(value string) bool { return mask.text(value) != value }) {
			next.Header.Del(name)
		}
	}
	if text := next.URL.String(); mask.text(text) != text {
		return http.ErrUseLastResponse
	}
	return nil
}

func (h *HTTPClient) mayFollow(first, next *url.URL, carries bool) bool {
	from, fromOK := originOf(first)
	to, toOK := originOf(next)
	switch {
	case !fromOK || !toOK || next.User != nil:
		return false
	case from == to:
		return true
	case from.scheme == "https" && to.scheme != "https":
		return false
	case h.granted.has(first) && h.granted.has(next):
		return true
	}
	return !carries && from.host == to.host && first.Host == next.Host
}
