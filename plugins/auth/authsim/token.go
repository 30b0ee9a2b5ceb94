package authsim

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/internal/simkit"
)

// grant is what a person has allowed: a family of tokens that ends as a whole.
type grant struct {
	id      string
	scopes  []string
	turn    int       // of the refresh token that is good; -1 = not known yet
	expires time.Time // of the refresh token; zero = never
	revoked bool
}

// granted returns what is granted of the scopes that were asked for.
func (s *Sim) granted(asked []string) []string {
	if s.o.Grants == nil {
		return asked
	}
	return slices.DeleteFunc(slices.Clone(asked), func(scope string) bool { return !slices.Contains(s.o.Grants, scope) })
}

// newGrant makes a grant.
func (s *Sim) newGrant(scopes []string) *grant {
	g := &grant{id: hex.EncodeToString(s.random(8)), scopes: scopes}
	if s.o.RefreshTTL > 0 {
		g.expires = s.now().Add(s.o.RefreshTTL)
	}
	s.grants = append(s.grants, g)
	return g
}

// grantOf returns the grant of a token's content, nil when it was forgotten. One
// of an earlier life of the simulator is taken up again.
func (s *Sim) grantOf(content sealed) *grant {
	for _, g := range s.grants {
		if g.id == content.Grant {
			return g
		}
	}
	if s.wasCleared {
		return nil
	}
	g := &grant{id: content.Grant, scopes: content.Scopes, turn: -1}
	s.grants = append(s.grants, g)
	return g
}

// tokens issues an access token. The answer has a refresh token after a login
// and, where tokens are rotated, after each refresh.
func (s *Sim) tokens(g *grant, withRefresh bool) map[string]any {
	access := s.seal(sealed{Kind: "at", Grant: g.id, Scopes: g.scopes, End: s.now().Add(s.o.AccessTTL)})
	body := map[string]any{"access_token": access, "expires_in": int(s.o.AccessTTL / time.Second), "token_type": s.o.Quirks.TokenType}
	if !s.o.Quirks.NoScope {
		body["scope"] = strings.Join(g.scopes, " ")
	}
	if withRefresh && !s.o.Quirks.NoRefreshToken {
		body["refresh_token"] = s.seal(sealed{Kind: "rt", Grant: g.id, Scopes: g.scopes, End: g.expires, Turn: g.turn})
		if !g.expires.IsZero() {
			body["refresh_token_expires_in"] = int(g.expires.Sub(s.now()) / time.Second)
		}
	}
	return body
}

// token answers A2 and A3.
func (s *Sim) token(w http.ResponseWriter, r *http.Request) {
	if !form(w, r) {
		return
	}
	grantType := r.PostForm.Get("grant_type")
	device := grantType == deviceGrant
	if device && s.o.Quirks.LateClientCheck {
		s.poll(w, r)
		return
	}
	switch {
	case !s.isClient(r, device):
		refuse(w, http.StatusUnauthorized, "invalid_client", "The OAuth client was not found, or its type is wrong.")
	case device:
		s.poll(w, r)
	case grantType == "refresh_token":
		s.refresh(w, r)
	default:
		refuse(w, http.StatusBadRequest, "unsupported_grant_type", "Invalid grant_type: "+grantType)
	}
}

// isClient checks the client. Its secret may be missing on a refresh.
func (s *Sim) isClient(r *http.Request, needsSecret bool) bool {
	id, secret := r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	user, password, basic := r.BasicAuth()
	if basic {
		id, _ = url.QueryUnescape(user)
		secret, _ = url.QueryUnescape(password)
	}
	if s.o.Quirks.BodyAuth && basic {
		return false
	}
	if s.o.Quirks.BasicAuth || s.o.Quirks.LateClientCheck {
		return basic && id == s.o.ClientID && secret == s.o.ClientSecret
	}
	return id == s.o.ClientID && (secret == s.o.ClientSecret || secret == "" && !needsSecret)
}

// refresh answers A3. With Rotate a refresh token that was used before ends its
// whole family.
func (s *Sim) refresh(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, ok := s.open("rt", r.PostForm.Get("refresh_token"))
	var g *grant
	if ok {
		g = s.grantOf(content)
	}
	switch {
	case g == nil:
	case g.turn < 0:
		g.turn, g.expires = content.Turn, content.End
	case g.turn != content.Turn:
		g.revoked = true
	}
	if g == nil || g.revoked || !g.expires.IsZero() && !s.now().Before(g.expires) {
		refuse(w, http.StatusBadRequest, "invalid_grant", "Token has been expired or revoked.")
		return
	}
	if s.o.Rotate {
		g.turn++
	}
	simkit.WriteJSON(w, http.StatusOK, s.tokens(g, s.o.Rotate))
}

// revoke answers A4: either token ends the grant.
func (s *Sim) revoke(w http.ResponseWriter, r *http.Request) {
	if !form(w, r) {
		return
	}
	if s.o.Quirks.ClientAlways && !s.isClient(r, true) {
		refuse(w, http.StatusUnauthorized, "invalid_client", "The client must authenticate.")
		return
	}
	sent := r.URL.Query().Get("token")
	if s.o.Quirks.RevokeInBodyOnly || sent == "" { // where RFC 7009 has it
		sent = r.PostForm.Get("token")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	content, ok := s.open("at", sent)
	if !ok {
		content, ok = s.open("rt", sent)
	}
	if ok && (content.End.IsZero() || s.now().Before(content.End)) {
		if g := s.grantOf(content); g != nil && !g.revoked {
			g.revoked = true
			w.WriteHeader(http.StatusOK)
			return
		}
	}
	if s.o.Quirks.RevokeUnknownIsOK || s.o.Quirks.RevokeInBodyOnly {
		w.WriteHeader(http.StatusOK)
		return
	}
	refuse(w, http.StatusBadRequest, "invalid_token", "Token expired or revoked.")
}

// RevokeAll ends every grant, as a person does in the account's settings.
func (s *Sim) RevokeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.grants {
		g.revoked = true
	}
}

// grantOfAccess returns the grant of an access token that is good now.
func (s *Sim) grantOfAccess(token string) *grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, ok := s.open("at", token)
	if !ok || !s.now().Before(content.End) {
		return nil
	}
	if g := s.grantOf(content); g != nil && !g.revoked {
		return g
	}
	return nil
}

// Live returns how many grants are not revoked.
func (s *Sim) Live() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := 0
	for _, g := range s.grants {
		if !g.revoked {
			live++
		}
	}
	return live
}
