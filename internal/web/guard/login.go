package guard

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// LoginView is what the page with the login form shows.
type LoginView struct {
	Error string // "" = none
	Hint  string
	Next  string // the path to go to afterwards, checked
	// Again says that the browser came from another site, whose links carry no
	// cookie: the page loads itself once more, and has it then.
	Again bool
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

// loginPage shows the form, or takes the code of a login link.
func (g *Guard) loginPage(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if !query.Has("code") {
		g.showLogin(w, http.StatusOK, LoginView{Next: localPath(query.Get("next"))})
		return
	}
	if r.Method != http.MethodGet {
		g.showLogin(w, http.StatusOK, LoginView{}) // HEAD must not use it up
		return
	}
	network := networkOf(addressOf(r))
	if g.failures.blocked(network) > 0 {
		g.tooMany(w, r, network)
		return
	}
	found, ok := g.sessions.useLink(query.Get("code"))
	if !ok {
		if _, in := g.sessionOf(r); in { // the link of this very session, once more
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		g.failures.add(network)
		g.showLogin(w, http.StatusUnauthorized, LoginView{
			Error: "this login link was used already, or is too old", Hint: "`flowrun tokens link` prints a new one",
		})
		return
	}
	g.enter(w, r, found.name, "", found.scope, "/")
}

// login takes a token from the form.
func (g *Guard) login(w http.ResponseWriter, r *http.Request) {
	if !g.parseForm(w, r) {
		return
	}
	next := localPath(r.PostForm.Get("next"))
	grant, ok := g.grant(w, r, strings.TrimSpace(r.PostForm.Get("token")), func() {
		g.showLogin(w, http.StatusUnauthorized, LoginView{
			Error: "the token is not known here: it is wrong, has expired or was removed", Hint: "`flowrun tokens create` makes one", Next: next,
		})
	})
	if ok {
		g.enter(w, r, "page of token "+grant.Name, grant.ID, grant.Scope, next)
	}
}

// enter begins a session, in the place of the one that the browser had.
func (g *Guard) enter(w http.ResponseWriter, r *http.Request, name, grant string, scope Scope, next string) {
	if old, ok := g.sessionOf(r); ok {
		g.leave(old)
	}
	cookie, err := g.sessions.begin(name, grant, scope)
	if err != nil {
		g.refuse(w, r, http.StatusInternalServerError, "internal", err.Error(), "")
		return
	}
	g.setCookie(w, r, cookie, sessionLife)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

func (g *Guard) leave(s *session) {
	g.sessions.end(s.id)
	g.live.end(s.id)
}

func (g *Guard) logout(w http.ResponseWriter, r *http.Request) {
	if found, ok := g.sessionOf(r); ok {
		g.leave(found)
	}
	g.setCookie(w, r, "", -time.Second)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// askLogin answers a request that has no session: a person gets the form.
func (g *Guard) askLogin(w http.ResponseWriter, r *http.Request) {
	if !wantsPage(r) {
		writeProblem(w, http.StatusUnauthorized, "unauthorized", "this needs a session", "log in at /login; a token is for /api")
		return
	}
	view := LoginView{Next: "/"}
	if r.Method == http.MethodGet {
		view.Next = localPath(r.URL.RequestURI())
		view.Again = r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") == "navigate"
	}
	g.showLogin(w, http.StatusUnauthorized, view)
}

// showLogin writes the page with the form.
func (g *Guard) showLogin(w http.ResponseWriter, status int, view LoginView) {
	if view.Next == "" {
		view.Next = "/"
	}
	var page bytes.Buffer
	if err := g.options.LoginPage(&page, view); err != nil {
		writeProblem(w, http.StatusInternalServerError, "internal", "write the login page: "+err.Error(), "")
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

// plainLogin is the page where nobody gave a nicer one.
const plainLogin = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Log in - flowrun</title>
{{- if .Again}}<meta http-equiv="refresh" content="0">{{end}}<link rel="stylesheet" href="/static/app.css"></head>
<body><main>
<h1>Log in</h1>
{{with .Error}}<p role="alert">{{.}}</p>{{end}}
{{with .Hint}}<p>{{.}}</p>{{end}}
<form method="post" action="/login">
<input type="hidden" name="next" value="{{.Next}}">
<p><label for="token">Token</label> <input id="token" name="token" type="password" autocomplete="current-password" required autofocus></p>
<p><button type="submit">Log in</button></p>
</form>
<p>Open the login link that <code>flowrun serve</code> printed, or paste a token: <code>flowrun tokens create --scope admin</code> makes one.</p>
</main></body>
</html>
`
