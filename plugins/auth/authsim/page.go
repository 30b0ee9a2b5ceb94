package authsim

import (
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// view is what the page shows.
type view struct {
	Code    string
	Scopes  []string
	Codes   []string // that wait, for the list of the sandbox
	Message string
	Failed  bool
	Done    bool
}

// pageText is the page where a person decides: without a script, with labels,
// and with a style of its own.
var pageText = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("device").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Connect a device (simulator)</title>
<style>
body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 34rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b; background: #fff; }
label { display: block; font-weight: 600; }
input { font: inherit; font-family: ui-monospace, monospace; letter-spacing: .1em; padding: .4rem; width: 14rem; border: 2px solid #555; border-radius: .3rem; }
button { font: inherit; padding: .5rem 1.2rem; margin: 1rem .5rem 0 0; border: 2px solid #14532d; border-radius: .3rem; color: #fff; background: #14532d; }
button.plain { color: #7f1d1d; background: #fff; border-color: #7f1d1d; }
code { font-size: 1.3em; }
[role=status], [role=alert] { border-left: .3rem solid; padding: .2rem .8rem; }
@media (prefers-color-scheme: dark) { body { color: #eee; background: #181818; } button.plain { color: #fca5a5; background: #181818; border-color: #fca5a5; } a { color: #93c5fd; } }
</style>
</head>
<body>
<main>
<h1>Connect a device</h1>
{{if .Message}}<p role="{{if .Failed}}alert{{else}}status{{end}}">{{.Message}}</p>{{end}}
{{if .Done}}<p>You can close this page.</p>
{{else if .Scopes}}<p>A device with the code <code>{{.Code}}</code> asks for access to:</p>
<ul>{{range .Scopes}}<li>{{.}}</li>{{end}}</ul>
<form method="post" action="/device">
<input type="hidden" name="user_code" value="{{.Code}}">
<button name="decision" value="approve">Allow</button>
<button class="plain" name="decision" value="deny">Refuse</button>
</form>
{{else}}<form method="get" action="/device">
<label for="user_code">Code shown on the device</label>
<input id="user_code" name="user_code" autocomplete="off" autocapitalize="off" spellcheck="false" required autofocus>
<br><button>Go on</button>
</form>
{{if .Codes}}<h2>Waiting</h2>
<ul>{{range .Codes}}<li><a href="/device?user_code={{.}}"><code>{{.}}</code></a></li>{{end}}</ul>{{end}}
{{end}}<p><small>This is a simulator. Nothing here is a real account.</small></p>
</main>
</body>
</html>
`))
})

// Page serves /device alone: the page where a person decides, for an address that
// a browser trusts where the simulator's own certificate is a throw-away one.
func (s *Sim) Page() http.Handler { return s.page() }

// page serves the verification page. A form of another site cannot decide for a
// person.
func (s *Sim) page() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /device", func(w http.ResponseWriter, r *http.Request) {
		code := strings.TrimSpace(r.URL.Query().Get("user_code"))
		if code == "" {
			show(w, http.StatusOK, view{Codes: s.Codes()})
			return
		}
		scopes, ok := s.asked(code)
		if !ok {
			show(w, http.StatusNotFound, view{Codes: s.Codes(), Failed: true, Message: "No device waits with this code. Capital and small letters count."})
			return
		}
		show(w, http.StatusOK, view{Code: code, Scopes: scopes})
	})
	mux.HandleFunc("POST /device", s.decided)
	return http.NewCrossOriginProtection().Handler(mux)
}

func (s *Sim) decided(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	code := strings.TrimSpace(r.PostFormValue("user_code"))
	decide, message := s.Approve, "The device is connected."
	switch r.PostFormValue("decision") {
	case "approve":
	case "deny":
		decide, message = s.Deny, "The device was refused."
	default:
		show(w, http.StatusBadRequest, view{Codes: s.Codes(), Failed: true, Message: "Choose Allow or Refuse."})
		return
	}
	if err := decide(code); err != nil {
		show(w, http.StatusNotFound, view{Codes: s.Codes(), Failed: true, Message: "No device waits with this code any more."})
		return
	}
	show(w, http.StatusOK, view{Done: true, Message: message})
}

// asked returns what the device of a pending code asks for.
func (s *Sim) asked(userCode string) ([]string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.pending(userCode)
	if f == nil {
		return nil, false
	}
	return slices.Clone(f.scopes), true
}

func show(w http.ResponseWriter, status int, v view) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = pageText().Execute(w, v) // a client that went away is no trouble of a simulator
}
