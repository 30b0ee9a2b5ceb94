package guard

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/flowrun/flowrun/internal/web/wire"
)

// How long sessions and login links are good.
const (
	sessionIdle = 12 * time.Hour
	sessionLife = 7 * 24 * time.Hour
	linkLife    = 15 * time.Minute
	maxSessions = 1000 // the one that was idle longest is ended then
	maxLinks    = 100
)

// session is a person's browser.
type session struct {
	id      string // hash of the cookie's value
	name    string // "page of ann", "page of token ci"
	grant   string // id of the token it was made with; "" = a login link
	scope   Scope
	created time.Time
	used    time.Time
	saved   time.Time // the time of use that is stored
	mark    string    // of its forms; it is set where the cookie is known
}

func (s *session) caller(remote string) Caller {
	return Caller{Name: s.name, Scope: s.scope, Remote: remote, CSRF: s.mark, Grant: s.grant}
}

// markOf returns what the forms of a session hold. It is worked out of the cookie,
// so that nothing but the cookie's hash must be kept.
func markOf(cookie string) string {
	mac := hmac.New(sha256.New, []byte(cookie))
	mac.Write([]byte("forms of the page"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// link is a login link that nobody has used yet.
type link struct {
	name    string
	scope   Scope
	created time.Time
}

// sessions holds the sessions and login links, by the hash of their secret. Login
// links end with the process; sessions lie in the store too. Safe for concurrent use.
type sessions struct {
	now     func() time.Time
	entropy io.Reader
	store   SessionStore

	mu    sync.Mutex
	byID  map[string]*session
	links map[string]link
}

func newSessions(now func() time.Time, entropy io.Reader, store SessionStore) *sessions {
	if store == nil {
		store = noStore{}
	}
	return &sessions{now: now, entropy: entropy, store: store, byID: map[string]*session{}, links: map[string]link{}}
}

// secret makes 256 random bits. The lock is held: a reader may not be safe.
func (s *sessions) secret() (string, error) {
	data := make([]byte, 32)
	if _, err := io.ReadFull(s.entropy, data); err != nil {
		return "", fmt.Errorf("make a session: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(data), nil
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// begin makes a session and returns the value of its cookie. It is stored on return.
func (s *sessions) begin(name, grant string, scope Scope) (cookie string, err error) {
	cookie, made, dropped, err := s.add(name, grant, scope)
	if err != nil {
		return "", err
	}
	row, ends := made.stored()
	if err := s.store.PutSession(row, ends); err != nil {
		s.forget(made.id)
		return "", fmt.Errorf("store the session: %w", err)
	}
	if dropped != "" {
		_ = s.store.DeleteSessions(dropped) // else it ends there by its time
	}
	return cookie, nil
}

// add puts a session among those in memory; dropped is the one that made room.
func (s *sessions) add(name, grant string, scope Scope) (cookie string, made session, dropped string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cookie, err = s.secret(); err != nil {
		return "", session{}, "", err
	}
	now := s.now()
	s.sweep(now)
	if len(s.byID) >= maxSessions {
		dropped = s.dropIdlest()
	}
	id := hashOf(cookie)
	made = session{id: id, name: name, grant: grant, scope: scope, created: now, used: now, saved: now}
	kept := made
	s.byID[id] = &kept
	return cookie, made, dropped, nil
}

func (s *sessions) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, id)
}

func (s *sessions) sweep(now time.Time) {
	maps.DeleteFunc(s.byID, func(_ string, one *session) bool { return one.over(now) })
}

func (s *session) over(now time.Time) bool {
	return now.Sub(s.used) >= sessionIdle || now.Sub(s.created) >= sessionLife
}

func (s *sessions) dropIdlest() string {
	var idlest *session
	for _, found := range s.byID {
		if idlest == nil || found.used.Before(idlest.used) {
			idlest = found
		}
	}
	delete(s.byID, idlest.id)
	return idlest.id
}

// get returns a copy of the session of that id, nil when there is none. use says
// that its person is there now.
func (s *sessions) get(id string, use bool) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, now := s.byID[id], s.now()
	if found == nil {
		return nil
	}
	if found.over(now) {
		delete(s.byID, id)
		return nil
	}
	if use {
		found.used = now
	}
	same := *found
	return &same
}

// end forgets a session for good.
func (s *sessions) end(id string) error {
	s.forget(id)
	if err := s.store.DeleteSessions(id); err != nil {
		return fmt.Errorf("forget the session: %w", err)
	}
	return nil
}

// newLink makes the secret of a login link.
func (s *sessions) newLink(name string, scope Scope) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := s.secret()
	if err != nil {
		return "", err
	}
	now := s.now()
	maps.DeleteFunc(s.links, func(_ string, old link) bool { return now.Sub(old.created) >= linkLife })
	if len(s.links) >= maxLinks {
		return "", errors.New("make a login link: too many are waiting to be used; each lasts 15 minutes")
	}
	s.links[hashOf(text)] = link{name: name, scope: scope, created: now}
	return text, nil
}

// link returns a login link. use takes it: it is good once.
func (s *sessions) link(text string, use bool) (link, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := hashOf(text)
	found, ok := s.links[id]
	if use {
		delete(s.links, id)
	}
	return found, ok && s.now().Sub(found.created) < linkLife
}

// cookieName tells servers on different ports of one host apart, which share
// their cookies.
func (g *Guard) cookieName() string {
	name := "flowrun_session"
	if address, ok := g.options.Listen.(*net.TCPAddr); ok {
		name = fmt.Sprintf("flowrun_session_%d", address.Port)
	}
	if g.options.Secure {
		name = "__Host-" + name
	}
	return name
}

func (g *Guard) setCookie(w http.ResponseWriter, r *http.Request, value string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: g.cookieName(), Value: value, Path: "/", MaxAge: int(life / time.Second), Secure: g.overTLS(r), HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	})
}

