package guard

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fakeAuthority knows the tokens viewer, operator and admin, and those in more.
type fakeAuthority struct {
	mu   sync.Mutex
	more map[string]Grant
	gone map[string]bool
	err  error
}

func (f *fakeAuthority) Token(_ context.Context, text string) (Grant, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return Grant{}, f.err
	}
	if f.gone[text] {
		return Grant{}, ErrNoToken
	}
	if grant, ok := f.more[text]; ok {
		return grant, nil
	}
	switch text {
	case "viewer", "operator", "admin":
		return Grant{ID: text, Name: text, Scope: Scope(text)}, nil
	}
	return Grant{}, ErrNoToken
}

func (f *fakeAuthority) Holds(_ context.Context, id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.gone[id]
}

func (f *fakeAuthority) remove(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone == nil {
		f.gone = map[string]bool{}
	}
	f.gone[id] = true
}

// fixture is a guard with a clock that stands still.
type fixture struct {
	*Guard
	t         *testing.T
	authority *fakeAuthority
	clock     time.Time
	served    []string // patterns that were reached, with who did
}

// counter is entropy that never repeats.
type counter struct {
	mu   sync.Mutex
	next uint64
}

func (c *counter) Read(data []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	for i := range data {
		data[i] = byte(c.next >> (8 * (i % 8)))
	}
	return len(data), nil
}

func testRoutes(served func(pattern string, caller Caller)) []Route {
	handler := func(pattern string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			caller, _ := CallerOf(r.Context())
			served(pattern, caller)
			_, _ = io.WriteString(w, "served "+pattern)
		})
	}
	var routes []Route
	for _, line := range []Route{
		{Pattern: "GET /healthz", Face: FaceOpen},
		{Pattern: "GET /api/v1/runs", Face: FaceAPI, Scope: Viewer},
		{Pattern: "GET /api/v1/runs/{id}", Face: FaceAPI, Scope: Viewer},
		{Pattern: "POST /api/v1/runs/{id}/cancel", Face: FaceAPI, Scope: Operator},
		{Pattern: "POST /api/v1/runs/{id}/steps/{step}/approve", Face: FaceAPI, Scope: Operator},
		{Pattern: "POST /api/v1/everything", Face: FaceAPI, Scope: Admin},
		{Pattern: "GET /{$}", Face: FacePage, Scope: Viewer},
		{Pattern: "GET /runs/{id}", Face: FacePage, Scope: Viewer},
		{Pattern: "POST /runs/{id}/cancel", Face: FacePage, Scope: Operator},
		{Pattern: "GET /ui/stream", Face: FacePage, Scope: Viewer},
		{Pattern: "POST /hooks/{workflow}/{trigger}", Face: FaceHook},
	} {
		line.Handler = handler(line.Pattern)
		routes = append(routes, line)
	}
	return routes
}

func newFixture(t *testing.T, change ...func(*Options)) *fixture {
	t.Helper()
	f := &fixture{t: t, authority: &fakeAuthority{}, clock: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	o := Options{
		Authority: f.authority, Now: func() time.Time { return f.clock }, Entropy: &counter{},
		Listen: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7070}, LoginPage: plainLogin,
	}
	for _, c := range change {
		c(&o)
	}
	g, err := New(testRoutes(func(pattern string, caller Caller) { f.served = append(f.served, pattern+" by "+caller.By()) }), o)
	if err != nil {
		t.Fatal(err)
	}
	f.Guard = g
	return f
}

// request is one to 127.0.0.1:7070 from 192.0.2.1, as a server sees it.
func request(method, target string, body string, headers ...string) *http.Request {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, target, reader)
	r.Host = "127.0.0.1:7070"
	r.RemoteAddr = "192.0.2.1:4711"
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7070}))
}

func (f *fixture) do(r *http.Request) *http.Response {
	f.t.Helper()
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w.Result()
}

func (f *fixture) ask(method, target, body string, headers ...string) *http.Response {
	f.t.Helper()
	return f.do(request(method, target, body, headers...))
}

