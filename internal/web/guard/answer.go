package guard

import (
	"encoding/json"
	"html/template"
	"net/http"
	"strings"
)

// problem is an error answer (RFC 9457), with the fields of the API's.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	Hint   string `json:"hint,omitempty"`
}

func writeProblem(w http.ResponseWriter, status int, code, detail, hint string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(problem{ // the client is gone: nobody is left to tell
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: code, Hint: hint,
	})
}

// wantsPage reports whether a person looks at the answer, in a browser.
func wantsPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html") && !strings.HasPrefix(r.URL.Path, "/api/")
}

// refuse answers with a page where a person looks, else with a problem.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, status int, code, detail, hint string) {
	if !wantsPage(r) {
		writeProblem(w, status, code, detail, hint)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = g.refusal.Execute(w, map[string]string{"Title": http.StatusText(status), "Detail": detail, "Hint": hint})
}

// parse makes a template of ours: one that is wrong is a mistake in this package.
func parse(text string) *template.Template { return template.Must(template.New("").Parse(text)) }

const refusalPage = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{{.Title}} - flowrun</title><link rel="stylesheet" href="/static/app.css"></head>
<body class="door"><main><h1>{{.Title}}</h1><p>{{.Detail}}</p>{{with .Hint}}<p>{{.}}</p>{{end}}<p><a href="/">Home</a></p></main></body>
</html>
`
