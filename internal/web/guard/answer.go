package guard

import (
	"net/http"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/internal/web/wire"
)

func writeProblem(w http.ResponseWriter, code wire.Code, detail, hint string) {
	wire.NewProblem(code, detail).With(diag.Say(hint)).Write(w)
}

// wantsPage reports whether a person looks at the answer, in a browser.
func wantsPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html") && !strings.HasPrefix(r.URL.Path, "/api/")
}

// refuse answers with a page where a person looks, else with a problem.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, code wire.Code, detail, hint string) {
	if !wantsPage(r) {
		writeProblem(w, code, detail, hint)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code.Status())
	_ = g.refusal.Execute(w, map[string]string{"Title": http.StatusText(code.Status()), "Detail": detail, "Hint": hint})
}

const refusalPage = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{{.Title}} - flowrun</title><link rel="stylesheet" href="/static/app.css"></head>
<body class="door"><main><h1>{{.Title}}</h1><p>{{.Detail}}</p>{{with .Hint}}<p>{{.}}</p>{{end}}<p><a href="/">Home</a></p></main></body>
</html>
`
