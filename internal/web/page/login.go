package page

import (
	"html/template"
	"io"

	"github.com/flowrun/flowrun/internal/web/guard"
)

// NewLogin returns what writes the page with the login form, in the page's own
// style. It is safe for concurrent use.
func NewLogin() func(io.Writer, guard.LoginView) error {
	assets := readAssets()
	parsed := template.Must(template.New("").Funcs(template.FuncMap{
		"asset": func(name string) string { return assetPath(name, assets[name]) }, "icon": icon,
	}).ParseFS(templateFiles, "templates/login.html", "templates/sprite.html"))
	return func(w io.Writer, v guard.LoginView) error { return parsed.ExecuteTemplate(w, "login", v) }
}
