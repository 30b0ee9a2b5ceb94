package guard

import (
	"bytes"
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/flowrun/flowrun/internal/web/wire"
)

// LoginView is what the page with the login form shows.
type LoginView struct {
	Error string // "" = none
	Hint  string
	Next  string // the path to go to afterwards, checked
	// Again says that the browser came from another site, whose links carry no
	// cookie: the page loads itself once more, and has it then.
	Again bool
	// Link is a login link that waits for its button; nil = the form asks for a
	// token.
	Link *LinkView
	// Kept is a form that nobody was logged in for; nil = none. It goes with the
	// login.
	Kept *KeptForm
	// Resend is such a form after the login, in the place of all else.
	Resend *Resend
}

// LinkView is a login link on its page. Programs that look at links for people see
// that page too: the link is good until the button is pressed.
type LinkView struct {
	Code  string
	Who   string // whom it logs in
	Scope Scope
}

func (g *Guard) ownRoutes() []Route {
	return []Route{
		{Pattern: "GET /login", Face: FaceOpen, Handler: http.HandlerFunc(g.loginPage)},
		{Pattern: "POST /login", Face: FaceOpen, Handler: http.HandlerFunc(g.login)},
		{Pattern: "POST /logout", Face: FacePage, Scope: Viewer, Handler: http.HandlerFunc(g.logout)},
	}
}

// OwnPatterns are those of the guard's own routes.
func OwnPatterns() []string { return []string{"GET /login", "POST /login", "POST /logout"} }

// LoginPath makes a path that logs a browser in, once, within 15 minutes. name is
// who gets it, such as "ann".
func (g *Guard) LoginPath(name string, scope Scope) (string, error) {
	code, err := g.sessions.newLink("page of "+name, scope)
	if err != nil {
		return "", err
	}
	return "/login?code=" + code, nil
}

// loginPage shows the form, or the button of a login link.
func (g *Guard) loginPage(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if !query.Has("code") {
		g.showLogin(w, http.StatusOK, LoginView{Next: localPath(query.Get("next"))})
		return
	}
	code := query.Get("code")
	found, ok := g.sessions.link(code, false)
	switch {
	case ok:
		g.showLogin(w, http.StatusOK, LoginView{Link: &LinkView{Code: code, Who: strings.TrimPrefix(found.name, "page of "), Scope: found.scope}})
	case g.isIn(r): // the link of this very session, once more
		http.Redirect(w, r, "/", http.StatusSeeOther)
	default:
		g.refuseLogin(w, r, LoginView{Error: deadLink, Hint: newLinkHint})
	}
}

// What a login link that is no good is answered with.
const (
	deadLink    = "this login link was used already, or is too old"
	newLinkHint = "`flowrun tokens link` prints a new one"
)

func (g *Guard) isIn(r *http.Request) bool {
	_, in := g.sessionOf(r)
	return in
}

// refuseLogin counts a wrong credential and shows the form again. What is right is
// taken all the same.
func (g *Guard) refuseLogin(w http.ResponseWriter, r *http.Request, view LoginView) {
	g.showWrong(w, g.countWrong(r, "a wrong login link"), view)
}

func (g *Guard) showWrong(w http.ResponseWriter, wait time.Duration, view LoginView) {
	status := http.StatusUnauthorized
	if wait > 0 {
		status = http.StatusTooManyRequests
		w.Header().Set("Retry-After", retryAfter(wait))
		view.Error += "; too many wrong ones came from your address"
	}
	g.showLogin(w, status, view)
}

// login takes the button of a login link, or from the form a token or the text of
// such a link.
func (g *Guard) login(w http.ResponseWriter, r *http.Request) {
	if !g.parseForm(w, r) {
		return
	}
	to := destination{next: localPath(r.PostForm.Get("next")), kept: g.keptOf(r)}
	text := strings.TrimSpace(r.PostForm.Get("token"))
	if code := cmp.Or(r.PostForm.Get("code"), linkCode(text)); code != "" {
		g.loginByLink(w, r, code, to)
		return
	}
	grant, wait, err := g.grant(r, text)
	switch {
	case err == nil:
		g.enter(w, r, session{name: "page of token " + grant.Name, grant: grant.ID, scope: grant.Scope}, to)
	case !errors.Is(err, ErrNoToken):
		g.refuseLookup(w, r, err)
	default:
		g.showWrong(w, wait, LoginView{
			Error: "the token is not known here: it is wrong, has expired or was removed", Hint: "`flowrun tokens create` makes one", Next: to.next, Kept: to.kept,
		})
	}
}

