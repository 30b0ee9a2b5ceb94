package serve

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/access"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/guard"
)

// TestTheTableOfRoutes keeps who may use what under review: a change of it is a
// change of testdata/routes.txt, which UPDATE=1 writes.
func TestTheTableOfRoutes(t *testing.T) {
	var lines []string
	for _, route := range newProduct(t).allRoutes() {
		scope := string(route.Scope)
		if scope == "" {
			scope = "-"
		}
		lines = append(lines, fmt.Sprintf("%-5s %-8s %s", route.Face, scope, route.Pattern))
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	const file = "testdata/routes.txt"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) == got {
		return
	}
	known := strings.Split(string(want), "\n")
	for _, line := range lines {
		if !slices.Contains(known, line) {
			t.Errorf("not in the table: %s", line)
		}
	}
	for _, line := range known {
		if line != "" && !slices.Contains(lines, line) {
			t.Errorf("no such route: %s", line)
		}
	}
}

// TestWhatIsOpen: only these answer without a credential.
func TestWhatIsOpen(t *testing.T) {
	var open []string
	for _, route := range newProduct(t).allRoutes() {
		if route.Face == guard.FaceOpen {
			open = append(open, route.Pattern)
		}
	}
	slices.Sort(open)
	want := []string{"GET /healthz", "GET /login", "GET /readyz", "GET /static/{file}", "POST /api/v1/local/login", "POST /api/v1/local/login/poll", "POST /login"}
	if !slices.Equal(open, want) {
		t.Errorf("open are %q, want %q", open, want)
	}
}

// probed is the guard of the real table whose handlers only say that they were
// reached.
type probed struct {
	*guard.Guard
	t       *testing.T
	reached string
	caller  guard.Caller
	hosts   int // addresses that were used up: each has its ten wrong tokens
}

// authority is what the server makes of an engine's tokens.
type authority struct{ engine *engine.Engine }

func (a authority) Token(ctx context.Context, text string) (guard.Grant, error) {
	token, err := a.engine.CheckAccessToken(ctx, text)
	if err != nil {
		return guard.Grant{}, guard.ErrNoToken
	}
	return guard.Grant{ID: token.ID, Name: token.Name, Scope: guard.Scope(token.Scope)}, nil
}

func (a authority) Holds(ctx context.Context, id string) bool {
	return a.engine.AccessTokenHolds(ctx, id)
}

func newProbed(t *testing.T, p *product) (*probed, []guard.Route) {
	t.Helper()
	probe := &probed{t: t}
	routes := web.ServerRoutes(p.server)
	for i, route := range routes {
		routes[i].Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			probe.reached = route.Pattern
			probe.caller, _ = guard.CallerOf(r.Context())
		})
	}
	g, err := guard.New(routes, guard.Options{
		Authority: authority{p.engine}, Now: p.clock.Now, Entropy: p.server.Entropy, LoginPage: p.server.LoginPage, Listen: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7070},
	})
	if err != nil {
		t.Fatal(err)
	}
	probe.Guard = g
	return probe, routes
}

// send sends a request from an address that has not been wrong before.
func (p *probed) send(method, target, body string, headers http.Header) *http.Response {
	p.t.Helper()
	p.reached, p.caller = "", guard.Caller{}
	p.hosts++
	r := httptest.NewRequest(method, "http://127.0.0.1:7070"+target, strings.NewReader(body))
	r.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:4711", p.hosts>>16&255, p.hosts>>8&255, p.hosts&255)
	for name, values := range headers {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7070}))))
	return w.Result()
}

// credential is a column of the matrix: what is sent, and the scope that it is
// worth at each face.
type credential struct {
	headers http.Header
	query   string
	body    string
	api     guard.Scope
	page    guard.Scope
}