func bodyOf(t *testing.T, response *http.Response) string {
	t.Helper()
	var data bytes.Buffer
	if _, err := data.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	return data.String()
}

// logIn logs in with a token and returns the cookie header and the mark of forms.
func (f *fixture) logIn(token string) (cookie, csrf string) {
	f.t.Helper()
	response := f.ask("POST", "/login", url.Values{"token": {token}}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	if response.StatusCode != http.StatusSeeOther || len(response.Cookies()) != 1 {
		f.t.Fatalf("login: %d, cookies %v", response.StatusCode, response.Cookies())
	}
	cookie = response.Cookies()[0].Name + "=" + response.Cookies()[0].Value
	return cookie, markOf(response.Cookies()[0].Value)
}

func TestWhoMayUseWhichFace(t *testing.T) {
	f := newFixture(t)
	viewer, viewerMark := f.logIn("viewer")
	operator, operatorMark := f.logIn("operator")
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	cases := map[string]struct {
		method, path string
		headers      []string
		body         string
		want         int
	}{
		"anybody asks for health":                          {"GET", "/healthz", nil, "", 200},
		"nobody reads runs without a token":                {"GET", "/api/v1/runs", nil, "", 401},
		"a viewer reads runs":                              {"GET", "/api/v1/runs", []string{"Authorization", "Bearer viewer"}, "", 200},
		"the scheme is of any case":                        {"GET", "/api/v1/runs", []string{"Authorization", "bearer viewer"}, "", 200},
		"a viewer cancels nothing":                         {"POST", "/api/v1/runs/a/cancel", []string{"Authorization", "Bearer viewer"}, "", 403},
		"an operator cancels":                              {"POST", "/api/v1/runs/a/cancel", []string{"Authorization", "Bearer operator"}, "", 200},
		"an operator is no admin":                          {"POST", "/api/v1/everything", []string{"Authorization", "Bearer operator"}, "", 403},
		"an admin does everything":                         {"POST", "/api/v1/everything", []string{"Authorization", "Bearer admin"}, "", 200},
		"a wrong token":                                    {"GET", "/api/v1/runs", []string{"Authorization", "Bearer nobody"}, "", 401},
		"an empty token":                                   {"GET", "/api/v1/runs", []string{"Authorization", "Bearer "}, "", 401},
		"another scheme":                                   {"GET", "/api/v1/runs", []string{"Authorization", "Basic viewer"}, "", 401},
		"two tokens":                                       {"GET", "/api/v1/runs", []string{"Authorization", "Bearer viewer", "Authorization", "Bearer viewer"}, "", 401},
		"a token in the query":                             {"GET", "/api/v1/runs?token=viewer&access_token=viewer", nil, "", 401},
		"a session reads no API":                           {"GET", "/api/v1/runs", []string{"Cookie", viewer}, "", 401},
		"a session changes nothing through the API":        {"POST", "/api/v1/runs/a/cancel", []string{"Cookie", operator, "X-CSRF-Token", operatorMark}, "", 401},
		"nobody sees the page without a session":           {"GET", "/", nil, "", 401},
		"a session sees the page":                          {"GET", "/", []string{"Cookie", viewer}, "", 200},
		"a session follows the stream":                     {"GET", "/ui/stream", []string{"Cookie", viewer}, "", 200},
		"a token sees no page":                             {"GET", "/", []string{"Authorization", "Bearer admin"}, "", 401},
		"a token follows no stream of the page":            {"GET", "/ui/stream", []string{"Authorization", "Bearer admin"}, "", 401},
		"a wrong cookie":                                   {"GET", "/", []string{"Cookie", "flowrun_session_7070=AAAA"}, "", 401},
		"two cookies":                                      {"GET", "/", []string{"Cookie", viewer + "; " + operator}, "", 401},
		"a cookie of another port":                         {"GET", "/", []string{"Cookie", strings.Replace(viewer, "7070", "7071", 1)}, "", 401},
		"a viewer's session cancels nothing":               {"POST", "/runs/a/cancel", append(form, "Cookie", viewer), "csrf=" + viewerMark, 403},
		"an operator's form cancels":                       {"POST", "/runs/a/cancel", append(form, "Cookie", operator), "csrf=" + operatorMark, 200},
		"so does a script of the page":                     {"POST", "/runs/a/cancel", append(form, "Cookie", operator, "X-CSRF-Token", operatorMark), "a=b", 200},
		"a form without the session's mark":                {"POST", "/runs/a/cancel", append(form, "Cookie", operator), "a=b", 403},
		"a form with the mark of another":                  {"POST", "/runs/a/cancel", append(form, "Cookie", operator), "csrf=" + viewerMark, 403},
		"a mark in the query":                              {"POST", "/runs/a/cancel?csrf=" + operatorMark, append(form, "Cookie", operator), "a=b", 403},
		"a form of another type":                           {"POST", "/runs/a/cancel", []string{"Content-Type", "text/plain", "Cookie", operator}, "csrf=" + operatorMark, 415},
		"a form in parts":                                  {"POST", "/runs/a/cancel", []string{"Content-Type", "multipart/form-data; boundary=x", "Cookie", operator}, "--x--", 415},
		"a form without a type":                            {"POST", "/runs/a/cancel", []string{"Cookie", operator}, "csrf=" + operatorMark, 415},
		"a large form":                                     {"POST", "/runs/a/cancel", append(form, "Cookie", operator), "csrf=" + operatorMark + "&a=" + strings.Repeat("x", bodyCap), 413},
		"a hook needs no token":                            {"POST", "/hooks/a/b", nil, "{}", 200},
		"a path that is in no route":                       {"GET", "/api/v1/nothing", nil, "", 401},
		"the same, for one with a token":                   {"GET", "/api/v1/nothing", []string{"Authorization", "Bearer viewer"}, "", 404},
		"a method that is in no route":                     {"DELETE", "/api/v1/runs", nil, "", 401},
		"the same, for one with a token again":             {"DELETE", "/api/v1/runs", []string{"Authorization", "Bearer viewer"}, "", 405},
		"a path of the page that is in no route":           {"GET", "/nothing", nil, "", 401},
		"the same, for one with a session":                 {"GET", "/nothing", []string{"Cookie", viewer}, "", 404},
		"a session hears nothing of the API":               {"GET", "/api/v1/nothing", []string{"Cookie", viewer}, "", 401},
		"asking for a page with a method that is in none":  {"PUT", "/", []string{"Cookie", viewer}, "", 405},
		"HEAD is GET without a body":                       {"HEAD", "/api/v1/runs", []string{"Authorization", "Bearer viewer"}, "", 200},
		"HEAD asks for a token too":                        {"HEAD", "/api/v1/runs", nil, "", 401},
		"TRACE is in no route":                             {"TRACE", "/api/v1/runs", []string{"Authorization", "Bearer viewer"}, "", 405},
		"a method in a header does not count":              {"POST", "/api/v1/runs/a/cancel", []string{"Authorization", "Bearer viewer", "X-HTTP-Method-Override", "GET"}, "", 403},
		"a path in a header does not count":                {"GET", "/healthz", []string{"X-Original-URL", "/api/v1/runs", "X-Rewrite-URL", "/api/v1/runs"}, "", 200},
		"an address in a header does not make one trusted": {"GET", "/api/v1/runs", []string{"X-Forwarded-For", "127.0.0.1", "Forwarded", "for=127.0.0.1"}, "", 401},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f.failures.byKey = map[string][]time.Time{}
			f.served = nil
			response := f.ask(c.method, c.path, c.body, c.headers...)
			if response.StatusCode != c.want {
				t.Errorf("status %d, want %d: %s", response.StatusCode, c.want, bodyOf(t, response))
			}
			if reached := len(f.served) > 0; reached != (c.want == 200) {
				t.Errorf("the handler was reached: %v", f.served)
			}
			if c.want == 401 && response.Header.Get("WWW-Authenticate") == "" && !strings.Contains(c.path, "/ui") && strings.HasPrefix(c.path, "/api") {
				t.Error("the answer does not say how to authenticate")
			}
		})
	}
}

