package guard

import (
	"encoding/base64"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxKept bounds the form that goes with a login, in bytes: as text it must have
// room in the login's own form.
const maxKept = 600 << 10

// KeptForm is a form of the page that was sent when nobody was logged in. The login
// page carries it, so that nothing of it stays here, and it is in no address.
type KeptForm struct {
	Path string // the route that it was sent to
	Text string // its fields, encoded

	fields url.Values
}

// Resend is a form that is sent again when a person says so.
type Resend struct {
	Path   string // where it goes
	Back   string // the page that it was on
	CSRF   string // the mark of the new session
	Fields []KeptField
	Shown  []KeptField // what of it a person reads
}

// KeptField is one field of a kept form.
type KeptField struct{ Name, Value string }

// keep takes the form of a request of the page that has no session, nil where there
// is none that could be sent again. It answers nothing.
func (g *Guard) keep(w http.ResponseWriter, r *http.Request) *KeptForm {
	if r.Method != http.MethodPost || r.ContentLength > maxKept {
		return nil
	}
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != "application/x-www-form-urlencoded" {
		return nil
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxKept)
	if err := r.ParseForm(); err != nil {
		return nil
	}
	return g.keepForm(r.URL.EscapedPath(), r.PostForm)
}

// keepForm checks that a form may be sent again: to a route of the page, and not to
// the logout.
func (g *Guard) keepForm(path string, form url.Values) *KeptForm {
	target, err := url.ParseRequestURI(path)
	if err != nil || localPath(path) != path {
		return nil
	}
	asked := &http.Request{Method: http.MethodPost, URL: target}
	if found := g.route(asked); found == nil || found.Face != FacePage || len(form) == 0 {
		return nil
	}
	form = maps.Clone(form)
	form.Del("csrf")
	text := form.Encode()
	if len(text) > maxKept {
		return nil
	}
	return &KeptForm{Path: path, Text: base64.RawURLEncoding.EncodeToString([]byte(text)), fields: form}
}

// keptOf returns the form that a login carries, nil where it carries none.
func (g *Guard) keptOf(r *http.Request) *KeptForm {
	data, err := base64.RawURLEncoding.DecodeString(r.PostForm.Get("kept_form"))
	if err != nil {
		return nil
	}
	form, err := url.ParseQuery(string(data))
	if err != nil {
		return nil
	}
	return g.keepForm(r.PostForm.Get("kept_path"), form)
}

// resendOf returns the form of a request whose mark is not that of its session, but
// of one before it. Only what a page of ours has sent is offered again.
func (g *Guard) resendOf(r *http.Request, mark string) (*Resend, bool) {
	if !wantsPage(r) || r.Header.Get("Origin") == "" || r.PostForm.Get("csrf") == "" {
		return nil, false
	}
	kept := g.keepForm(r.URL.EscapedPath(), r.PostForm)
	if kept == nil {
		return nil, false
	}
	return kept.resend(mark), true
}

// resend makes a kept form one of a session.
func (k *KeptForm) resend(mark string) *Resend {
	form := &Resend{Path: k.Path, Back: localPath(k.fields.Get("back")), CSRF: mark}
	for _, name := range slices.Sorted(maps.Keys(k.fields)) {
		for _, value := range k.fields[name] {
			form.Fields = append(form.Fields, KeptField{name, value})
		}
		if !isAside(name) {
			form.Shown = append(form.Shown, KeptField{strings.TrimPrefix(name, "in."), k.shown(name)})
		}
	}
	return form
}

// isAside reports whether a field is the form's own, or says how another one is to
// be read.
func isAside(name string) bool {
	return name == "back" || name == "once" || strings.HasSuffix(name, ".as") || strings.HasSuffix(name, ".zone")
}

// maxShown bounds how much of a field is shown, in bytes; the whole is sent.
const maxShown = 400

// shown is a field for people: of a secret nothing but that it is there.
func (k *KeptForm) shown(name string) string {
	values := k.fields[name]
	text := values[len(values)-1] // before a box that is ticked stands what counts where it is not
	switch {
	case k.fields.Get(name+".as") == "secret" && text != "":
		return "••••••"
	case len(text) > maxShown:
		return strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return text
}