// logIn returns the headers and the form of a session.
func (p *probed) logIn(token string) credential {
	p.t.Helper()
	response := p.send("POST", "/login", url.Values{"token": {token}}.Encode(), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
	if len(response.Cookies()) != 1 {
		p.t.Fatalf("login: %d", response.StatusCode)
	}
	cookie := response.Cookies()[0].Name + "=" + response.Cookies()[0].Value
	headers := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Cookie": {cookie}}
	if p.send("GET", "/", "", headers); p.caller.CSRF == "" {
		p.t.Fatal("the session has no mark")
	}
	return credential{headers: headers, body: "csrf=" + p.caller.CSRF}
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// credentials are the columns of the matrix.
func (p *probed) credentials(product *product) map[string]credential {
	tokens := map[string]string{}
	columns := map[string]credential{}
	for _, scope := range []guard.Scope{guard.Viewer, guard.Operator, guard.Admin} {
		tokens[string(scope)] = product.token(access.NewToken{Scope: string(scope)})
		columns["the token of a "+string(scope)] = credential{headers: bearer(tokens[string(scope)]), api: scope}
		session := p.logIn(tokens[string(scope)])
		session.page = scope
		columns["the session of a "+string(scope)] = session
	}
	expired := product.token(access.NewToken{Scope: "admin", ExpiresAt: product.clock.Now().Add(time.Minute)})
	expiredSession := p.logIn(expired)
	product.clock.add(time.Minute)
	removed := product.token(access.NewToken{Name: "removed", Scope: "admin"})
	removedSession := p.logIn(removed)
	if _, err := product.engine.RemoveAccessToken(p.t.Context(), "removed"); err != nil {
		p.t.Fatal(err)
	}
	admin, session := tokens["admin"], columns["the session of a admin"]
	_, cookie, _ := strings.Cut(session.headers.Get("Cookie"), "=")
	columns["nothing"] = credential{}
	columns["a wrong token"] = credential{headers: bearer("frt_" + strings.Repeat("A", 43))}
	columns["an expired token"] = credential{headers: bearer(expired)}
	columns["a removed token"] = credential{headers: bearer(removed)}
	columns["a session of an expired token"] = expiredSession
	columns["a session of a removed token"] = removedSession
	columns["a token cut short"] = credential{headers: bearer(admin[:len(admin)-1])}
	columns["a token without its prefix"] = credential{headers: bearer(strings.TrimPrefix(admin, "frt_"))}
	columns["a token as a password"] = credential{headers: http.Header{"Authorization": {"Basic " + admin}}}
	columns["a token twice"] = credential{headers: http.Header{"Authorization": {"Bearer " + admin, "Bearer " + admin}}}
	columns["a token in the query"] = credential{query: "?token=" + admin + "&access_token=" + admin + "&code=" + admin}
	columns["a token in other headers"] = credential{headers: http.Header{"X-Api-Key": {admin}, "X-Auth-Token": {admin}, "Cookie": {"token=" + admin}}}
	columns["a token as the session"] = credential{headers: http.Header{"Cookie": {"flowrun_session_7070=" + admin}}}
	columns["a session as the token"] = credential{headers: bearer(cookie)}
	columns["a session without the form's mark"] = credential{headers: session.headers, page: guard.Admin, body: "a=b"}
	columns["a session in two cookies"] = credential{headers: http.Header{"Cookie": {session.headers.Get("Cookie") + "; " + session.headers.Get("Cookie")}}, body: session.body}
	columns["headers that say who is trusted"] = credential{headers: http.Header{
		"X-Forwarded-For": {"127.0.0.1"}, "X-Real-Ip": {"127.0.0.1"}, "X-Forwarded-User": {"admin"}, "Remote-User": {"admin"}, "X-Original-Url": {"/healthz"}, "X-Rewrite-Url": {"/healthz"},
	}}
	return columns
}

// wants is the status that a route gives to a credential; 200 says that the
// handler is reached.
func (c credential) wants(route guard.Route) int {
	has := c.api
	if route.Face == guard.FacePage {
		has = c.page
	}
	changes := !strings.HasPrefix(route.Pattern, "GET ")
	switch {
	case route.Face == guard.FaceOpen, route.Face == guard.FaceHook:
		return http.StatusOK
	case has == "":
		return http.StatusUnauthorized
	case route.Face == guard.FacePage && changes && !strings.HasPrefix(c.body, "csrf="):
		return http.StatusForbidden
	case !has.Allows(route.Scope):
		return http.StatusForbidden
	}
	return http.StatusOK
}

// TestEveryRouteWithEveryCredential walks the real table. The handler is reached
// exactly where the matrix says so.
func TestEveryRouteWithEveryCredential(t *testing.T) {
	p := newProduct(t)
	probe, routes := newProbed(t, p)
	checked := 0
	for name, c := range probe.credentials(p) {
		for _, route := range routes {
			method, path := fill(route.Pattern, "x")
			want := c.wants(route)
			response := probe.send(method, path+c.query, c.body, c.headers)
			checked++
			if got := response.StatusCode; got != want {
				t.Errorf("%s at %s: %d, want %d", name, route.Pattern, got, want)
			}
			if (probe.reached == route.Pattern) != (want == http.StatusOK) {
				t.Errorf("%s at %s reached %q", name, route.Pattern, probe.reached)
			}
		}
	}
	t.Logf("%d requests", checked)
	if checked < 20*60 {
		t.Errorf("only %d requests: is the table whole?", checked)
	}
}

// TestOtherMethods are in no route: they reach nothing, whoever asks.
func TestOtherMethods(t *testing.T) {
	p := newProduct(t)
	probe, routes := newProbed(t, p)
	table := map[string]bool{}
	for _, route := range routes {
		table[route.Pattern] = true
	}
	columns := probe.credentials(p)
	for _, name := range []string{"nothing", "the token of a admin", "the session of a admin"} {
		c := columns[name]
		for _, route := range routes {
			_, path := fill(route.Pattern, "x")
			_, pattern, _ := strings.Cut(route.Pattern, " ")
			for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get", "GETX"} {
				if table[method+" "+pattern] || method == "HEAD" && table["GET "+pattern] || pattern == "/static/{file}" && method == "GET" {
					continue
				}
				response := probe.send(method, path, c.body, c.headers)
				if strings.HasPrefix(probe.reached, strings.Replace(method, "HEAD", "GET", 1)+" ") {
					continue // a literal path that is a name of another route's wildcard too
				}
				if probe.reached != "" || response.StatusCode < 400 || response.StatusCode >= 500 {
					t.Errorf("%s: %s %s: %d, reached %q", name, method, path, response.StatusCode, probe.reached)
				}
			}
		}
	}
}

// TestControlAGuardThatTrusts is found out by the matrix: were a face or a scope
// of one route wrong, it would fail.
func TestControlAGuardThatTrusts(t *testing.T) {
	p := newProduct(t)
	for name, spoil := range map[string]func(*guard.Route){
		"a route that is open":       func(r *guard.Route) { r.Face, r.Scope = guard.FaceOpen, "" },
		"a route with too low scope": func(r *guard.Route) { r.Scope = guard.Viewer },
		"a route of the other face":  func(r *guard.Route) { r.Face = guard.FacePage },
	} {
		t.Run(name, func(t *testing.T) {
			spoiled := *p
			spoiled.server.Page = nil
			probe := &probed{t: t}
			routes := web.ServerRoutes(spoiled.server)
			at := slices.IndexFunc(routes, func(r guard.Route) bool { return strings.HasSuffix(r.Pattern, "/cancel") })
			honest := slices.Clone(routes)
			spoil(&routes[at])
			for i, route := range routes {
				routes[i].Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					probe.reached = route.Pattern
					probe.caller, _ = guard.CallerOf(r.Context())
				})
			}
			routes = append(routes, guard.Route{Pattern: "GET /{$}", Face: guard.FacePage, Scope: guard.Viewer, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				probe.caller, _ = guard.CallerOf(r.Context())
			})})
			g, err := guard.New(routes, guard.Options{
				Authority: authority{p.engine}, Now: p.clock.Now, Entropy: p.server.Entropy, LoginPage: p.server.LoginPage, Listen: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7070},
			})
			if err != nil {
				t.Fatal(err)
			}
			probe.Guard = g
			found := 0
			for _, c := range probe.credentials(p) {
				for _, route := range honest {
					method, path := fill(route.Pattern, "x")
					if probe.send(method, path+c.query, c.body, c.headers).StatusCode != c.wants(route) {
						found++
					}
				}
			}
			if found == 0 {
				t.Error("the matrix finds nothing wrong with it")
			}
		})
	}
}
