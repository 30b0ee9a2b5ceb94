package guard

import (
	"errors"
	"net/http"
	"strings"
)

// bearer returns the grant of the request's token, or answers the request. A
// session's cookie is not looked at.
func (g *Guard) bearer(w http.ResponseWriter, r *http.Request) (Grant, bool) {
	headers := r.Header.Values("Authorization")
	if len(headers) == 0 {
		w.Header().Set("WWW-Authenticate", `Bearer realm="flowrun"`)
		writeProblem(w, http.StatusUnauthorized, "unauthorized", "this needs a token", "send `Authorization: Bearer TOKEN`; `flowrun tokens create` makes one")
		return Grant{}, false
	}
	text := ""
	if scheme, token, found := strings.Cut(headers[0], " "); found && len(headers) == 1 && strings.EqualFold(scheme, "Bearer") {
		text = strings.TrimSpace(token)
	}
	return g.grant(w, r, text, func() {
		w.Header().Set("WWW-Authenticate", `Bearer realm="flowrun", error="invalid_token"`)
		writeProblem(w, http.StatusUnauthorized, "unauthorized", "the token is not known here: it is wrong, has expired or was removed", "`flowrun tokens list` shows those that are good")
	})
}

// grant asks the authority for a token that came with a request, and answers the
// request when it is not good: with wrong, or with 429 where the address has
// guessed too often. Then a token that was never used before is not looked at.
func (g *Guard) grant(w http.ResponseWriter, r *http.Request, text string, wrong func()) (Grant, bool) {
	network := networkOf(addressOf(r))
	wait := g.failures.blocked(network)
	grant, err := g.options.Authority.Token(r.Context(), text)
	switch {
	case err == nil && (wait <= 0 || g.sessions.knows(grant.ID)):
		g.sessions.remember(grant.ID)
		return grant, true
	case err != nil && !errors.Is(err, ErrNoToken):
		writeProblem(w, http.StatusServiceUnavailable, "unavailable", "the token can't be looked up: "+err.Error(), "")
		return Grant{}, false
	case wait > 0:
		g.tooMany(w, r, network)
		return Grant{}, false
	}
	g.failures.add(network)
	g.options.Log.Warn("a wrong token", "remote", addressOf(r), "path", r.URL.Path)
	wrong()
	return Grant{}, false
}

// tooMany refuses an address that was wrong too often.
func (g *Guard) tooMany(w http.ResponseWriter, r *http.Request, network string) {
	w.Header().Set("Retry-After", retryAfter(g.failures.blocked(network)))
	g.refuse(w, r, http.StatusTooManyRequests, "too_many_requests", "too many wrong tokens came from your address", "wait a minute")
}
