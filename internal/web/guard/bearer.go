package guard

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/flowrun/flowrun/internal/web/wire"
)

// bearer returns the grant of the request's token, or answers the request. A
// session's cookie is not looked at.
func (g *Guard) bearer(w http.ResponseWriter, r *http.Request) (Grant, bool) {
	headers := r.Header.Values("Authorization")
	if len(headers) == 0 {
		w.Header().Set("WWW-Authenticate", `Bearer realm="flowrun"`)
		writeProblem(w, wire.CodeUnauthorized, "this needs a token", "send `Authorization: Bearer TOKEN`; `flowrun tokens create` makes one")
		return Grant{}, false
	}
	text := ""
	if scheme, token, ok := strings.Cut(headers[0], " "); ok && len(headers) == 1 && strings.EqualFold(scheme, "Bearer") {
		text = strings.TrimSpace(token)
	}
	grant, wait, err := g.grant(r, text)
	switch {
	case err == nil:
		return grant, true
	case !errors.Is(err, ErrNoToken):
		g.refuseLookup(w, r, err)
	case wait > 0:
		w.Header().Set("Retry-After", retryAfter(wait))
		writeProblem(w, wire.CodeTooMany, "the token is not known here, and too many wrong ones came from your address", "`flowrun tokens list` shows those that are good: a good one is taken at any time")
	default:
		w.Header().Set("WWW-Authenticate", `Bearer realm="flowrun", error="invalid_token"`)
		writeProblem(w, wire.CodeUnauthorized, "the token is not known here: it is wrong, has expired or was removed", "`flowrun tokens list` shows those that are good")
	}
	return Grant{}, false
}

// grant asks the authority for a token that came with a request. A good one always
// passes. A wrong one, for which err is ErrNoToken, is counted; wait says for how
// long more of them will be too many.
func (g *Guard) grant(r *http.Request, text string) (_ Grant, wait time.Duration, err error) {
	grant, err := g.options.Authority.Token(r.Context(), text)
	if errors.Is(err, ErrNoToken) {
		return Grant{}, g.countWrong(r, "a wrong token"), err
	}
	return grant, 0, err
}

// countWrong counts a wrong credential of an address, and logs it while there are
// not too many.
func (g *Guard) countWrong(r *http.Request, what string) time.Duration {
	wait := g.failures.add(networkOf(addressOf(r)))
	if wait <= 0 {
		g.options.Log.Warn(what, "remote", addressOf(r), "path", r.URL.Path)
	}
	return wait
}

// refuseLookup answers where nobody can say whether a token is good.
func (g *Guard) refuseLookup(w http.ResponseWriter, r *http.Request, err error) {
	g.refuse(w, r, wire.CodeUnavailable, "the token can't be looked up: "+err.Error(), "")
}