// sessionOf returns the session of the request's cookie.
func (g *Guard) sessionOf(r *http.Request) (*session, bool) {
	cookies := r.CookiesNamed(g.cookieName())
	if len(cookies) != 1 {
		return nil, false
	}
	found := g.sessions.get(hashOf(cookies[0].Value), true)
	if found == nil || !g.holds(r.Context(), found) {
		return nil, false
	}
	found.mark = markOf(cookies[0].Value)
	return found, true
}

// holds reports whether a session's token is still good. A session ends with it.
func (g *Guard) holds(ctx context.Context, s *session) bool {
	if s.grant == "" || g.options.Authority.Holds(ctx, s.grant) {
		return true
	}
	if err := g.sessions.end(s.id); err != nil { // it is refused again then, for its token
		g.options.Log.Error("a session that has ended is still stored", "error", err)
	}
	return false
}

// session returns the request's session, or answers the request with the login
// form. A token is not looked at.
func (g *Guard) session(w http.ResponseWriter, r *http.Request) (*session, bool) {
	if found, ok := g.sessionOf(r); ok {
		return found, true
	}
	if len(r.CookiesNamed(g.cookieName())) > 0 {
		g.setCookie(w, r, "", -time.Second) // it is of no use any more
	}
	g.askLogin(w, r)
	return nil, false
}

// checkForm wants the session's mark in what changes something, besides all that
// keeps foreign pages out; it answers the request when it is missing.
func (g *Guard) checkForm(w http.ResponseWriter, r *http.Request, s *session) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	if !g.parseForm(w, r) {
		return false
	}
	mark := cmp.Or(r.Header.Get("X-CSRF-Token"), r.PostForm.Get("csrf"))
	if subtle.ConstantTimeCompare([]byte(mark), []byte(s.mark)) != 1 {
		if again, ok := g.resendOf(r, s.mark); ok {
			g.showLogin(w, http.StatusForbidden, LoginView{Error: "the form is of a session that has ended; nothing was done", Resend: again})
			return false
		}
		g.refuse(w, r, wire.CodeForbidden, "the form is not of this session", "load the page again, then send the form")
		return false
	}
	return true
}

// parseForm reads a form of at most 1 MiB, or answers the request.
func (g *Guard) parseForm(w http.ResponseWriter, r *http.Request) bool {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != "application/x-www-form-urlencoded" {
		g.refuse(w, r, wire.CodeMediaType, "a form must be application/x-www-form-urlencoded", "")
		return false
	}
	err = r.ParseForm()
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		g.refuse(w, r, wire.CodeTooLarge, fmt.Sprintf("the form is larger than %d bytes", bodyCap), "")
		return false
	case err != nil:
		g.refuse(w, r, wire.CodeBadRequest, "the form can't be read", "")
		return false
	}
	return true
}

// Recheck ends the requests whose token or session is good no more.
func (g *Guard) Recheck(ctx context.Context) {
	for _, credential := range g.live.credentials() {
		if found := g.sessions.get(credential, false); found != nil {
			if g.holds(ctx, found) {
				continue
			}
		} else if g.options.Authority.Holds(ctx, credential) {
			continue
		}
		g.live.end(credential)
	}
}

// Run looks again and again whether those who are served may still be, until ctx
// ends.
func (g *Guard) Run(ctx context.Context) {
	defer g.sessions.save(g.options.Log)
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.options.After(recheckEvery):
			g.Recheck(ctx)
			g.sessions.save(g.options.Log)
		}
	}
}

// recheckEvery is how long a stream may go on with a token that was removed.
const recheckEvery = 10 * time.Second