func TestCallersAreNamed(t *testing.T) {
	f := newFixture(t)
	cookie, mark := f.logIn("operator")
	f.ask("GET", "/api/v1/runs", "", "Authorization", "Bearer viewer")
	f.ask("POST", "/runs/a/cancel", "csrf="+mark, "Content-Type", "application/x-www-form-urlencoded", "Cookie", cookie)
	f.ask("GET", "/healthz", "")
	want := []string{
		"GET /api/v1/runs by token viewer from 192.0.2.1",
		"POST /runs/{id}/cancel by page of token operator from 192.0.2.1",
		"GET /healthz by ",
	}
	if !slices.Equal(f.served, want) {
		t.Errorf("served %q, want %q", f.served, want)
	}
}

// TestEveryAnswerHasItsHeaders also looks at refusals and errors.
func TestEveryAnswerHasItsHeaders(t *testing.T) {
	f := newFixture(t)
	want := map[string]string{
		"Content-Security-Policy":      "default-src 'self'; script-src 'self'; frame-ancestors 'none'; object-src 'none'; base-uri 'none'; form-action 'self'",
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Referrer-Policy":              "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cache-Control":                "no-store",
	}
	inline := regexp.MustCompile(`(?i)<style|<script|\sstyle=|\son[a-z]+=`)
	for _, r := range []*http.Request{
		request("GET", "/healthz", ""), request("GET", "/login", ""), request("GET", "/", "", "Accept", "text/html"), request("GET", "/api/v1/runs", ""),
		request("GET", "/api/v1/runs", "", "Host", "evil.example"), request("GET", "/api/v1/runs", "", "Origin", "null"),
		request("GET", "/login?code=x", ""), request("POST", "/login", "token=x", "Content-Type", "application/x-www-form-urlencoded"),
	} {
		response := f.do(r)
		for name, value := range want {
			if got := response.Header.Get(name); got != value {
				t.Errorf("%s %s (%d): %s is %q, want %q", r.Method, r.URL, response.StatusCode, name, got, value)
			}
		}
		for name := range response.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s %s: %s is set", r.Method, r.URL, name)
			}
		}
		if text := bodyOf(t, response); inline.MatchString(text) {
			t.Errorf("%s %s: inline style or script in %s", r.Method, r.URL, text)
		}
	}
}