// linkCode returns the code in the text of a login link, "" where it is none.
func linkCode(text string) string {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Path != "/login" {
		return ""
	}
	return parsed.Query().Get("code")
}

func (g *Guard) loginByLink(w http.ResponseWriter, r *http.Request, code string, to destination) {
	found, ok := g.sessions.link(code, true)
	switch {
	case ok:
		g.enter(w, r, session{name: found.name, scope: found.scope}, to)
	case g.isIn(r): // the button was pressed twice
		http.Redirect(w, r, to.next, http.StatusSeeOther)
	default:
		g.refuseLogin(w, r, LoginView{Error: deadLink, Hint: newLinkHint, Next: to.next, Kept: to.kept})
	}
}

// destination is where a login leads: to a page, or to a form that was sent before
// it.
type destination struct {
	next string
	kept *KeptForm
}

// enter begins a session, in the place of the one that the browser had.
func (g *Guard) enter(w http.ResponseWriter, r *http.Request, who session, to destination) {
	if old, ok := g.sessionOf(r); ok {
		if err := g.leave(old); err != nil {
			g.refuse(w, r, wire.CodeInternal, err.Error(), "")
			return
		}
	}
	cookie, err := g.sessions.begin(who.name, who.grant, who.scope)
	if err != nil {
		g.refuse(w, r, wire.CodeInternal, err.Error(), "")
		return
	}
	g.setCookie(w, r, cookie, sessionLife)
	if to.kept != nil {
		g.showLogin(w, http.StatusOK, LoginView{Resend: to.kept.resend(markOf(cookie))})
		return
	}
	http.Redirect(w, r, to.next, http.StatusSeeOther)
}

func (g *Guard) leave(s *session) error {
	err := g.sessions.end(s.id)
	g.live.end(s.id)
	return err
}

func (g *Guard) logout(w http.ResponseWriter, r *http.Request) {
	if found, ok := g.sessionOf(r); ok {
		if err := g.leave(found); err != nil { // a restart would take it up again
			g.refuse(w, r, wire.CodeInternal, err.Error(), "log out once more")
			return
		}
	}
	g.setCookie(w, r, "", -time.Second)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// askLogin answers a request that has no session: a person gets the form.
func (g *Guard) askLogin(w http.ResponseWriter, r *http.Request) {
	if !wantsPage(r) {
		writeProblem(w, wire.CodeUnauthorized, "this needs a session", "log in at /login; a token is for /api")
		return
	}
	view := LoginView{Next: "/", Kept: g.keep(w, r)}
	if r.Method == http.MethodGet {
		view.Next = localPath(r.URL.RequestURI())
		view.Again = r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") == "navigate"
	}
	g.showLogin(w, http.StatusUnauthorized, view)
}

// showLogin writes the page with the form.
func (g *Guard) showLogin(w http.ResponseWriter, status int, view LoginView) {
	view.Next = cmp.Or(view.Next, "/")
	var page bytes.Buffer
	if err := g.options.LoginPage(&page, view); err != nil {
		writeProblem(w, wire.CodeInternal, "write the login page: "+err.Error(), "")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="flowrun"`)
	}
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // the client is gone: nobody is left to tell
}

// localPath returns a path of this server to go to after a login, "/" where text
// is none.
func localPath(text string) string {
	parsed, err := url.Parse(text)
	if err != nil || parsed.IsAbs() || parsed.Host != "" || parsed.User != nil || !strings.HasPrefix(text, "/") ||
		strings.HasPrefix(text, "//") || strings.ContainsAny(text, "\\\t\r\n") || strings.HasPrefix(parsed.Path, "/log") {
		return "/"
	}
	return parsed.RequestURI()
}
