package page

import (
	"bytes"
	"cmp"
	"crypto/subtle"
	"embed"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/markdown"
)

//go:embed templates/*.html
var templateFiles embed.FS

// maxForm bounds the body of a form in bytes.
const maxForm = 1 << 20

// site serves the page. Safe for concurrent use.
type site struct {
	Options
	templates *template.Template
	assets    map[string]asset
	mux       *http.ServeMux // of the views, for the stream
	logins    *logins
	known     *known
	streams   chan struct{} // one entry for each open stream
	followers followers
	boards    boards
	markdown  *markdown.Renderer
}

func newSite(o Options) *site {
	s := &site{Options: o, assets: readAssets(), mux: http.NewServeMux(), streams: make(chan struct{}, maxStreams), logins: newLogins(o), markdown: markdown.New()}
	s.known = newKnown(o)
	s.followers.open, s.boards.open = map[uint64]*follower{}, map[boardKey]*board{}
	s.Location = cmp.Or(s.Location, time.UTC)
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	s.templates = template.Must(template.New("").Funcs(s.funcs()).ParseFS(templateFiles, "templates/*.html"))
	for _, v := range s.views() {
		s.mux.Handle("GET "+v.pattern, s.show(v))
	}
	return s
}

// content is what the template of a screen sees.
type content struct {
	Data any
	Path string // of the request, with its query
	CSRF string
	Now  time.Time

	scope guard.Scope
}

// Can reports whether the caller may use what asks for a scope.
func (c content) Can(scope string) bool { return c.scope.Allows(guard.Scope(scope)) }

// frame is what the layout sees.
type frame struct {
	*screen
	content
	Main    template.HTML
	Nav     []navItem
	Refresh int // seconds, without JavaScript; 0 = never
	Live    bool
	Who     string
	Zone    string // of the times
	Site    Options
}

// show serves a view. A stream that asks for it gets the screen by its capture.
func (s *site) show(v view) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caught, _ := r.Context().Value(captureKey{}).(*capture)
		if caught != nil && !callerOf(r).Scope.Allows(v.needs()) {
			return
		}
		made, err := v.build(r)
		if err != nil {
			made = s.problem(r, err)
		}
		if caught != nil {
			caught.screen, caught.main, caught.err = made, nil, err
			if err == nil {
				caught.main, caught.err = s.content(r, made)
			}
			return
		}
		s.write(w, r, made)
	})
}

// act serves a form.
func (s *site) act(a action) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			s.write(w, r, s.problem(r, &refused{http.StatusBadRequest, "the form could not be read", err.Error()}))
			return
		}
		if !sameToken(r.PostFormValue("csrf"), callerOf(r).CSRF) {
			s.write(w, r, s.problem(r, &refused{http.StatusForbidden, "the form is not from this session", "load the page again and repeat it"}))
			return
		}
		end, err := a.do(r)
		switch {
		case err != nil:
			s.write(w, r, s.problem(r, err))
		case end.screen != nil:
			if end.screen.Status == 0 {
				end.screen.Status = http.StatusUnprocessableEntity
			}
			s.write(w, r, end.screen)
		default:
			http.Redirect(w, r, end.to, http.StatusSeeOther)
		}
	})
}

// download serves a file.
func (s *site) download(f file) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := f.read(r)
		if err != nil {
			s.write(w, r, s.problem(r, err))
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", fileName(body.name)))
		_, _ = w.Write(body.content) // the reader is gone: nobody is left to tell
	})
}

// fileName keeps the letters of a name that every system takes.
func fileName(name string) string {
	clean := []byte(name)
	for i, c := range clean {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' && i > 0 || c == '-' || c == '_' {
			continue
		}
		clean[i] = '_'
	}
	return string(clean)
}

func sameToken(given, want string) bool {
	return want != "" && subtle.ConstantTimeCompare([]byte(given), []byte(want)) == 1
}

func callerOf(r *http.Request) guard.Caller {
	caller, _ := guard.CallerOf(r.Context())
	return caller
}

// content renders what stands inside of <main>.
func (s *site) content(r *http.Request, made *screen) ([]byte, error) {
	var out bytes.Buffer
	if err := s.templates.ExecuteTemplate(&out, made.Template, s.contentOf(r, made)); err != nil {
		return nil, fmt.Errorf("render %s: %w", made.Template, err)
	}
	return out.Bytes(), nil
}

// pagePath is where a screen can be loaded again: an answer to a form stands for
// the page that the form was on.
func pagePath(r *http.Request) string {
	if r.Method == http.MethodPost {
		return backPath(r)
	}
	return r.URL.RequestURI()
}

func (s *site) contentOf(r *http.Request, made *screen) content {
	caller := callerOf(r)
	return content{Data: made.Data, Path: pagePath(r), CSRF: caller.CSRF, Now: s.Now(), scope: caller.Scope}
}

// write sends a whole page.
func (s *site) write(w http.ResponseWriter, r *http.Request, made *screen) {
	main, err := s.content(r, made)
	if err != nil {
		s.Log.Error("page not rendered", "path", r.URL.Path, "error", err)
		http.Error(w, "the page could not be rendered; the log of the server says why", http.StatusInternalServerError)
		return
	}
	f := frame{
		screen: made, content: s.contentOf(r, made), Main: template.HTML(main), //nolint:gosec // html/template made it
		Nav: s.nav(made.Nav), Live: made.Live.any() && r.Method != http.MethodPost, Who: who(callerOf(r)), Site: s.Options,
		Zone: s.Now().In(s.Location).Format("MST"),
	}
	if f.Live {
		f.Refresh = refreshEvery
	}
	var out bytes.Buffer
	if err := s.templates.ExecuteTemplate(&out, "layout", f); err != nil {
		s.Log.Error("layout not rendered", "path", r.URL.Path, "error", err)
		http.Error(w, "the page could not be rendered; the log of the server says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if made.Status != 0 {
		w.WriteHeader(made.Status)
	}
	_, _ = out.WriteTo(w) // the reader is gone: nobody is left to tell
}

// who is the caller for people: "root (admin)".
func who(caller guard.Caller) string {
	if caller.Name == "" {
		return ""
	}
	return fmt.Sprintf("%s (%s)", strings.TrimPrefix(caller.Name, "page of "), caller.Scope)
}

// refreshEvery is how often a live page is loaded again where there is no
// JavaScript, in seconds.
const refreshEvery = 10

// navItem is one entry of the navigation.
type navItem struct {
	Path    string
	Name    string
	Icon    string
	Current bool
}

func (s *site) nav(current string) []navItem {
	items := []navItem{
		{Path: "/", Name: "Home", Icon: "home"},
		{Path: "/runs", Name: "Runs", Icon: "runs"},
		{Path: "/approvals", Name: "Approvals", Icon: "person"},
		{Path: "/workflows", Name: "Workflows", Icon: "flow"},
		{Path: "/schedules", Name: "Schedules", Icon: "clock"},
		{Path: "/connections", Name: "Connections", Icon: "link"},
		{Path: "/plugins", Name: "Plugins", Icon: "plug"},
		{Path: "/system", Name: "System", Icon: "gear"},
	}
	for i := range items {
		items[i].Current = items[i].Path == current
	}
	return items
}

// refused is an error of the page itself.
type refused struct {
	status  int
	message string
	hint    string
}

func (e *refused) Error() string { return e.message }

// notFound says that there is no such page.
func notFound(what, name string) error {
	return &refused{http.StatusNotFound, fmt.Sprintf("there is no %s %q", what, name), ""}
}