func TestRoutesThatLeaveSomethingOpenAreRefused(t *testing.T) {
	handler := http.NotFoundHandler()
	for name, route := range map[string]Route{
		"no method":               {Pattern: "/x", Face: FaceOpen, Handler: handler},
		"a host":                  {Pattern: "GET a.example/x", Face: FaceOpen, Handler: handler},
		"a whole tree":            {Pattern: "GET /x/", Face: FaceOpen, Handler: handler},
		"the rest of a path":      {Pattern: "GET /x/{rest...}", Face: FaceOpen, Handler: handler},
		"everything":              {Pattern: "GET /", Face: FaceOpen, Handler: handler},
		"no face":                 {Pattern: "GET /x", Scope: Admin, Handler: handler},
		"an unknown face":         {Pattern: "GET /x", Face: "public", Handler: handler},
		"no scope for a token":    {Pattern: "GET /x", Face: FaceAPI, Handler: handler},
		"no scope for a session":  {Pattern: "GET /x", Face: FacePage, Handler: handler},
		"an unknown scope":        {Pattern: "GET /x", Face: FaceAPI, Scope: "root", Handler: handler},
		"a scope that is ignored": {Pattern: "GET /x", Face: FaceOpen, Scope: Viewer, Handler: handler},
		"no handler":              {Pattern: "GET /x", Face: FaceOpen},
		"a login of somebody":     {Pattern: "GET /login", Face: FaceOpen, Handler: handler},
		"the zero value":          {},
	} {
		if _, err := New([]Route{route}, Options{Authority: &fakeAuthority{}, Now: time.Now, Entropy: &counter{}, LoginPage: plainLogin}); err == nil {
			t.Errorf("%s: %+v is accepted", name, route)
		}
	}
	if _, err := New(nil, Options{}); err == nil {
		t.Error("a guard without an authority is made")
	}
}

func TestTheZeroValuesAllowNothing(t *testing.T) {
	for _, need := range []Scope{"", Viewer, Operator, Admin, "root"} {
		if Scope("").Allows(need) || Scope("root").Allows(need) {
			t.Errorf("nobody's scope allows %q", need)
		}
	}
	for _, has := range []Scope{Viewer, Operator, Admin} {
		if has.Allows("") || has.Allows("root") {
			t.Errorf("%s allows a scope that is none", has)
		}
	}
	var b bound // a handler that is reached past the guard
	b.next = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached") })
	w := httptest.NewRecorder()
	b.ServeHTTP(w, request("GET", "/", ""))
	if w.Code != http.StatusForbidden {
		t.Errorf("past the guard: %d", w.Code)
	}
}

func TestAnAuthorityThatFailsLetsNobodyIn(t *testing.T) {
	f := newFixture(t)
	f.authority.err = io.ErrUnexpectedEOF
	if response := f.ask("GET", "/api/v1/runs", "", "Authorization", "Bearer viewer"); response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status %d", response.StatusCode)
	}
	if len(f.served) > 0 {
		t.Errorf("served %v", f.served)
	}
}

func TestAPanicOfAHandlerIsContained(t *testing.T) {
	g, err := New([]Route{{Pattern: "GET /x", Face: FaceOpen, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oops") })}},
		Options{Authority: &fakeAuthority{}, Now: time.Now, Entropy: &counter{}, LoginPage: plainLogin})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, request("GET", "/x", ""))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "goroutine") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func withLocal(ctx context.Context, local net.Addr) context.Context {
	return context.WithValue(ctx, http.LocalAddrContextKey, local)
}

// slowBody never comes; it ends when its reader's deadline is past.
type slowBody struct{ late chan struct{} }

func (b slowBody) Read([]byte) (int, error) {
	<-b.late
	return 0, os.ErrDeadlineExceeded
}

func (slowBody) Close() error { return nil }

// deadlineWriter tells its body of a deadline.
type deadlineWriter struct {
	*httptest.ResponseRecorder
	body slowBody
}

func (w deadlineWriter) SetReadDeadline(at time.Time) error {
	if !at.IsZero() && at.Before(time.Now()) {
		close(w.body.late)
	}
	return nil
}

func TestABodyHasHalfAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		f := newFixture(t)
		body := slowBody{late: make(chan struct{})}
		r := request("POST", "/login", "", formType...)
		r.Body, r.ContentLength = body, -1
		w := deadlineWriter{ResponseRecorder: httptest.NewRecorder(), body: body}
		f.ServeHTTP(w, r)
		if took := time.Since(begin); took != readLimit || w.Code != http.StatusBadRequest {
			t.Errorf("after %s: %d", took, w.Code)
		}
	})
}

// lateWriter counts deadlines.
type lateWriter struct {
	*httptest.ResponseRecorder
	deadlines int
}

func (w *lateWriter) SetReadDeadline(time.Time) error {
	w.deadlines++
	return nil
}

// A body that nobody reads is no matter once the request is answered: the writer is not touched
// then. Over HTTP/2 that would end the program (net/http), for whoever sends the request.
func TestABodyThatIsNotReadSetsNoDeadlineLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		for _, path := range []string{"/login", "/api/v1/runs", "/nowhere"} {
			w := &lateWriter{ResponseRecorder: httptest.NewRecorder()}
			r := request("POST", path, "", "Content-Type: application/json")
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(`{"never": "read"}`)), -1
			f.ServeHTTP(w, r)
			time.Sleep(2 * readLimit)
			if w.Code < 400 || w.deadlines != 0 {
				t.Errorf("%s: %d, and %d deadlines after the answer", path, w.Code, w.deadlines)
			}
		}
	})
}
